"""Parts of a register file: the RTL that a point of the design space is made of, counted part by part.

A register file is taken for the sum of its rooms: its collectors, the banks and the network that serve them,
and what each other unit adds to the baseline's banks and network. So a few dozen parts make hundreds of
register files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from warpbank.arch.config import config_hash
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import BASELINE, SCHEMES, Scheme, parse_scheme
from warpbank.arch.units import UNITS
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs import store
from warpbank.studies.combinations import ROOMS, room_of
from warpbank.studies.explore.space import Point, Space

#: Collectors of a sub-core, of whatever scheme; other parts are units of `warpbank.synth.units`.
COLLECTORS = "collectors"
#: Register file of a sub-core without its collectors.
REGISTERS = "registers"
#: What the result depends on.
_SOURCES = (
    "warpbank.arch",
    "warpbank.hdl",
    "warpbank.synth.units",
    "warpbank.synth.netlist",
    "warpbank.synth.memories",
    "warpbank.studies.explore.counts",
    "warpbank.studies.explore.levels",
)


@dataclass(frozen=True)
class Rtl:
    """RTL of a unit, to be counted: a `warpbank.sim.runs.spec.Task`.

    Parameters
    ----------
    unit : of `warpbank.synth.units`, or `COLLECTORS`.
    scheme, preset, overrides : the machine.
    """

    unit: str
    scheme: str
    preset: str
    overrides: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Label for a progress line."""
        return " ".join(("RTL of", self.unit, self.scheme, *self.overrides))

    def check(self) -> None:
        """Raise WarpbankError for a machine that there is not."""
        self.machine()

    def machine(self) -> tuple[SmConfig, Scheme]:
        """Configuration, as the scheme changes it, and scheme."""
        scheme = exp.find_scheme(self.scheme)
        return scheme.machine(exp.find_config(self.preset, None, list(self.overrides))), scheme

    @property
    def recorded(self) -> str:
        """Name under which synthesis would record the unit; "": it records none."""
        return parse_scheme(self.scheme).units.collector.exported if self.unit == COLLECTORS else self.unit

    def key(self) -> str:
        """Key of unit, scheme, machine, sources."""
        config, scheme = self.machine()
        return store.key(
            "rtl",
            self.unit,
            scheme.name,
            config_hash(config),
            store.code_digest(*_SOURCES),
            *filter(None, [extensions.digest()]),
        )

    def compute(self) -> dict[str, Any]:
        """Counts of the unit's RTL (`warpbank.studies.explore.counts.counts`)."""
        from warpbank.hdl.registry import COLLECTORS as MADE
        from warpbank.studies.explore.counts import counts
        from warpbank.synth import netlist, units

        config, scheme = self.machine()
        if self.unit == COLLECTORS:
            component = MADE.make(scheme.collector, config, False)
        else:
            component = units.make(self.unit, config, scheme)
        return counts(netlist.to_rtlil(component, self.unit))


@dataclass(frozen=True)
class Part:
    """Part of a point's register file.

    Parameters
    ----------
    name : for people.
    rtl : what is there.
    instead : what the baseline has in its place, to be taken off; None: nothing.
    """

    name: str
    rtl: Rtl
    instead: Rtl | None = None

    @property
    def tasks(self) -> tuple[Rtl, ...]:
        """RTL that must be counted."""
        return (self.rtl,) if self.instead is None else (self.rtl, self.instead)


def parts(point: Point, space: Space) -> list[Part]:
    """Parts of a point's register file, of one sub-core."""
    return list(_parts(point, space))


def _parts(point: Point, space: Space) -> Iterator[Part]:
    rows = {room: name and _first(room, name) for room, name in point.rows.items()}
    units = parse_scheme(point.scheme).units
    common = (*space.overrides, *_of(point, space.vary))

    def rtl(unit: str, row: str, *fields: str) -> Rtl:
        own = tuple(text for text in _of(point, fields) if text not in common)
        return Rtl(unit, row or BASELINE.name, space.preset, (*common, *own))

    yield Part("collectors", rtl(COLLECTORS, rows["collector"], *units.collector.tried))
    yield Part("banks and network", rtl(REGISTERS, rows["collector"], *units.collector.tried))
    for room in ROOMS:
        if room != "collector" and rows[room]:
            added = rtl(REGISTERS, rows[room], *getattr(units, room).tried)
            yield Part(getattr(units, room).name, added, rtl(REGISTERS, ""))
    scheduler = UNITS["scheduler"][space.setting(point).scheduler]
    if scheduler.exported:
        yield Part("scheduler", rtl(scheduler.exported, "", *units.hierarchy.tried))


def _first(room: str, name: str) -> str:
    """First row that puts the unit of a row into its room, with collectors for each warp or not: rows that
    differ in what the compiler does are one circuit."""
    row = SCHEMES[name]
    circuit = [(getattr(row, other), row.private_collectors) for other in ROOMS]
    return next(
        other.name
        for other in SCHEMES.values()
        if room_of(other) == room
        and [(getattr(other, each), other.private_collectors) for each in ROOMS] == circuit
    )


def _of(point: Point, fields: Any) -> tuple[str, ...]:
    """Overrides of a point that are about these fields."""
    return tuple(text for text in point.overrides if text.partition("=")[0] in fields)
