"""Schemes side by side on the same kernels and machine, normalised to the baseline (docs/compare.md)."""

from warpbank.sim.compare.run import DEFAULT_KERNELS, DEFAULT_SCHEMES, compare
from warpbank.sim.compare.table import Comparison

__all__ = ["DEFAULT_KERNELS", "DEFAULT_SCHEMES", "Comparison", "compare"]
