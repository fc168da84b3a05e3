"""Units that schemes put into the rooms of a register file, by name: a row says what makes the unit, in model
and RTL, and all that anybody else may ask about it.

Only the rows know units by name. Who has to treat a unit in a way of its own asks the row for a property.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from warpbank.arch.errors import SchemeError

#: The rooms a scheme chooses, in the order of the documentation.
ROOMS = ("collector", "hierarchy", "mapping", "storage", "scheduler")
#: Makes a unit.
Factory = Callable[..., Any]


@dataclass(frozen=True)
class Size:
    """Conditions under which a unit's area, delay and energy are recorded.

    Parameters
    ----------
    preset : machine of the unit's paper.
    clock : period in ns that the unit is mapped for.
    quick : the unit is so large that it is mapped once, the quick way.
    kernel : kernel whose activity the energy is of; "": no energy is recorded.
    overrides : fields of the machine that differ from the preset's, as `warpbank.arch.overrides` has them.
    """

    preset: str
    clock: float = 1.0
    quick: bool = False
    kernel: str = ""
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """Unit inside a unit, with a recorded area of its own.

    Parameters
    ----------
    name : in `warpbank.synth.units`.
    size : None: on the machine of the whole unit, at 1 ns.
    shown : comparisons of schemes show its area beside that of the whole unit.
    """

    name: str
    size: Size | None = None
    shown: bool = False


@dataclass(frozen=True, kw_only=True)
class RoomUnit:
    """Unit that can stand in a room.

    Parameters
    ----------
    name : as schemes name it.
    golden : what makes the model's unit, as `module:name`, or the class itself. `warpbank.golden.registry`
        says what it is called with.
    hdl : the RTL's component, alike; "": there is none.
    arguments : passed to both by name.
    exported : name in `warpbank.synth.units`; "": the unit is not exported by itself.
    size : conditions of its recorded area; None: none is recorded.
    parts : units inside with recorded areas.
    priced_as : other unit of the room for whose accesses energy tables have rows that hold for this one, too.
    tried : main parameters, as dotted paths of the configuration, and the values that `warpbank explore`
        tries beside the machine's own.
    """

    room: ClassVar[str]

    name: str
    golden: str | Factory
    hdl: str | Factory = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    exported: str = ""
    size: Size | None = None
    parts: tuple[Part, ...] = ()
    priced_as: str = ""
    tried: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)

    @property
    def priced(self) -> set[str]:
        """Names under which energy tables have rows for the unit."""
        return {self.name, self.priced_as} - {""}


@dataclass(frozen=True, kw_only=True)
class CollectorUnit(RoomUnit):
    """Operand collectors.

    Parameters
    ----------
    hits : a forwarded value was found in a cache table, not in a window of uops.
    adapts : the time that warps wait for a collector follows the IPC.
    """

    room = "collector"

    hits: bool = False
    adapts: bool = False


@dataclass(frozen=True, kw_only=True)
class HierarchyUnit(RoomUnit):
    """Register hierarchy.

    Parameters
    ----------
    active_only : it has room for the registers of active warps, so that it needs two-level scheduling.
    compiled : what it keeps follows from hints that are promises, not from events.
    """

    room = "hierarchy"

    active_only: bool = False
    compiled: bool = False


@dataclass(frozen=True, kw_only=True)
class MappingUnit(RoomUnit):
    """Register mapping.

    Parameters
    ----------
    renames : places of registers change while a warp runs, and its code has release flags.
    """

    room = "mapping"

    renames: bool = False


@dataclass(frozen=True, kw_only=True)
class StorageUnit(RoomUnit):
    """Register storage.

    Parameters
    ----------
    encodes : how a register is kept depends on its value.
    late : a result is there a cycle later than in plain banks.
    single_cycle : it is built for banks whose accesses take a cycle.
    arrays : arrays of a bank that stand side by side, and lanes that each holds.
    whole : name of the exported register file, from collectors to banks, with this storage; "": there is
        none.
    """

    room = "storage"

    encodes: bool = False
    late: bool = False
    single_cycle: bool = False
    arrays: tuple[int, int] = (1, 4)
    whole: str = ""


@dataclass(frozen=True, kw_only=True)
class SchedulerUnit(RoomUnit):
    """Warp scheduler.

    Parameters
    ----------
    extends : policy that it follows as long as no collector holds values of a warp; "": it is a policy of its
        own.
    two_levels : only `sub_core.active_warps` warps of a sub-core issue; the others wait to become active.
    """

    room = "scheduler"

    extends: str = ""
    two_levels: bool = False


#: Units by room, then name.
UNITS: dict[str, dict[str, RoomUnit]] = {room: {} for room in ROOMS}


def register_unit(unit: RoomUnit) -> RoomUnit:
    """Enter a unit into the registry and return it. Raises SchemeError if its room has one of that name."""
    if unit.name in UNITS[unit.room]:
        raise SchemeError(f"A {unit.room} named {unit.name!r} is registered already.")
    UNITS[unit.room][unit.name] = unit
    return unit


class Factories(dict[str, Any]):
    """Factories of a room's units, by name, in model or RTL. A unit is imported when it is asked for; what
    is entered here by hand goes before its row.

    Parameters
    ----------
    room : of `ROOMS`.
    side : `golden` or `hdl`.
    called : what messages call the side.
    """

    def __init__(self, room: str, side: str, called: str) -> None:
        super().__init__()
        self._room, self._side, self._called = room, side, called

    def __missing__(self, name: str) -> Any:
        units = UNITS[self._room]
        where: str | Factory = getattr(units[name], self._side) if name in units else ""
        if not where:
            known = [each for each, unit in units.items() if getattr(unit, self._side)]
            raise ValueError(f"{self._called} has no {self._room} {name!r}; it has {', '.join(known)}.")
        if not isinstance(where, str):
            return where
        module, _, member = where.partition(":")
        return getattr(import_module(module), member)

    def make(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Make the unit `name` with these arguments and those of its row."""
        return self[name](*arguments, **named, **self.arguments(name))

    def arguments(self, name: str) -> Mapping[str, Any]:
        """Arguments that the row of the unit `name` gives."""
        unit = UNITS[self._room].get(name)
        return unit.arguments if unit is not None else {}


for _scheduler in (
    SchedulerUnit(
        name="lrr",
        golden="warpbank.golden.front_end.lrr:lrr",
        hdl="warpbank.hdl.front_end.lrr:lrr",
        exported="lrr",
        size=Size("turing"),
    ),
    SchedulerUnit(
        name="gto",
        golden="warpbank.golden.front_end.gto:gto",
        hdl="warpbank.hdl.front_end.gto:gto",
        exported="gto",
        size=Size("turing"),
    ),
    SchedulerUnit(
        name="cache_aware",
        golden="warpbank.golden.front_end.cache_aware:cache_aware",
        hdl="warpbank.hdl.front_end.cache_aware:cache_aware",
        exported="cache_aware",
        size=Size("turing"),
        extends="gto",
    ),
    SchedulerUnit(
        name="two_level",
        golden="warpbank.golden.front_end.two_level:TwoLevel",
        hdl="warpbank.hdl.front_end.two_level:TwoLevel",
        exported="two_level",
        size=Size("maxwell"),
        two_levels=True,
    ),
):
    register_unit(_scheduler)
