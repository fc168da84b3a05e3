"""Errors of simulation: engines, tools, clusters, extensions."""

from __future__ import annotations

from warpbank.arch.errors import WarpbankError


class EngineError(WarpbankError):
    """An engine that is unknown, is not installed, or cannot run what it was asked to run."""


class ToolError(WarpbankError):
    """A program that turns RTL into a simulator is missing or failed: Yosys, Verilator, the C++ compiler."""


class CheckpointError(WarpbankError):
    """A checkpoint that is damaged, may be somebody else's, or belongs to another experiment."""


class ClusterError(WarpbankError):
    """A dask cluster that does not answer, or does nothing with its tasks."""


class ExtensionError(WarpbankError):
    """Python of the user's that registers units or schemes cannot be loaded."""
