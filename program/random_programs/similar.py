"""Random traces whose registers resemble each other: every case of compression, scalar execution and
decompress moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from warpbank.program.hints import Hints
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.schema import Trace


def similar_trace(seed: int, *, fresh: bool = False, **shape: Any) -> Trace:
    """A random trace whose results are scalar, similar, scalar by halves or arbitrary, with random hints that
    are safe.

    `fresh`: instructions may claim that the lanes they leave alone are dead, which is not true of a random
    program. `shape`: as `random_trace` takes it.
    """
    return with_similar_values(random_trace(seed, **shape), seed, fresh=fresh)


def with_similar_values(trace: Trace, seed: int, *, fresh: bool = False) -> Trace:
    """The trace with such results as `similar_trace` has, and with random hints `scalar` and, if asked for,
    `fresh`; its other hints stay."""
    rng = np.random.default_rng(seed)
    count = len(trace.code)
    values = trace.values.copy()
    for row in values:
        row[:] = _similar(rng, row)
    hints = trace.hints or Hints.none(count)
    hints = replace(hints, scalar=rng.integers(0, 2, count, np.uint8))
    if fresh:
        hints = replace(hints, fresh=rng.integers(0, 2, count, np.uint8))
    return replace(trace, values=values, hints=hints)


def _similar(rng: np.random.Generator, row: np.ndarray) -> np.ndarray:
    """A register with a random number of leading bytes in common, in all lanes or in each half of the
    machine's first lanes."""
    shared = np.uint32(0xFFFFFFFF << 8 * int(rng.integers(0, 5)) & 0xFFFFFFFF)
    base = np.where(np.arange(len(row)) % 4 < 2, row[0], row[3] if rng.random() < 0.3 else row[0])
    return np.asarray(base & shared | row & ~shared, np.uint32)
