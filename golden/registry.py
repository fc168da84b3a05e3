"""Registry of the model: which class stands in which room, by the names that `warpbank.arch.schemes` uses. A
new unit is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.collector.boc import Boc, WriteThroughBoc
from warpbank.golden.collector.ccu import Ccu, LruCcu
from warpbank.golden.collector.ocu import Ocu
from warpbank.golden.front_end.scheduler import SCHEDULERS, Scheduler
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.hierarchy.compressed import Compressed
from warpbank.golden.hierarchy.compressed_ltrf import CompressedLtrf, CompressedLtrfPlus
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.hierarchy.ltrf import Ltrf, LtrfPlus
from warpbank.golden.hierarchy.renamed import RenamedFlat
from warpbank.golden.hierarchy.renamed_compressed import RenamedCompressed
from warpbank.golden.hierarchy.renamed_compressed_ltrf import RenamedCompressedLtrf, RenamedCompressedLtrfPlus
from warpbank.golden.hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus
from warpbank.golden.hierarchy.rfc import Rfc
from warpbank.golden.hierarchy.scalar_file import ScalarFile
from warpbank.golden.hierarchy.sw_rfc import SwRfc
from warpbank.golden.interfaces import Collector, Hierarchy
from warpbank.golden.main.arbiter import Arbiter, ScalarArbiter
from warpbank.golden.mapping.cache_renaming import CacheRenaming
from warpbank.golden.mapping.direct import Direct
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.storage.banks import Banks
from warpbank.golden.storage.bdi_banks import BdiBanks
from warpbank.golden.storage.gscalar import GScalar, GScalarHalf
from warpbank.golden.storage.scalar_rf import ScalarRf

COLLECTORS = {"ocu": Ocu, "boc_write_through": WriteThroughBoc, "boc": Boc, "ccu": Ccu, "ccu_lru": LruCcu}
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
MAPPINGS: dict[str, Any] = {"direct": Direct, "renaming": Renaming}
STORAGES = {
    "plain": Banks,
    "gscalar": GScalar,
    "gscalar_half": GScalarHalf,
    "bdi": BdiBanks,
    "scalar_rf": ScalarRf,
}


def _unit(room: str, units: dict[str, Any], name: str) -> Any:
    """The class called `name`; ValueError if the model has none."""
    if name not in units:
        raise ValueError(f"The golden model has no {room} {name!r}; it has {', '.join(units)}.")
    return units[name]


def build_registers(config: SmConfig, scheme: Scheme, scoreboard: Scoreboard, probe: Probe) -> Hierarchy:
    """The register file of one sub-core below its collectors."""
    core = config.sub_core
    renames, cached = scheme.mapping == "renaming", scheme.hierarchy != "flat"
    place: Any = CacheRenaming if renames and cached else _unit("mapping", MAPPINGS, scheme.mapping)
    mapping = place(core, probe) if renames else place(core)
    storage = _unit("storage", STORAGES, scheme.storage)(core, config.lanes)
    if not cached:
        if isinstance(storage, ScalarRf):
            return ScalarFile(config, mapping, storage, ScalarArbiter(core.banks, probe), probe)
        flat: Hierarchy = FLAT[renames, isinstance(storage, (GScalar, BdiBanks))](
            config, mapping, storage, Arbiter(core.banks, probe), probe
        )
        if isinstance(flat, Compressed):
            flat.pending = scoreboard.pending
        return flat
    caches = CACHES[renames, isinstance(storage, (GScalar, BdiBanks))]
    registers: Hierarchy = _unit("hierarchy", caches, scheme.hierarchy)(
        config, mapping, storage, scoreboard.quiet, probe
    )
    if isinstance(registers, CompressedLtrf):
        registers.pending = scoreboard.pending
    return registers


def build_collectors(
    config: SmConfig, scheme: Scheme, registers: Hierarchy, read: Callable[[int, int], None], probe: Probe
) -> Collector:
    """The collectors of one sub-core; they call `read` with (warp, register) for every operand that no longer
    hinders a write."""
    collectors: Collector = _unit("collector", COLLECTORS, scheme.collector)(config, registers, read, probe)
    return collectors


def build_scheduler(config: SmConfig, scheme: Scheme, probe: Probe) -> Scheduler:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    name = scheme.scheduler if policy == "scheme" else policy
    scheduler: Scheduler = _unit("scheduler", SCHEDULERS, name)(config.sub_core, probe)
    return scheduler
