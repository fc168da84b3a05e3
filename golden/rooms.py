"""Which class stands in which room: the names that `arch.schemes` uses. A new unit is one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arch.rooms import SmConfig
from arch.schemes import Scheme

from .collector.arbiter import Arbiter, ScalarArbiter
from .collector.boc import Boc, WriteThroughBoc
from .collector.ccu import Ccu, LruCcu
from .collector.ocu import Ocu
from .front_end.scheduler import SCHEDULERS, Scheduler
from .front_end.scoreboard import Scoreboard
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
from .probe import Probe
from .seams import Collector, Hierarchy
from .storage.banks import Banks
from .storage.bdi_banks import BdiBanks
from .storage.gscalar import GScalar, GScalarHalf
from .storage.scalar_rf import ScalarRf

COLLECTORS = {"ocu": Ocu, "boc_write_through": WriteThroughBoc, "boc": Boc, "ccu": Ccu, "ccu_lru": LruCcu}
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
MAPPINGS: dict[str, Any] = {"direct": Direct, "renaming": Renaming}
STORAGES = {"plain": Banks, "gscalar": GScalar, "gscalar_half": GScalarHalf, "bdi": BdiBanks, "scalar_rf": ScalarRf}


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
            config, mapping, storage, Arbiter(core.banks, probe), probe)
        if isinstance(flat, Compressed):
            flat.pending = scoreboard.pending
        return flat
    caches = CACHES[renames, isinstance(storage, (GScalar, BdiBanks))]
    registers: Hierarchy = _unit("hierarchy", caches, scheme.hierarchy)(config, mapping, storage, scoreboard.quiet, probe)
    if isinstance(registers, CompressedLtrf):
        registers.pending = scoreboard.pending
    return registers


def build_collectors(config: SmConfig, scheme: Scheme, registers: Hierarchy, read: Callable[[int, int], None],
                     probe: Probe) -> Collector:
    """The collectors of one sub-core; they call `read` with (warp, register) for every operand that no longer hinders a write."""
    collectors: Collector = _unit("collector", COLLECTORS, scheme.collector)(config, registers, read, probe)
    return collectors


def build_scheduler(config: SmConfig, scheme: Scheme, probe: Probe) -> Scheduler:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    name = scheme.scheduler if policy == "scheme" else policy
    scheduler: Scheduler = _unit("scheduler", SCHEDULERS, name)(config.sub_core, probe)
    return scheduler
