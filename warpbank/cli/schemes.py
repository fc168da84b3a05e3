"""`warpbank schemes`: what schemes there are, what can be combined, and whether it works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType

from warpbank.arch.schemes import SCHEMES, Row
from warpbank.arch.units import ROOMS
from warpbank.cli import output
from warpbank.cli.options import (
    ConfigOption,
    JsonOption,
    RtlName,
    RtlOption,
    SetOption,
    WorkersOption,
    preset_option,
)
from warpbank.program.errors import WarpbankError
from warpbank.sim.experiment import machine_name
from warpbank.sim.runs import Outcome
from warpbank.studies.combinations import PROGRAMS, Checked, check, named

#: Machine of the check.
_PRESET = "tiny"

CombinationsOption = Annotated[
    bool, typer.Option("--combinations", help="List all combinations, and why some are refused.")
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check", help="Run all legal combinations in lockstep. Exit code 0 only if all are equal."
    ),
]
OnlyOption = Annotated[
    str | None, typer.Option("--only", metavar="ROW+ROW", help="Only combinations with all of these rows.")
]
KernelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help=(
            "Kernel of the check, at size tiny, or a random program, mixed-SEED or divergent-SEED; may be "
            "repeated."
        ),
        show_default=", ".join(PROGRAMS),
    ),
]


def schemes(
    combinations: CombinationsOption = False,
    checks: CheckOption = False,
    only: OnlyOption = None,
    kernels: KernelsOption = None,
    preset: Annotated[str | None, preset_option(_PRESET)] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    engine: RtlOption = RtlName.PYSIM,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the register-file schemes and what each is made of, or all combinations of them.

    A check runs the legal combinations, golden model against RTL. What has
    passed is kept, so that a check that was stopped goes on where it was.
    """
    runs = kernels is not None or preset is not None or config is not None or overrides
    how = workers is not None or engine is not RtlName.PYSIM
    if (runs or how) and not checks:
        raise WarpbankError(
            "--kernel, --preset, --config, --set, --engine and --workers say what --check runs and how; "
            "give --check, too"
        )
    if only is not None and not combinations and not checks:
        raise WarpbankError(
            "--only says which combinations are listed or checked; give --combinations or --check, too"
        )
    if not combinations and not checks:
        output.listing("schemes", list(SCHEMES.values()), as_json, _schemes)
        return
    wanted = named(only)
    outcomes: list[Outcome] = []
    if checks:
        outcomes = check(
            wanted,
            kernels or list(PROGRAMS),
            machine_name(preset, config, _PRESET),
            overrides or [],
            engine,
            workers=workers,
            progress=_tell,
        )
    found = Checked(wanted, outcomes)
    output.emit(found, as_json, _combinations)
    if not found.passed:
        raise typer.Exit(1)


def _tell(outcome: Outcome, done: int, total: int) -> None:
    """Say how a run of the check ended."""
    if outcome.result is None:
        word = f"WRONG: {outcome.error}"
    else:
        how = "kept" if outcome.cached else f"{outcome.result['seconds']} s"
        word = f"equal, {outcome.result['cycles']} cycles ({how})"
    output.note(f"{done} of {total}: {outcome.task.label}: {word}")


def _schemes(rows: Sequence[Row]) -> Iterator[RenderableType]:
    cells = [
        (row.name, ", ".join(f"{room} {getattr(row, room)}" for room in ROOMS if getattr(row, room)))
        for row in rows
    ]
    described = [(*cell, row.description) for cell, row in zip(cells, rows, strict=True)]
    yield output.table("Schemes (`a+b` joins them)", ("name", "what it puts where", "description"), described)


def _combinations(found: Checked) -> Iterator[RenderableType]:
    """Legal combinations and how they fared; refused ones and why."""
    fared: dict[str, list[Outcome]] = {}
    for outcome in found.outcomes:
        fared.setdefault(outcome.task.scheme, []).append(outcome)
    legal = []
    for each in (each for each in found.combinations if each.legal):
        runs = fared.get(each.scheme, [])
        wrong = [run for run in runs if run.error]
        equal = f"{len(runs)} runs equal" if runs else ""
        word = "; ".join(f"{run.task.kernel}: {run.error}" for run in wrong) or equal
        legal.append((each.scheme, word))
    refused: dict[str, list[str]] = {}
    for each in found.combinations:
        if not each.legal:
            refused.setdefault(each.reason, []).append(each.scheme)
    yield output.table(
        f"{len(legal)} legal combinations", ("scheme", "golden and RTL" if found.outcomes else ""), legal
    )
    yield output.table(
        f"{sum(map(len, refused.values()))} refused combinations",
        ("why", "how many", "for example"),
        ((reason, len(names), min(names, key=len)) for reason, names in refused.items()),
    )
