"""`warpbank gating`: power gating of registers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

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
from warpbank.studies.gating import Comparison, compare
from warpbank.studies.gating.compare import renames

#: Keys of `Gating.result` -> what they are.
_ROWS = {
    "cycles": "cycles",
    "given": "registers given to the warps that run, most",
    "allocated": "registers ever powered",
    "registers": "registers powered, mean",
    "of_registers": "of",
    "subarrays": "sub-arrays powered, mean",
    "of_subarrays": "of",
}


def gating(
    kernel: KernelArgument,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: Annotated[str, typer.Option("--scheme", help="Register file that renames.")] = first_scheme(
        renames
    ),
    overrides: SetOption = None,
    drawing: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Drawing (SVG).", show_default="KERNEL-gating.svg, with --json none"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw which registers and sub-arrays are powered in a run with register renaming, and without it.

    Without renaming a register is powered from its first touch on.
    """
    experiment = exp.find(kernel, size, launch, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS)
    file = drawing or Path(f"{experiment.job.name}-gating.svg")
    drawn = drawing is not None or not as_json
    if drawn:
        check_file(file, *exp.files(kernel, launch, preset, config))
    made = compare(experiment)
    output.emit(made, as_json, _tables)
    if drawn:
        write_text(file, made.draw())
        output.wrote(file)


def _tables(made: Comparison) -> Iterator[RenderableType]:
    runs = {"renaming": made.renaming, "first touch": made.first_touch}
    rows = [(text, *(found[key] for found in runs.values())) for key, text in _ROWS.items()]
    yield output.table(f"Power gating, {made.kernel}", ("", *runs), rows, numbers=len(runs))
