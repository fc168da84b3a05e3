"""Comparison of schemes side by side on fixed kernels and machine, normalised to the baseline
(docs/compare.md)."""

from warpbank.studies.compare.run import DEFAULT_KERNELS, DEFAULT_SCHEMES, compare
from warpbank.studies.compare.table import Comparison

__all__ = ["DEFAULT_KERNELS", "DEFAULT_SCHEMES", "Comparison", "compare"]
