"""Cleaning up after the word-by-word lowering."""

from __future__ import annotations

from program.isa import Kernel
from program.lowering.cleanup.flow import tidy

__all__ = ["clean"]


def clean(kernel: Kernel, *, optimize: bool = True) -> None:
    """Makes the blocks legal and, if `optimize`, the code small."""
    tidy(kernel)
