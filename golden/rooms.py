"""Which class stands in which room: the names that `arch.schemes` uses. A new unit is one line here."""

from __future__ import annotations

from arch.rooms import SmConfig
from arch.schemes import Scheme

from .collector.arbiter import Arbiter
from .collector.ocu import Ocu
from .front_end.scheduler import SCHEDULERS, Scheduler
from .hierarchy.flat import Flat
from .mapping.direct import Direct
from .probe import Probe
from .seams import Collector, Hierarchy
from .storage.banks import Banks

COLLECTORS = {"ocu": Ocu}
HIERARCHIES = {"flat": Flat}
MAPPINGS = {"direct": Direct}
STORAGES = {"plain": Banks}


def build_registers(config: SmConfig, scheme: Scheme, probe: Probe) -> Hierarchy:
    """The register file of one sub-core below its collectors."""
    core = config.sub_core
    mapping = MAPPINGS[scheme.mapping](core)
    storage = STORAGES[scheme.storage](core, config.lanes)
    return HIERARCHIES[scheme.hierarchy](mapping, storage, Arbiter(core.banks, probe), probe)


def build_collectors(config: SmConfig, scheme: Scheme, registers: Hierarchy, probe: Probe) -> Collector:
    """The collectors of one sub-core."""
    return COLLECTORS[scheme.collector](config.sub_core, registers, probe)


def build_scheduler(config: SmConfig, scheme: Scheme) -> Scheduler:
    """The warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    return SCHEDULERS[scheme.scheduler if policy == "scheme" else policy](config.sub_core.warps)
