"""Recording of some cycles of a run: its events, the ways of its uops, and what every unit held when each
cycle began."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MOVE
from warpbank.golden.check import Checker
from warpbank.golden.contents import Shelf
from warpbank.golden.sm import Sm
from warpbank.golden.stream import TraceUop
from warpbank.golden.sub_core import SubCore
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import Batch
from warpbank.sim.runs.spec import Observed
from warpbank.sim.view.follow import Enough, Follower
from warpbank.sim.view.timeline import Timeline

#: Most cycles of a recording: a page of more is too large for a telephone.
MAX_CYCLES = 2000
#: Rooms whose units have contents, and the sub-core's attribute for each.
_KEEPERS = {"collector": "collectors", "hierarchy": "registers", "mapping": "mapping"}


class Values:
    """Table of register values, each once.

    Attributes
    ----------
    rows : the values, by number.
    """

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self._numbers: dict[bytes, int] = {}
        self._known: dict[int, tuple[np.ndarray, int]] = {}  # by identity; the array is kept alive

    def number(self, value: np.ndarray | None) -> int:
        """Number of a value; -1: None."""
        if value is None:
            return -1
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        content = np.ascontiguousarray(value, np.uint32).tobytes()
        number = self._numbers.setdefault(content, len(self.rows))
        if number == len(self.rows):
            self.rows.append(np.frombuffer(content, np.uint32))
        self._known[id(value)] = value, number
        return number


#: Register of a shelf: warp, register, number of the value, notes.
Cell = tuple[int, int, int, tuple[str, ...]]


@dataclass
class CoreRecording:
    """Recording of what one sub-core held, as versions: one counts from its cycle on, up to the next one's.

    Parameters
    ----------
    shelves : by room and place: title and capacity.
    kept : by room and place, versions: cycle, registers.
    homes : versions: cycle, and (warp, register, bank, row) of every register that has a home.
    rows : by bank and row, versions: cycle, number of the value, encoding.
    warps : versions: cycle, masks of the warps that may issue, are live, and wait at a barrier.
    operands : by warp, seq and cycle of dispatch: numbers of the values that its source slots delivered.
    results : by warp, seq and cycle of issue: active lanes, numbers of the result values.
    """

    shelves: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    kept: dict[tuple[str, int], list[tuple[int, list[Cell]]]] = field(default_factory=dict)
    homes: list[tuple[int, list[tuple[int, int, int, int]]]] = field(default_factory=list)
    rows: dict[tuple[int, int], list[tuple[int, int, str]]] = field(default_factory=dict)
    warps: list[tuple[int, int, int, int]] = field(default_factory=list)
    operands: dict[tuple[int, int, int], list[int]] = field(default_factory=dict)
    results: dict[tuple[int, int, int], tuple[int, list[int]]] = field(default_factory=dict)


@dataclass
class Recording:
    """Recording of some cycles of a run.

    Parameters
    ----------
    trace, config, scheme : what ran; `config` as the scheme changes it.
    units : by room, what its unit is called and the first sentence of its documentation.
    timeline : the uops, and what the schedulers did.
    records : the cycles' events, as rows of `warpbank.sim.events.RECORD`.
    values : the register values.
    cores : what each sub-core held.
    """

    trace: Trace
    config: SmConfig
    scheme: Scheme
    units: dict[str, tuple[str, str]]
    timeline: Timeline
    records: np.ndarray
    values: Values
    cores: list[CoreRecording]


class Recorder(Follower):
    """Follower that also keeps the events of its cycles, and looks into the model's units.

    Parameters
    ----------
    scheme : what runs.
    start, end : the cycles; `end` not included.
    """

    def __init__(self, scheme: Scheme, start: int, end: int) -> None:
        super().__init__(scheme, start, end)
        self.scheme = scheme
        self.values = Values()
        self.cores: list[CoreRecording] = []
        self.units: dict[str, tuple[str, str]] = {}
        self._rows: list[np.ndarray] = []

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        super().start(trace, config)
        self._trace, self._machine = trace, self.scheme.machine(config)
        self._registers = max(trace.launches["registers"].tolist(), default=0)
        self.cores = [CoreRecording() for _ in range(config.sub_cores)]

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles. Raises `Enough` when the last of the view's cycles has come."""
        cycles = batch.records["cycle"]
        self._rows.append(batch.records[(cycles >= self._begin) & (cycles < self._end)])
        super().__call__(batch)

    def recorded(self) -> Recording:
        """Recording of the cycles that have come."""
        records = np.concatenate(self._rows)
        return Recording(
            self._trace,
            self._machine,
            self.scheme,
            self.units,
            self.finish(),
            records[np.argsort(records["cycle"], kind="stable")],
            self.values,
            self.cores,
        )

    # --- Called by the machine.

    def look(self, core: SubCore, cycle: int) -> None:
        """Note what a sub-core holds when a cycle begins."""
        if not self._begin <= cycle < self._end:
            return
        if not self.units:
            self.units = _units(core, self.scheme)
        found = self.cores[core.number]
        status = core.status
        active = core.scheduler.active & core.registers.may_issue & ((1 << len(core.retired)) - 1)
        masks = active, status.live, status.at_barrier
        if not found.warps or found.warps[-1][1:] != masks:
            found.warps.append((cycle, *masks))
        for room, attribute in _KEEPERS.items():
            for shelf in getattr(core, attribute).contents():
                self._shelf(found, cycle, room, shelf)
        self._banks_of(found, core, cycle)

    def issued(self, uop: TraceUop, cycle: int) -> None:
        """Note the results of a uop that issues, which it will write."""
        if cycle < self._end:
            values = [] if uop.seq & MOVE else [self.values.number(value) for value in uop.values]
            self.cores[uop.sub_core].results[uop.warp, uop.seq, cycle] = uop.lane_mask, values

    def dispatched(self, uop: TraceUop, cycle: int) -> None:
        """Note the operands that the register file delivered."""
        if self._begin <= cycle < self._end:
            numbers = [self.values.number(value) for value in uop.operands]
            self.cores[uop.sub_core].operands[uop.warp, uop.seq, cycle] = numbers

    def _shelf(self, found: CoreRecording, cycle: int, room: str, shelf: Shelf) -> None:
        key = room, shelf.place
        found.shelves[key] = shelf.title, shelf.capacity
        cells = [
            (kept.warp, kept.register, self.values.number(kept.value), kept.notes) for kept in shelf.kept
        ]
        versions = found.kept.setdefault(key, [])
        if not versions or versions[-1][1] != cells:
            versions.append((cycle, cells))

    def _banks_of(self, found: CoreRecording, core: SubCore, cycle: int) -> None:
        """Note where registers are, and what their rows hold."""
        live = core.status.live | sum(1 << warp for warp, flying in enumerate(core.flying) if flying)
        homes = [
            (warp, register, *home)
            for warp in range(live.bit_length())
            if live >> warp & 1
            for register in range(self._registers)
            if (home := core.mapping.home(warp, register)) is not None
        ]
        if not found.homes or found.homes[-1][1] != homes:
            found.homes.append((cycle, homes))
        for _, _, bank, row in homes:
            content = core.storage.content(bank, row)
            if content is None:
                continue
            version = self.values.number(content[0]), content[1]
            versions = found.rows.setdefault((bank, row), [])
            if not versions or versions[-1][1:] != version:
                versions.append((cycle, *version))


