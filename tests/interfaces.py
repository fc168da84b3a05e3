"""Recorded ports of all exportable units, and of some inside them: names, directions, widths in bits, on the
preset tiny.

    python -m tests.interfaces      # record them as they are

Whoever has connected the Verilog of a unit depends on them, so that a change shows in a file of its own.
Members of an array are one line, `name[count]`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from amaranth.lib.wiring import In

from warpbank.arch.config import preset
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.hdl.hierarchy.link import Link
from warpbank.hdl.hierarchy.lookups import OperandLookups
from warpbank.hdl.hierarchy.port import Port
from warpbank.synth.units import UNITS, make

RECORDED = Path(__file__).with_name("interfaces.json")
#: Units that stand in others only, and have a bench of their own.
INNER: dict[str, Callable[[SmConfig], Any]] = {
    "link": lambda config: Link(config, 0, 5),
    "operand_lookups": lambda config: OperandLookups(config, 2, 4),
    "port": lambda config: Port(config, 5),
}


def ports(unit: str) -> dict[str, str]:
    """Ports of a unit, by name: direction and width."""
    config = preset("tiny")
    inner = INNER.get(unit)
    component: Any = make(unit, config, parse_scheme("baseline")) if inner is None else inner(config)
    flat = [
        (path, f"{'in' if member.flow is In else 'out'} {len(Value.cast(value))}")
        for path, member, value in component.signature.flatten(component)
    ]
    return dict(_together(flat))


def _together(flat: list[tuple[tuple[str | int, ...], str]]) -> Iterator[tuple[str, str]]:
    """Ports with the members of an array in one, if all are alike."""
    names = [(".".join("*" if isinstance(part, int) else part for part in path), kind) for path, kind in flat]
    for name, members in groupby(sorted(names), lambda each: each[0]):
        kinds = [kind for _, kind in members]
        count = f"[{len(kinds)}]" if "*" in name else ""
        yield name + count, kinds[0] if len(set(kinds)) == 1 else ", ".join(sorted(kinds))


def record() -> dict[str, dict[str, str]]:
    """Ports of all units."""
    return {unit: ports(unit) for unit in sorted([*UNITS, *INNER])}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record(), indent=1) + "\n")
