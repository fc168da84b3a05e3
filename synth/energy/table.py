"""Energy tables: what one event of a structure costs, and what the structure leaks, each row with where it
comes from.

A table is a TOML file in this folder. docs/energy.md documents its keys.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from warpbank.arch import toml
from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import BASELINE, Scheme
from warpbank.arch.units import ROOMS, UNITS
from warpbank.program.toml_table import Table
from warpbank.synth.errors import EnergyError

_KIB = 1024
#: What a row may be charged per: amount of it on a machine, after the scheme's own changes to it.
AMOUNTS = {
    "sm": lambda config: 1.0,
    "bank": lambda config: float(config.sub_cores * config.sub_core.banks),
    "bank_kib": lambda config: config.register_file_bytes / _KIB,
    "collector": lambda config: float(config.sub_cores * config.sub_core.collectors),
    "window_kib": lambda config: _window_bytes(config) / _KIB,
    "cache_kib": lambda config: _cache_bytes(config) / _KIB,
    "warp": lambda config: float(config.sub_cores * config.sub_core.warps),
    "crossbar_side": lambda config: float(config.sub_core.collectors + config.sub_core.banks),
}
#: Bounds of the numbers of a table; within them the energy of a run is finite.
_LEAST, _MOST = 1e-12, 1e12
#: The table on which all schemes are compared.
COMMON = "common"
#: Rooms whose units a table prices. Schedulers hold no registers.
PRICED_ROOMS = tuple(room for room in ROOMS if room != "scheduler")


def _window_bytes(config: SmConfig) -> int:
    """Bytes of all bypassing operand collectors."""
    core = config.sub_core
    return config.sub_cores * core.collectors * core.collector.window_entries * config.value_width // 8


def _cache_bytes(config: SmConfig) -> int:
    """Bytes of the register file caches."""
    core = config.sub_core
    return config.sub_cores * core.cache.registers * core.active_warps * config.value_width // 8


@dataclass(frozen=True)
class _Row:
    """What both kinds of rows have: structure, node in nm, tool and source, and the room whose unit must be
    one of `units`."""

    structure: str
    node_nm: int
    tool: str
    source: str
    room: str = ""
    units: tuple[str, ...] = ()

    def used(self, scheme: Scheme) -> bool:
        """Whether the scheme has what the row is about."""
        return not self.room or not getattr(scheme.units, self.room).priced.isdisjoint(self.units)


@dataclass(frozen=True)
class EventRow(_Row):
    """Event row of a table: `picojoules` for each event that one of `counters` counts, those that one of
    `less` counts taken off, on a machine that has `amount` of `per` (a key of `AMOUNTS`); in proportion on
    others. Without `per`, on every machine; with `hierarchies`, only over one of these units."""

    counters: tuple[str, ...] = ()
    picojoules: float = 0.0
    per: str = ""
    amount: float = 1.0
    less: tuple[str, ...] = ()
    hierarchies: tuple[str, ...] = ()

    def used(self, scheme: Scheme) -> bool:
        """Whether the scheme has what the row is about, over a hierarchy that it is for."""
        below = not self.hierarchies or not scheme.units.hierarchy.priced.isdisjoint(self.hierarchies)
        return below and super().used(scheme)

    def price(self, config: SmConfig) -> float:
        """Energy of an event on this machine in pJ."""
        return self.picojoules * (AMOUNTS[self.per](config) / self.amount if self.per else 1.0)


@dataclass(frozen=True)
class LeakageRow(_Row):
    """Leakage row of a table: `milliwatts` for every `amount` of `per` (a key of `AMOUNTS`)."""

    milliwatts: float = 0.0
    per: str = "sm"
    amount: float = 1.0


@dataclass(frozen=True)
class FreeRow:
    """Free row of a table: events that cost nothing here, and why."""

    reason: str
    events: tuple[str, ...]


@dataclass(frozen=True)
class EnergyTable:
    """Energy table: name, what it is, clock in MHz that turns cycles into time, rows, and what is left out on
    purpose."""

    name: str
    title: str
    clock_mhz: float
    events: tuple[EventRow, ...]
    leakage: tuple[LeakageRow, ...]
    free: tuple[FreeRow, ...] = ()

    def priced(self, scheme: Scheme) -> set[str]:
        """Events (`warpbank.arch.events.EVENTS`) of which rows for this scheme count something."""
        counted = {counter for row in self.events if row.used(scheme) for counter in row.counters}
        found = {COUNTERS[name].event for name in counted if name in COUNTERS}
        return found | {COUNTERS[name].also for name in counted if name in COUNTERS} - {""}

    def covers(self, scheme: Scheme) -> bool:
        """Whether every unit that the scheme puts in the place of the baseline's has rows of its own."""
        named = {(row.room, unit) for row in (*self.events, *self.leakage) for unit in row.units}
        units = [unit for unit in scheme.units if unit.room in PRICED_ROOMS]
        return all(
            any((unit.room, name) in named for name in unit.priced)
            for unit in units
            if unit.name != getattr(BASELINE, unit.room)
        )


