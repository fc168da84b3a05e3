"""The command of `warpbank` that runs a unit's verification ladder."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from warpbank.cli.options import JsonOption
from warpbank.program.errors import WarpbankError

if TYPE_CHECKING:
    from warpbank.studies.verify import Covered, Shown


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify)


def verify(
    unit: Annotated[str | None, typer.Argument(help="A unit of `warpbank units`; all if left out.")] = None,
    rungs: Annotated[
        list[str] | None,
        typer.Option(
            "--rung", help="golden, RTL, proofs, netlist, lockstep or cocotb; may be repeated [default: all]."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--long", help="The long tests, too.")] = False,
    workers: Annotated[int, typer.Option("--workers", "-n", min=1, help="Processes.")] = 1,
    simulator: Annotated[
        str, typer.Option("--simulator", help="Of the cocotb rung: verilator or icarus.")
    ] = "verilator",
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Folder for JUnit files and the coverage report.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the ladder of a unit, from its golden model to its exported Verilog under cocotb, and print what
    each rung showed."""
    # Amaranth is not needed for anything else that a user without the RTL's wheels may call.
    from warpbank.studies import verify as climbing
    from warpbank.synth.units import find

    chosen = None if unit is None else find(unit)
    unknown = [rung for rung in rungs or () if rung not in climbing.RUNGS]
    if unknown:
        raise WarpbankError(f"there is no rung {unknown[0]!r}; rungs are {', '.join(climbing.RUNGS)}.")
    climbing.check_simulator(simulator)
    with ExitStack() as stack:
        if junit is None:
            where = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warpbank-verify-")))
        else:
            where = junit
            where.mkdir(parents=True, exist_ok=True)
        console = Console(stderr=True)
        shown = []
        for rung, tests in climbing.ladder(chosen).items():
            if rungs and rung not in rungs:
                continue
            with console.status(f"{rung} ..."):
                shown.append(
                    climbing.climb(
                        rung,
                        tests,
                        everything=everything,
                        workers=workers,
                        junit=where / f"{rung}.xml",
                        coverage=where,
                        simulator=simulator,
                    )
                )
        coverage = climbing.covered(where)
    if as_json:
        sys.stdout.write(
            json.dumps(
                {
                    "unit": unit,
                    "rungs": [asdict(rung) for rung in shown],
                    "coverage": asdict(coverage) if coverage else None,
                },
                indent=2,
            )
            + "\n"
        )
    else:
        _print(unit or "all units", shown, coverage)
    if any(rung.failed for rung in shown):
        raise typer.Exit(1)


def _print(title: str, shown: list[Shown], coverage: Covered | None) -> None:
    table = Table(title=title)
    for name in ("rung", "passed", "mutants killed", "failed", "skipped", "seconds"):
        table.add_column(name, justify="left" if name == "rung" else "right")
    for rung in shown:
        if rung.tests:
            counts = (rung.passed, rung.mutants, rung.failed, rung.skipped)
            table.add_row(rung.rung, *map(str, counts), f"{rung.seconds:.0f}")
        else:
            table.add_row(rung.rung, "no test of its own", "", "", "", "")
    console = Console()
    console.print(table)
    for rung in shown:
        for failure in rung.failures:
            console.print(f"{rung.rung}: {failure}", highlight=False, markup=False)
    if coverage is not None:
        console.print(
            f"functional coverage of the cocotb benches: {coverage.hit} of {coverage.bins} bins",
            highlight=False,
        )
        for name in coverage.lacking:
            console.print(f"  never: {name}", highlight=False, markup=False)
