"""Release flags: where registers may be released, after a read or at the start of a block (renaming, section
4.3).

A register may be released where it holds a value that no lane of the warp reads any more (`SimtLiveness`).
Hence

- inside a block, after the last read: the flag of that operand (pir);
- at the start of a block, if its value died on the way there (pbr): at the reconvergence point, of what
  several sides of a divergent branch read; behind the loop, of what lives across its iterations; also of
  results that nobody read, of last reads under a guard, which need not happen, and of operands that have no
  flag.

A uniform branch parts no lanes: what only one side reads is released on that side and at the start of the
other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import RZ
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import Instr, Kernel, Op, Reg
from warpbank.program.liveness import mask_of
from warpbank.program.simt_liveness import SimtLiveness

#: Operands of an instruction that have a flag.
OPERANDS = 3


@dataclass(frozen=True)
class Flags:
    """The release flags of one kernel.

    Parameters
    ----------
    pir : per pc (u1), bit k: all words of the k-th of `operands` are released after this read.
    dead : per pc (u1), the same by source: bit k: the k-th of `Instr.registers_read` is released
        (`Hints.dead`).
    pbr : per block, the registers released at its start, as a bit mask.
    held : per pc, the registers that may be allocated while the instruction runs, its results included, as
        bit masks.
    exempt : registers that are never renamed and have no flags, as a bit mask.
    """

    pir: np.ndarray
    dead: np.ndarray
    pbr: tuple[int, ...]
    held: tuple[int, ...]
    exempt: int = 0


def operands(instr: Instr) -> list[Reg]:
    """Register operands of an instruction that have a flag: the first three."""
    return [s for s in instr.srcs if isinstance(s, Reg) and s.index != RZ][:OPERANDS]


def release_flags(kernel: Kernel, exempt: int = 0) -> Flags:
    """Find the release flags of a kernel; none for the registers of the mask `exempt`.

    A register that the instruction itself overwrites is not flagged: the result takes its place.
    """
    return _Pass(kernel, exempt).flags()


class _Pass:
    def __init__(self, kernel: Kernel, exempt: int) -> None:
        self.kernel, self.exempt = kernel, exempt
        self.cfg = Cfg(kernel)
        live = SimtLiveness(kernel, self.cfg)
        kept = live.parked.registers | exempt
        count = len(kernel.instructions())
        self.pir, self.dead = np.zeros(count, np.uint8), np.zeros(count, np.uint8)
        self.released = [0] * count  # per pc: registers that a flag surely releases, whatever the guard
        for pc, instr, after in live:
            self._flag(pc, instr, after.registers | kept | mask_of(instr.registers_written()))
        self.alive = [at.registers | kept for at in live.at_start]

    def _flag(self, pc: int, instr: Instr, alive: int) -> None:
        gone = 0
        for k, operand in enumerate(operands(instr)):
            words = mask_of(range(operand.index, operand.index + operand.width))
            if not alive & words:
                self.pir[pc] |= 1 << k
                gone |= words
        for k, r in enumerate(instr.registers_read()):
            self.dead[pc] |= (gone >> r & 1) << k
        if always(instr):
            self.released[pc] = gone

    def flags(self) -> Flags:
        """Forward over the graph: what may be allocated where each block starts; what of it is dead is
        released there."""
        cfg, pcs = self.cfg, range(len(self.released))
        written = [mask_of(i.registers_written()) & ~self.exempt for i in self.kernel.instructions()]
        at_start = [0] * (cfg.exit + 1)
        held = [0] * len(pcs)
        work = list(cfg.order)
        while work:
            b = work.pop(0)
            allocated = at_start[b] & ~self._at_entry(b, at_start[b])
            for pc in pcs[cfg.starts[b] : cfg.starts[b + 1]]:
                held[pc] = allocated | written[pc]
                allocated = (allocated & ~self.released[pc]) | written[pc]
            for s in cfg.successors[b]:
                if allocated & ~at_start[s]:
                    at_start[s] |= allocated
                    if s != cfg.exit and s not in work:
                        work.append(s)
        pbr = tuple(self._at_entry(b, at_start[b]) for b in range(cfg.exit))
        return Flags(self.pir, self.dead, pbr, tuple(held), self.exempt)

    def _at_entry(self, block: int, allocated: int) -> int:
        """What is released at a block's start, given what is allocated there. Nothing at an empty block,
        which the next one follows, and at one that only ends the warp, which releases everything."""
        instrs = self.kernel.blocks[block].instrs
        if not instrs or (instrs[0].op is Op.EXIT and always(instrs[0])):
            return 0
        return allocated & ~self.alive[block]
