"""The tables of docs/machine.md and docs/architecture.md that come from registries. `python -m
tests.machine_tables` brings the pages up to date."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from warpbank.arch.config import PRESETS, SOURCES, preset
from warpbank.arch.counters import COUNTERS, Counter
from warpbank.arch.events import EVENTS, STALLS
from warpbank.arch.register_files import REGISTER_FILES
from warpbank.arch.schemes import SCHEMES, parse_scheme
from warpbank.arch.units import ROOMS

PAGE = Path(__file__).parent.parent / "docs" / "machine.md"
PAGES = (PAGE, PAGE.with_name("architecture.md"))
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def _rows(*rows: tuple[object, ...]) -> str:
    head, *body = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def _fields(config: Any, prefix: str = "") -> list[tuple[str, str, str]]:
    """(path, unit, meaning) of every field."""
    found: list[tuple[str, str, str]] = []
    for spec in dataclasses.fields(config):
        if "unit" in spec.metadata:
            if spec.name != "preset":
                found.append((prefix + spec.name, spec.metadata["unit"], spec.metadata["doc"]))
            continue
        for path, unit, doc in _fields(getattr(config, spec.name), f"{prefix}{spec.name}."):
            unit_of = spec.metadata["doc"] if prefix.endswith("execute.") else ""
            found.append((path, unit, f"{unit_of}: {doc}" if unit_of else doc))
    return found


def _value(config: Any, path: str) -> object:
    for part in path.split("."):
        config = getattr(config, part)
    return config


def _configuration() -> str:
    machines = [preset(name) for name in PRESETS]
    rows = [
        (f"`{path}`", *(_value(machine, path) for machine in machines), unit, doc)
        for path, unit, doc in _fields(machines[0])
    ]
    return _rows(("field", *PRESETS, "unit", "meaning"), *rows)


def _sources() -> str:
    """Fields that a paper gives, each with its value and place; the others are ours."""
    machines = {name: preset(name) for name in SOURCES}
    cited = [
        path for path, _, _ in _fields(preset("turing")) if any(path in places for places in SOURCES.values())
    ]
    rows = [
        (
            f"`{path}`",
            *(
                f"{_value(machines[name], path)} ({places[path]})"
                if path in places
                else f"{_value(machines[name], path)} (ours)"
                for name, places in SOURCES.items()
            ),
        )
        for path in cited
    ]
    return _rows(("field", *SOURCES), *rows)


def _summed(counter: Counter) -> str:
    """Events that a counter adds up, and the field that it adds."""
    events = " and ".join(f"`{event}`" for event in (counter.event, counter.also) if event)
    return events + (f".{counter.field}" if counter.field else "")


def tables() -> dict[str, str]:
    """Every generated table by name."""
    return {
        "stalls": _rows(
            ("reason", "a scheduler-cycle has it if"),
            *((f"`{reason.name.lower()}`", text) for reason, text in STALLS.items()),
        ),
        "counters": _rows(
            ("counter", "unit", "meaning", "sum of"),
            *((f"`{c.name}`", c.unit, c.description, _summed(c)) for c in COUNTERS.values()),
        ),
        "events": _rows(
            ("event", "fields", "meaning"),
            *(
                (f"`{e.name}`", ", ".join(name for name, _ in e.fields), e.description)
                for e in EVENTS.values()
            ),
        ),
        "register_files": _rows(
            ("name", "banks", "rows", "latency", "power", "cells"),
            *(
                (f"`{name}`", f"{f.banks}x", f"{f.rows}x", f"{f.latency / 100:g}x", f"{f.power:g}x", f.cells)
                for name, f in REGISTER_FILES.items()
            ),
        ),
        "presets": _rows(("preset", "from"), *((f"`{name}`", text) for name, text in PRESETS.items())),
        "configuration": _configuration(),
        "sources": _sources(),
        "choices": _rows(
            ("scheme", *ROOMS, "published in"),
            *(
                (f"`{name}`", *(f"`{getattr(parse_scheme(name), room)}`" for room in ROOMS), row.paper)
                for name, row in SCHEMES.items()
            ),
        ),
        "schemes": _rows(
            ("scheme", *ROOMS, "meaning"),
            *(
                (f"`{row.name}`", *(getattr(row, room) for room in ROOMS), row.description)
                for row in SCHEMES.values()
            ),
        ),
    }


def updated(page: str) -> str:
    """The page with its generated tables as the registries have them."""
    made = tables()
    return BLOCK.sub(lambda match: match[1] + made[match[2]] + match[4], page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(updated(path.read_text()))
