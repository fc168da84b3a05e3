"""`warpbank kernels`: what kernels there are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from warpbank import workloads
from warpbank.cli import output
from warpbank.cli.options import JsonOption
from warpbank.workloads import Workload


def kernels(as_json: JsonOption = False) -> None:
    """List the shipped kernels."""
    output.listing("kernels", [workloads.get(name) for name in workloads.names()], as_json, _tables)


def _tables(rows: Sequence[Workload]) -> list[RenderableType]:
    columns = ("name", "what it computes", "algorithm of")
    return [output.table("Kernels", columns, ((w.name, w.summary, w.origin) for w in rows))]
