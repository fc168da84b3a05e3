"""Compiler from PTX to machine code in one call: lower, schedule, allocate, schedule what the allocator
inserted, verify."""

from __future__ import annotations

from dataclasses import replace

from warpbank.program import allocation, scheduling
from warpbank.program.allocation import AllocationReport
from warpbank.program.allocation.work import joined_groups
from warpbank.program.isa import Kernel
from warpbank.program.lowering import lower
from warpbank.program.ptx.ast import Module
from warpbank.program.verify import verify


def compile_kernel(
    module: Module, entry: str, *, max_registers: int = 255, schedule: bool = True, allocate: bool = True
) -> Kernel:
    """Machine code of one kernel.

    Parameters
    ----------
    module, entry : the parsed PTX and the name of the `.entry`.
    max_registers : registers per thread, 16..255.
    schedule : reorder instructions within blocks.
    allocate : give registers; False leaves virtual ones, for tests and for looking at.

    Raises
    ------
    PtxError : the kernel cannot be lowered.
    WarpbankError : `max_registers` is out of range or too few for an instruction.
    """
    return compile_with_report(
        module, entry, max_registers=max_registers, schedule=schedule, allocate=allocate
    )[0]


def compile_with_report(
    module: Module, entry: str, *, max_registers: int = 255, schedule: bool = True, allocate: bool = True
) -> tuple[Kernel, AllocationReport]:
    """Machine code of one kernel, and the report of its allocation (nothing if it was not run)."""
    return finish(lower(module, entry), max_registers=max_registers, schedule=schedule, allocate=allocate)


def finish(
    kernel: Kernel, *, max_registers: int = 255, schedule: bool = True, allocate: bool = True
) -> tuple[Kernel, AllocationReport]:
    """Schedule and allocate lowered code."""
    kernel = replace(kernel, groups=joined_groups(kernel))
    verify(kernel)
    ordered = verify(scheduling.schedule(kernel, max_registers)) if schedule else kernel
    if not allocate:
        return ordered, AllocationReport()
    result, report = allocation.allocate_with_report(ordered, max_registers)
    if schedule and report.spill_loads + report.spill_stores:
        # The source's order may be kinder to the registers than the scheduler's.
        plain, plain_report = allocation.allocate_with_report(kernel, max_registers)
        if plain_report.spill_loads + plain_report.spill_stores < report.spill_loads + report.spill_stores:
            result, report = plain, plain_report
    if schedule:
        result = scheduling.schedule(result, max_registers)
    return verify(result), report
