"""Short names for machine instructions, and the check that a trace hangs together."""

from __future__ import annotations

import numpy as np

from tests.program.emulator.harness import PARAMETERS, kernel, run
from warpbank.program.emulator import Execution
from warpbank.program.isa import Block, Cmp, Const, DType, Imm, Instr, Kernel, Op, Pred, Reg, Sreg
from warpbank.program.trace.schema import FLAG_LAST, Trace

TID = Instr(Op.S2R, dst=Reg(0), aux=Sreg.TID_X)
OUT = Instr(Op.IMADW, DType.U32, dst=Reg(4, 2), srcs=(Reg(0), Imm(4), Const(PARAMETERS, 2)))
STORE = Instr(Op.ST, srcs=(Reg(4, 2), Reg(1)))
EXIT = Instr(Op.EXIT)


def setp(cmp: Cmp, a: int, b: int | Reg, p: int = 0, dtype: DType = DType.S32) -> Instr:
    return Instr(Op.ISETP, dtype, srcs=(Reg(a), b if isinstance(b, Reg) else Imm(b)), cmp=cmp, pdst=(p,))


def add(d: int, a: int, b: int | Reg) -> Instr:
    return Instr(Op.IADD, dst=Reg(d), srcs=(Reg(a), b if isinstance(b, Reg) else Imm(b)))


def bra(target: str, p: int | None = None, negated: bool = False) -> Instr:
    return Instr(Op.BRA, target=target, guard=None if p is None else Pred(p, negated))


def bar(b: int = 0, threads: int | None = None, mode: int = 0, **fields: object) -> Instr:
    return Instr(Op.BAR, srcs=(Imm(b),) if threads is None else (Imm(b), Imm(threads)), aux=mode, **fields)  # type: ignore[arg-type]


def program(*blocks: tuple[str, list[Instr]], **fields: object) -> Kernel:
    return kernel([Block(label, instrs) for label, instrs in blocks], **fields)


def execute(code: Kernel, threads: int = 32, size: int = 0, **launch: object) -> tuple[list[int], Trace]:
    """Final `out` buffer and the trace, which must hang together."""
    done: Execution = run(
        code,
        {"out": np.zeros(size or threads, np.uint32)},
        block=(threads, 1, 1),
        trace=True,
        **launch,  # type: ignore[arg-type]
    )
    assert done.trace is not None
    check_trace(done)
    return done.buffers["out"].tolist(), done.trace


def check_trace(done: Execution) -> None:
    """What must hold of any trace."""
    t = done.trace
    assert t is not None
    d = t.dynamic
    assert len(d) == done.warp_instructions
    assert int(np.bitwise_count(d["mask"]).sum()) == done.thread_instructions
    starts = t.warps["first"].astype(int)
    ends = starts + t.warps["length"]
    assert starts[0] == 0
    assert ends[-1] == len(d)
    assert (starts[1:] == ends[:-1]).all()
    rows = np.where(d["mask"] != 0, t.code["count"][d["pc"]], 0)
    # Each row's values stand alone, and all rows are used.
    assert rows.sum() == len(t.values)
    used = np.concatenate(
        [np.arange(v, v + n) for v, n in zip(d["value"].astype(int), rows, strict=True)] or [np.zeros(0, int)]
    )
    assert sorted(used.tolist()) == list(range(len(t.values)))
    for v, n, mask in zip(d["value"].astype(int), rows, d["mask"].tolist(), strict=True):
        off = [lane for lane in range(32) if not mask >> lane & 1]
        assert not t.values[v : v + n, off].any(), "lanes that do not execute hold 0"
    for first, end, mask in zip(starts, ends, t.warps["mask"].tolist(), strict=True):
        flags = d["flags"][first:end]
        assert (flags[:-1] & FLAG_LAST == 0).all()
        assert flags[-1] & FLAG_LAST
        assert (d["mask"][first:end] & ~np.uint32(mask) == 0).all()
