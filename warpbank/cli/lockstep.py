"""`warpbank lockstep`: the golden model and the RTL side by side."""

from __future__ import annotations

import typer

from warpbank.arch.schemes import BASELINE
from warpbank.cli import lockstep_tables, output, progress
from warpbank.cli.options import (
    ConfigOption,
    FastOption,
    InstructionsOption,
    JsonOption,
    KernelArgument,
    LaunchOption,
    PresetOption,
    RegistersOption,
    RtlName,
    RtlOption,
    SchemeOption,
    SetOption,
    Size,
    SizeOption,
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.sim import experiment as exp
from warpbank.sim.engines import rtl_engine
from warpbank.sim.lockstep import run_lockstep


def lockstep(
    kernel: KernelArgument,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: RtlOption = RtlName.VERILATOR,
    fast: FastOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the golden model and the RTL, and compare every event of every cycle.

    The exit code is 0 only if they are equal.
    """
    experiment = exp.find(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions
    )
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
