"""Divergence under G-Scalar, through model and RTL with values: one run, a warp for each case.

The RTL must report the model's events in every cycle and deliver the architectural values to every uop; so
what the model says of a case holds for the RTL.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import numpy as np
import pytest

from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import MOVE, Scalar
from warpbank.golden.sm import Sm
from warpbank.program.hints import Hints
from warpbank.program.trace.builder import ALL, Op, TraceBuilder, alu
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

TINY = preset("tiny")  # four lanes
LOW, HIGH, THREE = 0b0011, 0b1100, 0b0111
#: Uops and their results, by case: a number for all lanes, or one per lane.
NESTED: tuple[list[Op], list[Any]] = (
    [alu(1), alu(1, mask=LOW), alu(1, 1, mask=1), alu(1, mask=HIGH), alu(2, 1)],
    [5, 6, 7, 8, 9],
)
FIG_7B: tuple[list[Op], list[Any]] = (
    [alu(2), alu(2, 2, mask=LOW), alu(1, 2, mask=LOW), alu(1, 2, mask=HIGH), alu(3, 1, 2)],
    [[0, 1, 2, 3], 4, 1, 2, 3],
)
WHOLE: tuple[list[Op], list[Any]] = (
    [alu(1), alu(1, mask=LOW), alu(1), alu(3, 1), alu(1, mask=LOW), alu(2, 1)],
    [5, 6, 7, 1, 8, 9],
)
PARTIAL: tuple[list[Op], list[Any]] = (
    [alu(2, mask=THREE), alu(1, 2, mask=THREE), alu(2, mask=LOW), alu(1, 2, mask=THREE)],
    [[3, 3, 3, 77], 1, 4, 2],
)


def made() -> Trace:
    """Three warps of all threads, then one of three."""
    whole = (NESTED, FIG_7B, WHOLE)
    builder = TraceBuilder().launch([ops for ops, _ in whole]).launch([PARTIAL[0]], mask=THREE)
    trace = builder.build()
    values = trace.values.copy()
    for row, value in zip(
        values, [value for _, results in (*whole, PARTIAL) for value in results], strict=True
    ):
        row[:4] = value
    count = len(trace.code)
    return changed(trace, values=values, hints=changed(Hints.none(count), scalar=np.ones(count, np.uint8)))


@dataclass(frozen=True)
class Run:
    """Lanes clocked and kind of scalar execution of every uop, in program order, and the moves, by launch and
    warp."""

    lanes: dict[tuple[int, int], list[tuple[int, Scalar]]]
    moves: dict[tuple[int, int], int]


@pytest.fixture(scope="module", params=[pytest.param("gscalar", marks=pytest.mark.long), "gscalar-half"])
def run(request: pytest.FixtureRequest) -> Run:
    trace, scheme = made(), parse_scheme(request.param)
    outcome = lockstep(trace, TINY, scheme, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason
    records: list[Any] = []
    result = Sm(trace, TINY, scheme, events=records.append).run()
    assert outcome.result is not None
    assert outcome.result.operands_checked == result.operands_checked > 0
    found: Any = defaultdict(list)
    moves: Any = defaultdict(int)
    ctas = 0
    for _, _, name, values in sorted(records, key=lambda record: record[0]):
        ctas += name == "cta_start"
        if name == "lanes" and not values[1] & MOVE:
            found[ctas - 1, values[0]].append((values[1], (values[2], Scalar(values[3]))))
        elif name == "move":
            moves[ctas - 1, values[0]] += 1
    return Run({warp: [entry for _, entry in sorted(uops)] for warp, uops in found.items()}, moves)


def test_nested_branches_over_a_compressed_register(run: Run) -> None:
    """One move, before the outer branch; then lanes are written as they are, and all of them read."""
    assert run.moves[0, 0] == 1
    assert run.lanes[0, 0][4] == (4, Scalar.NONE)


def test_a_divergent_scalar_under_a_different_mask(run: Run) -> None:
    """Figure 7b: it is one for the lanes that wrote it, and must not be executed as one for others."""
    assert run.lanes[0, 1][2:5] == [(1, Scalar.DIVERGENT), (2, Scalar.NONE), (4, Scalar.NONE)]


def test_a_full_write_after_a_divergent_one(run: Run) -> None:
    """The register is compressed again: read as a scalar, and moved again."""
    assert run.lanes[0, 2][3] == (1, Scalar.ALU)
    assert run.moves[0, 2] == 2


def test_a_partially_filled_last_warp(run: Run) -> None:
    """Threads that do not exist are no divergence, and their lanes no part of a comparison."""
    assert run.lanes[1, 0][1] == (1, Scalar.ALU)
    assert run.moves[1, 0] == 1
    assert run.lanes[1, 0][3] == (3, Scalar.NONE)


def test_the_cases_are_what_they_say() -> None:
    trace = made()
    assert [int(warp["mask"]) for warp in trace.warps] == [ALL, ALL, ALL, THREE]
