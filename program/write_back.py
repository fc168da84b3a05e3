"""Write-back hints: results go into the collector, into the banks, or both. BOW, section IV-B; the hints of
BOW-WR.

A value stays in its collector for as long as each access follows the one before it by at most `window` - 1
uops of its warp, all uops counted. A result need not go to the banks if, whatever path the warp takes, every
read that may still see it is made during that stay. One pass backward finds, per place and register, the
greatest age (uops since the last access) with which a value may arrive there; `DEAD` if nobody reads it any
more, `NEVER` if no age is small enough.

What makes it safe for a warp and not only for a thread:

- A register that lanes waiting elsewhere may read (`SimtLiveness.waiting`) has to be in the banks.
- Behind a divergent branch either side may run first: what is alive there has to be in the banks.
- If lanes of a warp may be apart at a CTA barrier, others may run while they wait, inside the divergent
  region or, having gone on from where they should have met, behind it: what is alive at any barrier or
  guarded exit of such a kernel has to be in the banks.
- A guarded write does not kill. A guarded access need not happen, so it does not prolong the stay either.
- A compressing storage lets a decompress move go before a write of some lanes, unless the write is fresh
  (`warpbank.program.scalar`). The move reads the register, so such a write counts as a read of it.

The number of entries does not matter: a value squeezed out for lack of them is written back whatever its hint
says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR
from warpbank.program.cfg import Cfg, always
from warpbank.program.hints import Hints
from warpbank.program.isa import Instr, Kernel, Op
from warpbank.program.liveness import members
from warpbank.program.scalar import fresh_hints
from warpbank.program.simt_liveness import SimtLiveness

#: Windows the pass can be asked for, in uops.
WINDOWS = range(2, 8)
#: Greatest age at which a value may arrive: not at any; and: at any, it is read no more.
NEVER, DEAD = -1, 100

_Step = Callable[[int, Instr, np.ndarray], np.ndarray]


class WriteBack:
    """Write-back pass over one kernel.

    Parameters
    ----------
    kernel : allocated code.
    window : uops of the window, 2..7.
    moves : decompress moves may read what instructions write (`warpbank.golden.storage.decompress_moves`).

    Attributes
    ----------
    bits : per pc, `Hints.write_back`. One pair of bits serves all destination registers of an instruction.
    unread : per pc, whether there are results and no path reads any. They are collector only, which drops
        them.

    Raises
    ------
    ValueError : the window is not one of `WINDOWS`, or the registers are virtual.
    """

    def __init__(self, kernel: Kernel, window: int, moves: bool = False) -> None:
        if window not in WINDOWS:
            raise ValueError(f"a window of {window} uops is outside {WINDOWS[0]}..{WINDOWS[-1]}.")
        if not kernel.allocated:
            raise ValueError(
                f"kernel {kernel.name} is on virtual registers; write-back hints need allocated ones."
            )
        self.kernel, self.window = kernel, window
        self.cfg = Cfg(kernel)
        self.live = SimtLiveness(kernel, self.cfg)
        divergence = self.live.divergence
        self._divergent = set(divergence.divergent_branches)
        self._apart = self.live.apart
        instructions = kernel.instructions()
        fresh = fresh_hints(kernel).tolist() if moves else [True] * len(instructions)
        self._moved = {id(instr) for instr, all_new in zip(instructions, fresh, strict=True) if not all_new}
        self._waiting = [list(members(w.registers & (1 << 256) - 1)) for w in self.live.waiting]
        self.bits = np.full(len(kernel.instructions()), TO_COLLECTOR | TO_BANKS, np.uint8)
        self.unread = np.zeros(len(self.bits), bool)
        ages, reads = self._fixpoint(self._age_before), self._fixpoint(self._read_before)
        for b, start in enumerate(self.cfg.starts[:-1]):
            after = zip(
                self._walk(self._age_before, ages, b)[1:],
                self._walk(self._read_before, reads, b)[1:],
                strict=True,
            )
            for pc, (instr, (age, read)) in enumerate(
                zip(kernel.blocks[b].instrs, after, strict=True), start
            ):
                written = instr.registers_written()
                if written:
                    held = self._age_after(b, instr, age)[written]
                    self.bits[pc] = self._destination(held, read[written])
                    self.unread[pc] = bool((held == DEAD).all())

    def _destination(self, age: np.ndarray, read: np.ndarray) -> int:
        """Bits for results that would arrive at the next instruction with age 1."""
        if (age >= 1).all():
            return TO_COLLECTOR
        return TO_COLLECTOR | TO_BANKS if (read < self.window - 1).any() else TO_BANKS

    def _fixpoint(self, step: _Step) -> list[np.ndarray]:
        """State at the start of each block and of the virtual exit, where nothing is read any more."""
        starts = [np.full(256, DEAD, np.int16) for _ in range(self.cfg.exit + 1)]
        work = list(self.cfg.order)
        while work:
            b = work.pop()
            new = self._walk(step, starts, b)[0]
            if (new != starts[b]).any():
                starts[b] = new
                work += [p for p in self.cfg.predecessors[b] if p not in work]
        return starts

    def _walk(self, step: _Step, starts: list[np.ndarray], block: int) -> list[np.ndarray]:
        """States before each instruction of a block, then the one at its end."""
        states = [np.minimum.reduce([starts[s] for s in self.cfg.successors[block]])]
        for instr in reversed(self.kernel.blocks[block].instrs):
            states.append(step(block, instr, states[-1]))
        return states[::-1]

    # --- One instruction, from after it to before it.

    def _age_after(self, block: int, instr: Instr, following: np.ndarray) -> np.ndarray:
        """The same after an instruction, given what follows: less if other lanes may want a register or run
        first."""
        after = np.where(following == DEAD, DEAD, NEVER) if self._breaks(block, instr) else following.copy()
        after[self._waiting[block]] = NEVER
        return after

    def _age_before(self, block: int, instr: Instr, after: np.ndarray) -> np.ndarray:
        """Greatest age with which a value of each register may arrive."""
        after = self._age_after(block, instr, after)
        before = np.where(after == DEAD, DEAD, np.maximum(after - 1, NEVER))
        reads, written = self._read_by(instr), instr.registers_written()
        if always(instr):
            before[written] = DEAD
            for r in reads:
                before[r] = self.window - 1 if r in written or after[r] >= 1 else NEVER
        else:
            before[reads] = np.minimum(before[reads], self.window - 1)
        before[self._waiting[block]] = NEVER
        return before

    def _read_before(self, _: int, instr: Instr, after: np.ndarray) -> np.ndarray:
        """Uops until the next read of each register on the shortest path to one, of a lane's point of
        view."""
        before = np.minimum(after + 1, DEAD)
        if always(instr):
            before[instr.registers_written()] = DEAD
        before[self._read_by(instr)] = 0
        return before

    def _read_by(self, instr: Instr) -> list[int]:
        """Registers that an instruction reads, or a decompress move before it."""
        reads = instr.registers_read()
        return [*reads, *instr.registers_written()] if id(instr) in self._moved else reads

    def _breaks(self, block: int, instr: Instr) -> bool:
        """Whether other lanes may run between this instruction and the next one of its lanes."""
        if instr.op is Op.BRA:
            return block in self._divergent
        return self._apart and (instr.op is Op.BAR or (instr.op is Op.EXIT and not always(instr)))


def write_back(kernel: Kernel, window: int, moves: bool = False) -> np.ndarray:
    """`Hints.write_back` of one kernel, one row per pc. `window`, `moves`: as `WriteBack` takes them, which
    says what is raised."""
    return WriteBack(kernel, window, moves).bits


def write_back_hints(kernels: Mapping[str, Kernel], window: int, moves: bool = False) -> Hints:
    """Hints for the trace of a job with these kernels (`warpbank.program.runner.compile_job`); only
    `write_back` is filled in. `window`, `moves`: as `WriteBack` takes them."""
    pieces = []
    for kernel in kernels.values():
        bits = write_back(kernel, window, moves)
        pieces.append(replace(Hints.none(len(bits)), write_back=bits))
    return Hints.join(pieces)


@dataclass(frozen=True)
class Shares:
    """Shares of the write-back classes: how many instructions with register results go where (BOW, Fig. 7).

    Parameters
    ----------
    banks, collector, both : instructions whose results are wanted in the banks only, the collector only,
        both.
    """

    banks: int
    collector: int
    both: int


def shares(code: np.ndarray, bits: np.ndarray, pcs: np.ndarray | None = None) -> Shares:
    """Write-back class counts of `Trace.code` under `write_back` bits: static, or dynamic over the executed
    `pcs` (`dynamic["pc"]`)."""
    weight = np.ones(len(code), np.int64) if pcs is None else np.bincount(pcs, minlength=len(code))
    weight = np.where(code["count"] > 0, weight, 0)
    return Shares(
        *(int(weight[bits == to].sum()) for to in (TO_BANKS, TO_COLLECTOR, TO_COLLECTOR | TO_BANKS))
    )


def transient_registers(kernel: Kernel, bits: np.ndarray) -> list[int]:
    """Registers that need no place in the banks: written, and by collector-only instructions alone.

    They would save `len(...) / kernel.registers` of the register file, if every partial result found its
    register's entry in the collector and no entry were ever squeezed out.
    """
    written: set[int] = set()
    stored: set[int] = set()
    for instr, to in zip(kernel.instructions(), bits.tolist(), strict=True):
        written.update(instr.registers_written())
        if to != TO_COLLECTOR:
            stored.update(instr.registers_written())
    return sorted(written - stored)
