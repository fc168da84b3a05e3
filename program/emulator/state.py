"""State arrays that compiled code works on, in one bundle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Arrays(NamedTuple):
    """State arrays of a launch while it runs.

    Parameters
    ----------
    code : (instructions, COLUMNS) i8, the encoded kernel.
    registers : (warps, rows, 32) u4.
    predicates : (warps, rows) i8, lane masks.
    bytes, words : the memory array, as u1 and as u4 of the same memory.
    buffers : (n, 2) i8, first address and end of each global buffer, ascending.
    geometry, state : i8 words G_* and S_*.
    warps : (warps, WARP_WORDS) i8.
    entries : (warps, ENTRIES, ENTRY_WORDS) i8, the trees of divergent lanes.
    arrived : (warps, BARRIERS) i8, lanes that are at a barrier.
    complete : (warps, BARRIERS) i8, 1: the whole warp has arrived.
    barriers : (BARRIERS, BARRIER_WORDS) i8.
    work : (WORK_ROWS, 32) i8, scratch of the memory instructions.
    dynamic, values, lines : the trace under way (program.trace.schema).
    segments : (n, 3) i8: warp, first row, rows: which warp wrote which rows of `dynamic`.
    """

    code: np.ndarray
    registers: np.ndarray
    predicates: np.ndarray
    bytes: np.ndarray
    words: np.ndarray
    buffers: np.ndarray
    geometry: np.ndarray
    state: np.ndarray
    warps: np.ndarray
    entries: np.ndarray
    arrived: np.ndarray
    complete: np.ndarray
    barriers: np.ndarray
    work: np.ndarray
    dynamic: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    segments: np.ndarray
