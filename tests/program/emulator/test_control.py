"""Divergence, barriers and the end of warps, in code written directly in machine instructions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.emulator.assembly import (
    EXIT,
    OUT,
    STORE,
    TID,
    add,
    bar,
    bra,
    check_trace,
    execute,
    program,
    setp,
)
from tests.program.emulator.harness import PARAMETERS, run
from warpbank.program.cfg import Cfg
from warpbank.program.isa import PT, Atomic, Cmp, Const, DType, Imm, Instr, Kernel, Op, Pred, Reg, Space, Sreg
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_LAST, FLAG_WAIT, Trace


def test_if_then_else_meets_again() -> None:
    code = program(
        ("entry", [TID, OUT, setp(Cmp.LT, 0, 10), bra("then", 0)]),
        ("else", [add(1, 0, 100), bra("meet")]),
        ("then", [add(1, 0, 200)]),
        ("meet", [add(1, 1, 1000), STORE, EXIT]),
    )
    out, trace = execute(code)
    assert out == [i + (1200 if i < 10 else 1100) for i in range(32)]
    masks = {int(row["pc"]): int(row["mask"]) for row in trace.dynamic}
    assert masks[4] == 0xFFFFFC00
    assert masks[6] == 0x3FF
    assert masks[7] == 0xFFFFFFFF, "the halves run the rest together"
    assert trace.warp_instructions == 4 + 2 + 1 + 3


def test_nested_branches() -> None:
    code = program(
        ("entry", [TID, OUT, add(1, 255, 0), setp(Cmp.GE, 0, 16), bra("high", 0)]),
        ("low", [add(1, 1, 1), setp(Cmp.GE, 0, 8), bra("low8", 0)]),
        ("low0", [add(1, 1, 10), bra("lowmeet")]),
        ("low8", [add(1, 1, 20), setp(Cmp.GE, 0, 12), bra("lowmeet", 0)]),
        ("low8b", [add(1, 1, 40)]),
        ("lowmeet", [add(1, 1, 100), bra("meet")]),
        ("high", [add(1, 1, 2)]),
        ("meet", [add(1, 1, 1000), STORE, EXIT]),
    )
    out, trace = execute(code)
    expected = (
        [1 + 10 + 100 + 1000] * 8
        + [1 + 20 + 40 + 100 + 1000] * 4
        + [1 + 20 + 100 + 1000] * 4
        + [2 + 1000] * 16
    )
    assert out == expected
    meeting = [row for row in trace.dynamic if int(row["pc"]) == 14]
    assert [int(row["mask"]) for row in meeting] == [0xFFFF]


def test_loops_with_different_trip_counts() -> None:
    """Lane i goes round i times, and i % 3 times through an inner loop each time."""
    code = program(
        (
            "entry",
            [
                TID,
                OUT,
                add(1, 255, 0),
                add(2, 255, 0),
                Instr(Op.IREM, dst=Reg(6), srcs=(Reg(0), Imm(3))),
                setp(Cmp.EQ, 0, 0),
                bra("end", 0),
            ],
        ),
        ("outer", [add(1, 1, 1), add(3, 255, 0), setp(Cmp.EQ, 6, 0), bra("next", 0)]),
        ("inner", [add(1, 1, 100), add(3, 3, 1), setp(Cmp.LT, 3, Reg(6)), bra("inner", 0)]),
        ("next", [add(2, 2, 1), setp(Cmp.LT, 2, Reg(0)), bra("outer", 0)]),
        ("end", [STORE, EXIT]),
    )
    out, trace = execute(code)
    assert out == [i + 100 * i * (i % 3) for i in range(32)]
    assert int(trace.dynamic["mask"][-2]) == 0xFFFFFFFF
    # The lanes stay together: the loop takes as many rounds as its slowest lane.
    assert sum(int(row["pc"]) == 7 for row in trace.dynamic) == 31


def test_early_exit_of_some_lanes() -> None:
    """By a guarded EXIT in the open, and by an EXIT inside a branch; what remains goes on."""
    code = program(
        ("entry", [TID, OUT, add(1, 0, 1), setp(Cmp.LT, 0, 4), Instr(Op.EXIT, guard=Pred(0))]),
        ("on", [setp(Cmp.GE, 0, 16), bra("high", 0)]),
        ("low", [add(1, 1, 10), setp(Cmp.EQ, 0, 5), bra("meet", 0, True)]),
        ("leave", [EXIT]),
        ("high", [add(1, 1, 20)]),
        ("meet", [STORE, EXIT]),
    )
    out, trace = execute(code)
    assert out == [0] * 4 + [15, 0] + [i + 11 for i in range(6, 16)] + [i + 21 for i in range(16, 32)]
    # A path leaves inside the branch; the halves meet again without it.
    assert [int(r["mask"]) for r in trace.dynamic if int(r["pc"]) == 12] == [0xFFFFFFD0]


def test_lanes_that_exit_are_not_waited_for_at_a_meeting_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever lanes are told to meet behind an exit of some, the group goes on without them."""

    class Eager(Cfg):
        def reconvergence(self, pc: int) -> int:
            return self.starts[self.index["meet"]]

    monkeypatch.setattr("warpbank.program.emulator.encode.Cfg", Eager)
    code = program(
        ("entry", [TID, OUT, add(1, 0, 1), setp(Cmp.GE, 0, 16), bra("high", 0)]),
        ("low", [setp(Cmp.NE, 0, 5), bra("meet", 0)]),
        ("leave", [EXIT]),
        ("high", [add(1, 1, 20), setp(Cmp.LT, 0, 31), bra("meet", 0)]),
        ("leave too", [EXIT]),
        ("meet", [STORE, EXIT]),
    )
    out, trace = execute(code)
    assert out == [i + 1 if i != 5 else 0 for i in range(16)] + [i + 21 for i in range(16, 31)] + [0]
    assert [int(r["mask"]) for r in trace.dynamic if int(r["pc"]) == 12] == [0x7FFFFFDF]


