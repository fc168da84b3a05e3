"""The golden main register file for benches of units that stand over it, given its mapping and storage by
name."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.registry import MAPPINGS, STORAGES


def golden_main(
    config: SmConfig,
    probe: Probe,
    mapping: str = "direct",
    storage: str = "plain",
    pending: Callable[[int], int] = lambda warp: 0,
) -> MainRegisterFile:
    """A main register file; `pending` gives the mask of a warp's registers that are still to be written."""
    return MainRegisterFile(
        config,
        MAPPINGS.make(mapping, config.sub_core, probe),
        STORAGES.make(storage, config, probe),
        pending,
        probe,
    )
