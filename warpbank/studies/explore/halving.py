"""Successive halving: all points run on a few kernels, the best share of them on more, until those left have
run on all.

The rungs are synchronous: a point is judged when every point of its rung has run. Pruners that judge each
point as it ends, those of Optuna among them, take one aim only, and what they keep depends on the order in
which runs end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from warpbank.arch.errors import ArgumentError


@dataclass(frozen=True)
class Rung:
    """Rung: the kernels that a point has run on when it is judged, and the share of points that go on."""

    kernels: tuple[str, ...]
    share: float

    def survivors(self, points: int) -> int:
        """Number of points that go on, of so many."""
        return max(1, math.ceil(points * self.share))


def rungs(kernels: Sequence[str], factor: int) -> list[Rung]:
    """Rungs of an exploration, the last of which has all kernels.

    Parameters
    ----------
    kernels : in the order in which they are taken.
    factor : by which kernels grow and points shrink from rung to rung; 1: one rung, nothing is left out.

    Raises ArgumentError for a factor below 1.
    """
    if factor < 1:
        raise ArgumentError(f"--factor takes a whole number from 1, not {factor}")
    if factor == 1:
        return [Rung(tuple(kernels), 1.0)]
    counts = [len(kernels)]
    while counts[0] > 2:
        counts.insert(0, math.ceil(counts[0] / factor))
    return [Rung(tuple(kernels[:count]), 1 / factor) for count in counts]
