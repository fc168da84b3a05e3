"""Exportable units, one by one: name, component, and how one is made from a configuration.

Those of the rooms follow from the registry (`warpbank.arch.units`); what stands in no room, or inside another
unit, is a row here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme, scheme_of
from warpbank.arch.units import ROOMS, RoomUnit, StorageUnit
from warpbank.arch.units import UNITS as ROOM_UNITS
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.ocu import Ocu
from warpbank.hdl.collector.window import Inserter
from warpbank.hdl.cta_dispatch import CtaDispatch
from warpbank.hdl.execute.l1 import Mshrs, Tags
from warpbank.hdl.execute.lsu import Lsu
from warpbank.hdl.execute.memory import Memory
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.execute.scalar import ScalarLanes
from warpbank.hdl.front_end.barrier import Barriers
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers
from warpbank.hdl.front_end.issue import InFlight, Status
from warpbank.hdl.front_end.issue_stage import IssueStage
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.front_end.sthld import Sthld
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.engine import Engine
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.places import Places
from warpbank.hdl.hierarchy.rfc import Departing
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.layouts import UNITS as EXECUTION_UNITS
from warpbank.hdl.lfsr import Lfsr
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.mapping.availability import Availability
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.flag_cache import FlagCache
from warpbank.hdl.mapping.operand_lookup import OperandLookup
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.table import RenamingTable
from warpbank.hdl.registry import COLLECTORS, HIERARCHIES, MAPPINGS, SCHEDULERS, STORAGES, build_registers
from warpbank.hdl.sm import Sm
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor
from warpbank.hdl.storage.compressor import BroadcastCompressor, Compressor
from warpbank.hdl.storage.decompress_moves import DecompressMoves
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.hdl.sub_core import SubCore
from warpbank.program.errors import WarpbankError

#: Makes a component from configuration, scheme and "with event ports".
Factory = Callable[[SmConfig, Scheme, bool], Any]


@dataclass(frozen=True)
class Unit:
    """Unit that can be exported: its name on the command line, its class, and how one is made."""

    name: str
    component: type
    make: Factory

    @property
    def what(self) -> str:
        """First line of the class's docstring."""
        return (inspect.getdoc(self.component) or "").partition("\n")[0].rstrip(".").partition(". ")[0]

    @property
    def source(self) -> str:
        """Source file, from the root of the repository."""
        return self.component.__module__.removeprefix("warpbank.").replace(".", "/") + ".py"

    def to_dict(self) -> dict[str, str]:
        """Result as plain dictionaries for JSON."""
        return {"name": self.name, "what": self.what, "source": self.source}


def _boc_arbiter(config: SmConfig, probe: bool) -> Arbiter:
    """Arbiter of collectors that have a window each, one per warp."""
    core = config.sub_core
    collector = replace(core.collector, allocation="per_warp")
    config = replace(config, sub_core=replace(core, collectors=core.warps, collector=collector))
    return Arbiter(config, Boc.entries(config), Boc.tags(config), probe)


def _availability(config: SmConfig) -> Availability:
    core = config.sub_core
    return Availability(core.warp_registers, core.mapping.policy, core.subarray_registers)


def _lfsr(config: SmConfig, *_: object) -> Lfsr:
    """Shift register of a caching collector unit."""
    return Lfsr(config.sub_core.collector.seed, config.sub_core.collector.cache_lines)


def _scalar_lanes(config: SmConfig, scheme: Scheme, probe: bool) -> ScalarLanes:
    """Scalar lanes of a scheme's storage; where none executes anything with one lane, those of G-Scalar."""
    executes = STORAGES[scheme.storage].executes
    if not executes:
        return ScalarLanes(config, 1, probe=probe)
    return ScalarLanes(config, STORAGES.arguments(scheme.storage).get("parts", 1), executes, probe)


