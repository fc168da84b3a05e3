"""The command of `warpbank` that looks into a run, cycle by cycle."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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


class Format(StrEnum):
    """What `warpbank view` writes."""

    KANATA = "kanata"
    PERFETTO = "perfetto"
    HTML = "html"


#: What a file is called if `--output` does not say.
_SUFFIXES = {Format.KANATA: ".kanata", Format.PERFETTO: ".perfetto.json", Format.HTML: "-banks.html"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("view")(view)


def view(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write [default: KERNEL and a suffix].")
    ] = None,
    trace: TraceOption = None,
) -> None:
    """Show some cycles of a run: a pipeline with a lane per warp, or the register banks over time
    (docs/view.md)."""
    first, end = window(cycles)
    experiment, notes = traced.choose(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions, trace
    )
    from warpbank.sim.view.follow import follow

    timeline = follow(experiment, first, end)
    if form is Format.KANATA:
        from warpbank.sim.view.kanata import kanata

        text = kanata(timeline)
    elif form is Format.PERFETTO:
        from warpbank.sim.view.perfetto import perfetto

        text = perfetto(timeline)
    else:
        from warpbank.sim.view.banks import page

        text = page(timeline, experiment)
    target = output or Path(f"{experiment.job.name}{_SUFFIXES[form]}")
    write_text(target, text)
    shown = f"cycles {timeline.start} to {timeline.end - 1}, {len(timeline.uops)} uops"
    Console(stderr=True).print(*notes, f"wrote {target}: {shown}", sep="\n", highlight=False, soft_wrap=True)


def window(text: str) -> tuple[int, int]:
    """The cycles that `--cycles` names. Raises WarpbankError if it names none."""
    first, colon, end = text.partition(":")
    if not colon or not first.isdecimal() or not end.isdecimal() or int(end) <= int(first):
        raise WarpbankError(
            f"--cycles takes the first cycle and the one after the last, for example 100:200, not {text!r}"
        )
    return int(first), int(end)
