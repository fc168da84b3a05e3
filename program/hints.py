"""Compiler hints: what the compiler tells the register file about each instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

#: `write_back` of an instruction of which nothing is known: its result is wanted in the collector and in the
#: banks.
BOTH = 3


@dataclass(frozen=True)
class Hints:
    """Hint bits of every instruction, one row per pc (u1 arrays).

    Parameters
    ----------
    write_back : where the result is wanted: bit 0 the collector, bit 1 the banks (BOW-WR).
    near : bit k: the next reuse of source k is near; bit 6: that of the destination (Malekeh).
    dead : bit k: the read of source k is the last of its register, for all lanes (LTRF+, renaming).
    scalar : 1: one lane can execute it for all, if its register operands are scalar (G-Scalar).
    fresh : 1: no lane needs what its destinations held before (G-Scalar).
    """

    write_back: np.ndarray
    near: np.ndarray
    dead: np.ndarray
    scalar: np.ndarray
    fresh: np.ndarray

    @staticmethod
    def none(count: int) -> Hints:
        """Safe hints for `count` instructions of which nothing is known."""
        return Hints(np.full(count, BOTH, np.uint8), *(np.zeros(count, np.uint8) for _ in range(4)))

    @staticmethod
    def join(pieces: Sequence[Hints]) -> Hints:
        """Hints of several kernels in the order of their codes: for a trace, that of `Trace.kernels`."""
        if not pieces:
            return Hints.none(0)
        return Hints(*(np.concatenate([getattr(p, f.name) for p in pieces]) for f in fields(Hints)))
