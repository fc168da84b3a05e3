"""Adaptive waiting time of caching collectors over a run (Malekeh, section IV-B3), as data and as a
drawing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree as xml

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, first_scheme
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import IDS, Batch
from warpbank.sim.runs.spec import Observed

#: States of the machine and the colours they are drawn in.
STATES = {
    1: ("start", "#888888"),
    2: ("climb", "#2a9d5c"),
    3: ("speculate", "#e0a100"),
    4: ("retreat", "#c8452f"),
    5: ("confirm", "#7b6fc4"),
    6: ("hold", "#2f6db5"),
}
# Pixels.
_WIDTH, _HEIGHT = 900, 150  # of a panel
_LEFT, _TOP, _GAP = 60, 40, 50


@dataclass(frozen=True)
class Interval:
    """Interval of the adaptation: its last cycle, its IPC (of the SM), the STHLD that counted in it, and the
    machine's state after it."""

    end: int
    ipc: float
    sthld: int
    state: int


class Waiting:
    """Observer of a run (`warpbank.sim.runs.RunSpec.observer`) that collects the intervals that ended."""

    #: Events that it reads.
    wanted = frozenset(("issue", "sthld"))

    def __init__(self) -> None:
        self._length = 1
        self._issued: dict[int, int] = {}  # by interval
        self._ends: list[tuple[int, int, int]] = []  # last cycle, state and value from then on

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        self._length = config.sub_core.collector.sthld_interval

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        events = batch.records["event"]
        for cycle in batch.records["cycle"][events == IDS["issue"]].tolist():
            number = cycle // self._length
            self._issued[number] = self._issued.get(number, 0) + 1
        rows = batch.records[events == IDS["sthld"]]
        self._ends += sorted(zip(rows["cycle"].tolist(), *rows["values"][:, :2].T.tolist(), strict=True))

    @property
    def intervals(self) -> list[Interval]:
        """Intervals in order. Only after the run."""
        before = [0, *(value for _, _, value in self._ends)]
        return [
            Interval(end, self._issued.get(end // self._length, 0) / self._length, sthld, state)
            for (end, state, _), sthld in zip(self._ends, before, strict=False)
        ]

    def result(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON. Only after the run."""
        return _to_dict(self.intervals)


@dataclass(frozen=True)
class Watched:
    """Moves of the waiting time in a run.

    Parameters
    ----------
    experiment : what ran.
    intervals : in order.
    """

    experiment: exp.Experiment
    intervals: list[Interval]

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {"kernel": self.experiment.job.name, **_to_dict(self.intervals)}

    def draw(self) -> str:
        """STHLD and IPC over the run's intervals, as SVG."""
        name, length = self.experiment.job.name, self.experiment.config.sub_core.collector.sthld_interval
        title = f"{name}, {self.experiment.scheme.name}, intervals of {length} cycles"
        return draw(title, self.intervals)


def _to_dict(intervals: list[Interval]) -> dict[str, Any]:
    return {"intervals": [asdict(interval) for interval in intervals]}


def adapts(scheme: Scheme) -> bool:
    """Whether the waiting time adapts under a scheme: several warps share a collector that they wait for."""
    return scheme.units.collector.adapts and not scheme.private_collectors


def study(experiment: exp.Experiment) -> Watched:
    """Run an experiment on the golden model and keep its intervals. Raises WarpbankError, as `watch` does."""
    return Watched(experiment, watch(experiment))


def watch(experiment: exp.Experiment) -> list[Interval]:
    """Run the experiment on the golden model and return its intervals.

    Raises WarpbankError if the waiting time does not adapt on its machine, or the run ends before the second
    interval does.
    """
    collector = experiment.config.sub_core.collector
    if not adapts(experiment.scheme) or collector.sthld != "adaptive":
        raise WarpbankError(
            f"the waiting time does not adapt with scheme {experiment.scheme.name} and STHLD "
            f"{collector.sthld!r}; use --scheme {first_scheme(adapts)} and leave sub_core.collector.sthld "
            "at 'adaptive'"
        )
    seen = Waiting()
    exp.run(experiment, Observed(GoldenEngine(), seen))
    if len(seen.intervals) < 2:
        raise WarpbankError(
            f"the run ends within two intervals of {collector.sthld_interval} cycles; choose a shorter one "
            "with --set sub_core.collector.sthld_interval=CYCLES"
        )
    return seen.intervals


def draw(title: str, intervals: list[Interval]) -> str:
    """Drawing of STHLD and IPC over the run's intervals, as SVG; the colour of an STHLD is the state in which
    it was set."""
    root = xml.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif", "font-size": "12"}
    )
    width, height = _LEFT + _WIDTH + 20, _TOP + 2 * (_HEIGHT + _GAP) + 20
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(width))
    root.set("height", str(height))
    xml.SubElement(root, "rect", width=str(width), height=str(height), fill="white")
    xml.SubElement(root, "text", x=str(_LEFT), y="20").text = title
    states = [1, *(interval.state for interval in intervals)]
    _panel(
        root,
        _TOP,
        "STHLD, cycles",
        [interval.sthld for interval in intervals],
        [STATES[state][1] for state in states],
    )
    _panel(
        root,
        _TOP + _HEIGHT + _GAP,
        "IPC",
        [interval.ipc for interval in intervals],
        ["#333333"] * len(intervals),
    )
    for place, (name, colour) in enumerate(STATES.values()):
        x = _LEFT + 110 * place
        xml.SubElement(root, "rect", x=str(x), y=str(height - 22), width="14", height="10", fill=colour)
        xml.SubElement(root, "text", x=str(x + 20), y=str(height - 13)).text = name
    return xml.tostring(root, encoding="unicode") + "\n"


def _panel(root: xml.Element, top: int, label: str, values: list[Any], colours: list[str]) -> None:
    """One quantity over the intervals, as steps."""
    most = max(values) or 1
    step = _WIDTH / len(values)
    bottom = top + _HEIGHT
    heights = [bottom - value / most * _HEIGHT for value in values]
    xml.SubElement(
        root, "path", {"d": f"M{_LEFT} {top}V{bottom}H{_LEFT + _WIDTH}", "fill": "none", "stroke": "black"}
    )
    xml.SubElement(root, "text", x=str(_LEFT), y=str(top - 6)).text = label
    for value, y in ((f"{most:.3g}", top), ("0", bottom)):
        xml.SubElement(
            root, "text", {"x": str(_LEFT - 6), "y": str(y + 4), "text-anchor": "end"}
        ).text = value
    for place, (y, colour) in enumerate(zip(heights, colours, strict=False)):
        x = _LEFT + place * step
        xml.SubElement(
            root, "path", {"d": f"M{x:.1f} {y:.1f}h{step:.1f}", "stroke": colour, "stroke-width": "3"}
        )
        if place:
            xml.SubElement(
                root, "path", {"d": f"M{x:.1f} {heights[place - 1]:.1f}V{y:.1f}", "stroke": colour}
            )
    for place in range(0, len(values) + 1, max(1, len(values) // 10)):
        at = {"x": f"{_LEFT + place * step:.1f}", "y": str(bottom + 16), "text-anchor": "middle"}
        xml.SubElement(root, "text", at).text = str(place)
