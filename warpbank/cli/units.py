"""`warpbank units`: what units of the RTL there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from warpbank.cli import output
from warpbank.cli.options import JsonOption
from warpbank.cli.wheels import wheels

if TYPE_CHECKING:
    from warpbank.synth.units import Unit


def units(as_json: JsonOption = False) -> None:
    """List the units of the RTL that can be exported and synthesized."""
    with wheels():
        from warpbank.synth.units import UNITS

    output.listing("units", list(UNITS.values()), as_json, _tables)


def _tables(rows: Sequence[Unit]) -> list[RenderableType]:
    columns = ("name", "what it is", "source")
    return [output.table("Units", columns, ((unit.name, unit.what, unit.source) for unit in rows))]