#: Units that stand in no room, and those inside others.
_INSIDE = (
    Unit("sm", Sm, Sm),
    Unit("sub_core", SubCore, SubCore),
    Unit(
        "instruction_buffers", InstructionBuffers, lambda config, _, probe: InstructionBuffers(config, probe)
    ),
    Unit("scoreboard", Scoreboard, lambda config, *_: Scoreboard(config, Ocu.entries(config))),
    Unit("status", Status, lambda config, _, probe: Status(config, probe)),
    Unit("issue_stage", IssueStage, lambda config, *_: IssueStage(config.sub_core.warps)),
    Unit("in_flight", InFlight, lambda config, *_: InFlight(config)),
    Unit("barriers", Barriers, lambda config, _, probe: Barriers(config, probe=probe)),
    Unit("inserter", Inserter, lambda config, *_: Inserter(config)),
    Unit("sthld", Sthld, lambda config, _, probe: Sthld(config, probe)),
    Unit("lfsr", Lfsr, _lfsr),
    Unit("arbiter", Arbiter, lambda config, _, probe: Arbiter(config, probe=probe)),
    Unit("boc_arbiter", Arbiter, lambda config, _, probe: _boc_arbiter(config, probe)),
    Unit("registers", Flat, build_registers),
    Unit("tag_row", TagRow, lambda config, *_: TagRow(config)),
    Unit("departing", Departing, lambda config, *_: Departing(config)),
    Unit("warp_control_blocks", WarpControlBlocks, lambda config, *_: WarpControlBlocks(config, 2, True)),
    Unit(
        "address_allocation",
        AddressAllocation,
        lambda config, *_: AddressAllocation(config.sub_core.cache.registers),
    ),
    Unit(
        "places",
        Places,
        lambda config, *_: Places(config.sub_core.cache.registers, config.sub_core.transfers),
    ),
    Unit("engine", Engine, lambda config, *_: Engine(config, 0, 0)),
    Unit("renaming_table", RenamingTable, lambda config, *_: RenamingTable(config, EXECUTION_UNITS)),
    Unit("renaming_table_1k", RenamingTable, lambda config, *_: RenamingTable(config, EXECUTION_UNITS, 16)),
    Unit("availability", Availability, lambda config, *_: _availability(config)),
    Unit("operand_lookup", OperandLookup, lambda config, *_: OperandLookup(config)),
    Unit("release", Release, lambda config, *_: Release(config, Ocu.entries(config))),
    Unit("exempt", Exempt, lambda config, *_: Exempt(config, MAX_SOURCES + EXECUTION_UNITS)),
    Unit("deadlock_reserve", DeadlockReserve, lambda config, *_: DeadlockReserve(config)),
    Unit("flag_cache", FlagCache, lambda config, *_: FlagCache(config.sub_core.warps)),
    Unit(
        "decompress_moves",
        DecompressMoves,
        lambda config, _, probe: DecompressMoves(config, config.sub_core.banks, probe),
    ),
    Unit("scalar_lanes", ScalarLanes, _scalar_lanes),
    Unit("compressor", Compressor, lambda config, *_: Compressor(config)),
    Unit("compressor_broadcast", BroadcastCompressor, lambda config, *_: BroadcastCompressor(config)),
    Unit("compressor_half", Compressor, lambda config, *_: Compressor(config, min(2, config.lanes))),
    Unit("decompressor", Decompressor, lambda config, *_: Decompressor(config)),
    Unit("decompressor_half", Decompressor, lambda config, *_: Decompressor(config, min(2, config.lanes))),
    Unit("bdi_compressor", BdiCompressor, lambda config, *_: BdiCompressor(config)),
    Unit("bdi_decompressor", BdiDecompressor, lambda config, *_: BdiDecompressor(config)),
    Unit("pipelines", Pipelines, lambda config, _, probe: Pipelines(config, probe=probe)),
    Unit("result_arbiter", ResultArbiter, lambda config, _, probe: ResultArbiter(config, probe=probe)),
    Unit("lsu", Lsu, lambda config, _, probe: Lsu(config, probe=probe)),
    Unit(
        "l1_tags",
        Tags,
        lambda config, *_: Tags(config.l1.sets, config.l1.ways, config.l1.sectors, clearable=True),
    ),
    Unit(
        "mshrs",
        Mshrs,
        lambda config, *_: Mshrs(config.l1.mshrs, config.l1.merges, config.lsu.pending, config.l1.sectors),
    ),
    Unit("memory", Memory, lambda config, _, probe: Memory(config, probe=probe)),
    Unit("cta_dispatch", CtaDispatch, lambda config, _, probe: CtaDispatch(config, probe=probe)),
)


