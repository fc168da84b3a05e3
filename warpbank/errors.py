"""Errors that a user of Warpbank can meet: one hierarchy under `WarpbankError`.

The text of an error is one paragraph that names what is wrong, where, and what would be right; the command
line prints it and ends with `exit_code`. Errors about a wrong value are `ValueError`, too.
"""

from __future__ import annotations

from warpbank.arch.errors import (
    ArgumentError,
    ConfigError,
    MissingPackageError,
    OutputError,
    SchemeError,
    WarpbankError,
)
from warpbank.golden.errors import OperandMismatch
from warpbank.native.errors import ModelError
from warpbank.program.errors import (
    CacheError,
    CompileError,
    ExecutionError,
    KernelError,
    LaunchError,
    PtxError,
    TraceError,
)
from warpbank.sim.errors import CheckpointError, ClusterError, EngineError, ExtensionError, ToolError
from warpbank.studies.errors import SweepError
from warpbank.synth.errors import BoardError, EnergyError, LibertyError, MapperError, NetlistError, YosysError

__all__ = [
    "ArgumentError",
    "BoardError",
    "CacheError",
    "CheckpointError",
    "ClusterError",
    "CompileError",
    "ConfigError",
    "EnergyError",
    "EngineError",
    "ExecutionError",
    "ExtensionError",
    "KernelError",
    "LaunchError",
    "LibertyError",
    "MapperError",
    "MissingPackageError",
    "ModelError",
    "NetlistError",
    "OperandMismatch",
    "OutputError",
    "PtxError",
    "SchemeError",
    "SweepError",
    "ToolError",
    "TraceError",
    "WarpbankError",
    "YosysError",
]
