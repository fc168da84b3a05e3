"""What the hardware counts as scalar in a run is what the statistics of its trace say, which know nothing of
a machine."""

from __future__ import annotations

import pytest

from tests.sim import lockstep_cases
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program import hint_passes
from warpbank.program.similarity.statistics import similarity

TURING = preset("turing")


@pytest.mark.quick("bfs", "spmv")
@pytest.mark.parametrize("kernel", ["reduction", "bfs", "spmv"])
def test_counters_equal_the_statistics(kernel: str) -> None:
    trace, code = lockstep_cases.trace(kernel, "tiny", 64), lockstep_cases._code(kernel, 64)
    expected = similarity(trace, {name: code[name] for name in trace.kernels}).by_hardware
    scheme = parse_scheme("gscalar-half")
    counters = simulate(
        hint_passes.with_hints(trace, scheme.hints, TURING, lambda: code), TURING, scheme
    ).counters
    found = [counters[f"scalar.{kind}"] for kind in ("alu", "sfu", "memory", "half", "divergent")]
    assert found == [expected.alu, expected.sfu, expected.memory, expected.part, expected.divergent]
    assert expected.divergent
    assert expected.alu
