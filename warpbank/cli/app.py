"""The `warpbank` command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from warpbank import workloads
from warpbank.cli import compare as cli_compare
from warpbank.cli import fpga as cli_fpga
from warpbank.cli import gating as cli_gating
from warpbank.cli import progress
from warpbank.cli import reproduce as cli_reproduce
from warpbank.cli import rtl as cli_rtl
from warpbank.cli import schemes as cli_schemes
from warpbank.cli import sweep as cli_sweep
from warpbank.cli import synth as cli_synth
from warpbank.cli import tables as render
from warpbank.cli import verify as cli_verify
from warpbank.cli import view as cli_view
from warpbank.cli import waiting as cli_waiting
from warpbank.cli.options import (
    ConfigOption,
    EnergyOption,
    EngineName,
    EngineOption,
    FastOption,
    InstructionsOption,
    JsonOption,
    KernelArgument,
    LaunchOption,
    OptionalKernel,
    OverTimeOption,
    PresetOption,
    RegistersOption,
    SchemeOption,
    SetOption,
    Size,
    SizeOption,
    TraceOption,
    WaveCyclesOption,
    WavesOption,
    wave_cycles,
)
from warpbank.golden.check import OperandMismatch
from warpbank.program import runner
from warpbank.program.cuda import compile_cuda
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import engines, extensions, traced
from warpbank.sim import experiment as exp
from warpbank.sim.output import write_text
from warpbank.sim.runs.spec import Observed
from warpbank.studies import explain as explaining
from warpbank.studies import over_time as timeline
from warpbank.studies.compare.measures import hit_ratio
from warpbank.studies.explain import Liveness
from warpbank.synth import energy as energies

app = typer.Typer(
    name="warpbank",
    help="GPU register files: real kernels on published register-file architectures, cycle by cycle.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
trace_app = typer.Typer(help="Write a kernel's trace to a file, or look into one.", no_args_is_help=True)
app.add_typer(trace_app, name="trace")
cli_rtl.register(app)
cli_compare.register(app)
cli_sweep.register(app)
cli_synth.register(app)
cli_fpga.register(app)
cli_schemes.register(app)
cli_reproduce.register(app)
cli_view.register(app)
cli_waiting.register(app)
cli_verify.register(app)
cli_gating.register(app)


@app.callback()
def _options(
    load: Annotated[
        list[Path] | None,
        typer.Option("--load", metavar="FILE.py|FOLDER", help="Python that registers schemes of your own."),
    ] = None,
) -> None:
    extensions.inherit()
    for path in load or []:
        extensions.load(path)


LivenessOption = Annotated[
    Liveness, typer.Option("--liveness", help="Per thread, or safe for the whole warp.")
]


@app.command()
def run(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: EngineOption = EngineName.GOLDEN,
    fast: FastOption = True,
    waves: WavesOption = None,
    cycles: WaveCyclesOption = None,
    energy: EnergyOption = "common",
    over_time: OverTimeOption = None,
    trace: TraceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the SM and print cycles, IPC, stalls and register-file traffic."""
    simulator = engines.engine(engine, fast=fast)
    if waves is None and cycles is not None:
        raise WarpbankError("--wave-cycles says which cycles go into the file that --waves names; give both")
    prices = energies.table(energy)
    recorded = engines.Waves(waves, *wave_cycles(cycles)) if waves is not None else None
    experiment, notes = traced.choose(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions, trace
    )
    for note in notes:
        Console(stderr=True).print(note, highlight=False, soft_wrap=True)
    seen = timeline.OverTime(experiment.scheme) if over_time is not None else None
    if over_time is not None:
        timeline.check_name(over_time)
    with progress.reporter() as report:
        outcome = exp.run(
            experiment,
            simulator if seen is None else Observed(simulator, seen),
            waves=recorded,
            on_emulate=report.emulating,
            on_build=report.building,
            progress=report.simulating,
        )
    data = outcome.to_dict() | {"seed": experiment.config.sub_core.collector.seed}
    data["hit_ratio"] = hit_ratio(data)
    spent = [energies.energy(data, prices, experiment.config)]
    if energy == energies.COMMON:
        own = energies.own_tables(experiment.scheme)
        spent += [energies.energy(data, energies.table(name), experiment.config) for name in own]
    if over_time is not None and seen is not None:
        timeline.write(over_time, seen.table(prices, experiment.config), data)
    data["energy"], data["energy_own"] = spent[0].to_dict(), [each.to_dict() for each in spent[1:]]
    _emit(data, as_json, lambda: [*render.run_tables(outcome), *map(render.energy_table, spent)])


