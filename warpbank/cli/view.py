"""`warpbank view`: some cycles of a run, drawn."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.errors import ArgumentError
from warpbank.arch.schemes import BASELINE
from warpbank.cli import output, progress
from warpbank.cli.options import (
    CodeOrderOption,
    ConfigOption,
    ConstantsOption,
    FreeRegistersOption,
    InstructionsOption,
    LaunchOption,
    OptionalKernel,
    PresetOption,
    RegistersOption,
    SchemeOption,
    SetOption,
    Size,
    SizeOption,
    TraceOption,
    window,
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim import experiment as exp
from warpbank.sim import traced
from warpbank.sim.output import check_file, write_text
from warpbank.sim.view.formats import SUFFIXES, default_name, draw
from warpbank.studies.examples import CYCLES, EXAMPLES, find, page, record

#: Parameters that say what runs -> their options; an example does so itself.
_NOT_FOR_EXAMPLES = {
    "kernel": "KERNEL",
    "size": "--size",
    "launch": "--launch",
    "config": "--config",
    "max_registers": "--max-registers",
    "code_order": "--code-order",
    "constants": "--constants",
    "free_registers": "--free-registers",
    "max_instructions": "--max-instructions",
    "trace": "--trace",
}


class Format(StrEnum):
    """File format of `warpbank view`: a key of `warpbank.sim.view.formats.SUFFIXES`."""

    KANATA = "kanata"
    PERFETTO = "perfetto"
    HTML = "html"
    MACHINE = "machine"


def view(
    context: typer.Context,
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
    cycles: Annotated[
        str, typer.Option("--cycles", metavar="FIRST:END", help="Cycles to show, END not included.")
    ] = "0:1000",
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="kanata: for Konata; perfetto: for ui.perfetto.dev; html: the "
            "register banks over time, for a browser; machine: the sub-core with its values, cycle by cycle, "
            "for a browser.",
        ),
    ] = Format.PERFETTO,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.", show_default="KERNEL and a suffix")
    ] = None,
    trace: TraceOption = None,
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="NAME",
            help=f"In the place of a kernel: a paper's example, as --format machine: {', '.join(EXAMPLES)}.",
        ),
    ] = None,
) -> None:
    """Draw some cycles of a run: a pipeline, the register banks, or the machine at work.

    docs/view.md shows them.
    """
    if example is not None:
        _example(context, example, scheme, preset, overrides, cycles, file)
        return
    first, end = window(cycles)
    suffixes = {each: Path(f"view{suffix}").suffix for each, suffix in SUFFIXES.items()}
    if file is not None and file.suffix in suffixes.values() and file.suffix != suffixes[form]:
        raise ArgumentError(
            f"--format {form} is a file {suffixes[form]}, not {file.suffix}; give another --format, or "
            "another name with --output"
        )
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
    target = file or default_name(experiment, form)
    check_file(target, *exp.files(kernel, launch, preset, config, trace))
    timeline, text = draw(experiment, first, end, form)
    write_text(target, text)
    for note in notes:
        output.note(note)
    output.wrote(target, f"cycles {timeline.start} to {timeline.end - 1}, {len(timeline.uops)} uops")


def _example(
    context: typer.Context,
    name: str,
    scheme: str,
    preset: str | None,
    overrides: list[str] | None,
    cycles: str,
    file: Path | None,
) -> None:
    """Draw the machine at an example of a paper: on the example's register file, machine and cycles, unless
    others are asked for."""

    def given(option: str) -> bool:
        source = context.get_parameter_source(option)
        return source is not None and source.name == "COMMANDLINE"

    example = find(name)
    wrong = [option for option in _NOT_FOR_EXAMPLES if given(option)]
    if wrong:
        raise ArgumentError(
            f"--example {name} brings its own program; leave out {_NOT_FOR_EXAMPLES[wrong[0]]}"
        )
    if given("form") and context.params["form"] is not Format.MACHINE:
        raise ArgumentError(
            f"--example {name} is drawn as a machine; write --format machine, or leave it out"
        )
    target = file or Path(f"{name}-example.html")
    check_file(target, *exp.files(None, None, preset))
    first, end = window(cycles) if given("cycles") else (0, CYCLES)
    recording, config = record(
        example, scheme if given("scheme") else None, preset, tuple(overrides or ()), first, end
    )
    write_text(target, page(example, recording, config, preset))
    timeline = recording.timeline
    output.wrote(target, f"cycles {timeline.start} to {timeline.end - 1}, {len(timeline.uops)} uops")
