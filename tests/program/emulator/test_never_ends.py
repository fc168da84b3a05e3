"""Kernels that never end: endless loops, barriers that cannot open."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.program.emulator.assembly import EXIT, TID, add, bar, bra, program, setp
from tests.program.emulator.harness import run
from warpbank.program.errors import ExecutionError
from warpbank.program.isa import Cmp, Instr, Kernel, Op, Pred


def refused(code: Kernel, threads: int = 32, **launch: object) -> str:
    with pytest.raises(ExecutionError) as caught:
        run(code, {"out": np.zeros(threads, np.uint32)}, block=(threads, 1, 1), **launch)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_endless_loop() -> None:
    code = program(("entry", [TID]), ("loop", [add(0, 0, 1), Instr(Op.BRA, target="loop", line=12)]))
    text = refused(code, max_instructions=5000)
    for part in (
        "kernel k, block (0, 0, 0), warp 0",
        "5000 warp instructions",
        "backward branch was pc 2 (test.ptx:12)",
        "--max-instructions",
    ):
        assert part in text


def test_deadlock_of_a_warp_with_itself() -> None:
    """Half the lanes wait at a barrier, the other half at another."""
    code = program(
        ("entry", [TID, setp(Cmp.LT, 0, 16), bra("other", 0)]),
        ("one", [bar(1, line=8), EXIT]),
        ("other", [bar(2, line=9), EXIT]),
    )
    text = refused(code)
    for part in (
        "deadlock",
        "lanes 0xffff0000 of 0xffffffff at barrier 1",
        "needs all 1 warps",
        "has 0",
        "test.ptx:8",
    ):
        assert part in text


def test_deadlock_of_two_barriers() -> None:
    code = program(
        ("entry", [TID, setp(Cmp.LT, 0, 32), bra("other", 0)]),
        ("one", [bar(1), EXIT]),
        ("other", [setp(Cmp.LT, 0, 0), bar(2, 96), EXIT]),
    )
    text = refused(code, threads=64)
    for part in (
        "warp 0 has all lanes at barrier 2",
        "warp 1 has all lanes at barrier 1",
        "barrier 2 needs 3 warps and has 1",
    ):
        assert part in text


def test_deadlock_tells_who_has_left() -> None:
    code = program(
        ("entry", [TID, setp(Cmp.LT, 0, 32), Instr(Op.EXIT, guard=Pred(0))]), ("wait", [bar(1, 64), EXIT])
    )
    assert re.search(r"Warps 0 have exited|Warp 0 has exited", refused(code, threads=64))


def test_barrier_numbers() -> None:
    assert "Barriers are 0 to 15" in refused(program(("entry", [bar(16), EXIT])))
    assert "multiples of 32" in refused(program(("entry", [bar(1, 33), EXIT])))


def test_code_that_runs_off_its_end() -> None:
    assert "past the last instruction" in refused(program(("entry", [TID])))
