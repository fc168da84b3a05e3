"""Registry of the RTL: which component stands in which room, by the names that `warpbank.arch.schemes` uses.
A new unit is one line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from amaranth.hdl import Signal
from amaranth.lib import stream

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.ccu import Ccu, LruCcu
from warpbank.hdl.collector.ocu import Ocu
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.gto import Gto
from warpbank.hdl.front_end.lrr import Lrr
from warpbank.hdl.front_end.two_level import TwoLevel
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.ports import Hierarchy
from warpbank.hdl.hierarchy.rfc import Rfc
from warpbank.hdl.hierarchy.sw_rfc import SwRfc
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Collection,
    DeliveryInterface,
    ReadDoneInterface,
    ResultOfferInterface,
    SchedulerInterface,
    WriteBackInterface,
)
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.hdl.storage.scalar_rf import ScalarRf
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


#: Makes a unit; what a name stands for beyond a class is an argument.
Factory = Callable[..., Any]

COLLECTORS: dict[str, Factory] = {
    "ocu": Ocu,
    "boc_write_through": partial(Boc, write_through=True),
    "boc": Boc,
    "ccu": Ccu,
    "ccu_lru": LruCcu,
}
HIERARCHIES: dict[str, Factory] = {
    "flat": Flat,
    "ltrf": Ltrf,
    "ltrf_plus": partial(Ltrf, liveness=True),
    "rfc": Rfc,
    "sw_rfc": SwRfc,
}
MAPPINGS: dict[str, Factory] = {"direct": Direct, "renaming": Renaming}
STORAGES: dict[str, Factory] = {
    "plain": Banks,
    "gscalar": GScalar,
    "gscalar_half": partial(GScalar, parts=2),
    "bdi": BdiBanks,
    "scalar_rf": ScalarRf,
}
SCHEDULERS: dict[str, Factory] = {
    "lrr": lambda config, _: Lrr(config.sub_core.warps),
    "gto": lambda config, _: Gto(config.sub_core.warps),
    "cache_aware": lambda config, _: CacheAware(config.sub_core.warps),
    "two_level": TwoLevel,
}


def _unit(room: str, units: dict[str, Factory], name: str) -> Factory:
    """What makes `name`. Raises ValueError if the RTL has none of that name."""
    if name not in units:
        raise ValueError(f"The RTL has no {room} named {name!r}; it has {', '.join(units)}.")
    return units[name]


def _class(make: Factory) -> tuple[Any, dict[str, Any]]:
    """The class that a factory makes, and the arguments it gives it."""
    return (make.func, make.keywords) if isinstance(make, partial) else (make, {})


def build_registers(config: SmConfig, scheme: Scheme, probe: bool) -> Hierarchy:
    """The register file of one sub-core below its collectors: a hierarchy over a main register file, which
    joins a mapping and a storage."""
    kind, arguments = _class(_unit("collector", COLLECTORS, scheme.collector))
    collection: Collection = kind.collection(config, **arguments)
    hierarchy = _unit("hierarchy", HIERARCHIES, scheme.hierarchy)
    unit = _class(hierarchy)[0]
    needs = unit.main_needs
    cached, operands = needs["cached"], needs["operands"]
    moved = unit.moved(config) if cached else (0, 0)
    storage = _unit("storage", STORAGES, scheme.storage)(
        config, probe, TABLE_BANKS if probe and config.takes_flags else 0, cached
    )
    mapping = _unit("mapping", MAPPINGS, scheme.mapping)(
        config, collection, collection.writers + moved[0], MAX_SOURCES if operands else 0, probe, moved
    )
    main = MainRegisterFile(config, mapping, storage, collection, operands, cached, probe, moved)
    registers: Hierarchy = hierarchy(config, main, collection, probe=probe)
    return registers


def build_collectors(config: SmConfig, scheme: Scheme, parts: int, probe: bool) -> Collectors:
    """The collectors of one sub-core. Those that keep values keep their metadata beside them; `parts`: of a
    register, as the storage compresses them."""
    collectors: Collectors = _unit("collector", COLLECTORS, scheme.collector)(config, probe, parts)
    return collectors


def build_scheduler(config: SmConfig, scheme: Scheme, probe: bool) -> SchedulerInterface:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    name = scheme.scheduler if policy == "scheme" else policy
    scheduler: SchedulerInterface = _unit("scheduler", SCHEDULERS, name)(config, probe)
    return scheduler
