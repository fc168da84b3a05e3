"""Netlist of a model: whether a clock edge would change it.

It reads the RTLIL of one flat module. A register, or a memory that can be read within the cycle, changes at
an edge only if its enable is active and it is given another value than it holds; another memory, if its
enable is active. An enable alone would say too much: queues write what they are offered into a free row,
cycle by cycle, before it is known whether it enters. All of these conditions together are two outputs:
`busy`, those that depend on registers alone, and `stirred`, those that an input of the cycle can change.
Where both are 0 the edge can be left out: this follows from the netlist, whatever the scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warpbank.sim.engines.base import EngineError

_CELL = re.compile(r"^  cell (\S+) (\S+)\n((?:    [^\n]*\n)*)  end\n", re.MULTILINE)
_PORT = re.compile(r"^    connect \\(\S+) ([^\n]*)\n", re.MULTILINE)
_PARAMETER = re.compile(r"^    parameter (?:signed )?\\(\S+) ([^\n]*)\n", re.MULTILINE)
_CONNECT = re.compile(r"^  connect (\{[^}\n]*\}|\S+(?: \[[^\]]*\])?) ([^\n]*)\n", re.MULTILINE)
_NAME = re.compile(r"[\\$][^\s{}]+")
#: Bits of a sigspec: a wire or a part of one, or a constant; one of 32 bits is written as a number.
_PART = re.compile(r"[\\$][^\s{}]+(?: \[[0-9:]+\])?|\d+'[01xz-]+|-?\d+")
_ZERO = re.compile(r"\d+'0+|0")
_INPUT = re.compile(r"^  wire (?:width \d+ )?input \d+ (\S+)\n", re.MULTILINE)
_WIDTH = re.compile(r"^  wire (?:width (\d+) )?(?:(?:in|out)put \d+ )?(\S+)\n", re.MULTILINE)
_RANGE = re.compile(r" \[(\d+):(\d+)\]$")
_OUTS = ("Y", "Q", "DATA")
#: Memories that hold zeros at first, as Verilator makes them anyway.
_ZEROS = re.compile(
    r"(?:^  attribute [^\n]*\n)*^  cell \$meminit_v2 \S+\n(?:(?!    connect \\DATA)    [^\n]*\n)*"
    r"    connect \\DATA (?:\d+'0+|0)\n(?:    [^\n]*\n)*  end\n",
    re.MULTILINE,
)


@dataclass
class Cell:
    """Cell of a module: its kind, its parameters, and what is connected to its ports."""

    kind: str
    parameters: dict[str, str]
    ports: dict[str, str]

    @property
    def clocked(self) -> bool:
        """Whether the cell changes at a clock edge only."""
        return "CLK" in self.ports and self.parameters.get("CLK_ENABLE", "1'1").endswith("1")


def without_zeros(source: str) -> str:
    """RTLIL without initial contents of zeros, which would be an assignment per word."""
    return _ZEROS.sub("", source)


def cells(source: str) -> list[Cell]:
    """Cells of a flat module."""
    return [
        Cell(found[1], dict(_PARAMETER.findall(found[3])), dict(_PORT.findall(found[3])))
        for found in _CELL.finditer(source)
    ]


def reached(source: str, from_: Iterable[str]) -> set[str]:
    """Wires that depend on those of `from_` (RTLIL names) within a cycle, themselves among them."""
    feeds: dict[str, set[str]] = {}
    for cell in cells(source):
        if cell.clocked or "memwr" in cell.kind:
            continue
        outputs = {name for port in _OUTS for name in _NAME.findall(cell.ports.get(port, ""))}
        for port, value in cell.ports.items():
            if port not in _OUTS:
                for name in _NAME.findall(value):
                    feeds.setdefault(name, set()).update(outputs)
    for left, right in _CONNECT.findall(source):
        for name in _NAME.findall(right):
            feeds.setdefault(name, set()).update(_NAME.findall(left))
    found, new = set(from_), list(from_)
    while new:
        for name in sorted(feeds.get(new.pop(), set()) - found):
            found.add(name)
            new.append(name)
    return found


def with_activity(source: str) -> str:
    """RTLIL of the module with the outputs `busy` and `stirred`.

    Raises EngineError for a cell whose state it does not know.
    """
    cone = reached(source, [name for name in _INPUT.findall(source) if name != "\\clk"])
    widths = {name: int(width or 1) for width, name in _WIDTH.findall(source)}
    conditions: dict[str, list[str]] = {"busy": [], "stirred": []}
    added: list[str] = []
    found = cells(source)
    reads = {
        cell.parameters["MEMID"]: cell for cell in found if cell.kind == "$memrd_v2" and not cell.clocked
    }
    for number, cell in enumerate(cell for cell in found if cell.clocked):
        read = reads.get(cell.parameters.get("MEMID", "")) if cell.kind == "$memwr_v2" else None
        ports, active = _changes(cell, f"changes${number}", added, read)
        stirred = any(name in cone for port in ports for name in _NAME.findall(cell.ports[port]))
        conditions["stirred" if stirred else "busy"] += active
    for place, (name, active) in enumerate(conditions.items()):
        added.append(f"  wire output {100001 + place} \\{name}\n")
        value = "1'0"
        for number, part in enumerate(dict.fromkeys(active)):
            either = f"\\{name}${number}"
            added.append(f"  wire {either}\n")
            added += _cell("$logic_or", f"${either[1:]}", {"A": value, "B": part, "Y": either}, widths)
            value = either
        added.append(f"  connect \\{name} {value}\n")
    end = source.rindex("end\n")
    return source[:end] + "".join(added) + source[end:]


def _changes(
    cell: Cell, name: str, added: list[str], read: Cell | None = None
) -> tuple[list[str], list[str]]:
    """The ports that decide whether a cell may change, and bits of which one is 1 then; cells that make these
    go to `added`. `read` is a port that reads the memory which the cell writes."""
    if read is not None:
        return _stored(cell, name, added, read)
    resets = [cell.ports[port] for port in ("SRST", "ARST") if port in cell.ports]
    enabled = cell.kind in ("$dffe", "$memwr_v2", "$memrd_v2") and all(reset == "1'0" for reset in resets)
    if not enabled and cell.kind != "$dff":
        raise EngineError(f"the netlist has a cell {cell.kind}, whose changes cannot be told")
    other = f"\\{name}"
    if cell.kind in ("$dff", "$dffe"):
        width = int(cell.parameters["WIDTH"])
        added.append(f"  wire {other}\n")
        ports = {"A": cell.ports["D"], "B": cell.ports["Q"], "Y": other}
        added += _cell("$ne", f"${name}", ports, {cell.ports["D"]: width, cell.ports["Q"]: width})
        if cell.kind == "$dff":
            return ["D"], [other]
    may = _PART.findall(cell.ports["EN"])
    if cell.parameters.get("EN_POLARITY", "1'1").endswith("0"):
        added.append(f"  wire {other}$may\n")
        added += _cell("$logic_not", f"${name}$may", {"A": cell.ports["EN"], "Y": f"{other}$may"}, {})
        may = [f"{other}$may"]
    if cell.kind != "$dffe":
        return ["EN"], [part for part in may if not _ZERO.fullmatch(part)]
    added.append(f"  wire {other}$is\n")
    added += _cell("$logic_and", f"${name}$is", {"A": may[0], "B": other, "Y": f"{other}$is"}, {})
    return ["D", "EN"], [f"{other}$is"]


def _stored(cell: Cell, name: str, added: list[str], read: Cell) -> tuple[list[str], list[str]]:
    """`_changes` of a write into a memory that can be read within the cycle: where it stores another word."""
    width = read.parameters["WIDTH"]
    held, other, may, changes = (f"\\{name}${wire}" for wire in ("held", "other", "may", "is"))
    added += [f"  wire width {width} {held}\n", *(f"  wire {wire}\n" for wire in (other, may, changes))]
    ports = read.ports | {"ADDR": cell.ports["ADDR"], "DATA": held}
    added.append(f"  cell $memrd_v2 ${name}$held\n")
    added += [f"    parameter \\{each} {value}\n" for each, value in read.parameters.items()]
    added += [*(f"    connect \\{each} {value}\n" for each, value in ports.items()), "  end\n"]
    widths = dict.fromkeys((held, cell.ports["DATA"], cell.ports["EN"]), int(width))
    added += _cell("$ne", f"${name}$other", {"A": held, "B": cell.ports["DATA"], "Y": other}, widths)
    added += _cell("$reduce_or", f"${name}$may", {"A": cell.ports["EN"], "Y": may}, widths)
    added += _cell("$logic_and", f"${name}$is", {"A": may, "B": other, "Y": changes}, widths)
    return ["ADDR", "DATA", "EN"], [changes]


def _cell(kind: str, name: str, ports: dict[str, str], widths: dict[str, int]) -> list[str]:
    """RTLIL of a cell; `widths` has those of whole wires of several bits."""
    lines = [f"  cell {kind} {name}\n"]
    for port, value in ports.items():
        lines.append(f"    parameter \\{port}_WIDTH {widths.get(value) or _width(value)}\n")
        if port != "Y":
            lines.append(f"    parameter \\{port}_SIGNED 0\n")
        lines.append(f"    connect \\{port} {value}\n")
    return [*lines, "  end\n"]


def _width(part: str) -> int:
    """Bits of a part of a wire, or of a constant; otherwise 1."""
    if found := _RANGE.search(part):
        return int(found[1]) - int(found[2]) + 1
    if "'" in part:
        return int(part.partition("'")[0])
    return 32 if part.lstrip("-").isdecimal() else 1
