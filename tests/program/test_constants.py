"""Constants in registers: read once, when a thread starts, and by nothing else."""

from __future__ import annotations

import pytest

from warpbank import workloads
from warpbank.program.constants import constants_in_registers
from warpbank.program.isa import VIRTUAL, Block, Const, Imm, Instr, Kernel, Op, Pred, Reg
from warpbank.program.options import ConstantPlace
from warpbank.program.runner import Options, compile_job


def constants(instr: Instr) -> list[Const]:
    return [source for source in instr.srcs if isinstance(source, Const)]


def kernel(*blocks: list[Instr]) -> Kernel:
    groups = {VIRTUAL: 1, VIRTUAL + 1: 1, VIRTUAL + 2: 2}
    return Kernel(
        "k", [Block(f"B{i}", instrs) for i, instrs in enumerate(blocks)], groups, 1, next_register=VIRTUAL + 4
    )


def add(first: object, second: object) -> Instr:
    return Instr(Op.IADD, dst=Reg(VIRTUAL), srcs=(first, second))  # type: ignore[arg-type]


def test_each_word_is_loaded_once_at_the_start():
    code = kernel([add(Const(0x160), Imm(1)), add(Const(0x160), Const(0x164)), Instr(Op.EXIT)])
    made = constants_in_registers(code)
    loads = made.blocks[0].instrs[:2]
    assert [(instr.op, constants(instr)) for instr in loads] == [
        (Op.MOV, [Const(0x160)]),
        (Op.MOV, [Const(0x164)]),
    ]
    first, second = (instr.dst for instr in loads)
    assert [instr.srcs for instr in made.blocks[0].instrs[2:4]] == [(first, Imm(1)), (first, second)]
    assert code.blocks[0].instrs[0].srcs[0] == Const(0x160)  # the argument is as it was


def test_words_of_a_pair_lie_in_a_pair():
    wide = Instr(Op.IMADW, dst=Reg(VIRTUAL + 2, 2), srcs=(Reg(VIRTUAL), Imm(4), Const(0x168, 2)))
    made = constants_in_registers(kernel([add(Const(0x16C), Imm(1)), wide, Instr(Op.EXIT)]))
    loads = made.blocks[0].instrs[:2]
    assert [constants(instr) for instr in loads] == [[Const(0x168)], [Const(0x16C)]]
    pair = made.blocks[0].instrs[3].srcs[2]
    assert isinstance(pair, Reg)
    assert pair.width == 2
    assert made.groups[pair.index] == 2
    assert [instr.dst for instr in loads] == [pair.word(0), pair.word(1)]
    assert made.blocks[0].instrs[2].srcs[0] == pair.word(1)


def test_a_loop_at_the_entry_does_not_load_again():
    loop = [add(Const(0x160), Reg(VIRTUAL)), Instr(Op.BRA, target="B0", guard=Pred(0))]
    made = constants_in_registers(kernel(loop, [Instr(Op.EXIT)]))
    assert [len(block.instrs) for block in made.blocks] == [1, 2, 1]
    assert made.blocks[1].label == "B0"
    assert constants(made.blocks[0].instrs[0])
    assert not any(constants(instr) for block in made.blocks[1:] for instr in block.instrs)


def test_nothing_to_load():
    made = constants_in_registers(kernel([add(Imm(1), Imm(2)), Instr(Op.EXIT)]))
    assert len(made.blocks[0].instrs) == 2


@pytest.mark.parametrize("name", ["matrixmul", "bfs", "mri_q"])
def test_only_the_first_block_reads_the_bank(name):
    options = Options(constants=ConstantPlace.REGISTERS)
    for code in compile_job(workloads.get(name).job("tiny"), options).values():
        assert any(constants(instr) for instr in code.blocks[0].instrs)
        for block in code.blocks[1:]:
            assert not any(constants(instr) for instr in block.instrs)
