"""Registry of the model: what stands in which room, one dictionary a room, from the names that
`warpbank.arch.schemes` uses to what makes the unit. A new unit is one line here; what differs by a parameter
is another line, of one class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.arch.parameters import SmConfig, SubCoreConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.collector.boc import Boc
from warpbank.golden.collector.ccu import Ccu, LruCcu
from warpbank.golden.collector.ocu import Ocu
from warpbank.golden.front_end.cache_aware import CacheAware
from warpbank.golden.front_end.gto import Gto
from warpbank.golden.front_end.lrr import Lrr
from warpbank.golden.front_end.scheduler import Scheduler
from warpbank.golden.front_end.two_level import TwoLevel
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.hierarchy.ltrf import Ltrf
from warpbank.golden.hierarchy.rfc import Rfc
from warpbank.golden.hierarchy.sw_rfc import SwRfc
from warpbank.golden.interfaces import Collector, Hierarchy, Mapping, Storage
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.mapping.direct import Direct
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.storage.banks import Banks
from warpbank.golden.storage.bdi_banks import BdiBanks
from warpbank.golden.storage.coded import Coded
from warpbank.golden.storage.gscalar import GScalar
from warpbank.golden.storage.scalar_file import ScalarFile
from warpbank.golden.storage.scalar_rf import ScalarRf

#: Called with a warp; what that says of it.
OfWarp = Callable[[int], Any]

#: Collectors: of the machine, the hierarchy, who hears of operands that no longer hinder a write, the probe.
COLLECTORS: dict[str, Callable[[SmConfig, Hierarchy, Callable[[int, int], None], Probe], Collector]] = {
    "ocu": Ocu,
    "boc_write_through": lambda config, registers, read, probe: Boc(
        config, registers, read, probe, write_through=True
    ),
    "boc": Boc,
    "ccu": Ccu,
    "ccu_lru": LruCcu,
}
#: Hierarchies: of the machine, the main register file, who says whether all operands of a warp's issued uops
#: have been read, the probe.
HIERARCHIES: dict[str, Callable[[SmConfig, MainRegisterFile, OfWarp, Probe], Hierarchy]] = {
    "flat": lambda config, main, quiet, probe: Flat(main),
    "ltrf": Ltrf,
    "ltrf_plus": lambda config, main, quiet, probe: Ltrf(config, main, quiet, probe, liveness=True),
    "rfc": Rfc,
    "sw_rfc": SwRfc,
}
MAPPINGS: dict[str, Callable[[SubCoreConfig, Probe], Mapping]] = {"direct": Direct, "renaming": Renaming}
STORAGES: dict[str, Callable[[SmConfig, Probe], Storage]] = {
    "plain": lambda config, probe: Banks(config.sub_core, config.lanes),
    "gscalar": lambda config, probe: Coded(config, GScalar(config.sub_core, config.lanes), probe),
    "gscalar_half": lambda config, probe: Coded(config, GScalar(config.sub_core, config.lanes, 2), probe),
    "bdi": lambda config, probe: Coded(config, BdiBanks(config.sub_core, config.lanes), probe),
    "scalar_rf": lambda config, probe: ScalarFile(config, ScalarRf(config.sub_core, config.lanes), probe),
}
SCHEDULERS: dict[str, Callable[[SubCoreConfig, Probe], Scheduler]] = {
    "lrr": lambda config, probe: Lrr(config.warps),
    "gto": lambda config, probe: Gto(config.warps),
    "cache_aware": lambda config, probe: CacheAware(config.warps),
    "two_level": TwoLevel,
}


def _unit(room: str, units: dict[str, Any], name: str) -> Any:
    """What makes the unit called `name`; ValueError if the model has none."""
    if name not in units:
        raise ValueError(f"The golden model has no {room} {name!r}; it has {', '.join(units)}.")
    return units[name]


def build_main(config: SmConfig, scheme: Scheme, pending: OfWarp, probe: Probe) -> MainRegisterFile:
    """The main register file of one sub-core; `pending` gives the mask of a warp's registers that are still
    to be written."""
    mapping = _unit("mapping", MAPPINGS, scheme.mapping)(config.sub_core, probe)
    storage = _unit("storage", STORAGES, scheme.storage)(config, probe)
    return MainRegisterFile(config, mapping, storage, pending, probe)


def build_registers(
    config: SmConfig, scheme: Scheme, main: MainRegisterFile, quiet: OfWarp, probe: Probe
) -> Hierarchy:
    """The register file of one sub-core between its collectors and its main register file; `quiet` says
    whether all operands of a warp's issued uops have been read."""
    registers: Hierarchy = _unit("hierarchy", HIERARCHIES, scheme.hierarchy)(config, main, quiet, probe)
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
