"""Instruction classes for G-Scalar's statistics: which instructions one lane could execute for all, and where
lanes meet.

One lane can do the work of all if the result depends on the operands alone. That leaves out instructions that
look at other lanes (shuffles, votes, `MMA`), atomics, accesses to local memory, whose addresses mean another
place in every lane, and special registers that differ between lanes. Arithmetic counts as ALU, double
precision too; what our machine gives its SFU counts as SFU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import Unit
from warpbank.program.cfg import Cfg
from warpbank.program.divergence import UNIFORM_SREGS
from warpbank.program.isa import PT, Instr, Kernel, Op, Space, unit_of
from warpbank.program.liveness import mask_of

#: Classes of instructions: not to be executed by one lane; and the three that are told apart.
NONE, ALU, SFU, MEMORY = range(4)
_UNITS = {Unit.ALU: ALU, Unit.FMA: ALU, Unit.FP64: ALU, Unit.SFU: SFU, Unit.LSU: MEMORY}
_ACROSS_LANES = frozenset({Op.SHFL, Op.VOTE, Op.MATCH, Op.ACTIVEMASK, Op.REDUX, Op.MMA, Op.ATOM, Op.MEMBAR})


@dataclass(frozen=True)
class Instructions:
    """The code of a trace's kernels, one after the other.

    Parameters
    ----------
    kind : per pc (u1), NONE, ALU, SFU or MEMORY.
    predicates_read : per pc (u1), predicate operands as a bit mask, the guard left out.
    starts : per pc (bool), whether a block starts there.
    point : per pc (i4), the next place at which all lanes can be together, as a row of `meeting`.
    meeting : (places, places) i4: the pc at which lanes at two places meet next; -1: nowhere.
    """

    kind: np.ndarray
    predicates_read: np.ndarray
    starts: np.ndarray
    point: np.ndarray
    meeting: np.ndarray


def kind_of(instr: Instr) -> int:
    """Class of one instruction."""
    if instr.op in _ACROSS_LANES or (instr.op in (Op.LD, Op.ST) and instr.space is Space.LOCAL):
        return NONE
    if instr.op is Op.S2R and instr.aux not in UNIFORM_SREGS:
        return NONE
    return _UNITS.get(unit_of(instr), NONE)


def instructions(kernels: Mapping[str, Kernel]) -> Instructions:
    """Describe the kernels of a job (`warpbank.program.runner.compile_job`)."""
    code = [i for kernel in kernels.values() for i in kernel.instructions()]
    starts, point = np.zeros(len(code), bool), np.zeros(len(code), np.int32)
    sizes = [len(kernel.blocks) + 1 for kernel in kernels.values()]  # each with its exit
    meeting = np.full((sum(sizes), sum(sizes)), -1, np.int32)
    pc = place = 0
    for kernel, size in zip(kernels.values(), sizes, strict=True):
        cfg = Cfg(kernel)
        for b in range(cfg.exit):
            for at in range(cfg.starts[b], cfg.starts[b + 1]):
                starts[pc + at] = at == cfg.starts[b]
                point[pc + at] = place + (b if starts[pc + at] else cfg.meets[b])
        meeting[place : place + size, place : place + size] = _meetings(cfg, pc)
        pc, place = pc + cfg.starts[-1], place + size
    return Instructions(
        np.array([kind_of(i) for i in code], np.uint8),
        np.array([mask_of(p.index for p in i.psrc if p.index != PT) for i in code], np.uint8),
        starts,
        point,
        meeting,
    )


def _meetings(cfg: Cfg, first: int) -> np.ndarray:
    """For every two blocks, or the exit, the pc of the first block that all lanes from both come to."""
    found = np.full((cfg.exit + 1, cfg.exit + 1), -1, np.int32)
    chains = [_chain(cfg, b) for b in range(cfg.exit + 1)]
    for a, chain in enumerate(chains):
        for b, other in enumerate(chains):
            common = next((block for block in chain if block in other), cfg.exit)
            if common != cfg.exit and cfg.starts[common] < cfg.starts[-1]:
                found[a, b] = first + cfg.starts[common]
    return found


def _chain(cfg: Cfg, block: int) -> list[int]:
    """The block and the blocks where its lanes meet others, one after the other."""
    chain: list[int] = []
    while block != cfg.exit and block not in chain:
        chain.append(block)
        block = cfg.meets[block]
    return chain
