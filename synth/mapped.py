"""Mapped netlist of library cells, as Yosys writes it in JSON: what drives what, and whether it may be
measured at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpbank.synth.errors import NetlistError

#: Nets that are constants: 0, 1, and don't care, which is mapped to 0.
CONSTANTS = {"0": -1, "1": -2, "x": -1, "z": -1}


@dataclass
class Instance:
    """Instance of a cell: its name, type, and the net at each pin. Pins of a black box are `PORT[bit]`."""

    name: str
    type: str
    pins: dict[str, int]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class Netlist:
    """Netlist of one module: cells and nets.

    Parameters
    ----------
    top : its name.
    inputs, outputs : port name to nets, bit 0 first.
    cells : the instances.
    names : a readable name of each net.
    initial : what a register's net is before the first clock edge, where that is said.
    """

    top: str
    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]
    cells: list[Instance]
    names: dict[int, str]
    initial: dict[int, int] = field(default_factory=dict)

    def name(self, net: int) -> str:
        """Readable name of a net."""
        return {-1: "0", -2: "1"}.get(net) or self.names.get(net, f"net {net}")

    def count(self) -> Counter[str]:
        """Instances by type."""
        return Counter(cell.type for cell in self.cells)


def read(path: Path, top: str, boxes: Container[str] = ()) -> Netlist:
    """Module `top` of a JSON netlist; `boxes`: types whose pins are vectors."""
    module = json.loads(path.read_text())["modules"][top]
    names: dict[int, tuple[bool, int, str]] = {}
    initial: dict[int, int] = {}
    for name, entry in sorted(module["netnames"].items()):
        bits = entry["bits"]
        for bit, value in zip(bits, reversed(entry["attributes"].get("init", "")), strict=False):
            if value in "01" and isinstance(bit, int):
                initial[bit] = int(value)
        for index, bit in enumerate(bits):
            if isinstance(bit, int):
                text = name if len(bits) == 1 else f"{name}[{index + entry.get('offset', 0)}]"
                rank = (bool(entry["hide_name"]), len(text), text.replace("\\", ""))
                names[bit] = min(rank, names.get(bit, rank))
    inputs: dict[str, list[int]] = {}
    outputs: dict[str, list[int]] = {}
    for name, port in module["ports"].items():
        side = inputs if port["direction"] == "input" else outputs
        side[name] = [_net(bit) for bit in port["bits"]]
    cells = []
    for name, cell in sorted(module["cells"].items()):
        pins = {}
        for pin, bits in cell["connections"].items():
            if len(bits) == 1 and cell["type"] not in boxes:
                pins[pin] = _net(bits[0])
            else:
                pins |= {f"{pin}[{index}]": _net(bit) for index, bit in enumerate(bits)}
        cells.append(Instance(name, cell["type"], pins, cell.get("parameters", {})))
    return Netlist(top, inputs, outputs, cells, {net: text for net, (_, _, text) in names.items()}, initial)


def _net(bit: int | str) -> int:
    return bit if isinstance(bit, int) else CONSTANTS[bit]


#: What depends on what within a cell: input pins, and the output pins they reach.
Dependences = list[tuple[list[str], list[str]]]


def sorted_cells(
    net: Netlist, through: Callable[[Instance], Dependences]
) -> list[tuple[Instance, list[str]]]:
    """Cells in an order in which a value is computed before it is used: (cell, its output pins), or
    NetlistError naming a loop.

    `through` gives the dependences within a cycle.
    """
    driver: dict[int, int] = {}
    parts: list[tuple[Instance, list[str], list[str]]] = []
    for cell in net.cells:
        for ins, outs in through(cell):
            for pin in outs:
                if pin in cell.pins:
                    driver[cell.pins[pin]] = len(parts)
            parts.append((cell, ins, outs))
    waiting = []
    users: list[list[int]] = [[] for _ in parts]
    for index, (cell, ins, _) in enumerate(parts):
        before = {driver[cell.pins[pin]] for pin in ins if cell.pins.get(pin, -1) in driver}
        waiting.append(len(before))
        for one in before:
            users[one].append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order = []
    for index in ready:
        order.append((parts[index][0], parts[index][2]))
        for user in users[index]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    if len(order) < len(parts):
        stuck = next(index for index, count in enumerate(waiting) if count)
        seen: set[int] = set()
        while stuck not in seen:  # walk back along what waits, until the walk closes
            seen.add(stuck)
            cell, ins, _ = parts[stuck]
            stuck = min(
                driver[cell.pins[pin]]
                for pin in ins
                if driver.get(cell.pins.get(pin, -1), -1) >= 0 and waiting[driver[cell.pins[pin]]]
            )
        cell, _, outs = parts[stuck]
        raise NetlistError(
            f"{net.top} has a combinational loop through {net.name(cell.pins[outs[0]])} ({cell.type}); break "
            "it with a register"
        )
    return order


def check_mapped(net: Netlist, known: Container[str]) -> None:
    """Raise NetlistError if there are latches, or cells that are neither of the library nor memories."""
    strange = Counter(cell.type for cell in net.cells if cell.type not in known)
    latches = {name: count for name, count in strange.items() if "latch" in name.lower()}
    if latches:
        raise NetlistError(
            f"{net.top} holds {sum(latches.values())} latches ({', '.join(latches)}); a signal is not "
            "assigned in every case, give it a default"
        )
    if strange:
        shown = ", ".join(f"{count} x {name}" for name, count in strange.most_common(3))
        raise NetlistError(
            f"{net.top} has cells that the library has no counterpart for: {shown}; give a library that has "
            "them"
        )
