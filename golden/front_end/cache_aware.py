"""Cache-aware scheduler: greedy, then warps with cached values, then the oldest warp."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.front_end.gto import Gto
from warpbank.golden.probe import Probe


class CacheAware(Gto):
    """Cache-aware scheduler: picks the warp that issued last as long as it is eligible, then the oldest warp
    with values in a collector, then the oldest. Malekeh, section IV-B1. Age and the last to issue are as with
    `Gto`.

    Parameters
    ----------
    warps : warp slots.
    """

    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue; `holds`: mask of the warps that have values in a collector."""
        if eligible >> self._last & 1:
            return self._last
        return super().pick(eligible & holds or eligible)


def cache_aware(config: SubCoreConfig, probe: Probe) -> CacheAware:
    """Cache-aware scheduler of a sub-core, which reports nothing."""
    return CacheAware(config.warps)
