"""Repeated traces: a program that is run several times, one run after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.program.errors import TraceError
from warpbank.program.trace.schema import Trace

#: Most warps of a repeated trace, a row of some 30 bytes each.
MOST_WARPS = 1 << 26


def repeated(trace: Trace, times: int) -> Trace:
    """Trace of a program that runs several times: all its launches, then all of them again. What the launches
    executed stands in the trace once, so that every further run takes a row for each launch and warp, and no
    more; the caches of a machine stay as the run before left them.

    Parameters
    ----------
    trace : of one run, with its hints.
    times : number of runs, at least 1.

    Raises TraceError for more warps than `MOST_WARPS`.
    """
    if times == 1:
        return trace
    all_warps = times * len(trace.warps)
    if all_warps > MOST_WARPS:
        raise TraceError(
            f"{times} runs of this program are {all_warps} warps, and at most {MOST_WARPS} are possible: "
            f"repeat it at most {max(1, MOST_WARPS // len(trace.warps))} times"
        )
    launches, warps = np.tile(trace.launches, times), np.tile(trace.warps, times)
    launches["first_warp"] += _offsets(times, len(trace.launches), len(trace.warps))
    warps["launch"] += _offsets(times, len(trace.warps), len(trace.launches))
    return replace(trace, launches=launches, warps=warps)


def _offsets(times: int, rows: int, step: int) -> np.ndarray:
    """Offsets that the rows of a tiled array get: a step more in every further run."""
    return np.repeat(np.arange(times, dtype=np.uint32) * np.uint32(step), rows)
