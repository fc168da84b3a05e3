"""Kernel copy that the allocator works on, with the origin of each instruction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from warpbank.program.isa import Block, Const, Imm, Instr, Kernel, Op, Reg, Sreg


@dataclass
class AllocationReport:
    """Report of an allocation, with what it took.

    Parameters
    ----------
    registers, predicates : how many of R0.. and P0.. the code uses (highest + 1).
    max_registers : the limit it was given.
    rounds : colourings tried.
    rematerialized : register groups recomputed at their uses instead.
    spill_loads, spill_stores : instructions inserted for them.
    spill_bytes : local memory per thread taken.
    spilled_predicates : predicates kept in registers between their uses.
    moves_coalesced : register moves of the source that are gone.
    origins : per block and instruction of the result, the index of the source block's instruction it is, or
        -1: inserted. Sources missing are moves that became needless. It is what
        `warpbank.program.allocation.check` needs to compare the two.
    """

    registers: int = 0
    predicates: int = 0
    max_registers: int = 0
    rounds: int = 0
    rematerialized: int = 0
    spill_loads: int = 0
    spill_stores: int = 0
    spill_bytes: int = 0
    spilled_predicates: int = 0
    moves_coalesced: int = 0
    origins: list[list[int]] = field(default_factory=list)


#: A register word that can be computed anywhere: an immediate, a constant-bank word, or a special register.
Recipe = Imm | Const | Sreg

#: Special registers whose value changes while the kernel runs.
_CLOCKS = (Sreg.CLOCK, Sreg.CLOCK_HI, Sreg.GLOBALTIMER, Sreg.GLOBALTIMER_HI)


def recipes(instr: Instr) -> list[Recipe] | None:
    """Recipe to compute each word that an instruction writes, if it can be computed anywhere; None: it
    cannot."""
    if instr.dst is None or instr.guard is not None or instr.volatile or instr.pdst:
        return None
    if instr.op is Op.S2R and instr.aux not in _CLOCKS:
        return [Sreg(instr.aux)]
    if instr.op is Op.MOV and not isinstance(instr.srcs[0], Reg):
        s = instr.srcs[0]
        if isinstance(s, Imm):
            return [Imm((s.value >> (32 * i)) & 0xFFFF_FFFF) for i in range(instr.dst.width)]
        return [Const(s.offset + 4 * i) for i in range(instr.dst.width)]
    return None


def recipe_instr(dst: Reg, recipe: Recipe) -> Instr:
    """The instruction that computes a word by its recipe."""
    if isinstance(recipe, Sreg):
        return Instr(Op.S2R, dst=dst, aux=int(recipe))
    return Instr(Op.MOV, dst=dst, srcs=(recipe,))


def joined_groups(kernel: Kernel) -> dict[int, int]:
    """The register groups of a kernel, those joined that an operand spans: a vector access to neighbours
    makes them one group."""
    groups = dict(kernel.groups)
    for instr in kernel.instructions():
        for operand in (instr.dst, *instr.srcs):
            if isinstance(operand, Reg) and operand.width > 1 and operand.index in groups:
                parts = [
                    base for base in range(operand.index, operand.index + operand.width) if base in groups
                ]
                whole = sum(groups[base] for base in parts) == operand.width
                if whole and len(parts) > 1:
                    for base in parts:
                        del groups[base]
                    groups[operand.index] = operand.width
    return groups


class Work:
    """Kernel under allocation; `source` stays as it is.

    Attributes
    ----------
    kernel : the copy being rewritten.
    origins : see `AllocationReport`.
    slots : spilled group (or a part of one in a temporary register) -> its offset in local memory.
    recipes : group -> one recipe per word, instead of a slot.
    fixed : groups that may not be spilled again.
    short : temporaries of an earlier spill: next time, reload at every use.
    """

    def __init__(self, source: Kernel, max_registers: int) -> None:
        self.source = source
        self.max_registers = max_registers
        blocks = [Block(b.label, [i.copy() for i in b.instrs]) for b in source.blocks]
        self.kernel = replace(source, blocks=blocks, groups=joined_groups(source))
        self.origins = [list(range(len(b.instrs))) for b in blocks]
        self.slots: dict[int, int] = {}
        self.recipes: dict[int, list[Recipe]] = {}
        self.fixed: set[int] = set()
        self.short: set[int] = set()
        self.report = AllocationReport(max_registers=max_registers)

    def new_slot(self, width: int) -> int:
        """Local memory for a group of this width, aligned for one access."""
        size = 4 * width
        offset = -(-self.kernel.local_bytes // size) * size
        self.kernel.local_bytes = offset + size
        self.report.spill_bytes = self.kernel.local_bytes - self.source.local_bytes
        return offset

    def rename(self, words: dict[int, int]) -> None:
        """Replace register words, groups staying together."""
        for block in self.kernel.blocks:
            for instr in block.instrs:
                rename(instr, words)


def rename(instr: Instr, words: dict[int, int]) -> None:
    """Replace the registers of one instruction, in place."""
    if instr.dst is not None and instr.dst.index in words:
        instr.dst = Reg(words[instr.dst.index], instr.dst.width)
    for s in instr.srcs:
        if isinstance(s, Reg) and s.index in words:
            instr.srcs = tuple(
                Reg(words[x.index], x.width) if isinstance(x, Reg) and x.index in words else x
                for x in instr.srcs
            )
            return
