"""The command of `warpbank` about schemes: what there is, what can be combined, and whether it works."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from program.errors import WarpbankError
from sim import progress, render
from sim.combinations import KERNELS, Combination, Verdict, check, named
from sim.options import JsonOption, PresetOption, RtlName, RtlOption, SetOption

CombinationsOption = Annotated[bool, typer.Option("--combinations", help="List all combinations, and why some are refused.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Run all legal ones in lockstep. Exit code 0 only if all are equal.")]
OnlyOption = Annotated[str | None, typer.Option("--only", metavar="ROW+ROW", help="Only combinations with all of these rows.")]
KernelsOption = Annotated[
    list[str] | None, typer.Option("--kernel", help=f"Kernel of the check, at size tiny [default: {', '.join(KERNELS)}].")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("schemes")(schemes)


def schemes(
    combinations: CombinationsOption = False,
    checks: CheckOption = False,
    only: OnlyOption = None,
    kernels: KernelsOption = None,
    preset: PresetOption = None,
    overrides: SetOption = None,
    engine: RtlOption = RtlName.PYSIM,
    as_json: JsonOption = False,
) -> None:
    """List the register-file schemes and what each is made of, or all combinations of them; check that these work.

    What has passed is kept, so that a check that was stopped goes on where it was. The check's machine is tiny by default."""
    if not combinations and not checks:
        if only is not None or kernels is not None or preset is not None or overrides:
            raise WarpbankError("--only, --kernel, --preset and --set say what --check runs; give --check, too")
        if as_json:
            _print_json({"schemes": render.scheme_rows()})
        else:
            Console().print(render.scheme_table())
        return
    wanted = named(only)
    verdicts: list[Verdict] = []
    if checks:
        watcher = Console(stderr=True, highlight=False)
        with progress.reporter() as report:
            for verdict in check(wanted, kernels or list(KERNELS), preset or "tiny", overrides or [], engine,
                                 on_build=report.building):
                verdicts.append(verdict)
                watcher.print(f"{verdict.scheme} {verdict.kernel}: {_word(verdict)}", markup=False)
    failed = [verdict for verdict in verdicts if verdict.wrong]
    if as_json:
        _print_json({"combinations": [each.to_dict() for each in wanted], "runs": [vars(verdict) for verdict in verdicts],
                     "passed": not failed})
    else:
        for part in tables(wanted, verdicts):
            Console().print(part)
    if failed:
        raise typer.Exit(1)


def _word(verdict: Verdict) -> str:
    if verdict.wrong:
        return f"WRONG: {verdict.wrong}"
    return f"equal, {verdict.cycles} cycles" + (" (kept)" if verdict.kept else f" ({verdict.seconds} s)")


def tables(wanted: list[Combination], verdicts: list[Verdict]) -> list[Table]:
    """Legal combinations and how they fared; refused ones and why."""
    fared: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        fared.setdefault(verdict.scheme, []).append(verdict)
    legal = []
    for each in (each for each in wanted if each.legal):
        runs = fared.get(each.scheme, [])
        wrong = [run for run in runs if run.wrong]
        word = "; ".join(f"{run.kernel}: {run.wrong}" for run in wrong) if wrong else f"{len(runs)} runs equal" if runs else ""
        legal.append((each.scheme, word))
    refused: dict[str, list[str]] = {}
    for each in wanted:
        if not each.legal:
            refused.setdefault(each.reason, []).append(each.scheme)
    return [
        render.table(f"{len(legal)} legal combinations", ("scheme", "golden and RTL" if verdicts else ""), legal),
        render.table(f"{sum(map(len, refused.values()))} refused combinations", ("why", "how many", "for example"),
                     ((reason, len(names), min(names, key=len)) for reason, names in refused.items())),
    ]


def _print_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
