"""Many runs at once: machines x schemes x kernels, and one Parquet file (docs/sweep.md)."""

from warpbank.sim.sweep.description import Sweep, read_sweep
from warpbank.sim.sweep.run import sweep
from warpbank.sim.sweep.table import write

__all__ = ["Sweep", "read_sweep", "sweep", "write"]
