"""Commands of `warpbank` about the RTL: lockstep, export, units."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from warpbank.cli import lockstep_tables as lockstep_report
from warpbank.cli import progress
from warpbank.cli import tables as render
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
from warpbank.program import runner
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.sim import experiment as exp
from warpbank.sim.engines import EngineError, rtl_engine
from warpbank.sim.lockstep import lockstep
from warpbank.sim.output import write_text


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("lockstep")(lockstep_)
    app.command("export")(export)
    app.command("units")(units)


def lockstep_(
    kernel: KernelArgument,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: RtlOption = RtlName.VERILATOR,
    fast: FastOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the golden model and the RTL, and compare every event of every cycle. Exit code 0
    only if equal."""
    experiment = exp.find(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions
    )
    with progress.reporter() as report:
        trace = runner.trace_job(experiment.job, exp.compile_options(experiment), on_emulate=report.emulating)
        trace = exp.hinted(experiment, trace)
        simulator = rtl_engine(engine, fast=fast)
        outcome = lockstep(
            trace,
            experiment.config,
            experiment.scheme,
            simulator,
            progress=report.simulating,
            on_build=report.building,
        )
    if as_json:
        _print_json(outcome.to_dict())
    else:
        console = Console()
        job = experiment.job
        title = f"Lockstep: {job.name} ({job.size}), {experiment.preset}, {experiment.scheme.name}, {engine}"
        for part in lockstep_report.tables(outcome, title):
            console.print(part)
    if outcome.divergence is not None:
        raise typer.Exit(1)


def export(
    unit: Annotated[
        str, typer.Argument(metavar="UNIT|sm", help="A unit (`warpbank units`), or the whole SM.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .v Verilog, .il RTLIL.")],
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="With the event ports that simulation uses.")
    ] = False,
) -> None:
    """Write a unit of the RTL, or the whole SM, as Verilog or RTLIL."""
    with wheels():
        from warpbank.synth.export import exported

    machine = exp.find_config(preset or exp.DEFAULT_PRESET, config, overrides or [])
    text = exported(unit, machine, exp.find_scheme(scheme), kind=output.suffix, probe=probe)
    write_text(output, text)
    Console(stderr=True).print(f"wrote {output}", highlight=False)


def units(as_json: JsonOption = False) -> None:
    """List the units that can be exported."""
    with wheels():
        from warpbank.synth.units import UNITS

    if as_json:
        _print_json(
            {
                "units": [
                    {"name": unit.name, "what": unit.what, "source": unit.source} for unit in UNITS.values()
                ]
            }
        )
        return
    rows = ((unit.name, unit.what, unit.source) for unit in UNITS.values())
    Console().print(render.table("Units", ("name", "what it is", "source"), rows))


@contextmanager
def wheels() -> Iterator[None]:
    """Imports of what only the extra `rtl` brings. Raises EngineError that names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise EngineError(
            f"this needs the {error.name} package; install it with: pip install 'warpbank[rtl]'"
        ) from None


def _print_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
