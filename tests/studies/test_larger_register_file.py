"""With a larger main register file more CTAs fit, and a thread may have more registers (LTRF, section
2.1)."""

from __future__ import annotations

import pytest

from warpbank.program.runner import compile_job
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec


def room(kernel: str, rows: int) -> tuple[int, int, int]:
    """Registers that the compiler may use; that it uses, at most; warps of the launch that uses them that may
    run at a time."""
    experiment = RunSpec(kernel, "small", "baseline", "maxwell", (f"sub_core.rows={rows}",)).experiment()
    machine, options = experiment.config, exp.compile_options(experiment)
    kernels = compile_job(experiment.job, options)
    launch = max(experiment.job.launches, key=lambda launch: kernels[launch.entry].registers)
    registers = kernels[launch.entry].registers
    width, height, depth = launch.block
    warps = -(-width * height * depth // 32)
    slots = machine.launch_shape(registers)[1] * machine.sub_cores
    return options.max_registers, registers, min(slots // warps, machine.cta.max_ctas) * warps


@pytest.mark.parametrize(
    ("kernel", "before", "after"), [("sgemm", 18, 64), ("mma_gemm", 40, 64), ("lbm", 42, 64)]
)
def test_register_sensitive_kernels_run_more_warps(kernel: str, before: int, after: int) -> None:
    assert room(kernel, 128)[2] == before
    assert room(kernel, 8 * 128)[2] == after


def test_others_do_not() -> None:
    assert room("vectoradd", 128)[2] == room("vectoradd", 8 * 128)[2] == 64


def test_a_thread_may_have_more_registers() -> None:
    """A sixteenth of the register file has room for one CTA of 16 registers per thread only, so that the
    compiler spills."""
    few, spilled, _ = room("hotspot", 8)
    more, used, _ = room("hotspot", 8 * 8)
    assert (few, more) == (16, 128)
    assert spilled <= few < used


@pytest.mark.long
def test_more_warps_are_faster() -> None:
    """A quarter of the register file has room for 8 of the 24 warps of a tensor product; eight times as much
    for all."""
    cycles = [
        exp.run(
            RunSpec("mma_gemm", "small", "baseline", "maxwell", (f"sub_core.rows={rows}",)).experiment()
        ).result.cycles
        for rows in (32, 8 * 32)
    ]
    assert room("mma_gemm", 32)[2] == 8
    assert cycles[0] > 1.5 * cycles[1]
