"""Repeated traces: the launches again and again, and what a machine makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.errors import TraceError
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.repeat import MOST_WARPS, repeated
from warpbank.sim.engines.base import check_trace
from warpbank.sim.engines.pysim import PysimEngine

TINY = preset("tiny")


def test_launches_and_warps_stand_there_again_and_rows_once() -> None:
    trace = random_trace(3, ctas=2, warps=2, length=10, launches=3)
    again = repeated(trace, 4)
    assert again.warp_instructions == 4 * trace.warp_instructions
    assert again.dynamic is trace.dynamic
    assert again.values is trace.values
    assert len(again.launches) == 12
    assert len(again.warps) == 4 * len(trace.warps)
    for number, launch in enumerate(again.launches):
        first, of_launch = int(launch["first_warp"]), int(launch["ctas"]) * int(launch["warps_per_cta"])
        assert (again.warps["launch"][first : first + of_launch] == number).all()
    assert np.array_equal(again.warps["first"], np.tile(trace.warps["first"], 4))
    check_trace(again)


def test_one_run_is_the_trace_itself() -> None:
    trace = random_trace(3, ctas=1, warps=1, length=5)
    assert repeated(trace, 1) is trace


def test_more_warps_than_a_trace_holds_are_refused() -> None:
    trace = random_trace(3, ctas=2, warps=2, length=5)
    most = MOST_WARPS // len(trace.warps)
    with pytest.raises(TraceError, match=f"repeat it at most {most} times"):
        repeated(trace, most + 1)


@pytest.mark.parametrize("scheme", ["baseline", "gscalar"])
def test_a_machine_runs_it_like_a_trace_that_has_every_run_of_its_own(scheme: str) -> None:
    """Rows are shared; nothing else is: the launches of a longer trace give equal results."""
    trace = random_trace(5, ctas=2, warps=3, length=30, launches=2)
    longer = repeated(trace, 3)
    rows = len(trace.dynamic)
    longer.dynamic = np.tile(trace.dynamic, 3)
    longer.warps["first"] += np.repeat(np.arange(3, dtype=np.uint64) * rows, len(trace.warps))
    chosen = parse_scheme(scheme)
    shared = simulate(repeated(trace, 3), TINY, chosen)
    assert shared.to_dict() == simulate(longer, TINY, chosen).to_dict()
    assert shared.warp_instructions == 3 * trace.warp_instructions
    assert shared.operands_checked == 3 * simulate(trace, TINY, chosen).operands_checked > 0


def test_model_and_rtl_agree() -> None:
    trace = repeated(random_trace(7, ctas=1, warps=2, length=12), 2)
    chosen = parse_scheme("baseline")
    assert PysimEngine().run(trace, TINY, chosen).to_dict() == simulate(trace, TINY, chosen).to_dict()
