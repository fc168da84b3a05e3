"""Memory paths: the logic before and behind memories that are read within a cycle, apart from the rest of a
netlist.

Yosys hands the mapper all gates between registers, ports and black boxes, and the mapper takes each of these
for the start and end of a path: it does not see that an address has to be early and that data come late. So
what leads to addresses is copied, and so is what data meet on their way; these, and what follows from data,
are mapped by themselves, as fast as they can be. The rest of the netlist uses the originals.
"""

from __future__ import annotations

import json
from pathlib import Path

from warpbank.synth import cones
from warpbank.synth.cones import Cell

#: Attributes of the gates before addresses, of those that lead to what data meet, and of those behind data.
APART = BEFORE, BESIDE, BEHIND = "before_memory", "beside_memory", "behind_memory"
#: Inputs of gates.
_INPUTS = ("A", "B", "C", "D", "S")


def part(path: Path, top: str, boxes: set[str]) -> None:
    """Mark, and where needed copy, the gates around the cells of the types `boxes` in a JSON netlist of
    Yosys, in place."""
    design = json.loads(path.read_text())
    cells: dict[str, Cell] = design["modules"][top]["cells"]
    gates = [cell for cell in cells.values() if cell["type"] in cones.GATES]
    memories = [cell for cell in cells.values() if cell["type"] in boxes]
    behind = _behind(gates, [net for memory in memories for net in cones.nets_at(memory, "RD_DATA")])
    for cell in behind:
        cell["attributes"][BEHIND] = "1"
    own = {net for cell in behind for net in cones.nets(cell, "output")}
    drives = {net: cell for net, cell in cones.drivers(gates).items() if net not in own}
    cones.copied(cells, drives, [(memory, "RD_ADDR") for memory in memories], BEFORE)
    met = [(cell, pin) for cell in behind for pin in _INPUTS if pin in cell["connections"]]
    cones.copied(cells, drives, met, BESIDE)
    path.write_text(json.dumps(design))


def _behind(gates: list[Cell], data: list[int]) -> list[Cell]:
    """The gates that depend on any of these nets."""
    reads: dict[int, list[Cell]] = {}
    for cell in gates:
        for net in cones.nets(cell, "input"):
            reads.setdefault(net, []).append(cell)
    return cones.walk(data, lambda net: reads.get(net, []), "output")
