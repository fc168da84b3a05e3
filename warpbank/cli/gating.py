"""The command of `warpbank` about power gating of registers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from warpbank.arch.config import with_overrides
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
from warpbank.cli.tables import table
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.output import write_text
from warpbank.sim.runs.spec import Observed
from warpbank.studies import gating_plot
from warpbank.studies.gating import Gating

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


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("gating")(gating)


def gating(
    kernel: KernelArgument,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: Annotated[str, typer.Option("--scheme", help="Register file that renames.")] = "renaming",
    overrides: SetOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Drawing [default: KERNEL-gating.svg].")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw which registers and sub-arrays are powered in a run with register renaming, and without it by
    first touch."""
    experiment = exp.find(kernel, size, launch, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS)
    if experiment.scheme.mapping != "renaming":
        raise WarpbankError(
            f"scheme {experiment.scheme.name} does not rename registers; use one that does, such as renaming"
        )
    name = experiment.job.name
    found = {"renaming": _observe(experiment), "first touch": _observe(_unrenamed(experiment))}
    if as_json:
        sys.stdout.write(json.dumps({"kernel": name, **found}, indent=2) + "\n")
        return
    rows = [(text, *(made[key] for made in found.values())) for key, text in _ROWS.items()]
    Console().print(table(f"Power gating, {name}", ("", *found), rows, numbers=len(found)))
    target = output or Path(f"{name}-gating.svg")
    title = f"{name}, {experiment.scheme.name}, preset {experiment.preset}"
    write_text(target, gating_plot.draw(title, found["renaming"], found["first touch"]))
    Console(stderr=True).print(f"wrote {target}", highlight=False)


def _observe(experiment: exp.Experiment) -> dict[str, object]:
    seen = Gating()
    exp.run(experiment, Observed(GoldenEngine(), seen))
    return seen.result()


def _unrenamed(experiment: exp.Experiment) -> exp.Experiment:
    """The same without renaming, under the same scheduler."""
    rest = "+".join(row for row in experiment.scheme.name.split("+") if row != "renaming") or "baseline"
    policy = experiment.config.sub_core.front_end.scheduler
    if policy == "scheme":
        policy = experiment.scheme.scheduler
    config = with_overrides(experiment.config, [f"sub_core.front_end.scheduler={policy}"])
    return replace(experiment, scheme=exp.find_scheme(rest), config=config)