def _units(core: SubCore, scheme: Scheme) -> dict[str, tuple[str, str]]:
    """Name of the unit in every room, and the first sentence that its class says about itself."""
    objects = {
        "collector": core.collectors,
        "hierarchy": core.registers,
        "mapping": core.mapping,
        "storage": core.storage,
        "scheduler": core.scheduler,
    }
    return {
        room: (getattr(scheme, room), " ".join((unit.__doc__ or "").split("\n\n")[0].split()))
        for room, unit in objects.items()
    }


class _Tap(Checker):
    """Checker that shows a recorder the uops that the machine's own checker sees."""

    def __init__(self, inner: Checker, recorder: Recorder) -> None:
        self._inner, self._recorder = inner, recorder
        self.cycle = 0

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        self._inner.issue(uop)
        self._recorder.issued(uop, self.cycle)

    def dispatch(self, uop: TraceUop) -> None:
        """A uop goes to its unit with its operands."""
        self._inner.dispatch(uop)
        self._recorder.dispatched(uop, self.cycle)


def _engine(recorder: Recorder) -> GoldenEngine:
    """Golden engine whose sub-cores a recorder looks into."""

    class Watched(SubCore):
        """Sub-core that is looked into when a cycle begins."""

        def __init__(
            self, number: int, config: SmConfig, scheme: Scheme, checker: Checker, *others: Any
        ) -> None:
            self._tap = _Tap(checker, recorder)
            super().__init__(number, config, scheme, self._tap, *others)

        def step(self, cycle: int) -> None:
            """One clock cycle."""
            recorder.look(self, cycle)
            self._tap.cycle = cycle
            super().step(cycle)

    class WatchedSm(Sm):
        """SM of such sub-cores."""

        sub_core_class: type[SubCore] = Watched

    class WatchedEngine(GoldenEngine):
        """Engine of such an SM."""

        sm_class: type[Sm] = WatchedSm

    return WatchedEngine()


def record(experiment: exp.Experiment, start: int, end: int) -> Recording:
    """Run the experiment on the golden model up to cycle `end`, and record the cycles from `start` on.

    Raises
    ------
    WarpbankError : more than `MAX_CYCLES` cycles, or the run is over before `start`.
    """
    return _record(experiment.scheme, start, end, lambda engine: exp.run(experiment, engine))


def record_trace(trace: Trace, config: SmConfig, scheme: Scheme, start: int, end: int) -> Recording:
    """Record cycles of a trace that is there; see `record`."""
    return _record(scheme, start, end, lambda engine: engine.run(trace, config, scheme))


def _record(scheme: Scheme, start: int, end: int, run: Callable[[Observed], object]) -> Recording:
    if end - start > MAX_CYCLES:
        raise WarpbankError(
            f"a page of the machine shows at most {MAX_CYCLES} cycles, and --cycles {start}:{end} names "
            f"{end - start}; {start}:{start + MAX_CYCLES} would do"
        )
    recorder = Recorder(scheme, start, end)
    try:
        run(Observed(_engine(recorder), recorder))
    except Enough:
        return recorder.recorded()
    cycles = recorder.timeline.end
    if cycles <= start:
        raise WarpbankError(
            f"the run is over after {cycles} cycles, so --cycles {start}:... shows none of it"
        )
    return recorder.recorded()
