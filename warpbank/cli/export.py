"""`warpbank export`: a unit as Verilog or RTLIL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.schemes import BASELINE
from warpbank.cli import output
from warpbank.cli.options import ConfigOption, PresetOption, SchemeOption, SetOption
from warpbank.cli.wheels import wheels
from warpbank.sim import experiment as exp
from warpbank.sim.output import write_text


def export(
    unit: Annotated[
        str, typer.Argument(metavar="UNIT|sm", help="A unit (`warpbank units`), or the whole SM.")
    ],
    file: Annotated[Path, typer.Option("--output", "-o", help="File to write: .v Verilog, .il RTLIL.")],
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="With the event ports that simulation uses.")
    ] = False,
) -> None:
    """Write a unit of the RTL, or the whole SM, as Verilog or RTLIL."""
    with wheels():
        from warpbank.synth.export import exported

    machine = exp.find_config(preset or exp.DEFAULT_PRESET, config, overrides or [])
    write_text(file, exported(unit, machine, exp.find_scheme(scheme), kind=file.suffix, probe=probe))
    output.wrote(file)
