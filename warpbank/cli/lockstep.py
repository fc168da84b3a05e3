"""`warpbank lockstep`: the golden model and the RTL side by side."""

from __future__ import annotations

import typer

from warpbank.arch.schemes import BASELINE
from warpbank.cli import lockstep_tables, output, progress
from warpbank.cli.options import (
    CodeOrderOption,
    ConfigOption,
    ConstantsOption,
    FastOption,
    FreeRegistersOption,
    InstructionsOption,
    JsonOption,
    LaunchOption,
    OptionalKernel,
    PresetOption,
    RegistersOption,
    RtlName,
    RtlOption,
    SchemeOption,
    SetOption,
    Size,
    SizeOption,
    TraceOption,
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim import traced
from warpbank.sim.engines import rtl_engine
from warpbank.sim.lockstep import run_lockstep


def lockstep(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    code_order: CodeOrderOption = CodeOrder.SCHEDULED,
    constants: ConstantsOption = ConstantPlace.BANK,
    free_registers: FreeRegistersOption = FREE_REGISTERS,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: RtlOption = RtlName.VERILATOR,
    fast: FastOption = False,
    trace: TraceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the golden model and the RTL, and compare every event of every cycle.

    The exit code is 0 only if they are equal.
    """
    options = CompileOptions(code_order, constants, free_registers, max_registers)
    with progress.reporter() as report:
        experiment, notes = traced.choose(
            kernel,
            size,
            launch,
            preset,
            config,
            scheme,
            overrides,
            options,
            max_instructions,
            trace,
            report.reading,
        )
    for note in notes:
        output.note(note)
    with progress.reporter() as report:
        outcome = run_lockstep(
            experiment,
            rtl_engine(engine, fast=fast),
            on_emulate=report.emulating,
            on_build=report.building,
            progress=report.simulating,
        )
    job = experiment.job
    title = f"Lockstep: {job.name} ({job.size}), {experiment.preset}, {experiment.scheme.name}, {engine}"
    output.emit(outcome, as_json, lambda outcome: lockstep_tables.tables(outcome, title))
    if outcome.divergence is not None:
        raise typer.Exit(1)
