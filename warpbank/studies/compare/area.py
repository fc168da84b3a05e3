"""Area of the units of a scheme, where synthesis has recorded it (`warpbank synth UNIT --record`,
docs/synthesis.md)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from warpbank.arch.schemes import BASELINE, Scheme, parse_scheme

#: What a reader must know of the numbers.
NOTE = (
    "One instance of each unit that differs from the baseline's, as synthesis has recorded it at the size "
    "of its paper: cells in a 45 nm library by Yosys, nothing placed, memories apart. Machines of "
    "different papers differ in size, so that areas are not added or divided. A dash: not recorded."
)


def units(scheme: Scheme) -> list[str]:
    """Units of the scheme that the baseline does not have, each followed by its parts; for the baseline its
    own."""
    found: list[str] = []
    for unit in scheme.units:
        if scheme.name == BASELINE.name or unit.name != getattr(BASELINE, unit.room):
            found += [unit.exported, *(part.name for part in unit.parts if part.shown)]
    return [unit for unit in dict.fromkeys(found) if unit]


@cache
def recorded(unit: str) -> dict[str, Any] | None:
    """Recorded figures of a unit (`area_um2`, `memory_um2`, `nand2_equivalents`, `delay_ns`, `library`,
    `preset` and `clock_ns`); None: not recorded with a library."""
    path = files("warpbank.synth") / "baselines" / f"{unit}.json"
    if not path.is_file():
        return None
    data = json.loads(path.read_text())
    for library, found in sorted(data["results"].items()):
        if "area_um2" in found:
            kept = {
                name: found.get(name) for name in ("area_um2", "memory_um2", "nand2_equivalents", "delay_ns")
            }
            return kept | {"library": library, "preset": data["preset"], "clock_ns": data["clock_ns"]}
    return None


def areas(schemes: tuple[str, ...]) -> dict[str, dict[str, dict[str, Any] | None]]:
    """Areas by scheme, then unit."""
    return {name: {unit: recorded(unit) for unit in units(parse_scheme(name))} for name in schemes}
