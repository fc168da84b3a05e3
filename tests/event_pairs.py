"""Event-pair coverage: which events of one warp's register fall into one cycle, or into two that follow.

A model and its RTL part where two units act on one register in one cycle and one of the two sees the other's
work too early. This tool reads the event log of runs on the golden model, finds the warp and the register of
every event, and counts the pairs. `python -m tests.event_pairs record` runs all legal combinations of schemes
on seeded random programs and writes docs/event_pairs.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations as couples
from pathlib import Path
from typing import Any

from tests.event_pair_rules import reason
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import EVENTS, Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.arch.uop import MOVE
from warpbank.golden.mapping.direct import Direct
from warpbank.golden.probe import Probe
from warpbank.golden.sm import simulate
from warpbank.golden.stream import Template, templates_of
from warpbank.program.random_programs.hinted import SMALL, RandomProgram
from warpbank.program.trace.schema import Trace
from warpbank.studies.combinations import combinations

PAGE = Path(__file__).parents[1] / "docs" / "event_pairs.md"

#: Kind -> what happens. Kinds of a whole warp concern all its registers.
KINDS = {
    "start": "a warp starts in the slot (whole warp)",
    "activate": "the warp becomes active (whole warp)",
    "deactivate": "the warp becomes pending (whole warp)",
    "prefetch": "a PREFETCH issues (whole warp)",
    "end": "the warp's last uop retires (whole warp)",
    "reader": "a uop that reads the register issues",
    "last reader": "a uop whose read releases the register issues",
    "writer": "a uop that writes all lanes issues",
    "part writer": "a uop that writes some lanes issues",
    "pbr": "a release instruction that names the register issues",
    "move": "a decompress move issues",
    "bank read": "a bank of the main register file serves an operand",
    "cache read": "a bank of the register file cache serves an operand",
    "arrival": "the operand arrives in its collector",
    "dispatch": "a uop goes to its unit with the register as operand",
    "write": "a result goes into a bank of the main register file",
    "cache write": "a result or an evicted value goes into the register file cache",
    "collector write": "a result goes into a collector",
    "write back": "a value goes from a collector or the cache into a bank",
    "squeeze": "a collector evicts the value before its window has passed",
    "invalidate": "a collector drops its copy",
    "dead value": "an evicted value is dropped, since its register was released",
    "map": "the register gets a physical register",
    "unmap": "the register loses its physical register",
    "cache allocate": "the register gets a place in the cache",
    "cache release": "the register loses its place in the cache",
    "fetch": "a bank reads the register for the cache",
    "cache fill": "the fetched register arrives in the cache",
    "cache zero": "zeros come into the cache",
}
ORDER = {kind: place for place, kind in enumerate(KINDS)}
#: Kinds without a register.
WHOLE = ("start", "activate", "deactivate", "prefetch", "end")
#: Events that carry their warp and register, and their kinds.
DIRECT = {
    "write": "write",
    "write_back": "write back",
    "dead_value": "dead value",
    "map": "map",
    "unmap": "unmap",
    "cache_allocate": "cache allocate",
    "cache_release": "cache release",
    "fetch": "fetch",
    "cache_fill": "cache fill",
    "cache_zero": "cache zero",
    "cache_write": "cache write",
    "collector_write": "collector write",
}
_FIELDS = {
    name: {key: place for place, (key, _) in enumerate(event.fields)} for name, event in EVENTS.items()
}
_EVERY = -1  # stands for all registers of a warp

Pair = tuple[str, str]


@dataclass
class Coverage:
    """What was found.

    Parameters
    ----------
    kinds : how often each kind happened.
    same : pairs of one register within a cycle, in the order of `KINDS`.
    next : pairs in two cycles that follow, the first one first.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    same: Counter[Pair] = field(default_factory=Counter)
    next: Counter[Pair] = field(default_factory=Counter)

    def add(self, other: Coverage) -> None:
        """Add what another run found."""
        self.kinds += other.kinds
        self.same += other.same
        self.next += other.next


