"""What a warp scheduler is, and the registry of policies. Each policy is a file of its own."""

from __future__ import annotations

from typing import Protocol

from .cache_aware import CacheAware
from .gto import Gto
from .lrr import Lrr


class Scheduler(Protocol):
    """Chooses the warp that issues."""

    def __init__(self, warps: int) -> None: ...

    def start(self, warp: int) -> None:
        """A warp slot receives a new warp, the youngest."""

    def pick(self, eligible: int, holds: int = 0) -> int:
        """The warp to issue among those of the mask `eligible` (not 0); it does issue in this cycle. `holds`: mask of the warps
        that have values in a collector."""


SCHEDULERS: dict[str, type[Scheduler]] = {"lrr": Lrr, "gto": Gto, "cache_aware": CacheAware}
