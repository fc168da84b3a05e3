"""Spread of a unit's area and delay over the order of its gates: `python -m bench.mapping arbiter ocu`.

Mapping to cells is a search, and what it tries first follows from the order in which a netlist lists its
gates. This maps one circuit with its gates listed in several orders: what lies within their spread is no
property of the circuit. It prints what stands in the unit's baseline beside the least, median and greatest
number of each quantity.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Annotated
from unittest.mock import patch

import typer

from bench import command_line
from warpbank.synth import baselines, netlist, pdk
from warpbank.synth.synthesis import Synthesis

#: Quantities that are compared, of those that baselines hold.
QUANTITIES = ("area_um2", "delay_ns", "logic_depth")


def measured(unit: str, files: list[Path], seed: int) -> Synthesis:
    """Measurement of a unit whose gates are listed in another order."""
    made = netlist.to_rtlil

    def reordered(component: object, name: str) -> str:
        return netlist.shuffled(made(component, name), seed)

    with patch.object(netlist, "to_rtlil", reordered):
        return baselines.measure(unit, files)


def main(
    units: Annotated[list[str], typer.Argument(help="Units with a baseline.")],
    liberty: Annotated[
        list[str] | None, typer.Option(help="Cell library; default: $WARPBANK_LIBERTY, or an installed PDK.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Orders.", min=1)] = 9,
) -> None:
    """Map every unit with its gates in several orders, and print the spread."""
    files = pdk.find(liberty)
    typer.echo("| unit | quantity | recorded | least | median | greatest | spread |")
    typer.echo("|---|---|---:|---:|---:|---:|---:|")
    for unit in units:
        rows = [measured(unit, files, seed).to_dict() for seed in range(1, seeds + 1)]
        known = (baselines.recorded(unit) or {"results": {}})["results"].get(pdk.name(files), {})
        for quantity in QUANTITIES:
            found = [row[quantity] for row in rows]
            least, middle, most = min(found), median(found), max(found)
            numbers = f"{known.get(quantity, '')} | {least:g} | {middle:g} | {most:g}"
            typer.echo(f"| `{unit}` | {quantity} | {numbers} | {100 * (most - least) / middle:.1f} % |")


if __name__ == "__main__":
    command_line.run(main)
