"""Warp scheduler interface. Each policy is a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod

from warpbank.golden.front_end.issue import Status
from warpbank.golden.interfaces import Hierarchy


class Scheduler(ABC):
    """Warp scheduler: picks the warp that issues.

    Attributes
    ----------
    active : mask of the warps that may issue; all of them unless the policy has two levels.
    """

    active = -1

    @abstractmethod
    def start(self, warp: int) -> None:
        """Make the new warp of this slot the youngest."""

    @abstractmethod
    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue among the mask `eligible` (not 0), in this cycle or, where an issue stage
        follows, in the next one. `holds`: mask of the warps that have values in a collector."""

    def activate(self, status: Status, lacking: int, registers: Hierarchy) -> tuple[int, int]:
        """Change `active` for the next cycle. `lacking`: warps that lack only physical registers. Returns the
        masks of the warps that become active and pending."""
        return 0, 0

    def activates(self, status: Status, lacking: int, registers: Hierarchy) -> bool:
        """Whether `activate` would change anything."""
        return False