def test_a_branch_that_all_or_no_lanes_take() -> None:
    code = program(
        ("entry", [TID, OUT, setp(Cmp.GE, 0, 0), bra("far", 0)]),
        ("never", [add(1, 255, 1)]),
        ("far", [setp(Cmp.LT, 0, 0), bra("never", 0)]),
        ("end", [add(1, 0, 7), STORE, Instr(Op.EXIT, guard=Pred(PT, True)), EXIT]),
    )
    out, trace = execute(code)
    assert out == [i + 7 for i in range(32)]
    assert [int(r["mask"]) for r in trace.dynamic if int(r["pc"]) in (3, 6, 9)] == [0xFFFFFFFF, 0, 0]


def test_partial_last_warp() -> None:
    code = program(("entry", [TID, OUT, add(1, 0, 5), bar(), STORE, EXIT]))
    out, trace = execute(code, threads=75, size=96)
    assert out == [i + 5 for i in range(75)] + [0] * 21
    assert trace.warps["mask"].tolist() == [0xFFFFFFFF, 0xFFFFFFFF, 0x7FF]
    assert trace.launches["warps_per_cta"].tolist() == [3]


def waves(trace: Trace) -> list[list[tuple[int, int, int, int]]]:
    """Per warp: (pc, flags, barrier, warps) of the rows that carry a flag."""
    found = []
    for warp in trace.warps:
        rows = trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]
        found.append(
            [
                (int(r["pc"]), int(r["flags"]), int(r["barrier"]), int(r["barrier_warps"]))
                for r in rows
                if r["flags"]
            ]
        )
    return found


BOTH = FLAG_ARRIVE | FLAG_WAIT


def shared_sum(*middle: tuple[str, list[Instr]], threads: int) -> Kernel:
    """Every thread stores its number, `middle` synchronises, and every thread sums all."""
    return program(
        (
            "entry",
            [
                TID,
                OUT,
                Instr(Op.SHL, dst=Reg(2), srcs=(Reg(0), Imm(2))),
                Instr(Op.ST, srcs=(Reg(2), Reg(0)), space=Space.SHARED),
            ],
        ),
        *middle,
        ("sum", [add(1, 255, 0), add(2, 255, 0)]),
        (
            "loop",
            [
                Instr(Op.LD, dst=Reg(3), srcs=(Reg(2),), space=Space.SHARED),
                add(1, 1, Reg(3)),
                add(2, 2, 4),
                setp(Cmp.LT, 2, 4 * threads),
                bra("loop", 0),
            ],
        ),
        ("end", [STORE, EXIT]),
        shared_bytes=4 * threads,
    )


def test_barrier() -> None:
    out, trace = execute(shared_sum(("wait", [bar()]), threads=96), threads=96)
    assert out == [sum(range(96))] * 96
    assert [w[0] for w in waves(trace)] == [(4, BOTH, 0, 0)] * 3


def test_barrier_after_divergence() -> None:
    code = shared_sum(
        ("split", [setp(Cmp.LT, 0, 40), bra("join", 0)]),
        ("half", [add(1, 0, 1)]),
        ("join", [bar()]),
        threads=96,
    )
    out, trace = execute(code, threads=96)
    assert out == [sum(range(96))] * 96
    assert [w[0] for w in waves(trace)] == [(7, BOTH, 0, 0)] * 3


