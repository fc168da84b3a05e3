"""`warpbank kernels`: what kernels there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType

from warpbank import workloads
from warpbank.cli import output
from warpbank.cli.options import JsonOption, Size
from warpbank.studies.occupancy import PRESET, TIMES, Occupancy, occupancies
from warpbank.workloads import Workload


def kernels(
    occupancy: Annotated[
        bool,
        typer.Option(
            "--occupancy",
            help=f"Warps at a time with the register file of {PRESET}, and with {TIMES} times as much.",
        ),
    ] = False,
    size: Annotated[Size, typer.Option("--size", help="Problem size of --occupancy.")] = Size.FULL,
    as_json: JsonOption = False,
) -> None:
    """List the shipped kernels, by groups.

    --occupancy compiles them and tells which a larger register file helps.
    """
    names = workloads.names(workloads.ALL)
    if occupancy:
        output.listing("kernels", occupancies(names, size), as_json, _occupancies)
    else:
        output.listing("kernels", [workloads.get(name) for name in names], as_json, _tables)


def _tables(rows: Sequence[Workload]) -> list[RenderableType]:
    columns = ("name", "what it computes", "algorithm of", "group")
    return [output.table("Kernels", columns, ((w.name, w.summary, w.origin, w.group) for w in rows))]


def _occupancies(rows: Sequence[Occupancy]) -> list[RenderableType]:
    columns = ("name", "group", "larger file", "registers", "warps launched", "at a time", f"{TIMES}x")
    cells = (
        (
            row.kernel,
            row.group,
            "helps" if row.sensitive else "-",
            *(row.registers, row.launched, row.small, row.large),
        )
        for row in rows
    )
    return [output.table("Occupancy", columns, cells, numbers=4)]
