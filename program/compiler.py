"""Compiler from PTX to machine code in one call: lower, place constants, schedule, allocate, and schedule
what the allocator inserted. Every step is verified."""

from __future__ import annotations

from dataclasses import replace

from warpbank.program import allocation, scheduling
from warpbank.program.allocation import AllocationReport
from warpbank.program.allocation.work import joined_groups
from warpbank.program.constants import constants_in_registers
from warpbank.program.errors import WarpbankError
from warpbank.program.isa import Kernel
from warpbank.program.liveness import thread_liveness
from warpbank.program.lowering import lower
from warpbank.program.options import DEFAULT_OPTIONS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.program.ptx.ast import Module
from warpbank.program.textures import NO_TEXTURES, Bindings
from warpbank.program.verify import verify

#: Most 32-bit registers alive at once that are scheduled and spilled: both take a time that grows with their
#: square.
MAX_PRESSURE = 2048


def compile_kernel(
    module: Module,
    entry: str,
    options: CompileOptions = DEFAULT_OPTIONS,
    *,
    allocate: bool = True,
    textures: Bindings = NO_TEXTURES,
) -> Kernel:
    """Machine code of one kernel.

    Parameters
    ----------
    module, entry : the parsed PTX and the name of the `.entry`.
    options : what a user may choose of the compiler.
    allocate : give registers; False leaves virtual ones, for tests and for looking at.
    textures : the textures that the kernel may read.

    Raises
    ------
    PtxError : the kernel cannot be lowered.
    WarpbankError : `options.max_registers` is too few for an instruction, or more than `MAX_PRESSURE`
        registers are alive at once.
    """
    return compile_with_report(module, entry, options, allocate=allocate, textures=textures)[0]


def compile_with_report(
    module: Module,
    entry: str,
    options: CompileOptions = DEFAULT_OPTIONS,
    *,
    allocate: bool = True,
    textures: Bindings = NO_TEXTURES,
) -> tuple[Kernel, AllocationReport]:
    """Machine code of one kernel, and the report of its allocation (nothing if it was not run)."""
    return finish(lower(module, entry, textures=textures), options, allocate=allocate)


def _check_pressure(kernel: Kernel) -> None:
    """Raise WarpbankError if far more values are alive at once than any thread has registers for."""
    if len(kernel.instructions()) <= MAX_PRESSURE:
        return
    pressure = thread_liveness(kernel).pressure()
    if pressure > MAX_PRESSURE:
        raise WarpbankError(
            f"kernel {kernel.name}: {pressure} registers are alive at once; at most {MAX_PRESSURE} can be "
            "scheduled and spilled"
        )


def finish(
    kernel: Kernel, options: CompileOptions = DEFAULT_OPTIONS, *, allocate: bool = True
) -> tuple[Kernel, AllocationReport]:
    """Place the constants of lowered code, schedule it and allocate its registers."""
    registers, free = options.registers, options.free_registers
    schedule = options.code_order is CodeOrder.SCHEDULED
    if options.constants is ConstantPlace.REGISTERS:
        kernel = constants_in_registers(kernel)
    kernel = replace(kernel, groups=joined_groups(kernel))
    verify(kernel)
    _check_pressure(kernel)
    ordered = verify(scheduling.schedule(kernel, registers, free)) if schedule else kernel
    if not allocate:
        return ordered, AllocationReport()
    result, report = allocation.allocate_with_report(ordered, registers)
    if schedule and report.spill_loads + report.spill_stores:
        # The source's order may be kinder to the registers than the scheduler's.
        plain, plain_report = allocation.allocate_with_report(kernel, registers)
        if plain_report.spill_loads + plain_report.spill_stores < report.spill_loads + report.spill_stores:
            result, report = plain, plain_report
    if schedule:
        result = scheduling.schedule(result, registers, free)
    return verify(result), report
