"""Sweeps, many runs at once: machines x schemes x kernels, and one Parquet file (docs/sweep.md)."""

from warpbank.studies.sweep.description import Sweep, read_sweep
from warpbank.studies.sweep.run import failures, sweep
from warpbank.studies.sweep.table import write

__all__ = ["Sweep", "failures", "read_sweep", "sweep", "write"]
