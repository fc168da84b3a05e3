"""RTL counts: how many bits of each kind of logic a unit's RTL has, and its memories, before any mapping."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from warpbank.studies.explore.levels import levels
from warpbank.synth.memories import Memory

#: Kinds of logic that are counted, in the order of the model's coefficients.
KINDS = ("flops", "gates", "choices", "arithmetic", "shifts", "memory_bits", "memory_ports")
#: Cells by kind; others are gates of their output's width.
_ARITHMETIC = {"$add", "$sub", "$mul", "$neg", "$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_SHIFTS = {"$shl", "$shr", "$sshr", "$shift", "$shiftx"}
_REDUCING = {"$reduce_and", "$reduce_or", "$reduce_xor", "$reduce_bool", "$logic_not"}

_CELL = re.compile(r"^  cell (\$\w+) \S+\n(.*?)^  end\n", re.MULTILINE | re.DOTALL)
_PROCESS = re.compile(r"^  process \S+\n(.*?)^  end\n", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^  memory width (\d+) size (\d+) (\S+)$", re.MULTILINE)
_MODULE = re.compile(r"^module (\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_WIRE = re.compile(r"^  wire width (\d+) .*?(\S+)$", re.MULTILINE)
_PARAMETER = re.compile(r"^    parameter \\(\w+) (\S+)$", re.MULTILINE)
_CONNECT = re.compile(r"^    connect \\(\w+) (.+)$", re.MULTILINE)
_ASSIGN = re.compile(r"^( +)assign (.+?) (?=[\\$\d{])", re.MULTILINE)
_SLICE = re.compile(r"^(\S+)(?: \[(\d+)(?::(\d+))?\])?$")


def counts(rtlil: str) -> dict[str, Any]:
    """Count the logic of a design, all modules together.

    Parameters
    ----------
    rtlil : text of the design (`warpbank.synth.netlist.to_rtlil`).

    Returns
    -------
    dict : `bits`, by kind of `KINDS`; `memories` that are no registers, as lists of rows, width, read ports,
        those of them whose address is no constant, write ports, whether they are SRAM, and how many there are
        of the shape; `levels`: gates on the longest path.
    """
    bits = dict.fromkeys(KINDS, 0.0)
    shapes: dict[tuple[int, int, int, int, int, bool], int] = defaultdict(int)
    for _, body in _MODULE.findall(rtlil):
        memories = _memories(body)
        for memory in memories:
            if memory.kind == "registers":
                bits["memory_bits"] += memory.bits
                chosen = sum(place is None for place in memory.reads)
                bits["memory_ports"] += memory.bits * (chosen + memory.writes)
            else:
                chosen = sum(place is None for place in memory.reads)
                ports = (len(memory.reads), chosen, memory.writes)
                shapes[memory.rows, memory.width, *ports, memory.kind == "sram"] += 1
        for kind, amount in _logic(body):
            bits[kind] += amount
    return {
        "bits": bits,
        "memories": [[*shape, number] for shape, number in sorted(shapes.items())],
        "levels": levels(rtlil),
    }


def _logic(body: str) -> Iterator[tuple[str, float]]:
    """Kinds and bits of a module's cells and of what its processes choose."""
    for kind, inside in _CELL.findall(body):
        if kind.startswith("$mem"):
            continue
        sizes = dict(_PARAMETER.findall(inside))
        if kind == "$dff":
            yield "flops", int(sizes["WIDTH"])
        elif kind == "$mux":
            yield "choices", int(sizes["WIDTH"])
        elif kind in _ARITHMETIC:
            yield "arithmetic", max(int(sizes["A_WIDTH"]), int(sizes.get("B_WIDTH", 0)))
        elif kind in _SHIFTS:
            reach = min(int(sizes["B_WIDTH"]), math.ceil(math.log2(int(sizes["A_WIDTH"]) + 1)))
            yield "shifts", int(sizes["A_WIDTH"]) * reach
        else:
            yield "gates", int(sizes["A_WIDTH" if kind in _REDUCING else "Y_WIDTH"])
    widths = {name: int(width) for width, name in _WIRE.findall(body)}
    for process in _PROCESS.findall(body):
        for indent, target in _ASSIGN.findall(process):
            if len(indent) > 4:  # within a case
                yield "choices", _width(target, widths)


def _width(target: str, widths: dict[str, int]) -> int:
    """Bits that an assignment writes."""
    found = _SLICE.match(target)
    if found is None:
        return 1
    name, high, low = found.groups()
    if high is None:
        return widths.get(name, 1)
    return int(high) - int(low) + 1 if low is not None else 1


def _memories(body: str) -> list[Memory]:
    """Memories of a module."""
    reads: dict[str, list[tuple[int | None, bool]]] = defaultdict(list)
    writes: dict[str, int] = defaultdict(int)
    for kind, inside in _CELL.findall(body):
        if kind not in ("$memrd_v2", "$memwr_v2"):
            continue
        sizes, pins = dict(_PARAMETER.findall(inside)), dict(_CONNECT.findall(inside))
        name = sizes["MEMID"].strip('"').replace("\\\\", "\\")
        if kind == "$memwr_v2":
            writes[name] += 1
        else:
            constant = re.match(r"\d+'([01]+)$", pins["ADDR"])
            place = int(constant[1], 2) if constant else None
            reads[name].append((place, sizes["CLK_ENABLE"] == "1"))
    return [
        Memory(
            name,
            int(rows),
            int(width),
            1,
            tuple(place for place, _ in reads[name]),
            tuple(clocked for _, clocked in reads[name]),
            False,
            writes[name],
            max(1, (int(rows) - 1).bit_length()),
        )
        for width, rows, name in _MEMORY.findall(body)
    ]
