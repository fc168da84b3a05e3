"""The hand-computed cycle tables of docs/machine.md, run."""

from __future__ import annotations

import re

import pytest

from tests.machine_tables import PAGE
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Cause, Record
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.golden.sm import simulate
from warpbank.program.trace.builder import Op, TraceBuilder, alu

_OFF = alu(9, mask=0)

#: Heading in docs/machine.md -> warps of one CTA, overrides of the preset tiny.
KERNELS: dict[str, tuple[list[list[Op]], list[str]]] = {
    "One operand": ([[alu(8, 2)]], []),
    "Two operands in one bank": ([[alu(8, 2, 4)]], []),
    "Three operands in one bank": ([[alu(8, 2, 4, 6)]], []),
    "Port serialisation": ([[alu(8, 2, 3)]], []),
    "Two collectors on one bank": ([[alu(8, 2, 4)], [alu(8, 3, unit=Unit.FMA)]], []),
    "A write beats a read": ([[alu(2), _OFF, _OFF, _OFF, alu(8, 4, unit=Unit.FMA)]], []),
    "Two results for one bank": ([[alu(2), alu(4, unit=Unit.FMA)]], ["sub_core.execute.fma.latency=3"]),
}


def documented(heading: str) -> list[list[str]]:
    """The table under a heading: rows of cells."""
    section = re.search(rf"### {re.escape(heading)}\n(.*?)\n#", PAGE.read_text(), re.DOTALL)
    assert section is not None
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def measured(events: list[Record]) -> list[list[str]]:
    """The same table from the events of a run."""
    rows: dict[int, list[str]] = {}

    def put(cycle: int, column: int, text: str) -> None:
        row = rows.setdefault(cycle, [str(cycle), "", "", "", "", "", ""])
        row[column] = f"{row[column]}, {text}" if row[column] else text

    for cycle, _, name, values in events:
        if name == "issue":
            put(cycle, 1, f"{values[0]}.{values[1]}")
        elif name == "grant":
            put(cycle, 2 + values[0], f"{values[2]}.{values[3]}")
        elif name == "write":
            put(cycle, 2 + values[0], f"W {values[2]}.{values[3]}")
        elif name == "conflict":
            put(cycle, 4, f"{Cause(values[1]).name.lower()} {values[2]}")
        elif name == "write_wait":
            put(cycle, 4, "result 1")
        elif name == "deliver":
            put(cycle, 5, f"{values[0]}.{values[1]}")
        elif name == "dispatch":
            put(cycle, 6, f"{values[2]}.{values[3]}")
    return [rows[cycle] for cycle in sorted(rows)]


@pytest.mark.parametrize("heading", KERNELS)
def test_cycle_table(heading: str) -> None:
    warps, overrides = KERNELS[heading]
    events: list[Record] = []
    trace = TraceBuilder().launch(warps).build()
    simulate(trace, with_overrides(preset("tiny"), overrides), parse_scheme("baseline"), events=events)
    assert measured(events) == documented(heading)


def test_every_table_has_a_kernel() -> None:
    assert set(re.findall(r"^### (.*)$", PAGE.read_text(), re.MULTILINE)) == set(KERNELS)