@dataclass
class _Slot:
    """A warp slot's warp: its row of `trace.warps`, mask of its threads, uops that have retired."""

    first: int
    length: int
    mask: int
    retired: int = 0
    moved: dict[int, int] = field(default_factory=dict)  # seq of a move -> its register


class PairSink:
    """A sink for events that finds the warp and register of each.

    The warps of a trace start in its order, so that the n-th `warp_start` is that of its n-th warp; a uop is
    then found by its number.

    Parameters
    ----------
    trace, config, scheme : what runs; `config` as the scheme changes it.
    """

    def __init__(self, trace: Trace, config: SmConfig, scheme: Scheme) -> None:
        self._trace = trace
        self._templates: list[Template] = templates_of(trace)
        self._lanes = config.lane_mask
        self._scheme = scheme
        self._config, self._core = config, config.sub_core
        self._started = 0
        self._slots: dict[tuple[int, int], _Slot] = {}
        self._direct: dict[int, Direct] = defaultdict(lambda: Direct(config.sub_core, Probe(-1, None)))
        self._places: dict[tuple[int, str, int, int], tuple[int, int]] = {}  # core, which, bank, row
        self._owner: dict[tuple[int, int], int] = {}  # (core, collector) -> its warp
        #: (core, collector) -> seq -> slots of the uop that no bank has served yet.
        self._asked: dict[tuple[int, int], dict[int, dict[int, int]]] = defaultdict(dict)
        self._coming: dict[tuple[int, int], deque[tuple[int, int] | None]] = defaultdict(deque)
        self._record = 0
        #: Cycle -> (core, warp) -> (register, kind, number of its record).
        self._cycles: dict[int, dict[tuple[int, int], list[tuple[int, str, int]]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def __call__(self, record: Record) -> None:
        cycle, core, name, values = record
        self._record += 1
        if core < 0:
            return
        places = _FIELDS[name]
        fields = {key: values[place] for key, place in places.items()}
        for warp, register, kind in self._found(core, name, fields):
            self._cycles[cycle][core, warp].append((register, kind, self._record))

    def _found(self, core: int, name: str, fields: dict[str, int]) -> Iterator[tuple[int, int, str]]:
        """Warp, register and kind of what an event says."""
        warp = fields.get("warp", -1)
        if name in DIRECT:
            self._place(core, name, fields)
            yield warp, fields["register"], DIRECT[name]
        elif name == "warp_start":
            self._start(core, warp)
            yield warp, _EVERY, "start"
        elif name in ("activate", "deactivate", "prefetch"):
            yield warp, _EVERY, name
        elif name == "retire":
            slot = self._slots[core, warp]
            slot.retired += 1
            if slot.retired == slot.length:
                yield warp, _EVERY, "end"
        elif name == "issue":
            for register, kind in self._issue(core, warp, fields["seq"]):
                yield warp, register, kind
        elif name == "move":
            self._slots[core, warp].moved[fields["seq"]] = fields["register"]
            yield warp, fields["register"], "move"
        elif name == "allocate":
            unit = core, fields["collector"]
            self._owner[unit] = warp
            self._asked[unit][fields["seq"]] = dict(enumerate(self._sources(core, warp, fields["seq"])))
        elif name == "forward":
            slots = self._asked[core, fields["collector"]][fields["seq"]]
            for slot in [slot for slot in slots if fields["slots"] >> slot & 1]:
                del slots[slot]
        elif name == "dispatch":
            self._asked[core, fields["collector"]].pop(fields["seq"])
            for register in self._sources(core, warp, fields["seq"]):
                yield warp, register, "dispatch"
        elif name in ("squeeze", "invalidate"):
            yield self._owner[core, fields["collector"]], fields["register"], name
        elif name in ("grant", "cache_grant", "scalar_grant"):
            owned = self._granted(core, name, fields)
            self._coming[core, fields["collector"]].append(owned)
            if owned is not None:
                yield *owned, "cache read" if name == "cache_grant" else "bank read"
        elif name == "deliver":
            owned = self._coming[core, fields["collector"]].popleft()
            if owned is not None:
                yield *owned, "arrival"

    def _start(self, core: int, warp: int) -> None:
        found = self._trace.warps[self._started]
        self._started += 1
        self._slots[core, warp] = _Slot(int(found["first"]), int(found["length"]), int(found["mask"]))
        if self._scheme.mapping != "renaming":
            registers = int(self._trace.launches[int(found["launch"])]["registers"])
            mapping = self._direct[core]
            mapping.start(warp, self._config.rows_per_warp(registers))
            for register in range(registers):
                self._places[(core, "main", *mapping.home(warp, register))] = warp, register

    def _place(self, core: int, name: str, fields: dict[str, int]) -> None:
        """Follow which register lies where."""
        owner = fields["warp"], fields["register"]
        if name in ("map", "unmap"):
            key = core, "main", fields["bank"], fields["row"]
        elif name in ("cache_allocate", "cache_release"):
            key = core, "cache", fields["entry"], fields["offset"]
        else:
            return
        if name in ("map", "cache_allocate"):
            self._places[key] = owner
        else:
            self._places.pop(key, None)

    def _granted(self, core: int, name: str, fields: dict[str, int]) -> tuple[int, int] | None:
        """Warp and register of a read; None: unknown. A collector with several uops may wait for several
        operands in one slot: it is the one that lies in the row that was read. Under renaming a register
        without content is read from a row that may be another one's, or nobody's, and two uops may read it
        from two banks: that is no read of the register."""
        if name == "cache_grant":
            place = core, "cache", fields["entry"], fields["offset"]
        elif name == "scalar_grant":
            width = self._core.bank_width
            place = core, "main", fields["row"] & (1 << width) - 1, fields["row"] >> width
        else:
            place = core, "main", fields["bank"], fields["row"]
        unit = core, fields["collector"]
        slot, warp = fields["slot"], self._owner[unit]
        waiting = [seq for seq, slots in self._asked[unit].items() if slot in slots]
        there = [seq for seq in waiting if self._places.get(place) == (warp, self._asked[unit][seq][slot])]
        if len(waiting) > 1 and (not there or self._scheme.mapping == "renaming"):
            return None
        register = self._asked[unit][(there or waiting)[0]].pop(slot)
        return (warp, register) if there or self._scheme.mapping != "renaming" else None

    def _row(self, core: int, warp: int, seq: int) -> Any:
        slot = self._slots[core, warp]
        return self._trace.dynamic[slot.first + seq]

    def _sources(self, core: int, warp: int, seq: int) -> tuple[int, ...]:
        if seq & MOVE:
            return (self._slots[core, warp].moved[seq],)
        row = self._row(core, warp, seq)
        return self._templates[int(row["pc"])].sources if row["mask"] else ()

    def _issue(self, core: int, warp: int, seq: int) -> Iterator[tuple[int, str]]:
        row = self._row(core, warp, seq)
        if not row["mask"]:
            return
        template = self._templates[int(row["pc"])]
        for slot, register in enumerate(template.sources):
            yield register, "last reader" if template.dead >> slot & 1 else "reader"
        part = (int(row["mask"]) ^ self._slots[core, warp].mask) & self._lanes
        for register in range(template.destination, template.destination + template.count):
            yield register, "part writer" if part else "writer"
        for register in range(template.releases.bit_length()):
            if template.releases >> register & 1:
                yield register, "pbr"

    def coverage(self) -> Coverage:
        """All pairs of the run."""
        found = Coverage()
        for cycle, warps in self._cycles.items():
            after = self._cycles.get(cycle + 1, {})
            for warp, events in warps.items():
                found.kinds.update(kind for _, kind, _ in events)
                found.same.update(set(_same(events)))
                found.next.update(set(_next(events, after.get(warp, []))))
        return found


def _same(events: list[tuple[int, str, int]]) -> Iterator[Pair]:
    """Pairs of events of one cycle that two records report of one register."""
    for (register, kind, record), (other, second, number) in couples(events, 2):
        if record != number and (register == other or _EVERY in (register, other)):
            yield (kind, second) if ORDER[kind] <= ORDER[second] else (second, kind)


def _next(events: list[tuple[int, str, int]], after: list[tuple[int, str, int]]) -> Iterator[Pair]:
    """Pairs of an event and one of the next cycle."""
    for register, kind, _ in events:
        for other, second, _ in after:
            if register == other or _EVERY in (register, other):
                yield kind, second


def cover(trace: Trace, config: SmConfig, scheme: Scheme) -> Coverage:
    """Run a trace on the golden model, operands checked, and find the pairs."""
    sink = PairSink(trace, scheme.machine(config), scheme)
    simulate(trace, config, scheme, events=sink)
    return sink.coverage()


#: Programs of the search: a name of `RandomProgram`, and overrides of the preset `tiny`.
SEARCH = (
    *((f"divergent-{seed}", SMALL) for seed in (1, 2, 3, 6, 7, 9)),
    *((f"mixed-{seed}", SMALL) for seed in (1, 7, 10)),
    *((f"divergent-{seed}", ()) for seed in (3, 6, 7, 9)),
)


@dataclass
class Found:
    """Coverage of one scheme: in all, and for each pair of a cycle the program that reached it first."""

    scheme: str
    coverage: Coverage = field(default_factory=Coverage)
    first: dict[Pair, str] = field(default_factory=dict)

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of kinds that happen under the scheme."""
        kinds = [kind for kind in KINDS if self.coverage.kinds[kind]]
        return [(kind, other) for place, kind in enumerate(kinds) for other in kinds[place:]]


def run(scheme: str, program: str, overrides: tuple[str, ...]) -> Coverage:
    """A random program under a scheme on the preset `tiny`.

    Raises AssertionError for a pair that a rule excludes.
    """
    named, chosen, config = (
        RandomProgram.parse(program),
        parse_scheme(scheme),
        with_overrides(preset("tiny"), overrides),
    )
    assert named is not None
    found = cover(named.trace(chosen, config), config, chosen)
    for pair in found.same:
        why = reason(chosen, *pair)
        where = f"{pair[0]} and {pair[1]} in one cycle under {scheme}, {program}"
        assert not why, f"{where}, though: {why}"
    return found


def search(scheme: str) -> Found:
    """Run all programs of the search under a scheme."""
    found = Found(scheme)
    for program, overrides in SEARCH:
        each = run(scheme, program, overrides)
        found.coverage.add(each)
        for pair in each.same:
            found.first.setdefault(pair, program if overrides else f"{program}, 8 warps")
    return found


#: Storages that keep registers encoded, in the table as one.
COMPRESSED = ("gscalar", "gscalar_half", "bdi")


def rooms(scheme: str) -> tuple[str, str, str, str]:
    """The units of a scheme, `gscalar`, `gscalar_half` and `bdi` as one storage."""
    chosen = parse_scheme(scheme)
    storage = "compressing" if chosen.storage in COMPRESSED else chosen.storage
    return chosen.collector, chosen.hierarchy, chosen.mapping, storage


def page(found: list[Found]) -> str:
    """docs/event_pairs.md."""
    return "\n".join([*_head(found), *_rooms(found), *_pairs(found), *_kinds()]) + "\n"


def _count(each: Found, pairs: Iterable[Pair]) -> tuple[int, int, int]:
    """Pairs reached, excluded, and neither."""
    reached = excluded = left = 0
    for pair in pairs:
        if each.coverage.same[pair]:
            reached += 1
        elif reason(parse_scheme(each.scheme), *pair):
            excluded += 1
        else:
            left += 1
    return reached, excluded, left


_HEAD = """# Event pairs

Event-pair coverage says which events of one warp's register fall into one cycle. A model and its RTL part
where two units act on one register in one cycle, and one of them sees the other's work too early. The tables
come from runs of the golden model, with operands checked, under all {schemes} legal combinations of schemes,
on seeded random programs: {programs}.

    python -m tests.event_pairs record

Of {pairs} pairs of kinds that happen under a combination, {reached} are reached. A rule of
`tests/event_pair_rules.py` excludes {excluded}, and every run of the search asserts it. {left} are open:
no run reaches them, and no rule excludes them.
"""


def _head(found: list[Found]) -> list[str]:
    counts = [_count(each, each.pairs) for each in found]
    reached, excluded, left = (sum(column) for column in zip(*counts, strict=True))
    programs = ", ".join(name if overrides else f"{name} (8 warps)" for name, overrides in SEARCH)
    text = _HEAD.format(
        schemes=len(found),
        programs=programs,
        pairs=reached + excluded + left,
        reached=reached,
        excluded=excluded,
        left=left,
    )
    return text.split("\n")


def _rooms(found: list[Found]) -> list[str]:
    lines = [
        "## By rooms",
        "",
        "| collector | hierarchy | mapping | storage | combinations | pairs | reached | excluded | open |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, ...], list[Found]] = defaultdict(list)
    for each in found:
        groups[rooms(each.scheme)].append(each)
    for units, members in groups.items():
        together = _join(members)
        counts = _count(together, together.pairs)
        cells = (*units, len(members), sum(counts), *counts)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, ""]


def _join(members: list[Found]) -> Found:
    joined = Found(members[0].scheme)
    for each in members:
        joined.coverage.add(each.coverage)
    return joined


def _pairs(found: list[Found]) -> list[str]:
    lines = [
        "## By pair",
        "",
        "Numbers are combinations: those that reach the pair in one cycle, those in which a rule excludes",
        "it, those in which it is open; and those in which the first is followed by the second, or the",
        "second by the first, in the next cycle.",
        "",
        "| first | second | reached | by | excluded | why | open | first, then second | second, then first |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for place, kind in enumerate(KINDS):
        for other in list(KINDS)[place:]:
            having = [each for each in found if each.coverage.kinds[kind] and each.coverage.kinds[other]]
            if having:
                lines.append(_row((kind, other), having))
    return [*lines, ""]


def _row(pair: Pair, having: list[Found]) -> str:
    reached = [each for each in having if each.coverage.same[pair]]
    by = f"`{reached[0].scheme}` {reached[0].first[pair]}" if reached else ""
    rest = [each for each in having if not each.coverage.same[pair]]
    reasons = [text for each in rest if (text := reason(parse_scheme(each.scheme), *pair))]
    after = [sum(bool(each.coverage.next[way]) for each in having) for way in (pair, pair[::-1])]
    cells = (
        *pair,
        len(reached),
        by,
        len(reasons),
        " ".join(dict.fromkeys(reasons)),
        len(rest) - len(reasons),
        *after,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _kinds() -> list[str]:
    rows = [f"| {kind} | {meaning} |" for kind, meaning in KINDS.items()]
    return ["## Kinds", "", "| kind | what happens |", "|---|---|", *rows]


def main() -> int:
    """Write the page, or print what a scheme reaches."""
    parser = argparse.ArgumentParser(
        description="Which events of one register fall into one cycle, on the golden model."
    )
    parser.add_argument("action", choices=("record", "show"))
    parser.add_argument("schemes", nargs="*", help="only these (for show)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default: %(default)s)")
    given = parser.parse_args()
    legal = [each.scheme for each in combinations() if each.legal]
    with ProcessPoolExecutor(given.workers) as pool:
        found = list(pool.map(search, given.schemes or legal))
    if given.action == "record":
        PAGE.write_text(page(found))
        return 0
    for each in found:
        for pair in each.pairs:
            count, why = each.coverage.same[pair], reason(parse_scheme(each.scheme), *pair)
            word = f"{count} cycles, first {each.first[pair]}" if count else why or "open"
            sys.stdout.write(f"{each.scheme}: {pair[0]} & {pair[1]}: {word}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
