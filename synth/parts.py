"""Parts of a netlist: the logic of each sub-unit's registers, apart from that of the others.

A mapper relaxes every path to the slowest one, to save area, and sizes what it sees as one. In a large unit
that leaves most paths as late as the latest, and the search for sizes ends before it has seen them all. So
the logic that leads to the registers, clock gates and memories of each sub-unit is copied and mapped by
itself. What several of them need is there several times.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from warpbank.synth import cones
from warpbank.synth.cones import Cell
from warpbank.synth.liberty import Library

#: Fewest registers and memories of a sub-unit that is a part.
LEAST = 200
#: Fewest such sub-units of a unit that has parts.
MANY = 3
#: Most gates of a netlist with parts. Yosys was killed while it read 3.0 million on a machine of 24 GB.
MOST = 2_000_000
#: Pins of a memory that carry no logic.
_CLOCKS = frozenset(("RD_CLK", "WR_CLK"))


def part(path: Path, top: str, boxes: set[str], library: Library) -> list[str]:
    """Copy and mark the gates of the sub-units in a JSON netlist of Yosys, in place; `boxes`: types of the
    memories; `library`: its other cells. Returns the marks, which are attributes; none, and the netlist
    stays, if there are too few sub-units, or too many gates with the copies."""
    design = json.loads(path.read_text())
    module = design["modules"][top]
    cells: dict[str, Cell] = module["cells"]
    drives = cones.drivers(cells.values())
    marks = []
    found = sorted(_users(module, boxes, library).items())
    for number, (_, users) in enumerate(found if len(found) >= MANY else []):
        ends = [
            (cell, pin)
            for cell in users
            for pin, direction in cell["port_directions"].items()
            if direction == "input" and pin not in _clocks(cell, library)
        ]
        marks.append(f"part_{number}")
        cones.copied(cells, drives, ends, marks[-1])
        if len(cells) > MOST:
            return []
    path.write_text(json.dumps(design))
    return marks


def _clocks(cell: Cell, library: Library) -> frozenset[str]:
    """Clock pins of a register, a clock gate or a memory."""
    if cell["type"] not in library:
        return _CLOCKS & cell["connections"].keys()
    return frozenset(pin.name for pin in library[cell["type"]].inputs if pin.clock)


def _users(module: dict[str, Any], boxes: set[str], library: Library) -> dict[str, list[Cell]]:
    """Registers, memories and clock gates of the sub-units that have many, by the sub-unit's name. A clock
    gate goes with the registers that it clocks."""
    owner: dict[int, str] = {}
    for name, entry in sorted(module["netnames"].items()):
        if "." in name and not entry["hide_name"]:
            for net in entry["bits"]:
                owner.setdefault(net, name.partition(".")[0])
    gates: dict[int, Cell] = {}
    ends: list[tuple[str, Cell]] = []
    for name, cell in module["cells"].items():
        if cell["type"] in library and library[cell["type"]].gate:
            gates |= dict.fromkeys(cones.nets(cell, "output"), cell)
        elif cell["type"] in library or cell["type"] in boxes:
            ends.append((name, cell))
    found: dict[str, list[Cell]] = defaultdict(list)
    for name, cell in ends:
        where = name.partition(".")[0] if cell["type"] in boxes and "." in name else ""
        where = where or next((owner[net] for net in cones.nets(cell, "output") if net in owner), "")
        found[where].append(cell)
        for pin in sorted(_clocks(cell, library)):
            for net in cones.nets_at(cell, pin):
                if net in gates:
                    found[where].append(gates.pop(net))
    return {name: those for name, those in found.items() if name and len(those) >= LEAST}
