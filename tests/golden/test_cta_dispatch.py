"""CTA limits: what runs at a time, and launches that cannot run at all."""

from __future__ import annotations

import pytest

from tests.golden.measure import Run
from warpbank.program.errors import LaunchError
from warpbank.program.trace.builder import TraceBuilder, alu

#: A machine whose limits are easily reached.
SMALL = ("sub_core.warps=4", "sub_core.rows=128")


def most_at_a_time(run: Run) -> int:
    running = most = 0
    for cycle, _, name, _ in sorted(run.events, key=lambda record: (record[0], record[2] != "cta_end")):
        running += {"cta_start": 1, "cta_end": -1}.get(name, 0)
        most = max(most, running)
        assert cycle >= 0
    return most


def kernel(ctas: int = 6, warps: int = 1, registers: int = 16, shared: int = 0) -> TraceBuilder:
    return TraceBuilder().launch(*[[[alu(1)] * 30] * warps] * ctas, registers=registers, shared=shared)


@pytest.mark.parametrize(
    ("arguments", "overrides", "most"),
    [
        ({}, (), 4),
        ({"warps": 2}, (), 2),
        ({"warps": 3}, (), 1),
        ({"registers": 128}, (), 2),
        ({"registers": 65}, ("cta.register_granularity=8",), 3),
        ({"registers": 65}, ("cta.register_granularity=64",), 2),
        ({"shared": 16384}, (), 3),
        ({}, ("cta.max_ctas=1",), 1),
    ],
)
def test_limits(arguments: dict[str, int], overrides: tuple[str, ...], most: int) -> None:
    run = Run(kernel(**arguments).build(), *SMALL, *overrides)
    assert most_at_a_time(run) == most
    assert run.result.counters["cta.started"] == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"warps": 5},
            r"A CTA of kernel hand does not fit the machine \(preset tiny\): it has 5 warps and the SM has 4 "
            r"warp slots\.",
        ),
        (
            {"warps": 2, "registers": 200},
            r"its 2 warps of 200 registers per thread need 200 rows of every bank of a sub-core, "
            r"and a bank has 128\.",
        ),
        ({"shared": 65536}, r"it needs 65536 bytes of shared memory and the SM has 49152\."),
    ],
)
def test_launches_that_do_not_fit(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        Run(kernel(**arguments).build(), *SMALL)


def test_warps_go_round_robin_over_sub_cores() -> None:
    run = Run(kernel(ctas=4, warps=3).build(), machine="turing")
    starts = [core for _, core, name, _ in run.events if name == "warp_start"]
    assert starts == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]


def test_a_slot_of_registers_per_warp_slot() -> None:
    run = Run(kernel(ctas=4, registers=20).build())
    assert [values for _, _, name, values in run.events if name == "warp_start"] == [
        (0, 0),
        (1, 12),
        (2, 24),
        (3, 36),
    ]


def test_one_cta_per_cycle() -> None:
    run = Run(kernel(ctas=4).build())
    assert run.cycles("cta_start") == [0, 1, 2, 3]


def test_two_large_warps_use_two_sub_cores() -> None:
    run = Run(kernel(ctas=2, warps=2, registers=255).build(), machine="turing")
    assert most_at_a_time(run) == 2
