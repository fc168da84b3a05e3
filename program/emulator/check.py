"""Memory check of a job: final buffers against what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpbank.program.launch import Expected, Job


@dataclass(frozen=True)
class Mismatch:
    """Wrong element of a buffer."""

    buffer: str
    index: tuple[int, ...]
    expected: Any
    found: Any

    def __str__(self) -> str:
        return (
            f"{self.buffer}[{', '.join(map(str, self.index))}]: expected {self.expected}, found {self.found}"
        )


@dataclass(frozen=True)
class MemoryCheck:
    """Result of a memory check: buffers and elements compared, elements that are wrong, and the first of
    them."""

    buffers: int
    elements: int
    wrong: int
    first: Mismatch | None

    @property
    def passed(self) -> bool:
        """Whether no element is wrong."""
        return self.wrong == 0


def _wrong(expected: Expected, found: np.ndarray) -> np.ndarray:
    """Where an array differs from what is expected of it. NaN is expected where the reference has NaN."""
    value = np.asarray(expected.value)
    if not (np.issubdtype(value.dtype, np.floating) or np.issubdtype(value.dtype, np.complexfloating)):
        return found != value
    wide = np.complex128 if np.issubdtype(value.dtype, np.complexfloating) else np.float64
    x, y = found.astype(wide), value.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(x - y) <= expected.atol + expected.rtol * np.abs(y)
    return ~((close & np.isfinite(y)) | (x == y) | (np.isnan(x) & np.isnan(y)))


def check_expected(job: Job, buffers: Mapping[str, np.ndarray]) -> MemoryCheck:
    """Compare final buffers with `job.expected`: integers exactly, floats to the stated tolerance."""
    elements = wrong = 0
    first: Mismatch | None = None
    for name, expected in job.expected.items():
        if name not in buffers:
            raise ValueError(f"the job expects buffer {name!r}, which it does not have")
        found = buffers[name]
        value = np.asarray(expected.value)
        if found.shape != value.shape:
            raise ValueError(f"buffer {name!r} has shape {found.shape}; the expected value has {value.shape}")
        bad = _wrong(expected, found)
        elements += found.size
        count = int(np.count_nonzero(bad))
        if count and first is None:
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            first = Mismatch(name, index, value[index], found[index])
        wrong += count
    return MemoryCheck(len(job.expected), elements, wrong, first)
