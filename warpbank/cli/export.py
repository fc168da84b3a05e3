"""`warpbank export`: a unit as Verilog or RTLIL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.errors import ArgumentError, OutputError
from warpbank.arch.schemes import BASELINE
from warpbank.cli import completion, output
from warpbank.cli.options import ConfigOption, PresetOption, SchemeOption, SetOption
from warpbank.cli.wheels import wheels
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.output import check_file, check_folder, write_text


def export(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="UNIT|sm",
            help="A unit (`warpbank units`), or the whole SM.",
            autocompletion=completion.unit,
        ),
    ],
    file: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .v Verilog, .il RTLIL; with --with-bench, a folder."
        ),
    ],
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="With the event ports that simulation uses.")
    ] = False,
    bench: Annotated[
        str | None,
        typer.Option(
            "--with-bench", metavar="cocotb", help="Write a folder: Verilog, a cocotb bench, its runner."
        ),
    ] = None,
) -> None:
    """Write a unit of the RTL, or the whole SM, as Verilog or RTLIL."""
    with wheels():
        from warpbank.synth.bench_folder import folder
        from warpbank.synth.export import exported

    if bench is None:
        check_file(file)
    elif file.suffix in (".v", ".il") or (os.path.exists(file) and not os.path.isdir(file)):
        raise ArgumentError(
            f"--with-bench writes several files: --output names a folder, such as {file.stem}, not {file}"
        )
    else:
        check_folder(file)
    machine = exp.find_config(exp.machine_name(preset, config), config, overrides or [])
    chosen, loaded = exp.find_scheme(scheme), extensions.loaded()
    if bench is not None:
        files = folder(unit, machine, chosen, bench=bench, probe=probe, extensions=loaded)
        try:
            file.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder {file}: {error.strerror}; name another one") from None
        for name, text in files.items():
            write_text(file / name, text)
        output.wrote(file)
        return
    write_text(file, exported(unit, machine, chosen, kind=file.suffix, probe=probe, extensions=loaded))
    output.wrote(file)
