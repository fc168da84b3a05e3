"""Registry of the schemes: what a row says, what a scheme is, how a scheme string is read, and the
baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from warpbank.arch.errors import SchemeError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.units import (
    ROOMS,
    UNITS,
    CollectorUnit,
    HierarchyUnit,
    MappingUnit,
    RoomUnit,
    SchedulerUnit,
    Size,
    StorageUnit,
    register_unit,
)

AnyUnit = TypeVar("AnyUnit", bound=RoomUnit)


@dataclass(frozen=True)
class Row:
    """Named change to the baseline.

    Parameters
    ----------
    name : as written in a scheme string; words are joined by `-`, since `+` joins schemes.
    collector, hierarchy, mapping, storage, scheduler : unit for that room; "" leaves the room to the other
        rows.
    private_collectors : every warp has a collector of its own, whatever the configuration says.
    hints : what the compiler must provide (`warpbank.program.hint_passes`).
    description : one line for `warpbank schemes`.
    paper : where it was published.
    units : units that no other row has brought; each stands in its room.
    representative : comparisons take the row if nobody names any: the best of its paper.
    """

    name: str
    description: str
    paper: str = ""
    collector: str = ""
    hierarchy: str = ""
    mapping: str = ""
    storage: str = ""
    scheduler: str = ""
    private_collectors: bool = False
    hints: tuple[str, ...] = ()
    units: tuple[RoomUnit, ...] = ()
    representative: bool = False

    def __post_init__(self) -> None:
        for unit in self.units:
            object.__setattr__(self, unit.room, unit.name)

    def to_dict(self) -> dict[str, Any]:
        """Return what the row changes, as JSON takes it: without the rows of its units."""
        names = ("name", "description", "paper", *ROOMS, "private_collectors", "hints")
        return {name: getattr(self, name) for name in names}


class Units(NamedTuple):
    """Units of a scheme, one per room."""

    collector: CollectorUnit
    hierarchy: HierarchyUnit
    mapping: MappingUnit
    storage: StorageUnit
    scheduler: SchedulerUnit


@dataclass(frozen=True)
class Scheme:
    """Register-file scheme: the unit in every room, and the other demands of its rows. `name` is the
    canonical scheme string."""

    name: str
    collector: str
    hierarchy: str
    mapping: str
    storage: str
    scheduler: str
    private_collectors: bool = False
    hints: tuple[str, ...] = ()

    @property
    def units(self) -> Units:
        """Rows of the units. A unit that is not registered has the properties of a plain one."""
        return Units(
            _unit(CollectorUnit, self.collector),
            _unit(HierarchyUnit, self.hierarchy),
            _unit(MappingUnit, self.mapping),
            _unit(StorageUnit, self.storage),
            _unit(SchedulerUnit, self.scheduler),
        )

    def scheduler_beside(self, policy: str) -> str:
        """Return the scheduler that the scheme runs under where `policy` is everybody's: `policy`, or the
        scheme's own if it extends that policy or the scheme works under no other."""
        units = self.units
        own = units.hierarchy.active_only or units.scheduler.extends == policy
        return self.scheduler if own else policy

    def machine(self, config: SmConfig) -> SmConfig:
        """Return the machine as the scheme changes it: one collector per warp, or release flags, where the
        scheme needs them. A machine that has been changed stays as it is.

        Raises
        ------
        SchemeError : the machine's scheduler, bank latency or lanes do not fit the scheme.
        """
        core, units = config.sub_core, self.units
        policy = core.front_end.scheduler
        if units.hierarchy.active_only and policy not in ("scheme", "two_level"):
            raise SchemeError(
                f"Scheme {self.name} needs the two_level scheduler, not {policy!r}: leave "
                "sub_core.front_end.scheduler at 'scheme'."
            )
        if units.storage.single_cycle and core.bank_latency != 100:
            raise SchemeError(
                f"Scheme {self.name} is built for banks of one cycle: leave sub_core.bank_latency at 100."
            )
        parts = units.storage.arguments.get("parts", 1)
        if config.lanes % parts:
            raise SchemeError(
                f"Scheme {self.name} compresses {parts} equal parts of a register, and a warp has "
                f"{config.lanes} lanes: set lanes to a multiple of {parts}."
            )
        if units.mapping.renames and not config.takes_flags:
            core = replace(core, mapping=replace(core.mapping, release_flags="on"))
            config = replace(config, sub_core=core)
        if not self.private_collectors or core.collector.allocation == "per_warp":
            return config
        collector = replace(core.collector, allocation="per_warp")
        return replace(config, sub_core=replace(core, collectors=core.warps, collector=collector))


def _unit(kind: type[AnyUnit], name: str) -> AnyUnit:
    """Row of a unit, of the kind that its room has."""
    found = UNITS[kind.room].get(name)
    return found if isinstance(found, kind) else kind(name=name, golden="")


