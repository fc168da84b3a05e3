"""Dynamic register-intervals on a trace: which executed instructions a PREFETCH precedes, and how long
intervals are (LTRF, Table 4).

A warp prefetches when the next instruction belongs to another interval than the one before it, and before its
first. That covers what the control flow graph does not show: a warp that goes from one side of a divergent
branch to the other. An edge back to the entry of the interval that the warp is in prefetches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warpbank.program.intervals.formation import VECTOR_BITS, Intervals, Rule, form
from warpbank.program.intervals.pieces import Piece
from warpbank.program.isa import Kernel
from warpbank.program.loops import loop
from warpbank.program.trace.schema import Trace


def form_all(kernels: Mapping[str, Kernel], limit: int, rule: Rule = Rule.INTERVAL) -> Intervals:
    """Intervals for the trace of a job with these kernels (`warpbank.program.runner.compile_job`). Raises as
    `form` does."""
    made = [form(kernel, limit, rule) for kernel in kernels.values()]
    pc = number = block = 0
    interval, entries, pieces = [], [], []
    for kernel, one in zip(kernels.values(), made, strict=True):
        interval.append(one.interval + number)
        entries.append(one.entries + pc)
        pieces += [Piece(p.block + block, p.start + pc, p.end + pc) for p in one.pieces]
        pc, number, block = pc + len(one.interval), number + len(one), block + len(kernel.blocks)
    return Intervals(
        limit,
        np.concatenate(interval),
        np.concatenate([m.registers for m in made]),
        np.concatenate(entries),
        tuple(pieces),
        sum(m.first_pass for m in made),
    )


def prefetches(intervals: Intervals, trace: Trace) -> np.ndarray:
    """Prefetches of a trace, per row of `trace.dynamic` (bool): whether the warp prefetches
    `intervals.interval[pc]` before this instruction."""
    numbers = intervals.interval[trace.dynamic["pc"]]
    found = np.ones(len(numbers), bool)
    found[1:] = numbers[1:] != numbers[:-1]
    found[trace.warps["first"][trace.warps["length"] > 0]] = True
    return found


@dataclass(frozen=True)
class Lengths:
    """Statistics of interval lengths in instructions.

    Parameters
    ----------
    count : how many there are.
    mean, least, most : of their lengths; 0 if there are none.
    """

    count: int
    mean: float
    least: int
    most: int

    @staticmethod
    def of(lengths: np.ndarray) -> Lengths:
        """Statistics of these lengths."""
        if not len(lengths):
            return Lengths(0, 0.0, 0, 0)
        return Lengths(len(lengths), float(lengths.mean()), int(lengths.min()), int(lengths.max()))


@dataclass(frozen=True)
class Report:
    """Statistics of a division into intervals: lengths and code growth.

    Parameters
    ----------
    first_pass : intervals after pass 1.
    static : instructions of an interval in the code.
    real : instructions that a warp executes from one PREFETCH to the next.
    optimal : the same if every run of at most `limit` registers were an interval, each as long as it can be.
    growth_vectors, growth_instructions : growth of the code by bit-vectors alone, and with a PREFETCH
        instruction each.
    """

    first_pass: int
    static: Lengths
    real: Lengths
    optimal: Lengths
    growth_vectors: float
    growth_instructions: float


def report(intervals: Intervals, trace: Trace, instruction_bytes: int = 8) -> Report:
    """Report of lengths on a trace, and code growth for instructions of `instruction_bytes` (8: Maxwell)."""
    rows = np.flatnonzero(prefetches(intervals, trace))
    size = instruction_bytes * max(len(intervals.interval), 1)
    vector = VECTOR_BITS // 8
    return Report(
        intervals.first_pass,
        Lengths.of(np.bincount(intervals.interval, minlength=len(intervals))),
        Lengths.of(np.diff(rows, append=len(trace.dynamic))),
        Lengths.of(optimal_lengths(trace, intervals.limit)),
        len(intervals) * vector / size,
        len(intervals) * (vector + instruction_bytes) / size,
    )


def optimal_lengths(trace: Trace, limit: int) -> np.ndarray:
    """Lengths of the runs into which a warp's instructions fall if one ends only where it would need over
    `limit` registers."""
    code, warps = trace.code, trace.warps
    starts = _optimal(
        np.ascontiguousarray(trace.dynamic["pc"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        limit,
    )
    return np.diff(np.flatnonzero(starts), append=len(trace.dynamic))


@loop
def _optimal(pcs, firsts, lengths, sources, source_count, destination, count, limit):
    starts = np.zeros(len(pcs), np.bool_)
    seen = np.full(256, -1)  # run in which a register was last touched
    run = 0
    for w in range(len(firsts)):
        used = limit + 1  # the first instruction begins a run
        for row in range(firsts[w], firsts[w] + lengths[w]):
            pc = pcs[row]
            for attempt in range(2):
                new = 0
                for k in range(source_count[pc]):
                    new += seen[sources[pc, k]] != run
                for k in range(count[pc]):
                    r, again = destination[pc] + k, False
                    for j in range(source_count[pc]):
                        again |= sources[pc, j] == r
                    new += seen[r] != run and not again
                if attempt == 0 and used + new > limit:
                    run += 1
                    used = 0
                    starts[row] = True
                else:
                    break
            for k in range(source_count[pc]):
                seen[sources[pc, k]] = run
            for k in range(count[pc]):
                seen[destination[pc] + k] = run
            used += new
    return starts
