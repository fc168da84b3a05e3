"""Chrome trace events in JSON of a timeline, which Perfetto shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from warpbank.sim.view.timeline import Mark, Timeline, Uop

#: Thread numbers. No two threads of a file have the same one, none is that of a process, and none is 0:
#: Perfetto takes process and thread 0 for the idle ones of Linux, and has mixed up threads of equal number,
#: and a process with the thread of its number.
_LANES = 1000  # at most for a warp: fewer uops of it are in flight
_SCHEDULER = 1_000_000  # behind the lanes of any warp
_BANK = _SCHEDULER + 1
_CORE = 2_000_000


def perfetto(timeline: Timeline) -> str:
    """Timeline as Chrome trace events: a process per sub-core; in it the scheduler, the banks, and a lane per
    warp.

    A uop is a slice with its stages inside; what happened to it are instants. Uops of a warp that overlap are
    in further lanes below the first. A microsecond of the viewer is a cycle.
    """
    events: list[dict[str, Any]] = []
    for core in range(timeline.cores):
        events.append(_name("process_name", f"sub-core {core}", **_where(core)))
    for core, spans in sorted(timeline.schedulers.items()):
        events += _thread(core, _SCHEDULER, "scheduler", -1)
        events += (_slice(core, _SCHEDULER, span.name, span.start, span.end) for span in spans)
    for core, bank in sorted({*timeline.accesses, *timeline.conflicts}):
        events += _thread(core, _BANK + bank, f"bank {bank}", bank)
        events += (
            _slice(
                core,
                _BANK + bank,
                "+".join(dict.fromkeys(mark.name for mark in marks)),
                cycle,
                cycle + 1,
                ",".join(dict.fromkeys(mark.kind for mark in marks if mark.kind)),
                what="; ".join(mark.text for mark in marks),
            )
            for cycle, marks in _by_cycle(timeline.accesses.get((core, bank), []))
        )
        events += (_instant(core, _BANK + bank, mark) for mark in timeline.conflicts.get((core, bank), []))
    named: set[tuple[int, int]] = set()
    for uop, lane in _lanes(timeline):
        thread = uop.warp * _LANES + lane
        if (uop.core, thread) not in named:
            named.add((uop.core, thread))
            events += _thread(uop.core, thread, _lane_name(uop.warp, lane), 1000 + thread)
        events += _uop(uop, thread, timeline)
    for (core, warp), marks in sorted(timeline.events.items()):
        thread = max(warp, 0) * _LANES if warp >= 0 else _SCHEDULER
        if warp >= 0 and (core, thread) not in named:
            named.add((core, thread))
            events += _thread(core, thread, _lane_name(warp, 0), 1000 + thread)
        events += (_instant(core, thread, mark) for mark in marks)
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n'


def _lane_name(warp: int, lane: int) -> str:
    return f"warp {warp}" + (f" +{lane}" if lane else "")


def _lanes(timeline: Timeline) -> Iterable[tuple[Uop, int]]:
    """Each uop with the first lane of its warp that is free: slices of a lane may not overlap."""
    free: dict[
        tuple[int, int], list[int]
    ] = {}  # by sub-core and warp: per lane, the cycle from which it is free
    for uop in timeline.uops:
        stages = _stages(uop, timeline)
        if stages:
            lanes = free.setdefault((uop.core, uop.warp), [])
            lane = next((number for number, cycle in enumerate(lanes) if cycle <= stages[0][1]), len(lanes))
            lanes[lane : lane + 1] = [stages[-1][2]]
            yield uop, lane


def _stages(uop: Uop, timeline: Timeline) -> list[tuple[str, int, int]]:
    return [
        (name, max(first, timeline.start), end)
        for name, first, end in uop.stages(timeline.end)
        if end > timeline.start
    ]


def _uop(uop: Uop, thread: int, timeline: Timeline) -> Iterable[dict[str, Any]]:
    stages = _stages(uop, timeline)
    yield _slice(
        uop.core, thread, uop.text or "not issued", stages[0][1], stages[-1][2], seq=uop.seq & 0x7FFFFFFF
    )
    for name, first, end in stages:
        yield _slice(uop.core, thread, name, first, end)
    for span in uop.hazards:
        first, end = max(span.start, timeline.start), min(span.end, timeline.end)
        if first < end:
            yield _slice(uop.core, thread, span.name, first, end)
    for mark in uop.marks:
        yield _instant(uop.core, thread, mark)


def _by_cycle(marks: Iterable[Mark]) -> Iterable[tuple[int, list[Mark]]]:
    found: dict[int, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.cycle, []).append(mark)
    return found.items()


def _where(core: int, thread: int = 0) -> dict[str, int]:
    return {"pid": core + 1, "tid": (core + 1) * _CORE + thread}


def _name(kind: str, name: str, **where: int) -> dict[str, Any]:
    return {"ph": "M", "name": kind, **where, "args": {"name": name}}


def _thread(core: int, thread: int, name: str, order: int) -> list[dict[str, Any]]:
    where = _where(core, thread)
    return [
        _name("thread_name", name, **where),
        {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": order}},
    ]


def _slice(
    core: int, thread: int, name: str, first: int, end: int, kinds: str = "", **arguments: object
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ph": "X",
        "name": name,
        **_kinds(kinds),
        **_where(core, thread),
        "ts": first,
        "dur": end - first,
    }
    return {**made, "args": arguments} if arguments else made


def _instant(core: int, thread: int, mark: Mark) -> dict[str, Any]:
    made = {
        "ph": "i",
        "s": "t",
        "name": mark.name,
        **_kinds(mark.kind),
        **_where(core, thread),
        "ts": mark.cycle,
    }
    return {**made, "args": {"what": mark.text}}


def _kinds(kinds: str) -> dict[str, str]:
    """The category of an event, by which a viewer can search."""
    return {"cat": kinds} if kinds else {}