def test_barrier_inside_divergent_branches() -> None:
    """Each side of a branch has a BAR of its own: lanes arrive one by one, the warp with the last of them."""
    code = shared_sum(
        ("split", [setp(Cmp.LT, 0, 40), bra("right", 0)]),
        ("left", [bar(), bra("join")]),
        ("right", [bar()]),
        ("join", [add(1, 0, 1)]),
        threads=96,
    )
    out, trace = execute(code, threads=96)
    assert out == [sum(range(96))] * 96
    first, second, third = (w[0] for w in waves(trace))
    assert (first[1], second[1], third[1]) == (BOTH,) * 3
    assert (first[0], third[0]) == (8, 6)
    assert second[0] == 6, "the taken side runs first and blocks; the other completes the arrival"
    rows = trace.dynamic[int(trace.warps[1]["first"]) :][: int(trace.warps[1]["length"])]
    assert [(int(r["pc"]), int(r["mask"]), int(r["flags"])) for r in rows if int(r["pc"]) in (6, 8)] == [
        (8, 0xFF, 0),
        (6, 0xFFFFFF00, BOTH),
    ]


def test_guarded_barriers_on_both_sides() -> None:
    code = shared_sum(
        ("wait", [setp(Cmp.LT, 0, 40), bar(guard=Pred(0)), bar(guard=Pred(0, True))]), threads=96
    )
    out, _ = execute(code, threads=96)
    assert out == [sum(range(96))] * 96


def test_exit_completes_an_arrival() -> None:
    """Lanes that exit are not waited for: the EXIT of the last of them is the arrival."""
    code = program(
        ("entry", [TID, OUT, add(1, 255, 0), setp(Cmp.GE, 0, 8), bra("leave", 0)]),
        ("wait", [bar(), add(1, 0, 1), STORE, EXIT]),
        ("leave", [EXIT]),
    )
    out, trace = execute(code)
    assert out == list(range(1, 9)) + [0] * 24
    assert waves(trace) == [[(9, BOTH, 0, 0), (8, FLAG_LAST, 0, 0)]]


def test_lanes_do_not_wait_for_those_that_wait_for_them() -> None:
    """Half the lanes reach a barrier; the others, at the point where they would meet again, go on and
    leave."""
    code = program(
        ("entry", [TID, OUT, add(1, 255, 0), setp(Cmp.LT, 0, 16), bra("meet", 0)]),
        ("wait", [bar(), add(1, 0, 100)]),
        ("meet", [add(1, 1, 1), STORE, EXIT]),
    )
    out, trace = execute(code)
    assert out == [1] * 16 + [i + 101 for i in range(16, 32)]
    assert waves(trace) == [[(9, BOTH, 0, 0), (9, FLAG_LAST, 0, 0)]]


def test_warps_that_exit_are_not_waited_for() -> None:
    code = program(
        ("entry", [TID, OUT, setp(Cmp.LT, 0, 64), Instr(Op.EXIT, guard=Pred(0))]),
        ("wait", [bar(), add(1, 0, 1), STORE, EXIT]),
    )
    out, trace = execute(code, threads=128)
    assert out == [0] * 64 + list(range(65, 129))
    assert [w[0][1] for w in waves(trace)] == [FLAG_LAST, FLAG_LAST, BOTH, BOTH]


def test_named_barriers_with_counts() -> None:
    """Producers (warps 0, 1) arrive at barrier 3 without waiting; the consumers (2, 3) wait for all four."""
    code = program(
        ("entry", [TID, OUT, setp(Cmp.GE, 0, 64), bra("consumer", 0)]),
        (
            "producer",
            [
                Instr(Op.SHL, dst=Reg(2), srcs=(Reg(0), Imm(2))),
                add(3, 0, 500),
                Instr(Op.ST, srcs=(Reg(2), Reg(3)), space=Space.SHARED),
                bar(3, 128, mode=1),
                EXIT,
            ],
        ),
        (
            "consumer",
            [
                bar(3, 128),
                Instr(Op.SHL, dst=Reg(2), srcs=(Reg(0), Imm(2))),
                Instr(Op.LD, dst=Reg(1), srcs=(Reg(2),), space=Space.SHARED, offset=-256),
                STORE,
                EXIT,
            ],
        ),
        shared_bytes=256,
    )
    out, trace = execute(code, threads=128)
    assert out == [0] * 64 + [i + 500 for i in range(64)]
    flags = [w[0] for w in waves(trace)]
    assert flags == [(7, FLAG_ARRIVE, 3, 4)] * 2 + [(9, BOTH, 3, 4)] * 2


