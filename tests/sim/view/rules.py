"""What the formats ask of a file, checked here so that a viewer need not be started."""

from __future__ import annotations

import json
from collections import defaultdict

from warpbank.sim.view.timeline import Timeline


def check_kanata(text: str) -> dict[str, int]:
    """Raise AssertionError unless `text` obeys the Kanata log format, version 4. Returns how often each
    command stands there."""
    head, clock, *body = text.splitlines()
    assert head == "Kanata\t0004"
    assert clock.startswith("C=\t")
    assert text.endswith("\n")
    rows = retired = 0
    alive: set[str] = set()
    open_stages: dict[tuple[str, str], str] = {}
    commands: dict[str, int] = defaultdict(int)
    for line in body:
        name, *arguments = line.split("\t")
        commands[name] += 1
        if name == "C":
            assert int(arguments[0]) > 0, line
        elif name == "I":
            assert arguments[0] == str(rows), f"row ids are not sequential: {line}"
            assert len(arguments) == 3, line
            rows += 1
            alive.add(arguments[0])
        elif name == "L":
            assert arguments[0] in alive, line
            assert arguments[1] in "01", line
        elif name == "S":
            row, lane, stage = arguments
            assert row in alive, line
            assert (row, lane) not in open_stages, f"two stages in one lane: {line}"
            assert stage, line
            assert " " not in stage, line
            open_stages[row, lane] = stage
        elif name == "E":
            row, lane, stage = arguments
            assert open_stages.pop((row, lane)) == stage, line
        elif name == "R":
            row, number, kind = arguments
            alive.remove(row)
            assert not [key for key in open_stages if key[0] == row], f"a stage is still open: {line}"
            assert kind in "01", line
            if kind == "0":
                assert number == str(retired), f"retirement ids are not sequential: {line}"
                retired += 1
        else:
            raise AssertionError(f"no such command: {line}")
    assert not alive, "rows that never end"
    return commands


def check_chrome(text: str) -> list[dict[str, object]]:
    """Raise AssertionError unless `text` is Chrome trace events whose slices nest in every thread. Returns
    the events.

    Perfetto wants more than the format: numbers of threads that no other thread and no process has, none of
    them 0; and of the slices of a thread that begin together the outer one first.
    """
    events = json.loads(text)["traceEvents"]
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    processes, threads = ({event[key] for event in events} for key in ("pid", "tid"))
    assert not {0} & (processes | threads)
    assert not processes & threads
    assert len({(event["pid"], event["tid"]) for event in events}) == len(threads)
    for event in events:
        assert event["ph"] in "MXi", event
        if event["ph"] == "M":
            continue
        assert (event["pid"], event["tid"]) in named, f"a thread without a name: {event}"
        assert isinstance(event["ts"], int)
        if event["ph"] == "X":
            assert event["dur"] > 0, event
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for found in slices.values():
        stack: list[int] = []
        for first, end in sorted(found, key=lambda span: span[0]):
            while stack and stack[-1] <= first:
                stack.pop()
            assert not stack or end <= stack[-1], f"slices overlap: {first} to {end}"
            stack.append(end)
    return events


def check_hazards(timeline: Timeline) -> dict[str, int]:
    """Raise AssertionError unless what keeps the uops from issuing agrees with what the schedulers say.

    A cycle whose stall is `memory` has a warp that waits so and none that waits for another result, and so on
    in the order of `warpbank.arch.events.Stall`. Returns cycles of stalls for memory, and those of the
    scoreboard that a uop shows: in the others an operand is still to be read. The timeline must hold the
    whole run, or uops that have not issued are missing.
    """
    waits: dict[tuple[int, int], set[str]] = defaultdict(set)
    for uop in timeline.uops:
        for span in uop.hazards:
            assert uop.issued is not None
            assert span.end <= uop.issued, f"a hazard lasts beyond the issue: {uop}"
            for cycle in range(span.start, span.end):
                waits[uop.core, cycle].add(span.name)
    seen = {"memory": 0, "scoreboard": 0}
    for core, spans in timeline.schedulers.items():
        for span in spans:
            for cycle in range(span.start, span.end):
                names = waits[core, cycle]
                if span.name == "memory":
                    assert names - {"barrier"} == {"memory"}, f"cycle {cycle}: {names}"
                    seen["memory"] += 1
                elif span.name == "scoreboard":
                    seen["scoreboard"] += "scoreboard" in names
                elif span.name in ("fetch", "barrier", "no_warp"):
                    assert "scoreboard" not in names, f"cycle {cycle}: {span.name}"
                    assert span.name != "barrier" or "memory" not in names, f"cycle {cycle}"
    return seen
