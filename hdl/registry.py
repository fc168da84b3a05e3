"""Registry of the RTL: makes what stands in each room. The rows of `warpbank.arch.units` say which component
a unit is; what is entered in a dictionary here goes before the row of that name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from amaranth.hdl import Signal, Value
from amaranth.lib import stream

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.units import ROOMS, Factories
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.front_end.ports import SchedulerInterface
from warpbank.hdl.hierarchy.ports import Hierarchy
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    DeliveryInterface,
    ReadDoneInterface,
    ResultOfferInterface,
    WriteBackInterface,
)
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.typed import Interface, Record


class Collectors(Interface, Protocol):
    """Collectors of a sub-core, whichever they are: the ports that `warpbank.hdl.collector` describes."""

    issue: AlwaysInterface
    entry: Signal
    may_issue: Signal
    may_slide: Signal
    slide: Signal
    start: Signal
    holds: Signal
    ready: Signal
    idle: Signal
    sthld: Signal
    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    read_done: list[ReadDoneInterface]
    dispatch: list[stream.Interface]
    refused: Signal
    operands: list[list[Signal]]
    offered: list[Signal]
    kept: list[list[Record]]
    result: list[ResultOfferInterface]
    evicted: list[stream.Interface]
    first: Signal
    keep: list[WriteBackInterface]

    def tags(self, config: SmConfig) -> int:
        """Uops that one collector can have in collection at a time."""

    def place_width(self, config: SmConfig) -> int:
        """Bits of the number of a place in a collector."""

    def shown(self, unit: int, slot: int) -> tuple[Value, Value]:
        """When the collector of a unit's uop shows the operand of a source slot, and the operand."""

    def dispatched(self, context: Any, collector: int) -> list[int]:
        """Operands of the uop that leaves a collector in this cycle, for a testbench."""


#: What is called to make a unit:
#:
#: - a collector with the machine, `probe`, the parts in which the storage compresses a register, and whether
#:   its requests of operands carry hints; its class has `collection`, called with the machine;
#: - a hierarchy with the machine, the main register file, the collection, and `probe`; its class has
#:   `main_needs`, arguments of the main register file, and `moved`, called with the machine: registers that
#:   are located in a cycle because they move, and those that may be on their way per bank;
#: - a mapping with the machine, the collection, the ports that locate a register, the operands that are
#:   located in a cycle, `probe`, and what `moved` says;
#: - a storage with the machine, `probe`, the registers that may be released in a cycle, and whether a cache
#:   tells it what metadata to keep;
#: - a scheduler with the machine and `probe`;
#:
#: and with the arguments of the unit's row, by name (`collection`, too).
COLLECTORS, HIERARCHIES, MAPPINGS, STORAGES, SCHEDULERS = (
    Factories(room, "hdl", "The RTL") for room in ROOMS
)


def build_registers(config: SmConfig, scheme: Scheme, probe: bool) -> Hierarchy:
    """Register file of one sub-core below its collectors: a hierarchy over a main register file, which joins
    a mapping and a storage."""
    collection: Collection = COLLECTORS[scheme.collector].collection(
        config, **COLLECTORS.arguments(scheme.collector)
    )
    hierarchy = HIERARCHIES[scheme.hierarchy]
    collection = replace(collection, hinted=hierarchy.hinted)
    cached, operands = hierarchy.main_needs["cached"], hierarchy.main_needs["operands"]
    moved = hierarchy.moved(config) if cached else (0, 0)
    freed = TABLE_BANKS if probe and config.takes_flags else 0
    storage = STORAGES.make(scheme.storage, config, probe, freed, cached and not operands)
    mapping = MAPPINGS.make(
        scheme.mapping,
        config,
        collection,
        collection.writers + moved[0],
        MAX_SOURCES if operands else 0,
        probe,
        moved,
    )
    main = MainRegisterFile(config, mapping, storage, collection, operands, cached, probe, moved)
    registers: Hierarchy = HIERARCHIES.make(scheme.hierarchy, config, main, collection, probe=probe)
    return registers


def build_collectors(config: SmConfig, scheme: Scheme, registers: Hierarchy, probe: bool) -> Collectors:
    """Collectors of one sub-core, over these registers. Those that keep values keep their metadata beside
    them."""
    hinted = registers.collection.hinted
    collectors: Collectors = COLLECTORS.make(scheme.collector, config, probe, registers.parts, hinted)
    return collectors


def build_scheduler(config: SmConfig, scheme: Scheme, probe: bool) -> SchedulerInterface:
    """Warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    name = scheme.scheduler if policy == "scheme" else policy
    scheduler: SchedulerInterface = SCHEDULERS.make(name, config, probe)
    return scheduler
