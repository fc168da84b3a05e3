"""Plan of a sample: which launches and CTAs are kept, and what they stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.sim.sampling.jobs import looping, waves
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.trace.builder import of_line
from warpbank.sim.sampling.plan import plan, resident
from warpbank.sim.sampling.settings import Settings

MACHINE = preset("tiny")
SETTINGS = Settings(wave_instructions=16)


def test_every_instruction_is_stood_for() -> None:
    for trace in (waves(ctas=97), waves(ctas=90, launches=5), looping(iterations=200)):
        parts = list(plan(trace, MACHINE, SETTINGS))
        stood = sum(part.weight * part.weights.sum() for part in parts)
        assert stood == pytest.approx(trace.warp_instructions)
        assert sum(part.trace.warp_instructions for part in parts) < trace.warp_instructions / 2
        assert sorted(launch for part in parts for launch in part.stands_for) == list(
            range(len(trace.launches))
        )


def test_the_beginning_and_the_end_stand_for_themselves() -> None:
    trace = waves(ctas=97)
    (part,) = plan(trace, MACHINE, SETTINGS)
    at_a_time = resident(trace, 0, MACHINE)
    rows = at_a_time * int(part.trace.launches[0]["warps_per_cta"]) * int(part.trace.warps[0]["length"])
    assert at_a_time == 4
    assert (part.weights[: 2 * rows] == 1).all()
    assert (part.weights[-rows:] == 1).all()
    assert part.weights.max() > 5
    ctas = part.trace.warps["cta"].tolist()
    assert ctas[:16] == [cta for cta in range(8) for _ in range(2)]
    assert ctas[-1] == 96


def test_alike_launches_have_one_that_stands_for_them() -> None:
    (part,) = plan(waves(ctas=6, launches=7), MACHINE, SETTINGS)
    assert part.weight == 7
    assert part.launch > 0, "the first finds the L2 empty"
    assert part.distance < 0.1


def test_launches_of_other_sizes_are_told_apart() -> None:
    first, second = waves(ctas=4), waves(ctas=40)
    both = replace(
        first,
        launches=np.concatenate([first.launches, second.launches]),
        warps=np.concatenate([first.warps, second.warps]),
        dynamic=np.concatenate([first.dynamic, second.dynamic]),
        values=np.concatenate([first.values, second.values]),
        lines=np.concatenate([first.lines, second.lines]),
    )
    moved = len(first.warps)
    both.launches["first_warp"][1] = moved
    both.warps["launch"][moved:] = 1
    both.warps["first"][moved:] += np.uint64(len(first.dynamic))
    both.dynamic["value"][len(first.dynamic) :] += np.uint64(len(first.values))
    both.dynamic["line"][len(first.dynamic) :] += np.uint64(len(first.lines))
    parts = list(plan(both, MACHINE, SETTINGS))
    assert [part.stands_for for part in parts] == [[0], [1]]


def test_what_is_left_out_warms_the_caches() -> None:
    trace = waves(ctas=97)
    (part,) = plan(trace, MACHINE, SETTINGS)
    ctas = part.trace.warps["cta"].tolist()
    jumps = [row for row in range(1, len(ctas)) if ctas[row] - ctas[row - 1] > 1]
    assert sorted(part.warm) == [0, *jumps]
    assert part.warm[0].lines == []
    for row in jumps:
        assert of_line(64 + ctas[row] - 1) in part.warm[row].lines


@pytest.mark.parametrize("scheme", ["baseline", "bow-wr", "malekeh", "gscalar"])
def test_what_is_kept_runs_with_every_operand_right(scheme: str) -> None:
    chosen = parse_scheme(scheme)
    for trace in (waves(ctas=97), looping(iterations=200)):
        for part in plan(trace, chosen.machine(MACHINE), SETTINGS):
            result = simulate(part.trace, MACHINE, chosen)
            assert result.warp_instructions == part.trace.warp_instructions
            assert result.operands_checked > 0
