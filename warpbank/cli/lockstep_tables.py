"""Tables that `warpbank lockstep` prints."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from warpbank.arch.events import EVENTS
from warpbank.cli.output import table
from warpbank.sim.events import decode, pretty_order
from warpbank.sim.lockstep import Divergence, Outcome

#: (sub-core, event, values) of one event.
_Event = tuple[int, str, tuple[int, ...]]


def tables(outcome: Outcome, title: str) -> list[RenderableType]:
    """The outcome for people: a summary, and where they part the last cycles of both sides."""
    found = outcome.divergence
    rows: list[tuple[str, object]] = [("golden and RTL", "equal" if found is None else "DIFFERENT")]
    if found is not None and found.cycle is not None:
        rows.append(("first difference in cycle", found.cycle))
    rows += [("cycles", outcome.cycles), ("events compared", outcome.events)]
    if outcome.result is not None:
        rows += [
            ("counters", len(outcome.result.counters)),
            ("warp instructions", outcome.result.warp_instructions),
            ("operands checked", outcome.result.operands_checked),
        ]
    rows += [(f"seconds, {name}", seconds) for name, seconds in outcome.seconds.items()]
    made: list[RenderableType] = [table(title, ("", "value"), rows, numbers=1)]
    if found is not None:
        made.append(Text(found.reason, style="bold red"))
        if len(found.golden) or len(found.rtl):
            made.append(side_by_side(found))
    return made


def side_by_side(found: Divergence) -> Table:
    """The events of both sides, cycle by cycle; `<` marks what only golden did, `>` what only the RTL did."""
    made = Table(
        title="Last cycles (< only golden, > only RTL)",
        title_justify="left",
        title_style="bold",
        show_lines=False,
    )
    made.add_column("cycle", justify="right")
    made.add_column("golden")
    made.add_column("")
    made.add_column("RTL")
    golden, rtl = _by_cycle(found.golden), _by_cycle(found.rtl)
    for cycle in sorted({*golden, *rtl}):
        first = True
        for left, mark, right in _pairs(golden.get(cycle, []), rtl.get(cycle, [])):
            style = "bold red" if mark else ""
            made.add_row(
                str(cycle) if first else "",
                Text(left, style=style),
                Text(mark, style=style),
                Text(right, style=style),
            )
            first = False
    return made


def _by_cycle(rows: np.ndarray) -> dict[int, list[_Event]]:
    cycles: dict[int, list[_Event]] = {}
    for cycle, core, name, values in decode(pretty_order(rows)):
        cycles.setdefault(cycle, []).append((core, name, values))
    return cycles


def _pairs(golden: list[_Event], rtl: list[_Event]) -> list[tuple[str, str, str]]:
    """Lines of one cycle: (golden's event, mark, RTL's event)."""
    left, right = Counter(golden), Counter(rtl)
    order = {name: place for place, name in enumerate(EVENTS)}
    lines = []
    for event in sorted({*left, *right}, key=lambda event: (event[0], order[event[1]], event[2])):
        text = describe(*event)
        both = min(left[event], right[event])
        lines += [(text, "", text)] * both
        lines += [(text, "<", "")] * (left[event] - both)
        lines += [("", ">", text)] * (right[event] - both)
    return lines


def describe(core: int, name: str, values: tuple[int, ...]) -> str:
    """One event in words: `core 0: issue warp 2 seq 17 pc 5`."""
    fields = " ".join(
        f"{field} {value:#x}" if kind in ("mask", "line") else f"{field} {value}"
        for (field, kind), value in zip(EVENTS[name].fields, values, strict=True)
    )
    return f"{'shared' if core < 0 else f'core {core}'}: {name} {fields}"
