"""Hints of a compiler-managed register file cache for traces that come from no program."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import DISTANT, Memory, Unit
from warpbank.program.hints import Hints
from warpbank.program.random_programs.release import with_flags
from warpbank.program.random_programs.similar import with_similar_values
from warpbank.program.strand_cache import Step, assign
from warpbank.program.trace.builder import Op, TraceBuilder, alu, load
from warpbank.program.trace.schema import Trace


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
    be read later."""
    certain, memory, pending = np.ones(len(trace.code), bool), {}, _pending(trace)
    for warp, rows in _rows(trace):
        certain[rows["pc"][rows["mask"] != warp["mask"]]] = False
        memory |= {int(row["pc"]): Memory(int(row["memory"])) for row in rows}
    near, write_back = (np.zeros(len(trace.code), np.uint8) for _ in range(2))
    for block in _blocks(trace):
        steps = []
        for pc in block:
            kind, sources_written = memory.get(pc, Memory.NONE), _registers(trace, pc)
            ends = kind is Memory.FENCE or bool(trace.code[pc]["unit"] == Unit.CONTROL)
            steps.append(Step(*sources_written, bool(certain[pc]), kind in DISTANT, ends, (1 << 256) - 1))
        near[block.start : block.stop], write_back[block.start : block.stop] = assign(
            steps, entries, frozenset(pending[block.start])
        )
    return replace(trace, hints=replace(Hints.none(len(trace.code)), near=near, write_back=write_back))


#: Registers of `strand_trace`.
REGISTERS = 24


def strands_for(scheme: Scheme, config: SmConfig, seed: int, warps: int = 3, length: int = 20) -> Trace:
    """A trace with what the scheme asks of the compiler, whose results go into the cache where that pays:
    those of the random programs by name all go to the banks."""
    trace = with_strands(strand_trace(seed, warps, length), config.sub_core.cache.registers)
    if scheme.units.storage.encodes:
        trace = with_similar_values(trace, seed)
    return with_flags(trace, seed, registers=REGISTERS) if scheme.units.mapping.renames else trace


def strand_trace(seed: int, warps: int = 4, length: int = 40) -> Trace:
    """A trace with long runs of arithmetic on all lanes, some loads and some partial results among it."""
    rng = random.Random(seed)
    blocks = []
    for _ in range(2):
        block = []
        for _ in range(warps):
            ops: list[Op] = []
            for _ in range(length):
                kind, registers = rng.random(), rng.sample(range(20), 3)
                if kind < 0.8:
                    ops.append(
                        alu(registers[0], *registers[1:], unit=rng.choice((Unit.ALU, Unit.FMA, Unit.SFU)))
                    )
                elif kind < 0.87:
                    ops.append(alu(2 * rng.randrange(10), *registers, count=2, unit=Unit.FP64))
                elif kind < 0.93:
                    ops.append(alu(registers[0], registers[1], mask=0xF0F0F0F5))
                else:
                    ops.append(load(registers[0], registers[1], rng.randrange(30)))
            block.append(ops)
        blocks.append(block)
    return TraceBuilder(seed).launch(*blocks, registers=REGISTERS).build()
