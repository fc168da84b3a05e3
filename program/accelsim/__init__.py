"""Traces of NVIDIA GPUs in Accel-Sim's format (`.traceg`) as traces of ours, without values, and traces of
ours in that format. docs/accelsim.md."""

from warpbank.program.accelsim.build import read_accelsim
from warpbank.program.accelsim.export import Exported, write_accelsim
from warpbank.program.accelsim.lines import OnRead

__all__ = ["Exported", "OnRead", "read_accelsim", "write_accelsim"]
