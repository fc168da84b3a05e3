"""`warpbank waiting`: Malekeh's adaptive waiting time over a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.schemes import first_scheme
from warpbank.cli import output
from warpbank.cli.options import (
    ConfigOption,
    JsonOption,
    KernelArgument,
    LaunchOption,
    PresetOption,
    SetOption,
    Size,
    SizeOption,
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.sim import experiment as exp
from warpbank.sim.output import check_file, write_text
from warpbank.studies.waiting import adapts, study


def waiting(
    kernel: KernelArgument,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: Annotated[
        str, typer.Option("--scheme", help="Register file with an adaptive waiting time.")
    ] = first_scheme(adapts),
    overrides: SetOption = None,
    drawing: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Drawing (SVG).", show_default="KERNEL-waiting.svg, with --json none"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw how the adaptive waiting time of caching collectors (Malekeh) moves in a run.

    The drawing shows STHLD, IPC and the state by interval.
    """
    experiment = exp.find(kernel, size, launch, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS)
    file = drawing or Path(f"{experiment.job.name}-waiting.svg")
    drawn = drawing is not None or not as_json
    if drawn:
        check_file(file, *exp.files(kernel, launch, preset, config))
    watched = study(experiment)
    output.emit(watched, as_json, lambda _: ())
    if drawn:
        write_text(file, watched.draw())
        output.wrote(file)
