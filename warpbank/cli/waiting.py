"""The command of `warpbank` about the adaptive waiting time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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
from warpbank.sim.output import write_text
from warpbank.studies import waiting


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("waiting")(waiting_)


def waiting_(
    kernel: KernelArgument,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: Annotated[
        str, typer.Option("--scheme", help="Register file with an adaptive waiting time.")
    ] = "malekeh",
    overrides: SetOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Drawing [default: KERNEL-waiting.svg].")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw how the adaptive waiting time of caching collectors (Malekeh) moves in a run: STHLD, IPC and state
    by interval."""
    experiment = exp.find(kernel, size, launch, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS)
    intervals = waiting.watch(experiment)
    name, length = experiment.job.name, experiment.config.sub_core.collector.sthld_interval
    if as_json:
        sys.stdout.write(json.dumps({"kernel": name, **waiting.to_dict(intervals)}, indent=2) + "\n")
    if output is not None or not as_json:
        target = output or Path(f"{name}-waiting.svg")
        write_text(
            target, waiting.draw(f"{name}, {experiment.scheme.name}, intervals of {length} cycles", intervals)
        )
        Console(stderr=True).print(f"wrote {target}", highlight=False)