def tables() -> list[str]:
    """Names of the tables that come with this package."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in files(__package__).iterdir()
        if entry.name.endswith(".toml")
    )


def own_tables(scheme: Scheme) -> list[str]:
    """Names of the papers' tables that were printed for the scheme: those that price all that it adds to the
    baseline."""
    if all(getattr(scheme, room) == getattr(BASELINE, room) for room in PRICED_ROOMS):
        return []
    return [name for name in tables() if name != COMMON and table(name).covers(scheme)]


def table(name: str) -> EnergyTable:
    """Table of that name, or the user's own in a .toml file. Raises EnergyError that says what is wrong
    with it."""
    if name.endswith(".toml"):
        return read_table(Path(name))
    if name not in tables():
        raise EnergyError(unknown("energy table", name, tables()))
    return _shipped(name)


@cache
def _shipped(name: str) -> EnergyTable:
    return parse_table(name, (files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


def read_table(path: Path) -> EnergyTable:
    """A table from a file. Raises EnergyError that says what is wrong with it."""
    try:
        return parse_table(path.stem, path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise EnergyError(f"cannot read the energy table {path}: {error}") from None


def parse_table(name: str, text: str, file: str = "") -> EnergyTable:
    """A table from its TOML text. Raises EnergyError that names file, row and key."""
    file = file or f"{name}.toml"
    try:
        top = Table(file, "", toml.loads(text), EnergyError)
    except tomllib.TOMLDecodeError as error:
        raise EnergyError(f"{file} is not TOML: {error}") from None
    title = top.take("title", (str,), required=True)
    clock = _number(top, "clock_mhz", positive=True)
    events = tuple(
        _event(top.child(f"event[{place}]", row)) for place, row in enumerate(top.take("event", (list,), []))
    )
    leakage = tuple(
        _leakage(top.child(f"leakage[{place}]", row))
        for place, row in enumerate(top.take("leakage", (list,), []))
    )
    free = tuple(
        _free(top.child(f"free[{place}]", row)) for place, row in enumerate(top.take("free", (list,), []))
    )
    top.done()
    if not events:
        top.fail("event", "a table has at least one row [[event]]")
    return EnergyTable(name, title, clock, events, leakage, free)


def _number(table: Table, key: str, *, positive: bool = False) -> float:
    value = table.take(key, (int, float), required=True)
    if not _LEAST <= value <= _MOST and (positive or value != 0):
        zero = "" if positive else "zero or "
        table.fail(key, f"must be {zero}a number from {_LEAST:g} to {_MOST:g}, and is {value}")
    return float(value)


def _common(row: Table) -> tuple[str, int, str, str, str, tuple[str, ...]]:
    """The keys of `_Row`."""
    structure, node = row.take("structure", (str,), required=True), row.take("node_nm", (int,), required=True)
    tool, source = row.take("tool", (str,), required=True), row.take("source", (str,), required=True)
    if node < 1:
        row.fail("node_nm", f"must be the node in nanometres, at least 1, and is {node}")
    for key, value in (("structure", structure), ("tool", tool), ("source", source)):
        if not value.strip():
            row.fail(key, "must not be empty")
    room, units = row.take("room", (str,), ""), _texts(row, "units")
    if room and room not in ROOMS:
        row.fail("room", f"there is no room {room!r}; the rooms are {', '.join(ROOMS)}")
    if bool(room) != bool(units):
        row.fail(
            "",
            "has one of the keys 'room' and 'units'; the row of a scheme's own unit needs both, any other "
            "row neither",
        )
    _check_units(row, "units", room, units)
    return structure, node, tool, source, room, units


def _check_units(row: Table, key: str, room: str, units: tuple[str, ...]) -> None:
    """Refuse names that no unit of the room is priced under."""
    known = {name for unit in UNITS.get(room, {}).values() for name in unit.priced}
    for unit in units:
        if unit not in known:
            row.fail(key, f"{unknown(f'unit of {room}', unit, sorted(known))} --load registers your own.")


def _texts(row: Table, key: str) -> tuple[str, ...]:
    values = row.take(key, (list,), [])
    if not all(isinstance(value, str) for value in values):
        row.fail(key, f"must be a list of strings, not {values!r}")
    return tuple(values)


def _event(row: Table) -> EventRow:
    common = _common(row)
    counters, less, picojoules = _texts(row, "counters"), _texts(row, "less"), _number(row, "picojoules")
    hierarchies = _texts(row, "hierarchies")
    per, amount = _per(row, required=False)
    row.done()
    _check_units(row, "hierarchies", "hierarchy", hierarchies)
    if not counters:
        row.fail("counters", "a row names at least one counter")
    if not common[4]:  # the counters of a unit come with the unit
        for key, names in (("counters", counters), ("less", less)):
            for counter in names:
                if counter not in COUNTERS:
                    row.fail(key, unknown("counter", counter, COUNTERS))
    return EventRow(
        *common,
        counters=counters,
        picojoules=picojoules,
        per=per,
        amount=amount,
        less=less,
        hierarchies=hierarchies,
    )


def _leakage(row: Table) -> LeakageRow:
    common = _common(row)
    milliwatts = _number(row, "milliwatts")
    per, amount = _per(row, required=True)
    row.done()
    return LeakageRow(*common, milliwatts=milliwatts, per=per, amount=amount)


def _per(row: Table, *, required: bool) -> tuple[str, float]:
    """Amount of the machine that a row's price is for: the keys `per` and `amount`."""
    per = row.take("per", (str,), None if required else "", required=required)
    if per not in AMOUNTS and (per or required):
        row.fail("per", f"there is no amount {per!r}; a row may be charged per {', '.join(AMOUNTS)}")
    if row.take("amount", (int, float)) is None:
        return per, 1.0
    if not per:
        row.fail("amount", "is an amount of 'per', which the row does not have")
    return per, _number(row, "amount", positive=True)


def _free(row: Table) -> FreeRow:
    reason, events = row.take("reason", (str,), required=True), _texts(row, "events")
    row.done()
    if not reason.strip():
        row.fail("reason", "must not be empty")
    for event in events:
        if event not in EVENTS:
            row.fail("events", unknown("event", event, EVENTS))
    return FreeRow(reason, events)
