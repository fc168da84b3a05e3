"""Machine code as text."""

from __future__ import annotations

import pytest

from tests.program.random_kernels import random_kernel
from warpbank.program.isa import (
    Atomic,
    Block,
    BoolOp,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Mufu,
    Op,
    Pred,
    Reg,
    Rnd,
    Shuffle,
    Space,
    Sreg,
)
from warpbank.program.listing import disassemble, flow, listing, render
from warpbank.program.simt_liveness import simt_liveness

R2, R3, R4 = Reg(2), Reg(3), Reg(4)


@pytest.mark.parametrize(
    ("instr", "text"),
    [
        (Instr(Op.FFMA, DType.F32, R4, (R2, R3, R4), guard=Pred(0, True)), "@!P0 FFMA R4, R2, R3, R4"),
        (
            Instr(Op.FFMA, DType.F64, Reg(4, 2), (Reg(2, 2), Reg(6, 2), Reg(4, 2)), rnd=Rnd.RZ),
            "FFMA.F64.RZ R4.64, R2.64, R6.64, R4.64",
        ),
        (
            Instr(Op.FADD, DType.F32, R4, (R2, R3), neg=2, abs=3, ftz=True, sat=True),
            "FADD.FTZ.SAT R4, |R2|, -|R3|",
        ),
        (
            Instr(Op.LD, dst=Reg(2, 2), srcs=(Reg(4, 2),), size=8, offset=16),
            "LD.GLOBAL.64 R2.64, [R4.64+0x10]",
        ),
        (
            Instr(Op.LD, DType.S8, R2, (R4,), space=Space.SHARED, size=1, offset=-4),
            "LD.SHARED.S8 R2, [R4-0x4]",
        ),
        (
            Instr(Op.LD, dst=R2, srcs=(Imm(0),), space=Space.LOCAL, offset=8, volatile=True),
            "LD.LOCAL.VOLATILE R2, [0x8]",
        ),
        (Instr(Op.ST, srcs=(Const(0x160, 2), Reg(4, 4)), size=16), "ST.GLOBAL.128 [c[0x160].64], R4.128"),
        (
            Instr(Op.ATOM, DType.S32, R2, (Reg(4, 2), R3), aux=Atomic.MAX),
            "ATOM.GLOBAL.MAX.S32 R2, [R4.64], R3",
        ),
        (
            Instr(
                Op.ISETP,
                DType.S32,
                srcs=(R2, Imm(5)),
                pdst=(1, 7),
                psrc=(Pred(0, True),),
                cmp=Cmp.LT,
                boolop=BoolOp.OR,
            ),
            "ISETP.LT.S32.OR P1, PT, R2, 0x5, !P0",
        ),
        (Instr(Op.IADD, dst=R2, srcs=(R3, Reg(255)), pdst=(2,)), "IADD R2, P2, R3, RZ"),
        (Instr(Op.S2R, dst=R2, aux=Sreg.TID_X), "S2R R2, SR_TID.X"),
        (Instr(Op.MUFU, DType.F32, R2, (R3,), aux=Mufu.RSQRT), "MUFU.RSQRT R2, R3"),
        (Instr(Op.CVT, DType.S32, R2, (R3,), stype=DType.F32, rnd=Rnd.RZ), "CVT.S32.F32.RZ R2, R3"),
        (
            Instr(Op.SHFL, dst=R2, srcs=(R3, Imm(1), Imm(31)), aux=Shuffle.BFLY, pdst=(0,)),
            "SHFL.BFLY R2, P0, R3, 0x1, 0x1f",
        ),
        (Instr(Op.LOP3, dst=R2, srcs=(R2, R3, R4), aux=0x96), "LOP3.0x96 R2, R2, R3, R4"),
        (
            Instr(Op.MMA, DType.F16, Reg(2, 2), (R4, R4, Reg(2, 2)), aux=8),
            "MMA.F16.M8N8K8 R2.64, R4, R4, R2.64",
        ),
        (Instr(Op.BRA, target="L1", guard=Pred(3)), "@P3 BRA L1"),
        (Instr(Op.EXIT), "EXIT"),
        (Instr(Op.BAR, srcs=(Imm(0),)), "BAR.SYNC 0x0"),
        (Instr(Op.MOV, dst=Reg(257), srcs=(Const(0x168),)), "MOV V1, c[0x168]"),
    ],
)
def test_disassembly(instr, text):
    assert disassemble(instr) == text


def loop() -> Kernel:
    return Kernel(
        "sum",
        [
            Block("entry", [Instr(Op.S2R, dst=R2, aux=Sreg.TID_X), Instr(Op.MOV, dst=R3, srcs=(Imm(0),))]),
            Block(
                "body",
                [
                    Instr(Op.IADD, dst=R3, srcs=(R3, R2)),
                    Instr(Op.ISETP, srcs=(R3, Imm(9)), pdst=(0,), cmp=Cmp.LT, line=7),
                    Instr(Op.BRA, guard=Pred(0), target="body"),
                ],
            ),
            Block("done", [Instr(Op.ST, srcs=(Imm(0), R3), space=Space.SHARED), Instr(Op.EXIT)]),
        ],
        {},
        1,
        registers=4,
    )


def test_listing_of_a_loop():
    shown = listing(loop())
    entry, body, done = shown.blocks
    assert (body.predecessors, body.successors) == (("entry", "body"), ("body", "done"))
    assert (body.depth, body.header, body.reconvergence, body.divergent) == (1, True, "done", True)
    assert (entry.reconvergence, done.successors, body.live_in) == (None, ("exit",), ("R2", "R3"))
    assert [row.pc for row in body.rows] == [2, 3, 4]
    assert [row.live for row in entry.rows] == [1, 2]
    assert done.rows[0].dies == ("R3",)
    assert body.rows[1].line == 7
    assert shown.loops == ("loop at body: 1 blocks, depth 1",)
    assert (shown.pressure, shown.instructions, shown.registers) == (2, 7, 4)


def test_rendering():
    text = render(listing(loop(), simt_liveness))
    assert text[0].startswith("sum: 7 instructions, 4 registers, 1 predicates")
    assert any("2  IADD R3, R3, R2" in line and "2 alive" in line for line in text)
    assert (
        "body:  from entry, body; to body, done; loop depth 1 (header); divergent branch, lanes meet at done"
        in flow(loop())
    )


def test_every_random_kernel_can_be_shown():
    for seed in range(20):
        kernel = random_kernel(seed)
        assert len(listing(kernel).blocks) == len(kernel.blocks)
