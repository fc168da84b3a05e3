"""Repeated traces: a program that is run several times, one run after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.program.trace.schema import Trace


def repeated(trace: Trace, times: int) -> Trace:
    """Trace of a program that runs several times: all its launches, then all of them again. What the launches
    executed stands in the trace once, so that a run of any length needs no more memory than one; the caches
    of a machine stay as the run before left them.

    Parameters
    ----------
    trace : of one run, with its hints.
    times : number of runs, at least 1.
    """
    if times == 1:
        return trace
    launches, warps = np.tile(trace.launches, times), np.tile(trace.warps, times)
    launches["first_warp"] += _offsets(times, len(trace.launches), len(trace.warps))
    warps["launch"] += _offsets(times, len(trace.warps), len(trace.launches))
    return replace(trace, launches=launches, warps=warps)


def _offsets(times: int, rows: int, step: int) -> np.ndarray:
    """What is added to each row of an array that was tiled: one step more for every run."""
    return np.repeat(np.arange(times, dtype=np.uint32) * np.uint32(step), rows)
