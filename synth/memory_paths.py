"""Memory paths: the logic before and behind memories that are read within a cycle, apart from the rest of a
netlist.

Yosys hands the mapper all gates between registers, ports and black boxes, and the mapper takes each of these
for the start and end of a path: it does not see that an address has to be early and that data come late. So
what leads to addresses is copied, and so is what data meet on their way; these, and what follows from data,
are mapped by themselves, as fast as they can be. The rest of the netlist uses the originals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

#: Attributes of the gates before addresses, of those that lead to what data meet, and of those behind data.
APART = BEFORE, BESIDE, BEHIND = "before_memory", "beside_memory", "behind_memory"
#: What Yosys calls gates: registers are none.
_GATES = frozenset(
    f"$_{name}_"
    for name in (
        "NOT",
        "BUF",
        "AND",
        "OR",
        "XOR",
        "NAND",
        "NOR",
        "XNOR",
        "ANDNOT",
        "ORNOT",
        "MUX",
        "NMUX",
        "AOI3",
        "OAI3",
        "AOI4",
        "OAI4",
    )
)

_Cell = dict[str, Any]


def part(path: Path, top: str, boxes: set[str]) -> None:
    """Mark, and where needed copy, the gates around the cells of the types `boxes` in a JSON netlist of
    Yosys, in place."""
    design = json.loads(path.read_text())
    cells: dict[str, _Cell] = design["modules"][top]["cells"]
    gates = [cell for cell in cells.values() if cell["type"] in _GATES]
    memories = [cell for cell in cells.values() if cell["type"] in boxes]
    behind = _behind(gates, [bit for memory in memories for bit in _bits(memory, "RD_DATA")])
    for cell in behind:
        cell["attributes"][BEHIND] = "1"
    own = {bit for cell in behind for bit in _ends(cell, "output")}
    drives = {bit: cell for cell in gates for bit in _ends(cell, "output") if bit not in own}
    _copied(cells, drives, memories, ("RD_ADDR",), BEFORE)
    _copied(cells, drives, behind, ("A", "B", "C", "D", "S"), BESIDE)
    path.write_text(json.dumps(design))


def _copied(
    cells: dict[str, _Cell], drives: dict[int, _Cell], users: list[_Cell], pins: Iterable[str], name: str
) -> None:
    """Give these pins of `users` a copy, marked as `name`, of all the gates that lead to them."""
    ends = [(user, pin) for user in users for pin in pins if pin in user["connections"]]
    bits = [bit for user, pin in ends for bit in _bits(user, pin)]
    cone = _walk(bits, lambda bit: [drives[bit]] if bit in drives else [], "input")
    free = 1 + max(bit for cell in cells.values() for pin in cell["connections"] for bit in _bits(cell, pin))
    outputs = [bit for cell in cone for bit in _ends(cell, "output")]
    copies = {bit: free + number for number, bit in enumerate(outputs)}
    for number, cell in enumerate(cone):
        joined = {pin: [copies.get(bit, bit) for bit in bits] for pin, bits in cell["connections"].items()}
        cells[f"${name}${number}"] = {**cell, "attributes": {name: "1"}, "connections": joined}
    for user, pin in ends:
        user["connections"][pin] = [copies.get(bit, bit) for bit in user["connections"][pin]]


def _behind(gates: list[_Cell], data: list[int]) -> list[_Cell]:
    """The gates that depend on any of these nets."""
    reads: dict[int, list[_Cell]] = {}
    for cell in gates:
        for bit in _ends(cell, "input"):
            reads.setdefault(bit, []).append(cell)
    return _walk(data, lambda bit: reads.get(bit, []), "output")


def _walk(bits: list[int], neighbours: Callable[[int], list[_Cell]], onwards: str) -> list[_Cell]:
    """Each gate once, in the order in which it is come upon."""
    waiting, seen, met, found = list(bits), set(bits), set[int](), list[_Cell]()
    while waiting:
        for cell in neighbours(waiting.pop()):
            if id(cell) not in met:
                met.add(id(cell))
                found.append(cell)
                new = [bit for bit in _ends(cell, onwards) if bit not in seen]
                seen.update(new)
                waiting += new
    return found


def _bits(cell: _Cell, pin: str) -> list[int]:
    return [bit for bit in cell["connections"][pin] if isinstance(bit, int)]


def _ends(cell: _Cell, direction: str) -> list[int]:
    return [
        bit for pin, way in cell["port_directions"].items() if way == direction for bit in _bits(cell, pin)
    ]