#: A rule sees a scheme and returns "", or a sentence that says why it cannot work.
Rule = Callable[[Scheme], str]

SCHEMES: dict[str, Row] = {}
RULES: list[Rule] = []


def register_scheme(row: Row) -> Row:
    """Enter a row and its units into the registry and return it. Raises SchemeError if a name is taken or not
    a scheme name."""
    if not row.name or "+" in row.name or row.name != row.name.strip().lower():
        raise SchemeError(f"A scheme name is lower case without '+', not {row.name!r}.")
    if row.name in SCHEMES:
        raise SchemeError(f"A scheme named {row.name!r} is registered already.")
    for unit in row.units:
        register_unit(unit)
    SCHEMES[row.name] = row
    return row


def scheme_of(unit: RoomUnit) -> str:
    """Name of the scheme that a unit is for: of the row that brings it, else of the first row that has it."""
    for row in SCHEMES.values():
        if unit in row.units:
            return row.name
    return next((row.name for row in SCHEMES.values() if getattr(row, unit.room) == unit.name), BASELINE.name)


def first_scheme(wanted: Callable[[Scheme], bool]) -> str:
    """Name of the first row that makes a scheme of that kind. Raises SchemeError if there is none."""
    for name in SCHEMES:
        if wanted(parse_scheme(name)):
            return name
    raise SchemeError("No registered scheme is of that kind.")


BASELINE = register_scheme(
    Row(
        name="baseline",
        description="Operand collectors over single-ported banks; every operand is read from the banks.",
        paper="Malekeh, section II",
        scheduler="gto",
        units=(
            CollectorUnit(
                name="ocu",
                golden="warpbank.golden.collector.ocu:Ocu",
                hdl="warpbank.hdl.collector.ocu:Ocu",
                exported="ocu",
                size=Size("turing"),
                tried={"sub_core.collectors": (2, 4, 8)},
            ),
            HierarchyUnit(
                name="flat",
                golden="warpbank.golden.hierarchy.flat:flat",
                hdl="warpbank.hdl.hierarchy.flat:Flat",
            ),
            MappingUnit(
                name="direct",
                golden="warpbank.golden.mapping.direct:Direct",
                hdl="warpbank.hdl.mapping.direct:Direct",
                exported="direct",
                size=Size("turing"),
            ),
            StorageUnit(
                name="plain",
                golden="warpbank.golden.storage.banks:banks",
                hdl="warpbank.hdl.storage.banks:Banks",
                exported="banks",
                size=Size("turing"),
            ),
        ),
        representative=True,
    )
)


def _hints(rows: Sequence[Row], collector: str) -> tuple[str, ...]:
    """Hints that these rows ask of the compiler. Collectors that keep values keep them beyond the strand in
    which the compiler keeps them in the cache, so that it must know which results leave no lane behind."""
    hints = dict.fromkeys(hint for row in rows for hint in row.hints)
    if "cached" in hints and collector != BASELINE.collector:
        hints["fresh"] = None
    return tuple(hints)


def parse_scheme(text: str) -> Scheme:
    """Parse a scheme string: row names joined by `+`, each of which changes the baseline in its own rooms.

    Raises
    ------
    SchemeError : an unknown row (the known ones are listed), a row named twice, two rows that want different
        units in one room (schedulers excepted: the first row's is taken), or a combination that a rule
        refuses.
    """
    names = [part.strip() for part in text.split("+")]
    if not all(names):
        raise SchemeError(
            f"A scheme is one or more names joined by '+', not {text!r}. Known: {', '.join(SCHEMES)}."
        )
    for name in names:
        if name not in SCHEMES:
            raise SchemeError(unknown("scheme", name, SCHEMES))
    if len(set(names)) != len(names):
        raise SchemeError(f"Scheme {text!r} names a row twice.")
    rows = [SCHEMES[name] for name in names if name != BASELINE.name]
    chosen = {room: getattr(BASELINE, room) for room in ROOMS}
    chooser: dict[str, str] = {}
    for row in rows:
        for room in ROOMS:
            unit = getattr(row, room)
            if not unit or (room == "scheduler" and room in chooser):
                continue
            if room in chooser and chosen[room] != unit:
                raise SchemeError(
                    f"Scheme {text!r} cannot work: {chooser[room]} puts {chosen[room]!r} in the {room} "
                    f"room and {row.name} puts {unit!r} there, and a register file has one {room}."
                )
            chosen[room] = unit
            chooser[room] = row.name
    scheme = Scheme(
        name="+".join(row.name for row in rows) or BASELINE.name,
        private_collectors=any(row.private_collectors for row in rows),
        hints=_hints(rows, chosen["collector"]),
        **chosen,
    )
    for rule in RULES:
        reason = rule(scheme)
        if reason:
            raise SchemeError(f"Scheme {text!r} cannot work: {reason}")
    return scheme
