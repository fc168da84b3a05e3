"""PREFETCHes in a trace, as instructions or as extra bits: one wherever a warp enters another interval (LTRF,
section 3.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.arch.uop import Control, Unit
from warpbank.program.hints import Hints
from warpbank.program.intervals.dynamic import prefetches
from warpbank.program.intervals.formation import Intervals
from warpbank.program.trace.schema import CODE, DYNAMIC, FLAG_ENTER, Trace


def _masks(intervals: Intervals) -> list[int]:
    """Bit-vectors of the intervals as numbers."""
    return [int.from_bytes(row.tobytes(), "little") for row in intervals.bit_vectors]


def mark_entries(trace: Trace, intervals: Intervals) -> Trace:
    """Trace with the extra bit set in every instruction with which a warp enters an interval.

    The bit-vector of the interval is `Trace.working_sets` of every pc of it: a divergent warp may come into
    its middle.
    """
    dynamic = trace.dynamic.copy()
    dynamic["flags"][prefetches(intervals, trace)] |= FLAG_ENTER
    masks = _masks(intervals)
    sets = {pc: masks[number] for pc, number in enumerate(intervals.interval.tolist())}
    return replace(trace, dynamic=dynamic, working_sets=sets)


def insert_prefetches(trace: Trace, intervals: Intervals) -> Trace:
    """Trace with a PREFETCH for every interval behind its code, and executed where `prefetches` says.

    A PREFETCH is a control instruction without register operands; the registers it names are
    `Trace.working_sets` of its pc. It runs under the mask of the instruction that it precedes, since the
    control flow of some lane has come there.
    """
    first = len(trace.code)
    code = np.zeros(len(intervals), CODE)
    code["unit"], code["control"] = Unit.CONTROL, Control.PREFETCH
    text = [
        f"PREFETCH {', '.join(f'R{register}' for register in np.flatnonzero(row))}"
        for row in intervals.registers
    ]
    at = np.flatnonzero(prefetches(intervals, trace))
    rows = np.zeros(len(at), DYNAMIC)
    rows["pc"] = first + intervals.interval[trace.dynamic["pc"][at]]
    rows["mask"] = trace.dynamic["mask"][at]
    before = np.zeros(len(trace.dynamic) + 1, np.int64)
    before[at + 1] = 1
    before = np.cumsum(before)  # PREFETCHes before each row, its own not counted
    warps = trace.warps.copy()
    ends = trace.warps["first"] + trace.warps["length"]
    warps["first"] = trace.warps["first"] + before[trace.warps["first"].astype(np.int64)].astype(np.uint64)
    warps["length"] = trace.warps["length"] + (
        before[ends.astype(np.int64)] - before[trace.warps["first"].astype(np.int64)]
    )
    hints = trace.hints
    return replace(
        trace,
        code=np.concatenate([trace.code, code]),
        text=[*trace.text, *text],
        ptx_line=np.concatenate([trace.ptx_line, trace.ptx_line[intervals.entries]]),
        dynamic=np.insert(trace.dynamic, at, rows),
        warps=warps,
        working_sets=dict(enumerate(_masks(intervals), first)),
        hints=None if hints is None else Hints.join([hints, Hints.none(len(code))]),
    )