def _in_room(unit: RoomUnit) -> Iterator[Unit]:
    """Exported unit of a room, made as a register file makes it; of a storage, the register file as well."""
    scheme = scheme_of(unit)
    if isinstance(unit, StorageUnit) and unit.whole:
        yield Unit(unit.whole, HIERARCHIES[parse_scheme(scheme).hierarchy], _registers(scheme))
    if unit.exported and unit.size is not None and unit.hdl:
        yield Unit(unit.exported, *_BY_ROOM[unit.room](unit, scheme))


def _registers(scheme: str) -> Factory:
    """Register file of a scheme, of one sub-core."""
    return lambda config, _, probe: build_registers(config, parse_scheme(scheme), probe)


def _collector(unit: RoomUnit, scheme: str) -> tuple[type, Factory]:
    """Collectors of the scheme that is asked for, such as one per warp, if it has these or ones that are
    priced as these; else of `scheme`."""

    def make(config: SmConfig, given: Scheme, probe: bool) -> Any:
        room = given.units.collector
        if unit.name in (room.name, room.priced_as):
            return COLLECTORS.make(room.name, given.machine(config), probe)
        return COLLECTORS.make(unit.name, parse_scheme(scheme).machine(config), probe)

    return COLLECTORS[unit.name], make


def _hierarchy(unit: RoomUnit, scheme: str) -> tuple[type, Factory]:
    return HIERARCHIES[unit.name], _registers(scheme)


def _mapping(unit: RoomUnit, scheme: str) -> tuple[type, Factory]:
    """Mapping for the baseline's collectors."""

    def make(config: SmConfig, _: Scheme, probe: bool) -> Any:
        machine, collection = parse_scheme(scheme).machine(config), Ocu.collection(config)
        return MAPPINGS.make(unit.name, machine, collection, EXECUTION_UNITS, probe=probe)

    return MAPPINGS[unit.name], make


def _storage(unit: RoomUnit, scheme: str) -> tuple[type, Factory]:
    return STORAGES[unit.name], lambda config, _, probe: STORAGES.make(unit.name, config, probe)


def _scheduler(unit: RoomUnit, scheme: str) -> tuple[type, Factory]:
    """Scheduler, of the class that is made or that the function's annotation names."""
    factory = SCHEDULERS[unit.name]
    made = factory if isinstance(factory, type) else get_type_hints(factory)["return"]
    return made, lambda config, _, probe: SCHEDULERS.make(unit.name, config, probe)


#: How the units of each room are made: from a row and its scheme, the class and the factory.
_BY_ROOM = dict(zip(ROOMS, (_collector, _hierarchy, _mapping, _storage, _scheduler), strict=True))
#: Exportable units by name: those of the rooms in the order of the registry, then the others.
UNITS: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        *_INSIDE[:2],
        *(made for units in ROOM_UNITS.values() for unit in units.values() for made in _in_room(unit)),
        *_INSIDE[2:],
    )
}


def find(name: str) -> Unit:
    """Unit of that name. Raises WarpbankError for an unknown one."""
    if name not in UNITS:
        raise WarpbankError(unknown("unit", name, UNITS))
    return UNITS[name]


def make(name: str, config: SmConfig, scheme: Scheme, *, probe: bool = False) -> Any:
    """Component of that name. Raises WarpbankError for an unknown name or a configuration it cannot be built
    for."""
    unit = find(name)
    try:
        return unit.make(config, scheme, probe)
    except (ValueError, TypeError) as error:
        raise WarpbankError(f"unit {name} cannot be built for this configuration: {error}") from None
