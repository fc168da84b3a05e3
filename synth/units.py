"""Exportable units, one by one: name, component, and the configuration it takes. A new unit is one row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.ccu import Ccu, LruCcu
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
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.gto import Gto
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers
from warpbank.hdl.front_end.issue import InFlight, Status
from warpbank.hdl.front_end.lrr import Lrr
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.front_end.sthld import Sthld
from warpbank.hdl.front_end.two_level import TwoLevel
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.engine import Engine
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.places import Places
from warpbank.hdl.hierarchy.rfc import Departing, Rfc
from warpbank.hdl.hierarchy.sw_rfc import SwRfc
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.interfaces import UNITS as EXECUTION_UNITS
from warpbank.hdl.lfsr import Lfsr
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.mapping.availability import Availability
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.flag_cache import FlagCache
from warpbank.hdl.mapping.operand_lookup import OperandLookup
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import RenamingTable
from warpbank.hdl.registry import build_registers
from warpbank.hdl.sm import Sm
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.compressor import Compressor
from warpbank.hdl.storage.decompress_moves import DecompressMoves
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.hdl.storage.scalar_rf import ScalarRf
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


def _private(config: SmConfig) -> SmConfig:
    """The machine with a collector per warp, which some schemes need."""
    return parse_scheme("bow").machine(config)


def _with_flags(config: SmConfig) -> SmConfig:
    """The machine with release flags, which renaming needs."""
    core = config.sub_core
    return replace(config, sub_core=replace(core, mapping=replace(core.mapping, release_flags="on")))


def _boc_arbiter(config: SmConfig, probe: bool) -> Arbiter:
    return Arbiter(config, Boc.entries(config), Boc.tags(config), probe)


def _availability(config: SmConfig) -> Availability:
    core = config.sub_core
    return Availability(core.warp_registers, core.mapping.policy, core.subarray_registers)


UNITS: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Unit("sm", Sm, Sm),
        Unit("sub_core", SubCore, SubCore),
        Unit(
            "instruction_buffers",
            InstructionBuffers,
            lambda config, _, probe: InstructionBuffers(config, probe),
        ),
        Unit("scoreboard", Scoreboard, lambda config, *_: Scoreboard(config, Ocu.entries(config))),
        Unit("status", Status, lambda config, _, probe: Status(config, probe)),
        Unit("in_flight", InFlight, lambda config, *_: InFlight(config)),
        Unit("lrr", Lrr, lambda config, *_: Lrr(config.sub_core.warps)),
        Unit("gto", Gto, lambda config, *_: Gto(config.sub_core.warps)),
        Unit("barriers", Barriers, lambda config, _, probe: Barriers(config, probe=probe)),
        Unit("boc", Boc, lambda config, _, probe: Boc(_private(config), probe)),
        Unit(
            "boc_write_through",
            Boc,
            lambda config, _, probe: Boc(_private(config), probe, write_through=True),
        ),
        Unit("inserter", Inserter, lambda config, *_: Inserter(config)),
        Unit("ccu", Ccu, lambda config, _, probe: Ccu(config, probe)),
        Unit("ccu_lru", LruCcu, lambda config, _, probe: LruCcu(config, probe)),
        Unit("sthld", Sthld, lambda config, _, probe: Sthld(config, probe)),
        Unit("lfsr", Lfsr, lambda config, *_: Lfsr(config.sub_core.collector.seed)),
        Unit("cache_aware", CacheAware, lambda config, *_: CacheAware(config.sub_core.warps)),
        Unit("two_level", TwoLevel, lambda config, _, probe: TwoLevel(config, probe)),
        Unit("ocu", Ocu, lambda config, _, probe: Ocu(config, probe)),
        Unit("arbiter", Arbiter, lambda config, _, probe: Arbiter(config, probe=probe)),
        Unit("boc_arbiter", Arbiter, lambda config, _, probe: _boc_arbiter(_private(config), probe)),
        Unit("registers", Flat, build_registers),
        Unit("ltrf", Ltrf, lambda config, _, probe: build_registers(config, parse_scheme("ltrf"), probe)),
        Unit(
            "ltrf_plus",
            Ltrf,
            lambda config, _, probe: build_registers(config, parse_scheme("ltrf-plus"), probe),
        ),
        Unit("rfc", Rfc, lambda config, _, probe: build_registers(config, parse_scheme("rfc"), probe)),
        Unit(
            "sw_rfc", SwRfc, lambda config, _, probe: build_registers(config, parse_scheme("sw-rfc"), probe)
        ),
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
        Unit("engine", Engine, lambda config, *_: Engine(config)),
        Unit("direct", Direct, lambda config, *_: Direct(config, Ocu.collection(config), EXECUTION_UNITS)),
        Unit(
            "renaming",
            Renaming,
            lambda config, _, probe: Renaming(
                _with_flags(config), Ocu.collection(config), EXECUTION_UNITS, probe=probe
            ),
        ),
        Unit("renaming_table", RenamingTable, lambda config, *_: RenamingTable(config, EXECUTION_UNITS)),
        Unit(
            "renaming_table_1k", RenamingTable, lambda config, *_: RenamingTable(config, EXECUTION_UNITS, 16)
        ),
        Unit("availability", Availability, lambda config, *_: _availability(config)),
        Unit("operand_lookup", OperandLookup, lambda config, *_: OperandLookup(config, Ocu.entries(config))),
        Unit("release", Release, lambda config, *_: Release(config, Ocu.entries(config))),
        Unit("exempt", Exempt, lambda config, *_: Exempt(config, MAX_SOURCES + EXECUTION_UNITS)),
        Unit("deadlock_reserve", DeadlockReserve, lambda config, *_: DeadlockReserve(config)),
        Unit("flag_cache", FlagCache, lambda config, *_: FlagCache(config.sub_core.warps)),
        Unit("banks", Banks, lambda config, *_: Banks(config)),
        Unit("gscalar", GScalar, lambda config, _, probe: GScalar(config, probe)),
        Unit("bdi_banks", BdiBanks, lambda config, _, probe: BdiBanks(config, probe)),
        Unit("scalar_rf", ScalarRf, lambda config, _, probe: ScalarRf(config, probe)),
        Unit(
            "scalar_registers",
            Flat,
            lambda config, _, probe: build_registers(config, parse_scheme("scalar-rf"), probe),
        ),
        Unit(
            "decompress_moves",
            DecompressMoves,
            lambda config, _, probe: DecompressMoves(config, config.sub_core.banks, probe),
        ),
        Unit("scalar_lanes", ScalarLanes, lambda config, _, probe: ScalarLanes(config, 1, probe=probe)),
        Unit("compressor", Compressor, lambda config, *_: Compressor(config)),
        Unit("compressor_half", Compressor, lambda config, *_: Compressor(config, min(2, config.lanes))),
        Unit("decompressor", Decompressor, lambda config, *_: Decompressor(config)),
        Unit(
            "decompressor_half", Decompressor, lambda config, *_: Decompressor(config, min(2, config.lanes))
        ),
        Unit("bdi_compressor", BdiCompressor, lambda config, *_: BdiCompressor(config)),
        Unit("bdi_decompressor", BdiDecompressor, lambda config, *_: BdiDecompressor(config)),
        Unit("pipelines", Pipelines, lambda config, _, probe: Pipelines(config, probe)),
        Unit("result_arbiter", ResultArbiter, lambda config, _, probe: ResultArbiter(config, probe=probe)),
        Unit("lsu", Lsu, lambda config, _, probe: Lsu(config, probe=probe)),
        Unit("l1_tags", Tags, lambda config, *_: Tags(config.l1.sets, config.l1.ways, clearable=True)),
        Unit("mshrs", Mshrs, lambda config, *_: Mshrs(config.l1.mshrs, config.l1.merges, config.lsu.pending)),
        Unit("memory", Memory, lambda config, _, probe: Memory(config, probe=probe)),
        Unit("cta_dispatch", CtaDispatch, lambda config, _, probe: CtaDispatch(config, probe=probe)),
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