@app.command()
def kernels(as_json: JsonOption = False) -> None:
    """List the shipped kernels."""
    rows = [workloads.get(name) for name in workloads.names()]
    data = [
        {"name": w.name, "summary": w.summary, "origin": w.origin, "sizes": list(workloads.SIZES)}
        for w in rows
    ]
    _emit({"kernels": data}, as_json, lambda: [render.kernel_table(rows)])


@app.command("compile")
def compile_(
    source: Annotated[Path, typer.Argument(metavar="FILE.cu", help="CUDA C source.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="PTX file [default: FILE.ptx].")
    ] = None,
    arch: Annotated[
        str | None, typer.Option(help="Target [default: as the source's first line says, or sm_75].")
    ] = None,
) -> None:
    """Compile CUDA C to PTX with the LLVM of the ziglang wheel."""
    target = output or source.with_suffix(".ptx")
    write_text(target, compile_cuda(source, arch=arch))
    Console(stderr=True).print(f"wrote {target}", highlight=False)


@app.command()
def explain(
    kernel: KernelArgument,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    max_registers: Annotated[
        int, typer.Option("--max-registers", min=16, max=255, help="Registers per thread.")
    ] = 255,
    liveness: LivenessOption = Liveness.THREAD,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="Show the code before register allocation.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Draw the register-intervals (SVG).")
    ] = False,
    limit: Annotated[
        int, typer.Option("--registers-per-interval", min=8, max=256, help="Most registers of an interval.")
    ] = 16,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Drawing [default: KERNEL.svg].")
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Show the release flags of register renaming.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a kernel's machine code: blocks, loops, reconvergence points, registers, liveness; or its release
    flags. Or draw its register-intervals."""
    job = exp.find_job(kernel, size, launch)
    options = runner.Options(max_registers=max_registers, allocate=not virtual, schedule=not virtual)
    code = runner.compile_job(job, options)
    if intervals and release:
        raise WarpbankError("--intervals makes a drawing and --release tables; choose one")
    if output is not None and not intervals:
        raise WarpbankError("--output names the drawing that --intervals makes; give both")
    if intervals:
        target = output or Path(f"{job.name}.svg")
        write_text(target, explaining.interval_drawing(code, limit))
        Console(stderr=True).print(f"wrote {target}", highlight=False)
        return
    if release:
        _emit(explaining.release_to_dict(code), as_json, lambda: explaining.release_tables(code))
        return
    _emit(explaining.to_dict(code, liveness), as_json, lambda: explaining.tables(code, liveness))


@trace_app.command("write")
def trace_write(
    kernel: KernelArgument,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="Trace file to write.")],
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    max_registers: Annotated[
        int, typer.Option("--max-registers", min=16, max=255, help="Registers per thread.")
    ] = 255,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
) -> None:
    """Emulate a kernel and write its trace (docs/trace.md)."""
    from warpbank.program.trace.file import write_trace

    job = exp.find_job(kernel, size, launch)
    options = runner.Options(max_registers=max_registers, max_instructions=max_instructions)
    with progress.reporter() as report:
        trace = runner.trace_job(job, options, on_emulate=report.emulating)
    write_trace(trace, output)
    Console(stderr=True).print(
        f"wrote {output}: {trace.warp_instructions} warp instructions", highlight=False
    )


@trace_app.command("inspect")
def trace_inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trace file.")], as_json: JsonOption = False
) -> None:
    """Summarise a trace file."""
    from warpbank.program.trace.file import read_trace
    from warpbank.program.trace.inspect import summarize

    summary = summarize(read_trace(file))
    _emit(summary, as_json, lambda: render.summary_tables(summary))


def _emit(data: dict[str, Any], as_json: bool, tables: Any) -> None:
    if as_json:
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
        return
    console = Console()
    for table in tables():
        console.print(table)


def main() -> None:
    """Entry point: a user's mistake is one paragraph on the error stream and exit code 2, never a
    traceback."""
    try:
        app()
    except WarpbankError as error:
        _complain(error)
        sys.exit(2)
    except OperandMismatch as error:  # not the user's mistake: the register file under test is wrong
        _complain(error)
        sys.exit(1)


def _complain(error: Exception) -> None:
    Console(stderr=True, highlight=False).print(
        f"[bold red]error:[/] {render.escape(str(error))}", soft_wrap=True
    )
