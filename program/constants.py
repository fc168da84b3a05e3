"""Constants in registers: every parameter and constant that a kernel reads becomes a register that is loaded
once, when a thread starts.

G-Scalar's compiler kept them there (Liu et al., HPCA 2017, section 5): each such register is equal in all
lanes, and every read of it is an access to the register file. A load at an address that is known only when
the kernel runs stays a load.
"""

from __future__ import annotations

from dataclasses import replace

from warpbank.program.isa import Block, Const, Instr, Kernel, Op, Reg, Source


def constants_in_registers(kernel: Kernel) -> Kernel:
    """Copy of a kernel over virtual registers that reads the constant bank in its first block alone.

    Words that instructions read as a pair lie in an aligned pair of registers, and whoever reads one of them
    alone reads it there.
    """
    blocks = [Block(block.label, [instr.copy() for instr in block.instrs]) for block in kernel.blocks]
    made = replace(kernel, blocks=blocks, groups=dict(kernel.groups))
    instrs = [instr for block in blocks for instr in block.instrs]
    read = {source for instr in instrs for source in instr.srcs if isinstance(source, Const)}
    place: dict[Const, Reg] = {}
    loads = []
    for const in sorted(read, key=lambda const: (-const.width, const.offset)):
        if const in place:
            continue
        register = place[const] = made.new_register(const.width)
        for i in range(const.width):
            word = Const(const.offset + 4 * i)
            place.setdefault(word, register.word(i))
            loads.append(Instr(Op.MOV, dst=register.word(i), srcs=(word,)))

    def home(source: Source) -> Source:
        return place[source] if isinstance(source, Const) else source

    for instr in instrs:
        instr.srcs = tuple(home(source) for source in instr.srcs)
    if any(instr.target == blocks[0].label for instr in instrs):  # a loop must not load them again
        blocks.insert(0, Block(f"{blocks[0].label}_constants", loads))
    else:
        blocks[0].instrs[:0] = loads
    return made
