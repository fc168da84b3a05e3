"""Traces of NVIDIA GPUs in Accel-Sim's format (`.traceg`) as traces of ours, without values.
docs/accelsim.md."""

from warpbank.program.accelsim.build import read_accelsim
from warpbank.program.accelsim.lines import OnRead

__all__ = ["OnRead", "read_accelsim"]
