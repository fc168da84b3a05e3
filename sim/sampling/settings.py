"""Settings of a sample."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Settings of the selection; one set for all kernels.

    Parameters
    ----------
    radius : mean distance of launches or CTA waves from the one that stands for them, as the sum of absolute
        differences of their shares.
    most : clusters of launches, and of the waves of a launch, at most.
    wave_instructions : warp instructions that a wave has at least; where the CTAs that run at a time have
        fewer, a wave is a multiple of them.
    run_in : waves at the beginning of a launch that fill pipelines and caches and stand for themselves alone.
    share : of the waves of a cluster that are simulated, at least `least` of them.
    least : waves.
    seed : of k-means.
    """

    radius: float = 0.1
    most: int = 24
    wave_instructions: int = 4096
    run_in: int = 2
    share: float = 0.05
    least: int = 2
    seed: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


#: What `warpbank run --sample` uses, for every kernel.
DEFAULTS = Settings()
