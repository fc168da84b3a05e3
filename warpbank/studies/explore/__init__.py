"""Exploration of a machine's design space: every legal combination and its main parameters, the best of which
are measured more closely (docs/explore.md)."""

from warpbank.studies.explore.result import Exploration
from warpbank.studies.explore.run import DEFAULT_KERNELS, FACTOR, MOST_SEED, SAMPLES, explore

__all__ = ["DEFAULT_KERNELS", "FACTOR", "MOST_SEED", "SAMPLES", "Exploration", "explore"]
