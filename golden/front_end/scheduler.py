"""Warp scheduler interface, and the registry of policies. Each policy is a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.front_end.cache_aware import CacheAware
from warpbank.golden.front_end.gto import Gto
from warpbank.golden.front_end.lrr import Lrr
from warpbank.golden.front_end.two_level import TwoLevel
from warpbank.golden.probe import Probe


class Scheduler(Protocol):
    """Warp scheduler: picks the warp that issues."""

    def start(self, warp: int) -> None:
        """Make the new warp of this slot the youngest."""

    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue among the mask `eligible` (not 0); it does issue in this cycle. `holds`:
        mask of the warps that have values in a collector."""


#: Policy -> what makes it.
SCHEDULERS: dict[str, Callable[[SubCoreConfig, Probe], Scheduler]] = {
    "lrr": lambda config, _: Lrr(config.warps),
    "gto": lambda config, _: Gto(config.warps),
    "cache_aware": lambda config, _: CacheAware(config.warps),
    "two_level": TwoLevel,
}
