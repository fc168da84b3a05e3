"""Verilog models of a library's cells, so that a mapped netlist can be simulated."""

from __future__ import annotations

import re

from warpbank.synth.boolean_functions import truth
from warpbank.synth.errors import LibertyError
from warpbank.synth.gates import initial
from warpbank.synth.liberty import Cell, Library
from warpbank.synth.mapped import Netlist

_INSTANCE = re.compile(r"^  (?P<type>\w+) (?P<name>\S+) \((?P<pins>.*?)\n  \);", re.MULTILINE | re.DOTALL)


def simulated(verilog: str, net: Netlist, library: Library) -> str:
    """A mapped netlist with models of its cells. Registers begin as the RTL's do, a chip's only after reset.

    Parameters
    ----------
    verilog : the netlist, as Yosys wrote it.
    net : the same, as read from JSON.
    library : its cells.
    """
    high = {
        name
        for cell in net.cells
        if library[cell.type].state and initial(net, cell, library[cell.type])
        for pin in library[cell.type].outputs
        if pin.name in cell.pins
        for name in [net.name(cell.pins[pin.name])]
    }

    def replaced(found: re.Match[str]) -> str:
        if found["type"] not in library or not library[found["type"]].state:
            return found[0]
        kind = found["type"] + ("_high" if high & _driven(found["pins"], library[found["type"]]) else "")
        return f"  {kind} {found['name']} ({found['pins']}\n  );"

    body = _INSTANCE.sub(replaced, verilog)
    models = [
        model(library[name], first)
        for name in sorted(net.count())
        for first in ((0, 1) if library[name].state else (0,))
    ]
    return body + "\n" + "\n".join(models)


def _driven(pins: str, kind: Cell) -> set[str]:
    """Nets at the outputs of an instance."""
    found = set()
    for pin in kind.outputs:
        wire = re.search(rf"\.{pin.name}\(\\?(.*?)\s*\)", pins)
        if wire is not None:
            found.add(wire[1])
    return found


def model(cell: Cell, first: int) -> str:
    """A cell as a module; a flip-flop that begins at 1 has `_high` behind its name."""
    ins = [pin.name for pin in cell.inputs]
    ports = ", ".join([*(f"input {name}" for name in ins), *(f"output {pin.name}" for pin in cell.outputs)])
    if cell.gate:
        clock = next(pin.name for pin in cell.inputs if pin.clock)
        enable = next(pin.name for pin in cell.inputs if not pin.clock)
        body = [
            f"reg open; always @* if (!{clock}) open = {enable};",
            *(f"assign {pin.name} = {clock} & open;" for pin in cell.outputs),
        ]
    elif cell.state:
        body = [
            f"reg state = {first};",
            f"wire next; {_function('next', cell.following, ins)}",
            f"always @(posedge {cell.clocked}) state <= next;",
            *(
                f"assign {pin.name} = {'~' if pin.function == cell.state[1] else ''}state;"
                for pin in cell.outputs
            ),
        ]
    else:
        body = [_function(pin.name, pin.function, ins) for pin in cell.outputs]
    name = cell.name + ("_high" if first else "")
    return f"module {name} ({ports});\n" + "".join(f"  {line}\n" for line in body) + "endmodule\n"


def _function(output: str, function: str, ins: list[str]) -> str:
    """A truth table, indexed by the inputs."""
    rows = 1 << len(ins)
    try:
        table = f"{rows}'h{truth(function, ins):x}"
    except ValueError as error:
        raise LibertyError(f"output {output}: {error}") from None
    return (
        f"wire [{rows - 1}:0] table_{output} = {table}; assign {output} = "
        f"table_{output}[{{{', '.join(reversed(ins))}}}];"
    )
