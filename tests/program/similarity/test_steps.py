"""Warps of 64 threads: which instructions two warps execute together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.release.replay import drawn
from tests.program.similarity.micro import Did, kernel, trace
from warpbank import workloads
from warpbank.program.isa import Instr, Op, Pred, Reg
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.similarity.instructions import instructions
from warpbank.program.similarity.steps import steps

WORK = Instr(Op.MOV, dst=Reg(0), srcs=(Reg(1),))
EXIT = Instr(Op.EXIT)


def branch(target: str, guard: Pred | None = None) -> Instr:
    return Instr(Op.BRA, target=target, guard=guard)


def merged(code: list[list[Instr]], *paths: list[int]) -> list[tuple[int, int]]:
    """pcs of the lower and the upper half, step by step; -1: does not take part."""
    made = kernel(*code)
    run = trace(made, *([Did(pc) for pc in path] for path in paths))
    found = steps(run, instructions({"k": made}), 64)
    return [tuple(-1 if row < 0 else int(run.dynamic["pc"][row]) for row in pair) for pair in found.rows]  # type: ignore[misc]


def both(*pcs: int) -> list[tuple[int, int]]:
    return [(pc, pc) for pc in pcs]


def lower(*pcs: int) -> list[tuple[int, int]]:
    return [(pc, -1) for pc in pcs]


def upper(*pcs: int) -> list[tuple[int, int]]:
    return [(-1, pc) for pc in pcs]


#: 0: branch to 3; 1, 2: one side; 3, 4: the other; 5, 6: where they meet.
SIDES = [[branch("B2", Pred(0))], [WORK, branch("B3")], [WORK, WORK], [WORK, EXIT]]


def test_the_same_way() -> None:
    assert merged(SIDES, [0, 1, 2, 5, 6], [0, 1, 2, 5, 6]) == both(0, 1, 2, 5, 6)


def test_two_sides() -> None:
    assert merged(SIDES, [0, 3, 4, 5, 6], [0, 1, 2, 5, 6]) == [
        *both(0),
        *lower(3, 4),
        *upper(1, 2),
        *both(5, 6),
    ]


def test_one_warp_diverges() -> None:
    """The first warp runs both sides, the second only the first of them: they share that side."""
    assert merged(SIDES, [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 5, 6]) == [
        *both(0, 1, 2),
        *lower(3, 4),
        *both(5, 6),
    ]


def test_loops_of_different_lengths() -> None:
    """0: before; 1, 2: loop; 3: behind it."""
    code = [[WORK], [WORK, branch("B1", Pred(0))], [EXIT]]
    assert merged(code, [0, 1, 2, 3], [0, 1, 2, 1, 2, 1, 2, 3]) == [
        *both(0, 1, 2),
        *upper(1, 2, 1, 2),
        *both(3),
    ]


def test_iterations_stay_together() -> None:
    """A loop with a side: 0: header; 1: side; 2, 3: latch; 4: behind. The warps take the side in different
    iterations."""
    code = [[branch("B2", Pred(0))], [WORK], [WORK, branch("B0", Pred(0))], [EXIT]]
    expected = [*both(0), *lower(1), *both(2, 3, 0), *upper(1), *both(2, 3, 4)]
    assert merged(code, [0, 1, 2, 3, 0, 2, 3, 4], [0, 2, 3, 0, 1, 2, 3, 4]) == expected


def test_one_warp_leaves_early() -> None:
    """0: exit for some; 1, 2: the rest."""
    code = [[Instr(Op.EXIT, guard=Pred(0))], [WORK, EXIT]]
    assert merged(code, [0, 1, 2], [0]) == [*both(0), *lower(1, 2)]


def test_the_last_warp_of_an_odd_cta_is_alone() -> None:
    code = kernel([WORK, EXIT])
    done = [Did(0), Did(1)]
    run = trace(code, done, done, done, exist=(0xFFFFFFFF, 0xFFFFFFFF, 0xFF))
    found = steps(run, instructions({"k": code}), 64)
    assert found.rows.tolist() == [[0, 2], [1, 3], [4, -1], [5, -1]]
    assert found.first.tolist() == [0, 2, 4]
    assert found.existing.tolist() == [(1 << 64) - 1, 0xFF]


def test_warps_of_different_ctas_stay_apart() -> None:
    code = kernel([WORK, EXIT])
    run = trace(code, [Did(0), Did(1)], [Did(0), Did(1)])
    run.warps["cta"][1], run.warps["index"][1] = 1, 0
    assert steps(run, instructions({"k": code}), 64).rows.tolist() == [[0, -1], [1, -1], [2, -1], [3, -1]]


@pytest.mark.parametrize("name", [*workloads.names(), 0, 1, 2, 3])
def test_every_instruction_is_executed_once_and_in_order(name: str | int) -> None:
    if isinstance(name, int):
        kernels, run = drawn(name)
    else:
        job = workloads.get(name).job("tiny")
        kernels, run = compile_job(job), trace_job(job)
    code = instructions(kernels)
    narrow, wide = steps(run, code, 32), steps(run, code, 64)
    assert narrow.rows[:, 0].tolist() == list(range(len(run.dynamic)))
    assert (narrow.rows[:, 1] == -1).all()
    pcs = run.dynamic["pc"]
    together = (wide.rows >= 0).all(axis=1)
    assert (pcs[wide.rows[together, 0]] == pcs[wide.rows[together, 1]]).all()
    seen = []
    for w in range(len(wide.existing)):
        rows = wide.rows[wide.first[w] : wide.first[w + 1]]
        for half in range(2):
            mine = rows[rows[:, half] >= 0, half]
            assert (np.diff(mine) == 1).all()
            seen += mine.tolist()
    assert sorted(seen) == list(range(len(run.dynamic)))
    if run.launches["warps_per_cta"].min() > 1:
        assert together.mean() > 0.2
