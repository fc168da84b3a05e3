"""Hints of a compiler-managed register file cache for traces that come from no program, and uops among which
it has something to keep."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from warpbank.arch.uop import DISTANT, Memory, Unit
from warpbank.program.hints import Hints
from warpbank.program.strand_cache import Step, assign
from warpbank.program.trace.builder import Op, alu
from warpbank.program.trace.schema import Trace

#: Registers of a random program with strands: more than a cache has places for, so that some share one, and
#: than a caching collector keeps.
STRAND_REGISTERS = 24
#: What makes a random uop: given the generator, the number of registers, and that of memory lines.
Maker = Callable[[random.Random, int, int], Op]


def in_strands(make: Maker) -> Maker:
    """Make arithmetic on all lanes most of the time, and what `make` makes else: strands
    are long then, and the cache has something to keep."""

    def op(rng: random.Random, registers: int, spread: int) -> Op:
        if rng.random() < 0.15:
            return make(rng, registers, spread)
        unit = rng.choice((Unit.ALU, Unit.FMA, Unit.SFU))
        return alu(rng.randrange(registers), *rng.sample(range(registers), rng.choice((1, 2, 3))), unit=unit)

    return op


def _rows(trace: Trace) -> Iterator[tuple[np.void, np.ndarray]]:
    """Every warp and what it executes."""
    for warp in trace.warps:
        if warp["length"]:
            yield warp, trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]


def _blocks(trace: Trace) -> list[range]:
    """Runs of instructions that every warp executes one after the other, if it executes them."""
    starts = {0, len(trace.code)}
    for _, rows in _rows(trace):
        pcs = rows["pc"].astype(int).tolist()
        starts.update((pcs[0], pcs[-1] + 1))
        for before, after in pairwise(pcs):
            if after != before + 1:
                starts.update((before + 1, after))
    return [range(first, end) for first, end in pairwise(sorted(starts))]


def _registers(trace: Trace, pc: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Registers read and written."""
    row = trace.code[pc]
    first = int(row["destination"])
    return tuple(row["sources"][: row["source_count"]].tolist()), tuple(
        range(first, first + int(row["count"]))
    )


def _pending(trace: Trace) -> list[set[int]]:
    """Per pc, registers for which some warp may still wait there."""
    found: list[set[int]] = [set() for _ in trace.code]
    for _, rows in _rows(trace):
        pending: set[int] = set()
        for row in rows:
            pc = int(row["pc"])
            found[pc] |= pending
            if row["mask"]:
                sources, written = _registers(trace, pc)
                pending -= {*sources, *written}
                pending |= set(written) if Memory(int(row["memory"])) in DISTANT else set()
    return found


def with_strands(trace: Trace, entries: int) -> Trace:
    """The trace with the hints of `warpbank.program.strand_cache`; whatever leaves a run of instructions may
    be read later. Its other hints stay."""
    certain, pending = np.ones(len(trace.code), bool), _pending(trace)
    memory: dict[int, Memory] = {}
    for warp, rows in _rows(trace):
        certain[rows["pc"][rows["mask"] != warp["mask"]]] = False
        memory |= {int(row["pc"]): Memory(int(row["memory"])) for row in rows}
    hints = trace.hints or Hints.none(len(trace.code))
    near, write_back = (np.zeros(len(trace.code), np.uint8) for _ in range(2))
    for block in _blocks(trace):
        steps = []
        for pc in block:
            kind, touched = memory.get(pc, Memory.NONE), _registers(trace, pc)
            ends = kind is Memory.FENCE or bool(trace.code[pc]["unit"] == Unit.CONTROL)
            steps.append(Step(*touched, bool(certain[pc]), kind in DISTANT, ends, (1 << 256) - 1))
        near[block.start : block.stop], write_back[block.start : block.stop] = assign(
            steps, entries, frozenset(pending[block.start])
        )
    return replace(trace, hints=replace(hints, near=near, write_back=write_back))
