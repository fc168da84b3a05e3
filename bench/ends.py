"""Delay of each group of a unit's registers by itself: `python -m bench.ends ltrf --set lanes=4`.

A mapper that looks for small area relaxes every path to the slowest one, so that after mapping most ends of a
large unit look equally late. This takes the unit's gates before they are mapped, groups what paths end at
(registers, clock gates, memories and outputs of one name, numbers left out), and maps the logic that leads to
each group alone: what is late here is late for its own sake. A shorter `--clock` shows how fast each could
be, since the mapper does no more than it is asked for. Setup and clock to output are part of each delay; what
loads the ends is not.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import command_line
from warpbank.arch.config import with_overrides
from warpbank.synth import baselines, cones, flow, memories, netlist, pdk, timing
from warpbank.synth.cones import Cell
from warpbank.synth.errors import MapperError
from warpbank.synth.flow import Tools
from warpbank.synth.liberty import Library
from warpbank.synth.units import make

_NUMBER = re.compile(r"\d+")


def _groups(module: dict[str, Any], boxes: set[str], library: Library) -> dict[str, set[int]]:
    """Nets at which paths end, by a name without numbers."""
    named: dict[int, tuple[bool, int, str]] = {}
    for name, entry in sorted(module["netnames"].items()):
        rank = (bool(entry["hide_name"]), len(name), name)
        for bit in entry["bits"]:
            named[bit] = min(rank, named.get(bit, rank))
    groups: dict[str, set[int]] = defaultdict(set)
    for name, cell in module["cells"].items():
        if cell["type"] in cones.GATES:
            continue
        outputs = cones.nets(cell, "output")
        if cell["type"] in boxes:
            label = f"memory {name}"
        elif cell["type"] in library and library[cell["type"]].gate:
            label = "clock gate"
        else:
            label = f"register {named[outputs[0]][2] if outputs else name}"
        groups[_NUMBER.sub("#", label)].update(cones.nets(cell, "input"))
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            groups[_NUMBER.sub("#", f"output {name}")].update(
                bit for bit in port["bits"] if isinstance(bit, int)
            )
    return groups


def _alone(cone: list[Cell], ends: Iterable[int]) -> dict[str, Any]:
    """Design of these gates."""
    own = {bit for cell in cone for bit in cones.nets(cell, "output")}
    inputs = {bit for cell in cone for bit in cones.nets(cell, "input")} - own
    ports = {
        name: {"direction": direction, "bits": sorted(bits)}
        for name, direction, bits in (("i", "input", inputs), ("o", "output", own.intersection(ends)))
    }
    cells = {f"c{number}": {**cell, "attributes": {}} for number, cell in enumerate(cone)}
    return {
        "modules": {"alone": {"attributes": {"top": "1"}, "ports": ports, "cells": cells, "netnames": {}}}
    }


def _delay(tools: Tools, folder: Path, picoseconds: float) -> float | None:
    """Delay of `alone.json`, by the quicker mapper that takes the library; none where both refuse it: a group
    of a machine's may meet a fault of the mapper, and the others are worth their time."""
    for way in (flow.QUICK, flow.BARE):
        with suppress(MapperError):
            return flow.alone(tools, folder, picoseconds, way)
    return None


def _slowest_first(row: tuple[float | None, str, int, int]) -> tuple[float, str]:
    delay, label, _, _ = row
    return (math.inf if delay is None else -delay, label)


def main(
    unit: Annotated[str, typer.Argument(help="Unit of `warpbank units`.")],
    name: Annotated[str, typer.Option("--preset", help="Machine; default: its baseline's, or turing.")] = "",
    scheme: Annotated[str, typer.Option(help="Register file; default: its baseline's.")] = "",
    sets: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE; may be repeated.")] = None,
    only: Annotated[str, typer.Option(help="Regular expression: groups of such a name only.")] = "",
    liberty: Annotated[
        list[str] | None, typer.Option(help="Cell library; default: $WARPBANK_LIBERTY, or an installed PDK.")
    ] = None,
    clock: Annotated[float, typer.Option(help="ns that the mapper aims at.")] = 1.0,
    gates: Annotated[int, typer.Option(help="Groups with fewer gates before them are left out.")] = 200,
) -> None:
    """Map the logic before each group of ends by itself, and print how long it takes."""
    files = pdk.find(liberty)
    size = baselines.SIZES.get(unit, baselines.Size("turing"))
    config, chosen = replace(size, preset=name or size.preset, scheme=scheme or size.scheme).machine()
    config = with_overrides(config, sets or [])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tools = pdk.load(files, folder)
        flow.coarse(netlist.to_rtlil(make(unit, config, chosen), unit), unit, folder)
        found = memories.found(folder / "coarse.json", unit)
        boxes = {one.name: f"box_{number}" for number, one in enumerate(found) if one.kind != "registers"}
        (folder / "boxes.v").write_text(
            "".join(memories.box(boxes[one.name], one) for one in found if one.name in boxes)
        )
        flow.gates(tools, unit, folder, boxes, [one.name for one in found if one.unread])
        module = json.loads((folder / "gates.json").read_text())["modules"][unit]
        drives = cones.drivers(module["cells"].values())
        overhead = timing.overhead(tools.library, tools.load)
        if clock <= overhead:
            raise typer.BadParameter(f"--clock has to be more than what a register takes, {overhead:.3f} ns.")
        rows: list[tuple[float | None, str, int, int]] = []
        for label, ends in sorted(_groups(module, set(boxes.values()), tools.library).items()):
            cone = cones.before(drives, ends) if re.search(only, label) else []
            if len(cone) >= gates:
                (folder / "alone.json").write_text(json.dumps(_alone(cone, ends)))
                logic = _delay(tools, folder, 1000 * (clock - overhead))
                delay = None if logic is None else overhead + logic
                rows.append((delay, label, len(ends), len(cone)))
    typer.echo("| ends | number | gates before them | ns by themselves |")
    typer.echo("|---|---:|---:|---:|")
    for delay, label, number, before in sorted(rows, key=_slowest_first):
        said = "the mapper failed" if delay is None else f"{delay:.3f}"
        typer.echo(f"| {label} | {number} | {before} | {said} |")


if __name__ == "__main__":
    command_line.run(main)
