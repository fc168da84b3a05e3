"""`warpbank verify`: the verification ladder of a unit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from warpbank.cli import completion, output
from warpbank.cli.options import JsonOption
from warpbank.cli.wheels import wheels
from warpbank.sim.output import check_folder
from warpbank.sim.runs.execute import MOST_WORKERS

if TYPE_CHECKING:
    from warpbank.studies.verify import Climbed


def verify(
    unit: Annotated[
        str | None,
        typer.Argument(
            help="A unit of `warpbank units`.", show_default="all units", autocompletion=completion.unit
        ),
    ] = None,
    rungs: Annotated[
        list[str] | None,
        typer.Option(
            "--rung",
            help="golden, RTL, proofs, netlist, lockstep or cocotb; may be repeated.",
            show_default="all",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--long", help="The long tests, too.")] = False,
    workers: Annotated[
        int, typer.Option("--workers", "-n", metavar="N", min=1, max=MOST_WORKERS, help="Processes.")
    ] = 1,
    simulator: Annotated[
        str, typer.Option("--simulator", help="Simulator of the cocotb rung: verilator or icarus.")
    ] = "verilator",
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Folder for JUnit files and the coverage report.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the verification ladder of a unit, and print what each rung showed.

    The ladder leads from the golden model to exported Verilog under cocotb.
    """
    with wheels():
        from warpbank.studies import verify as climbing

    if junit is not None:
        check_folder(junit, option="--junit")
    with output.working() as say:
        made = climbing.verify(
            unit,
            rungs or (),
            everything=everything,
            workers=workers,
            simulator=simulator,
            folder=junit,
            on_rung=lambda rung: say(f"{rung} ..."),
        )
    output.emit(made, as_json, _tables)
    if not made.passed:
        raise typer.Exit(1)


def _tables(made: Climbed) -> Iterator[RenderableType]:
    table = Table(title=made.unit or "all units")
    for name in ("rung", "passed", "mutants killed", "failed", "skipped", "seconds"):
        table.add_column(name, justify="left" if name == "rung" else "right")
    for rung in made.rungs:
        if rung.tests:
            counts = (rung.passed, rung.mutants, rung.failed, rung.skipped)
            table.add_row(rung.rung, *map(str, counts), f"{rung.seconds:.0f}")
        else:
            table.add_row(rung.rung, "no test of its own", "", "", "", "")
    yield table
    for rung in made.rungs:
        for failure in rung.failures:
            yield Text(f"{rung.rung}: {failure}")
    coverage = made.coverage
    if coverage is not None:
        yield Text(f"functional coverage of the cocotb benches: {coverage.hit} of {coverage.bins} bins")
        for name in coverage.lacking:
            yield Text(f"  never: {name}")
