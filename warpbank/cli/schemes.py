"""The command of `warpbank` about schemes: what there is, what can be combined, and whether it works."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from warpbank.cli import tables as render
from warpbank.cli.options import JsonOption, PresetOption, RtlName, RtlOption, SetOption, WorkersOption
from warpbank.program.errors import WarpbankError
from warpbank.sim.runs import Outcome
from warpbank.studies.combinations import PROGRAMS, Combination, check, named

CombinationsOption = Annotated[
    bool, typer.Option("--combinations", help="List all combinations, and why some are refused.")
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Run all legal ones in lockstep. Exit code 0 only if all are equal.")
]
OnlyOption = Annotated[
    str | None, typer.Option("--only", metavar="ROW+ROW", help="Only combinations with all of these rows.")
]
KernelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help="Kernel of the check, at size tiny, or a random program, mixed-SEED or divergent-SEED "
        f"[default: {', '.join(PROGRAMS)}].",
    ),
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
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the register-file schemes and what each is made of, or all combinations of them; check that these
    work.

    What has passed is kept, so that a check that was stopped goes on where it was. The check's machine is
    tiny by default.
    """
    if not combinations and not checks:
        if only is not None or kernels is not None or preset is not None or overrides:
            raise WarpbankError(
                "--only, --kernel, --preset and --set say what --check runs; give --check, too"
            )
        if as_json:
            _print_json({"schemes": render.scheme_rows()})
        else:
            Console().print(render.scheme_table())
        return
    wanted = named(only)
    outcomes: list[Outcome] = []
    if checks:
        watcher = Console(stderr=True, highlight=False)

        def tell(outcome: Outcome, done: int, total: int) -> None:
            watcher.print(f"{done} of {total}: {outcome.task.label}: {_word(outcome)}", markup=False)

        outcomes = check(
            wanted,
            kernels or list(PROGRAMS),
            preset or "tiny",
            overrides or [],
            engine,
            workers=workers,
            progress=tell,
        )
    failed = [outcome for outcome in outcomes if outcome.error]
    if as_json:
        _print_json(
            {
                "combinations": [each.to_dict() for each in wanted],
                "runs": [_run(outcome) for outcome in outcomes],
                "passed": not failed,
            }
        )
    else:
        for part in tables(wanted, outcomes):
            Console().print(part)
    if failed:
        raise typer.Exit(1)


def _word(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"WRONG: {outcome.error}"
    return f"equal, {outcome.result['cycles']} cycles" + (
        " (kept)" if outcome.cached else f" ({outcome.result['seconds']} s)"
    )


def _run(outcome: Outcome) -> dict[str, Any]:
    """For JSON."""
    found = outcome.result or {"cycles": 0, "seconds": 0.0}
    return {
        "scheme": outcome.task.scheme,
        "kernel": outcome.task.kernel,
        "wrong": outcome.error,
        **found,
        "kept": outcome.cached,
    }


def tables(wanted: list[Combination], outcomes: list[Outcome]) -> list[Table]:
    """Legal combinations and how they fared; refused ones and why."""
    fared: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        fared.setdefault(outcome.task.scheme, []).append(outcome)
    legal = []
    for each in (each for each in wanted if each.legal):
        runs = fared.get(each.scheme, [])
        wrong = [run for run in runs if run.error]
        equal = f"{len(runs)} runs equal" if runs else ""
        word = "; ".join(f"{run.task.kernel}: {run.error}" for run in wrong) or equal
        legal.append((each.scheme, word))
    refused: dict[str, list[str]] = {}
    for each in wanted:
        if not each.legal:
            refused.setdefault(each.reason, []).append(each.scheme)
    return [
        render.table(
            f"{len(legal)} legal combinations", ("scheme", "golden and RTL" if outcomes else ""), legal
        ),
        render.table(
            f"{sum(map(len, refused.values()))} refused combinations",
            ("why", "how many", "for example"),
            ((reason, len(names), min(names, key=len)) for reason, names in refused.items()),
        ),
    ]


def _print_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
