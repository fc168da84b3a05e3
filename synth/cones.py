"""Cones: the gates of a netlist, in Yosys' JSON, that lead to some of its nets or follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: What Yosys calls gates: registers are none.
GATES = frozenset(
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

Cell = dict[str, Any]


def nets_at(cell: Cell, pin: str) -> list[int]:
    """Nets at a pin, constants left out."""
    return [net for net in cell["connections"][pin] if isinstance(net, int)]


def nets(cell: Cell, direction: str) -> list[int]:
    """Nets at the pins of that direction."""
    return [
        net for pin, way in cell["port_directions"].items() if way == direction for net in nets_at(cell, pin)
    ]


def drivers(cells: Iterable[Cell]) -> dict[int, Cell]:
    """Gates by the nets that they drive."""
    return {net: cell for cell in cells if cell["type"] in GATES for net in nets(cell, "output")}


def walk(start: Iterable[int], neighbours: Callable[[int], list[Cell]], onwards: str) -> list[Cell]:
    """Each gate once, in the order in which it is come upon."""
    waiting = list(start)
    seen, met, found = set(waiting), set[int](), list[Cell]()
    while waiting:
        for cell in neighbours(waiting.pop()):
            if id(cell) not in met:
                met.add(id(cell))
                found.append(cell)
                new = [net for net in nets(cell, onwards) if net not in seen]
                seen.update(new)
                waiting += new
    return found


def before(drives: dict[int, Cell], ends: Iterable[int]) -> list[Cell]:
    """Gates that lead to some nets."""
    return walk(ends, lambda net: [drives[net]] if net in drives else [], "input")


def copied(cells: dict[str, Cell], drives: dict[int, Cell], ends: list[tuple[Cell, str]], name: str) -> None:
    """Give these pins of cells a copy, marked as `name`, of all the gates that lead to them."""
    cone = before(drives, [net for cell, pin in ends for net in nets_at(cell, pin)])
    free = 1 + max(
        net for cell in cells.values() for pin in cell["connections"] for net in nets_at(cell, pin)
    )
    copies = {
        net: free + number for number, net in enumerate(net for cell in cone for net in nets(cell, "output"))
    }
    for number, cell in enumerate(cone):
        joined = {pin: [copies.get(net, net) for net in at] for pin, at in cell["connections"].items()}
        cells[f"${name}${number}"] = {**cell, "attributes": {name: "1"}, "connections": joined}
    for cell, pin in ends:
        cell["connections"][pin] = [copies.get(net, net) for net in cell["connections"][pin]]
