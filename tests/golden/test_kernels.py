"""Compiled kernels on the machine: operands checked, contracts kept, the same with and without skipping."""

from __future__ import annotations

import pytest

from tests.golden.invariants import check
from warpbank import workloads
from warpbank.arch.config import PRESETS, preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.runner import trace_job

BASELINE = parse_scheme("baseline")
#: Barriers and shared memory, divergence, atomics, 64-bit and wide accesses; at most 4 warps per CTA, so that
#: `tiny` holds them.
KERNELS = ("bfs", "btree", "lbm", "lud", "nbody", "pathfinder", "reduction", "sgemm", "spmv")


@pytest.mark.quick("turing*", "tiny-*")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("machine", PRESETS)
def test_kernel(name: str, machine: str) -> None:
    trace = trace_job(workloads.get(name).job("tiny"))
    for policy in ("lrr", "gto"):
        config = with_overrides(preset(machine), [f"sub_core.front_end.scheduler={policy}"])
        result = simulate(trace, config, BASELINE)
        assert result.stalls["issued"] == result.warp_instructions == trace.warp_instructions
        assert result.operands_checked == result.counters["rf.reads"]
        assert sum(result.stalls.values()) == result.cycles * config.schedulers


@pytest.mark.parametrize("name", ["bfs", "reduction"])
def test_events_of_a_kernel(name: str) -> None:
    trace = trace_job(workloads.get(name).job("tiny"))
    config = preset("turing")
    events: list[Record] = []
    stepped: list[Record] = []
    result = simulate(trace, config, BASELINE, events=events)
    assert simulate(trace, config, BASELINE, events=stepped, skip=False) == result
    assert sorted(events) == sorted(stepped)
    assert count(events) == result.counters
    check(events, config)


def test_more_banks_and_collectors_help_sgemm() -> None:
    trace = trace_job(workloads.get("sgemm").job("tiny"))
    narrow = simulate(
        trace, with_overrides(preset("turing"), ["sub_core.banks=1", "sub_core.rows=512"]), BASELINE
    )
    base = simulate(trace, preset("turing"), BASELINE)
    wide = simulate(
        trace,
        with_overrides(preset("turing"), ["sub_core.banks=8", "sub_core.rows=64", "sub_core.collectors=8"]),
        BASELINE,
    )
    assert narrow.cycles > base.cycles > wide.cycles
