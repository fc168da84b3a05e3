"""`warpbank view`: some cycles of a run, drawn."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.schemes import BASELINE
from warpbank.cli import output
from warpbank.cli.options import (
    ConfigOption,
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
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import traced
from warpbank.sim.output import write_text
from warpbank.sim.view.follow import follow
from warpbank.sim.view.formats import default_name, view_text


class Format(StrEnum):
    """File format of `warpbank view`: a key of `warpbank.sim.view.formats.SUFFIXES`."""

    KANATA = "kanata"
    PERFETTO = "perfetto"
    HTML = "html"


def view(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    cycles: Annotated[
        str, typer.Option("--cycles", metavar="FIRST:END", help="Cycles to show, END not included.")
    ] = "0:1000",
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="kanata: for Konata; perfetto: for ui.perfetto.dev; html: the "
            "register banks over time, for a browser.",
        ),
    ] = Format.PERFETTO,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.", show_default="KERNEL and a suffix")
    ] = None,
    trace: TraceOption = None,
) -> None:
    """Draw some cycles of a run: a pipeline with a lane per warp, or the register banks over time.

    docs/view.md shows both.
    """
    first, end = window(cycles)
    experiment, notes = traced.choose(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions, trace
    )
    timeline = follow(experiment, first, end)
    target = file or default_name(experiment, form)
    write_text(target, view_text(timeline, experiment, form))
    for note in notes:
        output.note(note)
    output.wrote(target, f"cycles {timeline.start} to {timeline.end - 1}, {len(timeline.uops)} uops")


def window(text: str) -> tuple[int, int]:
    """The cycles that `--cycles` names. Raises WarpbankError if it names none."""
    first, colon, end = text.partition(":")
    if not colon or not first.isdecimal() or not end.isdecimal() or int(end) <= int(first):
        raise WarpbankError(
            f"--cycles takes the first cycle and the one after the last, for example 100:200, not {text!r}"
        )
    return int(first), int(end)
