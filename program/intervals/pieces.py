"""Straight pieces of code, of which intervals are made, and the edges between them.

A piece begins as a basic block and may be cut in two, when its registers do not fit into what is left of an
interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.program.cfg import Cfg
from warpbank.program.isa import Instr, Kernel
from warpbank.program.liveness import mask_of


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """Straight piece of code: instructions `start` .. `end` - 1 (pcs) of one block; empty if the block is."""

    block: int
    start: int
    end: int


def touched(instr: Instr) -> int:
    """Registers that an instruction reads or writes, as a bit mask."""
    return mask_of(instr.registers_read() + instr.registers_written())


class Pieces:
    """Graph of straight pieces of code.

    Attributes
    ----------
    pieces : the pieces; a cut keeps the first part's number and adds one for the second.
    successors, predecessors : per piece, the numbers of others; the virtual exit left out.
    registers : per pc, the mask of registers that the instruction touches.
    order : pieces in the order they are tried: reverse post-order of the blocks, unreachable ones last.
    """

    def __init__(self, kernel: Kernel) -> None:
        cfg = Cfg(kernel)
        self.registers = [touched(i) for i in kernel.instructions()]
        self.pieces = [Piece(b, cfg.starts[b], cfg.starts[b + 1]) for b in range(cfg.exit)]
        self.successors = [[s for s in cfg.successors[b] if s != cfg.exit] for b in range(cfg.exit)]
        self.predecessors = [list(cfg.predecessors[b]) for b in range(cfg.exit)]
        reached = set(cfg.order)
        self.order = list(cfg.order) + [b for b in range(cfg.exit) if b not in reached]

    def cut(self, number: int, pc: int) -> int:
        """Cut a piece before `pc`; returns the number of the second part."""
        whole, second = self.pieces[number], len(self.pieces)
        self.pieces[number] = Piece(whole.block, whole.start, pc)
        self.pieces.append(Piece(whole.block, pc, whole.end))
        self.successors.append(self.successors[number])
        for s in self.successors[second]:
            self.predecessors[s] = [second if p == number else p for p in self.predecessors[s]]
        self.successors[number] = [second]
        self.predecessors.append([number])
        self.order.insert(self.order.index(number) + 1, second)
        return second
