"""Reuse distances of registers: how soon a warp reads a register again (Malekeh, section III-A, Fig. 1).

Distances count the warp's uops, all of them: a register read by the next uop has distance 1. An access is a
source or a result register of an executed uop; its reuse is the warp's next read of that register. A result
on all 32 lanes ends the value before it, so that an access whose register is overwritten first has no reuse;
a result on fewer lanes does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import MAX_SOURCES
from warpbank.program.loops import loop
from warpbank.program.trace.schema import Trace

#: Distances up to this one are near (RTHLD).
THRESHOLD = 12
#: Warps of each kernel that are profiled, at least; the paper takes some 0.01 % of them.
LEAST_WARPS = 2
SHARE = 1e-4
#: Bit of the result registers in a mask of near operands.
RESULT = MAX_SOURCES
#: Upper ends of the histogram's classes; the last one is open.
CLASSES = (1, 2, 3, 10)
_ALL = 0xFFFFFFFF


@dataclass(frozen=True)
class Votes:
    """Votes on reuse: how often the accesses of each operand had a near reuse; per pc, a column per source
    slot and one for the results.

    Parameters
    ----------
    near, total : accesses whose reuse is near; all accesses.
    """

    near: np.ndarray
    total: np.ndarray

    @property
    def bits(self) -> np.ndarray:
        """Majority bits per pc: bit k: most accesses of source k have a near reuse; bit 6: of the results.
        Ties and what never ran are far."""
        majority = 2 * self.near > self.total
        return (majority << np.arange(MAX_SOURCES + 1)).sum(axis=1).astype(np.uint8)

    def agreeing(self, bits: np.ndarray) -> float:
        """Share of the accesses that are as near or as far as `bits` says of their operand. 1 if there are
        none."""
        said = bits[:, None] >> np.arange(MAX_SOURCES + 1) & 1 == 1
        right = np.where(said, self.near, self.total - self.near).sum()
        return float(right / self.total.sum()) if self.total.any() else 1.0


def votes(trace: Trace, *, threshold: int = THRESHOLD, warps: np.ndarray | None = None) -> Votes:
    """The votes of the warps that are rows `warps` of `trace.warps`; None: of all.

    Raises
    ------
    ValueError : the threshold is below 1.
    """
    if threshold < 1:
        raise ValueError(
            f"The reuse distance up to which a reuse is near must be at least 1, not {threshold}."
        )
    shape = len(trace.code), MAX_SOURCES + 1
    found = Votes(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    _scan(_columns(trace, warps), threshold, found.near, found.total, np.zeros(len(CLASSES) + 1, np.int64))
    return found


def near_hints(
    trace: Trace, *, threshold: int = THRESHOLD, profile: Trace | None = None, least: int = LEAST_WARPS
) -> np.ndarray:
    """The hint `near` (`warpbank.program.hints.Hints`) from the first warps of each kernel, by majority of
    each operand's accesses.

    Parameters
    ----------
    threshold : the largest distance that is near.
    profile : a trace of the same code, of a smaller job for example, that is profiled instead of `trace`.
    least : warps of each kernel to profile at least.

    Raises
    ------
    ValueError : the profiled trace has other code.
    """
    source = trace if profile is None else profile
    if source is not trace and not np.array_equal(source.code, trace.code):
        raise ValueError(
            f"The profile is a trace of {source.meta.get('job', 'another job')} with other machine code "
            f"than the trace that is to be annotated; profile the same kernel, compiled with the same "
            "options."
        )
    return votes(source, threshold=threshold, warps=first_warps(source, least)).bits


def first_warps(trace: Trace, least: int = LEAST_WARPS) -> np.ndarray:
    """First warps of each kernel as rows of `trace.warps`, some 0.01 % of its warps but at least `least`."""
    kernels = trace.launches["kernel"][trace.warps["launch"]]
    rows = [np.flatnonzero(kernels == kernel) for kernel in range(len(trace.kernels))]
    return (
        np.concatenate([own[: max(least, int(np.ceil(SHARE * len(own))))] for own in rows])
        if rows
        else np.zeros(0, np.int64)
    )


def histogram(trace: Trace) -> np.ndarray:
    """Reuses by distance: 1, 2, 3, 4 to 10, more. What is never read again is not counted."""
    shape = len(trace.code), MAX_SOURCES + 1
    counts = np.zeros(len(CLASSES) + 1, np.int64)
    _scan(_columns(trace, None), THRESHOLD, np.zeros(shape, np.int64), np.zeros(shape, np.int64), counts)
    return counts


def _columns(trace: Trace, warps: np.ndarray | None) -> tuple[np.ndarray, ...]:
    rows = trace.warps if warps is None else trace.warps[warps]
    code, dynamic = trace.code, trace.dynamic
    firsts, lengths = rows["first"].astype(np.int64), rows["length"].astype(np.int64)
    if warps is not None:  # of a long trace no more than is profiled comes into memory
        parts = [dynamic[first : first + length] for first, length in zip(firsts, lengths, strict=True)]
        dynamic = np.concatenate([dynamic[:0], *parts])
        firsts = np.cumsum(lengths) - lengths
    return (
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        firsts,
        lengths,
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
    )


@loop
def _scan(columns, threshold, near, total, classes):
    """Every warp from its end to its start, with the next read of each register."""
    pcs, masks, firsts, lengths, sources, source_count, destination, count = columns
    following = np.empty(256, np.int64)
    for w in range(len(firsts)):
        following[:] = -1
        for t in range(lengths[w] - 1, -1, -1):
            row = firsts[w] + t
            if masks[row] == 0:
                continue
            pc = pcs[row]
            for k in range(count[pc]):
                register = destination[pc] + k
                _vote(
                    following[register] - t,
                    pc,
                    RESULT,
                    following[register] >= 0,
                    threshold,
                    near,
                    total,
                    classes,
                )
                if masks[row] == _ALL:
                    following[register] = -1
            for k in range(source_count[pc]):
                register = sources[pc, k]
                _vote(
                    following[register] - t, pc, k, following[register] >= 0, threshold, near, total, classes
                )
            for k in range(source_count[pc]):
                following[sources[pc, k]] = t


@loop
def _vote(distance, pc, column, reused, threshold, near, total, classes):
    total[pc, column] += 1
    if not reused:
        return
    if distance <= threshold:
        near[pc, column] += 1
    place = 0
    while place < len(CLASSES) and distance > CLASSES[place]:
        place += 1
    classes[place] += 1
