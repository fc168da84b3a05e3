"""Allocation of a compiler-managed register file cache: which results go into it, and which sources are found
there (SW-RFC).

A value may be in the cache within a strand only, straight code in which its warp is not descheduled: a strand
ends with its block, before an instruction that may wait for the result of a load or atomic from beyond the
SM, and behind a barrier or fence. So nothing has to be saved when a warp is, and the order in which the sides
of a branch run does not matter.

A register's place is its number modulo the size of the cache. A result is kept if its place is free until its
last read in the strand, and if some read of it is sure to happen: then it has been written before anything
else comes to that place. It goes to the banks as well if somebody may read it behind the strand. Results
under a guard go to the banks only, since lanes keep what was there.

Two things outlive a strand. A collector may keep what it has read from the cache, all lanes of it; and a
compressing storage lets a decompress move go before a write of some lanes, unless the write is fresh
(`warpbank.program.scalar`). The move reads the register from the banks, in whatever order the sides of a
branch run. Where there is either, only fresh results are kept, which leave no lane behind that anybody needs,
and all values of a register go to the banks if some instruction writes it and is not fresh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from warpbank.arch.uop import MAX_SOURCES, TO_BANKS, TO_COLLECTOR
from warpbank.program.cfg import always
from warpbank.program.hints import Hints
from warpbank.program.isa import Instr, Kernel, Op, Space
from warpbank.program.liveness import mask_of
from warpbank.program.scalar import fresh_hints
from warpbank.program.simt_liveness import SimtLiveness


@dataclass(frozen=True)
class Step:
    """Instruction as the allocation of the cache sees it.

    Parameters
    ----------
    sources, written : its registers; sources in the order of its operands.
    certain : every active lane executes it.
    distant : its result may come from beyond the SM.
    ends : a strand ends behind it.
    after : mask of the registers that somebody may read behind it.
    fresh : its result may be kept.
    """

    sources: tuple[int, ...]
    written: tuple[int, ...]
    certain: bool
    distant: bool
    ends: bool
    after: int
    fresh: bool = True


def strand_cache_hints(kernels: Mapping[str, Kernel], entries: int, outlived: bool = False) -> Hints:
    """`near` (source or result in the cache) and `write_back` (result also in the banks) for a cache of
    `entries` registers. `outlived`: collectors keep values, or decompress moves read them."""
    pieces = []
    for kernel in kernels.values():
        fresh = fresh_hints(kernel).tolist() if outlived else [True] * len(kernel.instructions())
        blocks = _blocks(kernel, fresh)
        distant = frozenset(r for block in blocks for step in block if step.distant for r in step.written)
        bits = [assign(block, entries, distant) for block in blocks]
        near, write_back = (np.concatenate([pair[which] for pair in bits]) for which in (0, 1))
        none = Hints.none(len(near))
        pieces.append(Hints(write_back, near, none.dead, none.scalar, none.fresh))
    return Hints.join(pieces)


def _blocks(kernel: Kernel, fresh: Sequence[bool]) -> list[list[Step]]:
    """Steps of each block. Somebody may always read a register that an instruction writes without being
    `fresh`."""
    live = SimtLiveness(kernel)
    stale = reduce(
        or_,
        (
            mask_of(instr.registers_written())
            for instr, whole in zip(kernel.instructions(), fresh, strict=True)
            if not whole
        ),
        0,
    )
    found, left = [], iter(fresh)
    for number, block in enumerate(kernel.blocks):
        after = [alive.registers | live.parked.registers | stale for alive in live.after(number)]
        found.append(
            [_step(instr, mask, next(left)) for instr, mask in zip(block.instrs, after, strict=True)]
        )
    return found


def _step(instr: Instr, after: int, fresh: bool) -> Step:
    distant = instr.op in (Op.LD, Op.ATOM) and instr.space not in (Space.SHARED, Space.CONST)
    return Step(
        tuple(instr.registers_read()),
        tuple(instr.registers_written()),
        always(instr),
        distant,
        instr.op in (Op.BAR, Op.MEMBAR),
        after,
        fresh,
    )


def assign(block: Sequence[Step], entries: int, distant: frozenset[int]) -> tuple[np.ndarray, np.ndarray]:
    """Hints `near` and `write_back` of straight code (u1 each).

    Parameters
    ----------
    entries : registers of the cache.
    distant : registers for which a result may be on its way where the block begins.
    """
    near = np.zeros(len(block), np.uint8)
    write_back = np.full(len(block), TO_COLLECTOR | TO_BANKS, np.uint8)
    ends = _ends(block, distant)
    free = [0] * entries  # first instruction whose result may come to each place
    for number, step in enumerate(block):
        if (
            not step.written
            or not step.certain
            or step.distant
            or not step.fresh
            or any(free[r % entries] > number for r in step.written)
        ):
            continue
        stays = [_stay(block, number, ends[number], register) for register in step.written]
        if not all(stay.sure for stay in stays):
            continue
        near[number] |= 1 << MAX_SOURCES
        if not any(stay.needed for stay in stays):
            write_back[number] = TO_COLLECTOR
        for register, stay in zip(step.written, stays, strict=True):
            free[register % entries] = stay.reads[-1]
            for place in stay.reads:
                near[place] |= 1 << block[place].sources.index(register)
    return near, write_back


@dataclass
class _Stay:
    """Reads of a value in its strand, whether one is sure to happen, and whether the banks need the value."""

    reads: list[int]
    sure: bool
    needed: bool


def _stay(block: Sequence[Step], number: int, end: int, register: int) -> _Stay:
    stay = _Stay([], False, bool(block[end - 1].after >> register & 1))
    for place in range(number + 1, end):
        step = block[place]
        if register in step.sources:
            stay.reads.append(place)
            stay.sure |= step.certain
        if register in step.written:
            stay.needed = not step.certain
            break
    return stay


def _ends(block: Sequence[Step], distant: frozenset[int]) -> list[int]:
    """Per instruction, where its strand ends: the next one's first instruction."""
    cuts, pending = [], set(distant)
    for number, step in enumerate(block):
        touched = pending & {*step.sources, *step.written}
        if touched:
            cuts.append(number)
            if step.certain:
                pending -= touched
        if step.distant:
            pending.update(step.written)
        if step.ends:
            cuts.append(number + 1)
    cuts.append(len(block))
    found, upcoming = [], iter(cuts)
    end = next(upcoming)
    for number in range(len(block)):
        while end <= number:
            end = next(upcoming)
        found.append(end)
    return found
