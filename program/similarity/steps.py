"""Warps of 32 or 64 threads: the steps in which they execute a trace's instructions.

A warp of 64 threads is two consecutive warps of a CTA, the second of which a CTA with an odd number lacks. It
executes an instruction for both as long as both come to the same one. Where they go different ways each goes
its own, as a divergent warp does, until both have come to the place where such lanes meet again (the
immediate post-dominator, as in `warpbank.program.cfg`); the first warp goes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import Unit
from warpbank.program.loops import loop
from warpbank.program.similarity.instructions import Instructions
from warpbank.program.trace.schema import Trace

WARP_SIZES = (32, 64)


@dataclass(frozen=True)
class Steps:
    """Instructions that warps execute.

    Parameters
    ----------
    rows : (steps, 2) i8: rows of `Trace.dynamic` of the lower and the upper 32 lanes; -1: these do not take
        part.
    first : step with which each warp begins, then the number of steps.
    existing : per warp (u8), the lanes that exist.
    """

    rows: np.ndarray
    first: np.ndarray
    existing: np.ndarray


def steps(trace: Trace, code: Instructions, warp_size: int) -> Steps:
    """The steps of all warps of `warp_size` threads.

    Raises
    ------
    ValueError : the warp size is not 32 or 64.
    """
    if warp_size not in WARP_SIZES:
        raise ValueError(f"a warp of {warp_size} threads cannot be made of warps of 32; choose 32 or 64.")
    warps = trace.warps
    lower = np.flatnonzero(warps["index"] % (warp_size // 32) == 0)
    upper = np.full(len(lower), -1)
    if warp_size == 64:
        # The row behind the last warp of a CTA is the first of another, or there is none.
        index = np.append(warps["index"], 0)
        upper = np.where(index[lower + 1] == index[lower] + 1, lower + 1, -1)
    existing = warps["mask"][lower].astype(np.uint64)
    existing |= np.where(upper >= 0, warps["mask"][upper], 0).astype(np.uint64) << np.uint64(32)
    begin, length = warps["first"].astype(np.int64), warps["length"].astype(np.int64)
    rows, first = _merge(
        np.ascontiguousarray(trace.dynamic["pc"]), begin, length, lower, upper, code.point, code.meeting
    )
    return Steps(rows, first, existing)


@loop
def _merge(pcs, begin, length, lower, upper, point, meeting):
    rows = np.full((length.sum(), 2), -1)
    first = np.zeros(len(lower) + 1, np.int64)
    n = 0
    for w in range(len(lower)):
        i, j = begin[lower[w]], np.int64(0)
        end, stop = i + length[lower[w]], np.int64(0)
        if upper[w] >= 0:
            j = begin[upper[w]]
            stop = j + length[upper[w]]
        while i < end or j < stop:
            if i < end and j < stop and pcs[i] == pcs[j]:
                rows[n, 0], rows[n, 1] = i, j
                i, j, n = i + 1, j + 1, n + 1
                continue
            meet = np.int64(-1)
            if i < end and j < stop:
                meet = meeting[point[pcs[i]], point[pcs[j]]]
            while i < end and pcs[i] != meet:
                rows[n, 0] = i
                i, n = i + 1, n + 1
            while j < stop and pcs[j] != meet:
                rows[n, 1] = j
                j, n = j + 1, n + 1
        first[w + 1] = n
    return rows[:n], first


def active_lanes(trace: Trace, code: Instructions) -> np.ndarray:
    """Per row of `trace.dynamic` (u4), the lanes that come to it.

    They are those that execute it but for control instructions, of whose lanes the trace tells only those
    that take a branch: these have the lanes of the instructions before them in their block; if there are
    none, those of the instruction before.
    """
    dynamic = trace.dynamic
    pcs = dynamic["pc"].astype(np.int64)
    begins = np.zeros(len(pcs), bool)
    begins[trace.warps["first"][trace.warps["length"] > 0].astype(np.int64)] = True
    cut = begins.copy()
    cut[1:] |= (pcs[1:] != pcs[:-1] + 1) | code.starts[pcs[1:]]
    runs = np.flatnonzero(cut)
    together = np.bitwise_or.reduceat(dynamic["mask"], runs) if len(runs) else np.zeros(0, np.uint32)
    lanes = np.repeat(together, np.diff(runs, append=len(pcs)))
    lanes = np.where(trace.code["unit"][pcs] == Unit.CONTROL, lanes, dynamic["mask"]).astype(np.uint32)
    alone = (lanes == 0) & (trace.code["unit"][pcs] == Unit.CONTROL)
    known = np.where(alone & ~begins, 0, np.arange(len(pcs)))
    return lanes[np.maximum.accumulate(known)] if len(known) else lanes
