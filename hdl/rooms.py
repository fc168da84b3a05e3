"""Which component stands in which room: the names that `arch.schemes` uses. A new unit is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from arch.rooms import SmConfig
from arch.schemes import Scheme

from .collector.arbiter import Arbiter, ScalarArbiter
from .collector.boc import Boc, WriteThroughBoc
from .collector.ccu import Ccu, LruCcu
from .collector.ocu import Ocu
from .front_end.cache_aware import CacheAware
from .front_end.gto import Gto
from .front_end.lrr import Lrr
from .front_end.two_level import TwoLevel
from .hierarchy.compressed import Compressed
from .hierarchy.compressed_ltrf import CompressedLtrf, CompressedLtrfPlus
from .hierarchy.flat import Flat
from .hierarchy.ltrf import Ltrf, LtrfPlus
from .hierarchy.renamed import RenamedFlat
from .hierarchy.renamed_compressed import RenamedCompressed
from .hierarchy.renamed_compressed_ltrf import RenamedCompressedLtrf, RenamedCompressedLtrfPlus
from .hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus
from .hierarchy.rfc import Rfc
from .hierarchy.scalar_file import ScalarFile
from .hierarchy.sw_rfc import SwRfc
from .mapping.cache_renaming import CacheRenaming
from .mapping.direct import Direct
from .mapping.renaming import Renaming
from .seams import UNITS
from .storage.banks import Banks
from .storage.bdi_banks import BdiBanks
from .storage.gscalar import GScalar, GScalarHalf
from .storage.poison import POISONED
from .storage.scalar_rf import ScalarRf

COLLECTORS: dict[str, Callable[..., Any]] = {
    "ocu": Ocu, "boc_write_through": WriteThroughBoc, "boc": Boc, "ccu": Ccu, "ccu_lru": LruCcu,
}
#: The flat hierarchy, by what it stands on: a mapping that renames, a storage that compresses.
FLAT: dict[tuple[bool, bool], Any] = {
    (False, False): Flat, (True, False): RenamedFlat, (False, True): Compressed, (True, True): RenamedCompressed,
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
    "plain": Banks, "gscalar": GScalar, "gscalar_half": GScalarHalf, "bdi": BdiBanks, "scalar_rf": ScalarRf,
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
    renames, compresses, cached = scheme.mapping == "renaming", issubclass(kind, COMPRESSING), scheme.hierarchy != "flat"
    found = CACHES[renames, compresses] if cached else {"flat": FLAT[renames, compresses]}
    hierarchy = _unit("hierarchy", found, scheme.hierarchy)
    told = {"told": True} if compresses and cached else {}
    storage = (POISONED[kind] if probe and renames else kind)(config, probe, **told)
    tags, entries = collectors.tags(config), collectors.entries(config)
    evicts = collectors.evicts
    place: Any = CacheRenaming if renames and cached else _unit("mapping", MAPPINGS, scheme.mapping)
    mapping = (place(config, entries, UNITS + evicts + cached, tags, probe) if renames
               else place(config, hierarchy.ports(config, evicts)))
    if hierarchy.follows:
        return hierarchy(config, mapping, storage, entries, tags, evicts, probe)
    if isinstance(storage, ScalarRf):
        return ScalarFile(config, mapping, storage, ScalarArbiter(config, entries, tags, probe), tags, evicts, probe)
    return hierarchy(config, mapping, storage, Arbiter(config, entries, tags, probe), tags, evicts, probe)


def build_collectors(config: SmConfig, scheme: Scheme, probe: bool) -> wiring.Component:
    """The collectors of one sub-core. Those that keep values keep the storage's notes beside them."""
    collectors, storage = _unit("collector", COLLECTORS, scheme.collector), _unit("storage", STORAGES, scheme.storage)
    if collectors.caches and issubclass(storage, COMPRESSING):
        return collectors(config, probe, storage.parts)
    return collectors(config, probe)


def build_scheduler(config: SmConfig, scheme: Scheme, probe: bool) -> wiring.Component:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    return _unit("scheduler", SCHEDULERS, scheme.scheduler if policy == "scheme" else policy)(config, probe)
