"""Registry of the model: makes what stands in each room. The rows of `warpbank.arch.units` say what makes a
unit; what is entered in a dictionary here goes before the row of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.units import ROOMS, Factories
from warpbank.golden.front_end.scheduler import Scheduler
from warpbank.golden.interfaces import Collector, Hierarchy, Mapping, Storage
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe

#: Called with a warp; what that says of it.
OfWarp = Callable[[int], Any]

#: What is called to make a unit:
#:
#: - a collector with the machine, the hierarchy, who hears of operands that no longer hinder a write, and the
#:   probe;
#: - a hierarchy with the machine, the main register file, who says whether all operands of a warp's issued
#:   uops have been read, and the probe;
#: - a mapping with the sub-core's configuration and the probe;
#: - a storage with the machine and the probe;
#: - a scheduler with the sub-core's configuration and the probe;
#:
#: and with the arguments of the unit's row, by name.
COLLECTORS, HIERARCHIES, MAPPINGS, STORAGES, SCHEDULERS = (
    Factories(room, "golden", "The golden model") for room in ROOMS
)


def build_main(config: SmConfig, scheme: Scheme, pending: OfWarp, probe: Probe) -> MainRegisterFile:
    """Main register file of one sub-core; `pending` gives the mask of a warp's registers that are still to be
    written."""
    mapping: Mapping = MAPPINGS.make(scheme.mapping, config.sub_core, probe)
    storage: Storage = STORAGES.make(scheme.storage, config, probe)
    return MainRegisterFile(config, mapping, storage, pending, probe)


def build_registers(
    config: SmConfig, scheme: Scheme, main: MainRegisterFile, quiet: OfWarp, probe: Probe
) -> Hierarchy:
    """Register file of one sub-core between its collectors and its main register file; `quiet` says whether
    all operands of a warp's issued uops have been read."""
    registers: Hierarchy = HIERARCHIES.make(scheme.hierarchy, config, main, quiet, probe)
    return registers


def build_collectors(
    config: SmConfig, scheme: Scheme, registers: Hierarchy, read: Callable[[int, int], None], probe: Probe
) -> Collector:
    """Collectors of one sub-core; they call `read` with (warp, register) for every operand that no longer
    hinders a write."""
    collectors: Collector = COLLECTORS.make(scheme.collector, config, registers, read, probe)
    return collectors


def build_scheduler(config: SmConfig, scheme: Scheme, probe: Probe) -> Scheduler:
    """Warp scheduler of one sub-core: the configuration's, or the one that the scheme names."""
    policy = config.sub_core.front_end.scheduler
    name = scheme.scheduler if policy == "scheme" else policy
    scheduler: Scheduler = SCHEDULERS.make(name, config.sub_core, probe)
    return scheduler
