"""Register-intervals and dead bits for traces that come from no program: to the hardware any division will
do."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from warpbank.program.hints import Hints
from warpbank.program.intervals.formation import VECTOR_BITS, Intervals
from warpbank.program.intervals.insertion import insert_prefetches, mark_entries
from warpbank.program.trace.schema import Trace


def _touched(row: np.void) -> set[int]:
    return {
        *row["sources"][: row["source_count"]].tolist(),
        *range(row["destination"], row["destination"] + row["count"]),
    }


def random_intervals(trace: Trace, limit: int, seed: int) -> Intervals:
    """Runs of instructions of at most `limit` registers, some of them cut short."""
    rng = random.Random(seed)
    interval, registers, entries = [], [], []
    used: set[int] | None = None
    for pc, row in enumerate(trace.code):
        touched = _touched(row)
        if used is None or len(used | touched) > limit or rng.random() < 0.1:
            used = set()
            entries.append(pc)
            registers.append(used)
        used |= touched
        interval.append(len(entries) - 1)
    table = np.zeros((len(entries), VECTOR_BITS), bool)
    for number, names in enumerate(registers):
        table[number, sorted(names)] = True
    return Intervals(
        limit, np.array(interval, np.int32), table, np.array(entries, np.int32), (), len(entries)
    )


def dead_bits(trace: Trace) -> np.ndarray:
    """Per pc (u1), bit k: no warp that runs it reads source k again before it has written it on all lanes."""
    bits = np.full(len(trace.code), 0x3F, np.uint8)
    for warp in trace.warps:
        rows = trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]
        alive: set[int] = set()  # behind the instruction that is looked at, from the last one back
        for row in rows[::-1]:
            if not row["mask"]:
                continue
            code = trace.code[row["pc"]]
            written = set(range(code["destination"], code["destination"] + code["count"]))
            sources = code["sources"][: code["source_count"]].tolist()
            for slot, register in enumerate(sources):
                if register in alive or register in written:
                    bits[row["pc"]] &= ~np.uint8(1 << slot)
            if row["mask"] == warp["mask"]:
                alive -= written
            alive |= set(sources)
    return bits


def with_prefetches(trace: Trace, limit: int, seed: int, bits: bool = False) -> Trace:
    """The trace with PREFETCHes and dead bits. `bits`: each PREFETCH is the extra bit of the instruction that
    it precedes."""
    hints = (
        replace(Hints.none(len(trace.code)), dead=dead_bits(trace)) if trace.hints is None else trace.hints
    )
    insert = mark_entries if bits else insert_prefetches
    return insert(replace(trace, hints=hints), random_intervals(trace, limit, seed))
