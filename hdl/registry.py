"""Registry of the RTL: which component stands in which room, by the names that `warpbank.arch.schemes` uses.
A new unit is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.hdl.collector.boc import Boc, WriteThroughBoc
from warpbank.hdl.collector.ccu import Ccu, LruCcu
from warpbank.hdl.collector.ocu import Ocu
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.gto import Gto
from warpbank.hdl.front_end.lrr import Lrr
from warpbank.hdl.front_end.two_level import TwoLevel
from warpbank.hdl.hierarchy.compressed import Compressed
from warpbank.hdl.hierarchy.compressed_ltrf import CompressedLtrf, CompressedLtrfPlus
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.ltrf import Ltrf, LtrfPlus
from warpbank.hdl.hierarchy.renamed import RenamedFlat
from warpbank.hdl.hierarchy.renamed_compressed import RenamedCompressed
from warpbank.hdl.hierarchy.renamed_compressed_ltrf import RenamedCompressedLtrf, RenamedCompressedLtrfPlus
from warpbank.hdl.hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus
from warpbank.hdl.hierarchy.rfc import Rfc
from warpbank.hdl.hierarchy.scalar_file import ScalarFile
from warpbank.hdl.hierarchy.sw_rfc import SwRfc
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.main.arbiter import Arbiter, ScalarArbiter
from warpbank.hdl.main.poison import POISONED
from warpbank.hdl.mapping.cache_renaming import CacheRenaming
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar, GScalarHalf
from warpbank.hdl.storage.scalar_rf import ScalarRf

COLLECTORS: dict[str, Callable[..., Any]] = {
    "ocu": Ocu,
    "boc_write_through": WriteThroughBoc,
    "boc": Boc,
    "ccu": Ccu,
    "ccu_lru": LruCcu,
}
#: The flat hierarchy, by what it stands on: a mapping that renames, a storage that compresses.
FLAT: dict[tuple[bool, bool], Any] = {
    (False, False): Flat,
    (True, False): RenamedFlat,
    (False, True): Compressed,
    (True, True): RenamedCompressed,
}
#: The caches, by the same.
CACHES: dict[tuple[bool, bool], dict[str, Any]] = {
    (False, False): {"ltrf": Ltrf, "ltrf_plus": LtrfPlus, "rfc": Rfc, "sw_rfc": SwRfc},
    (True, False): {"ltrf": RenamedLtrf, "ltrf_plus": RenamedLtrfPlus},
    (False, True): {"ltrf": CompressedLtrf, "ltrf_plus": CompressedLtrfPlus},
    (True, True): {"ltrf": RenamedCompressedLtrf, "ltrf_plus": RenamedCompressedLtrfPlus},
}
MAPPINGS: dict[str, Callable[..., Any]] = {"direct": Direct, "renaming": Renaming}
STORAGES: dict[str, Callable[..., Any]] = {
    "plain": Banks,
    "gscalar": GScalar,
    "gscalar_half": GScalarHalf,
    "bdi": BdiBanks,
    "scalar_rf": ScalarRf,
}
#: Storages that compress.
COMPRESSING = (GScalar, BdiBanks)
SCHEDULERS: dict[str, Callable[[SmConfig, bool], wiring.Component]] = {
    "lrr": lambda config, _: Lrr(config.sub_core.warps),
    "gto": lambda config, _: Gto(config.sub_core.warps),
    "cache_aware": lambda config, _: CacheAware(config.sub_core.warps),
    "two_level": TwoLevel,
}


def _unit(room: str, units: dict[str, Callable[..., Any]], name: str) -> Any:
    """The class of `name`. Raises ValueError if the RTL has none of that name."""
    if name not in units:
        raise ValueError(f"The RTL has no {room} named {name!r}; it has {', '.join(units)}.")
    return units[name]


def build_registers(config: SmConfig, scheme: Scheme, probe: bool) -> wiring.Component:
    """The register file of one sub-core below its collectors."""
    collectors = _unit("collector", COLLECTORS, scheme.collector)
    kind = _unit("storage", STORAGES, scheme.storage)
    renames, compresses, cached = (
        scheme.mapping == "renaming",
        issubclass(kind, COMPRESSING),
        scheme.hierarchy != "flat",
    )
    found = CACHES[renames, compresses] if cached else {"flat": FLAT[renames, compresses]}
    hierarchy = _unit("hierarchy", found, scheme.hierarchy)
    told = {"told": True} if compresses and cached else {}
    storage = (POISONED[kind] if probe and renames else kind)(config, probe, **told)
    tags, entries = collectors.tags(config), collectors.entries(config)
    evicts = collectors.evicts
    place: Any = CacheRenaming if renames and cached else _unit("mapping", MAPPINGS, scheme.mapping)
    mapping = (
        place(config, entries, UNITS + evicts + cached, tags, probe)
        if renames
        else place(config, hierarchy.ports(config, evicts))
    )
    if hierarchy.follows:
        return hierarchy(config, mapping, storage, entries, tags, evicts, probe)
    if isinstance(storage, ScalarRf):
        return ScalarFile(
            config, mapping, storage, ScalarArbiter(config, entries, tags, probe), tags, evicts, probe
        )
    return hierarchy(config, mapping, storage, Arbiter(config, entries, tags, probe), tags, evicts, probe)


def build_collectors(config: SmConfig, scheme: Scheme, probe: bool) -> wiring.Component:
    """The collectors of one sub-core. Those that keep values keep the storage's notes beside them."""
    collectors, storage = (
        _unit("collector", COLLECTORS, scheme.collector),
        _unit("storage", STORAGES, scheme.storage),
    )
    if collectors.caches and issubclass(storage, COMPRESSING):
        return collectors(config, probe, storage.parts)
    return collectors(config, probe)


def build_scheduler(config: SmConfig, scheme: Scheme, probe: bool) -> wiring.Component:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    return _unit("scheduler", SCHEDULERS, scheme.scheduler if policy == "scheme" else policy)(config, probe)