def test_reductions_over_the_cta() -> None:
    code = program(
        (
            "entry",
            [
                TID,
                Instr(Op.IMADW, DType.U32, dst=Reg(4, 2), srcs=(Reg(0), Imm(12), Const(PARAMETERS, 2))),
                setp(Cmp.LT, 0, 50, 0),
                setp(Cmp.LT, 0, 80, 2),
                bar(mode=2, dst=Reg(1), psrc=(Pred(0),)),
                bar(mode=3, pdst=(1,), psrc=(Pred(2),)),
                bar(mode=4, pdst=(3,), psrc=(Pred(0, True),)),
                STORE,
                Instr(Op.SEL, dst=Reg(1), srcs=(Imm(1), Imm(0)), psrc=(Pred(1),)),
                Instr(Op.ST, srcs=(Reg(4, 2), Reg(1)), offset=4),
                Instr(Op.SEL, dst=Reg(1), srcs=(Imm(1), Imm(0)), psrc=(Pred(3),)),
                Instr(Op.ST, srcs=(Reg(4, 2), Reg(1)), offset=8),
                EXIT,
            ],
        )
    )
    out, trace = execute(code, threads=80, size=240)
    assert np.array(out).reshape(80, 3).tolist() == [[50, 1, 1]] * 80
    for row in trace.dynamic[trace.dynamic["pc"] == 4]:
        lanes = [i for i in range(32) if int(row["mask"]) >> i & 1]
        assert set(trace.values[int(row["value"]), lanes].tolist()) == {50}, (
            "the trace has the value the barrier delivered"
        )


def test_warps_may_wait_for_each_others_stores() -> None:
    """Warp 0 spins on a flag in shared memory that the last warp sets."""
    code = program(
        ("entry", [TID, OUT, setp(Cmp.GE, 0, 96), bra("setter", 0)]),
        (
            "spin",
            [
                Instr(Op.LD, dst=Reg(1), srcs=(Imm(0),), space=Space.SHARED, volatile=True),
                setp(Cmp.EQ, 1, 0),
                bra("spin", 0),
            ],
        ),
        ("seen", [STORE, EXIT]),
        (
            "setter",
            [
                Instr(Op.MOV, dst=Reg(1), srcs=(Imm(42),)),
                Instr(Op.ST, srcs=(Imm(0), Reg(1)), space=Space.SHARED),
                STORE,
                EXIT,
            ],
        ),
        shared_bytes=4,
    )
    out, _ = execute(code, threads=128)
    assert out == [42] * 128


def test_ctas_start_with_clean_memory_and_registers() -> None:
    code = program(
        (
            "entry",
            [
                Instr(Op.S2R, dst=Reg(0), aux=Sreg.CTAID_X),
                OUT,
                Instr(Op.LD, dst=Reg(2), srcs=(Imm(0),), space=Space.SHARED),
                Instr(Op.LD, dst=Reg(3), srcs=(Imm(0),), space=Space.LOCAL),
                add(1, 2, Reg(3)),
                add(1, 1, Reg(7)),
                add(7, 0, 5),
                Instr(Op.ST, srcs=(Imm(0), Reg(7)), space=Space.SHARED),
                Instr(Op.ST, srcs=(Imm(0), Reg(7)), space=Space.LOCAL),
                STORE,
                EXIT,
            ],
        ),
        shared_bytes=4,
        local_bytes=4,
    )
    done = run(code, {"out": np.full(3, 9, np.uint32)}, grid=(3, 1, 1), launches=2)
    assert done.buffers["out"].tolist() == [0, 0, 0]


def test_launches_share_memory_and_trace() -> None:
    code = program(
        (
            "entry",
            [
                Instr(Op.MOV, dst=Reg(1), srcs=(Imm(1),)),
                Instr(Op.ATOM, srcs=(Const(PARAMETERS, 2), Reg(1)), aux=Atomic.ADD),
                EXIT,
            ],
        )
    )
    done = run(
        code, {"out": np.zeros(1, np.uint32)}, grid=(2, 1, 1), block=(48, 1, 1), launches=3, trace=True
    )
    assert done.buffers["out"].tolist() == [3 * 2 * 48]
    check_trace(done)
    assert done.trace is not None
    assert done.trace.launches["first_warp"].tolist() == [0, 4, 8]
    assert done.trace.warps["launch"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert done.trace.warps["cta"].tolist() == [0, 0, 1, 1] * 3
    assert done.trace.warps["index"].tolist() == [0, 1] * 6
