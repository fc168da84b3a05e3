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
from .hierarchy.compressed import Compressed
from .hierarchy.flat import Flat
from .hierarchy.ltrf import Ltrf, LtrfPlus
from .hierarchy.renamed import RenamedFlat
from .hierarchy.rfc import Rfc
from .hierarchy.scalar_file import ScalarFile
from .hierarchy.sw_rfc import SwRfc
from .mapping.direct import Direct
from .mapping.renaming import Renaming
from .probe import Probe
from .seams import Collector, Hierarchy
from .storage.banks import Banks
from .storage.bdi_banks import BdiBanks
from .storage.gscalar import GScalar, GScalarHalf
from .storage.scalar_rf import ScalarRf

COLLECTORS = {"ocu": Ocu, "boc_write_through": WriteThroughBoc, "boc": Boc, "ccu": Ccu, "ccu_lru": LruCcu}
CACHES: dict[str, Any] = {"ltrf": Ltrf, "ltrf_plus": LtrfPlus, "rfc": Rfc, "sw_rfc": SwRfc}
MAPPINGS: dict[str, Any] = {"direct": Direct, "renaming": Renaming}
STORAGES = {"plain": Banks, "gscalar": GScalar, "gscalar_half": GScalarHalf, "bdi": BdiBanks, "scalar_rf": ScalarRf}


def _unit(room: str, units: dict[str, Any], name: str) -> Any:
    """The class called `name`; ValueError if the model has none."""
    if name not in units:
        raise ValueError(f"The golden model has no {room} {name!r}; it has {', '.join(units)}.")
    return units[name]


def build_registers(config: SmConfig, scheme: Scheme, quiet: Callable[[int], bool], probe: Probe) -> Hierarchy:
    """The register file of one sub-core below its collectors; `quiet` tells of a warp whether all its operands have been read."""
    core = config.sub_core
    place = _unit("mapping", MAPPINGS, scheme.mapping)
    mapping = place(core, probe) if place is Renaming else place(core)
    storage = _unit("storage", STORAGES, scheme.storage)(core, config.lanes)
    if scheme.hierarchy == "flat":
        flat = RenamedFlat if isinstance(mapping, Renaming) else Flat
        return flat(config, mapping, storage, Arbiter(core.banks, probe), probe)
    if scheme.hierarchy == "compressed":
        return Compressed(config, mapping, storage, Arbiter(core.banks, probe), probe)
    if scheme.hierarchy == "scalar_file":
        return ScalarFile(config, mapping, storage, ScalarArbiter(core.banks, probe), probe)
    registers: Hierarchy = _unit("hierarchy", CACHES, scheme.hierarchy)(config, mapping, storage, quiet, probe)
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
