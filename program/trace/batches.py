"""Batches of a long trace's warps: a pass that puts instructions into a trace sees some warps at a time, in
bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from warpbank.program.trace.schema import DYNAMIC, Trace
from warpbank.program.trace.spool import LIMIT, Spool, let_go

#: Rows of a batch, unless one warp has more.
_ROWS = 1 << 19


def in_batches(
    trace: Trace, insert: Callable[[Trace], Trace], *, limit: int = LIMIT, rows: int = _ROWS
) -> Trace:
    """Apply a pass to the warps of a trace, some at a time, where the trace is long.

    Parameters
    ----------
    trace : with the warps in any order.
    insert : the pass. It changes rows of a warp by what that warp executes, and everything else by the code
        alone.
    limit : bytes of rows that are given to it whole.
    rows : rows that it is given at a time otherwise; the rows of one warp are not divided.
    """
    order = np.argsort(trace.warps["first"], kind="stable")
    first = trace.warps["first"][order].astype(np.int64)
    length = trace.warps["length"][order].astype(np.int64)
    ends = first + length
    whole = len(order) and first[0] == 0 and ends[-1] == len(trace.dynamic) and (first[1:] == ends[:-1]).all()
    if trace.dynamic.nbytes <= limit or not whole:
        return insert(trace)
    spool = Spool(DYNAMIC, limit)
    warps = trace.warps.copy()
    made, begin = trace, 0
    while begin < len(order):
        end = max(begin + 1, int(np.searchsorted(ends, first[begin] + rows, "right")))
        mine = order[begin:end]
        part = trace.warps[mine].copy()
        part["first"] -= part["first"][0]
        made = insert(replace(trace, dynamic=trace.dynamic[first[begin] : ends[end - 1]], warps=part))
        warps[mine] = made.warps
        warps["first"][mine] += np.uint64(len(spool))
        spool.append(made.dynamic.tobytes())
        let_go(trace.dynamic)
        begin = end
    return replace(made, dynamic=spool.array(), warps=warps)
