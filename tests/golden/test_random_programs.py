"""Random structured kernels through the golden SM, under both schedulers: every operand right, every uop
retired once."""

from __future__ import annotations

import random

import pytest

from tests.program.random_ptx import random_job
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.runner import Options, execute
from warpbank.program.trace.schema import Trace

SEEDS = range(12)


def _trace(seed: int, max_registers: int) -> Trace:
    trace = execute(
        random_job(random.Random(seed).randint, seed), Options(max_registers=max_registers), trace=True
    ).trace
    assert trace is not None
    return trace


@pytest.mark.quick("[4-9]-24", "10-*")
@pytest.mark.parametrize("max_registers", [16, 24, 32, 255])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_schedulers_finish_with_right_operands(seed: int, max_registers: int) -> None:
    """A wrong operand raises; so does a uop that retires twice or never."""
    trace = _trace(seed, max_registers)
    for machine in ("turing", "tiny"):
        for scheduler in ("lrr", "gto"):
            config = with_overrides(preset(machine), [f"sub_core.front_end.scheduler={scheduler}"])
            result = simulate(trace, config, parse_scheme("baseline"))
            assert result.warp_instructions == trace.warp_instructions
            assert result.operand_mismatches == 0
            assert sum(result.stalls.values()) == result.cycles * config.schedulers
