"""A larger register file: more CTAs run at a time, and a CTA may use more registers; kernels that are limited
by them show it."""

from __future__ import annotations

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.trace.builder import TraceBuilder, alu, load
from warpbank.program.trace.schema import Trace
from warpbank.sim.experiment import register_limit


def _machine(*more: str) -> SmConfig:
    """Room for two warps of 64 registers, eight warp slots."""
    return with_overrides(preset("tiny"), ["sub_core.rows=64", "cta.max_ctas=8", *more])


def _waits(registers: int) -> Trace:
    """Sixteen CTAs of a warp that waits for memory again and again."""
    warp = [op for line in range(6) for op in (load(1, 0, 50 * line), alu(0, 1))]
    return TraceBuilder(1).launch(*([warp] for _ in range(16)), registers=registers).build()


def test_more_ctas_run_at_a_time() -> None:
    small, large = _machine(), _machine("rf2", "sub_core.bank_latency=100")
    assert [machine.launch_shape(64)[1] for machine in (small, large)] == [2, 8]
    baseline = parse_scheme("baseline")
    sensitive = [simulate(_waits(64), machine, baseline).cycles for machine in (small, large)]
    assert sensitive[1] < 0.6 * sensitive[0]
    insensitive = [simulate(_waits(8), machine, baseline).cycles for machine in (small, large)]
    assert insensitive[1] == insensitive[0]


def test_a_cta_may_use_more_registers() -> None:
    """CTAs of many warps on a register file that is small for them."""
    jobs = [workloads.get(name).job("tiny") for name in ("sgemm", "hotspot")]
    small, large = _machine(), _machine("rf7")
    for job in jobs:
        few, many = register_limit(job, small), register_limit(job, large)
        assert few < many <= 255
