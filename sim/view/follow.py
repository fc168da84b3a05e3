"""Timeline recorder that follows a run's events and makes a timeline of some of its cycles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpbank.arch.events import EVENTS, Cause, Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MOVE, Control, Memory, Unit
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import NAMES, Batch
from warpbank.sim.runs.spec import Observed
from warpbank.sim.view.timeline import Mark, Read, Span, Timeline, Uop, kind_of

#: Counts that hold for a whole cycle or that belong to no warp, bank or collector: no view draws them.
_STATES = frozenset(
    {"occupied", "ready_pending", "insert_wait", "window", "lookup", "write_wait", "port_wait"}
)
#: Within a cycle: what frees a read comes before who still waits, and what a uop reads is where it was before
#: the uop issues.
_FIRST = (
    "cta_start",
    "deliver",  # of what was granted in cycles before
    "grant",
    "cache_grant",
    "conflict",
    "cache_conflict",
    "write",
    "dispatch",
    "fill",
    "issue",
    "move",
    "allocate",
)
_LAST = ("barrier_open", "retire", "map", "unmap", "cache_allocate", "cache_release", "warp_start")
_RANKS = np.array(
    [
        _FIRST.index(name) if name in _FIRST else 20 + _LAST.index(name) if name in _LAST else 15
        for name in NAMES
    ]
)


#: Events of what the sub-cores share that tell when warps begin and go on.
_SHARED = [NAMES.index("cta_start"), NAMES.index("barrier_open")]
#: What a uop may wait for besides registers: predicate p as `_PREDICATES` + p, and a fence.
_PREDICATES, _FENCE = 256, 300


def _predicates(mask: int) -> list[int]:
    return [_PREDICATES + number for number in range(8) if mask >> number & 1]


class Follower:
    """Observer of a golden run (see `warpbank.sim.runs.RunSpec`) that makes a `Timeline` of the cycles from
    `start` to `end`.

    What a view does not know by name it puts with the uop, warp, collector or bank that the event names, so
    that a new scheme's events are drawn like all others.

    Parameters
    ----------
    scheme : what runs: renamed registers are where `map` puts them.
    start, end : the cycles; `end` not included.
    """

    def __init__(self, scheme: Scheme, start: int, end: int) -> None:
        units = scheme.units
        self._renames = units.mapping.renames
        self._caching = units.collector.hits
        self._compiled = units.hierarchy.compiled  # hints, not events, tell what is in the cache
        self._begin, self._end = start, end
        # In a compressing bank a result is there a cycle after its write; in a cache above it at once.
        self._late = units.storage.late and not units.hierarchy.active_only
        # By warp, then register: whose result is to come, and whether from the load/store unit; from when on
        # the last one was there, and whether it came from there.
        self._pending: dict[tuple[int, int], dict[int, tuple[int, bool]]] = {}
        self._came: dict[tuple[int, int], dict[int, tuple[int, bool]]] = {}
        self._issued: dict[tuple[int, int], int] = {}  # by warp: the cycle of the last issue
        self._cta: dict[tuple[int, int], int] = {}  # by warp: slot of its CTA
        self._newest = 0  # CTA that started last
        self._waiting: set[tuple[int, int]] = set()  # warps at a barrier
        self._released: dict[tuple[int, int], int] = {}  # by warp: from when on it could go on
        self._flying: dict[tuple[int, int, int], Uop] = {}
        self._inside: dict[tuple[int, int], dict[int, Uop]] = {}  # by collector, then seq
        self._owner: dict[tuple[int, int], int] = {}  # warp that a collector last served
        self._base: dict[tuple[int, int], int] = {}
        self._mapped: dict[tuple[int, int, int], tuple[int, int]] = {}  # of renamed registers: bank and row
        self._cached: dict[
            tuple[int, int, int], tuple[int, int]
        ] = {}  # of cached registers: entry and offset
        self._known: dict[str, Callable[[int, int, dict[str, int]], None]] = {
            "warp_start": self._warp_start,
            "fill": self._fill,
            "issue": self._issue,
            "move": self._move,
            "allocate": self._allocate,
            "deliver": self._deliver,
            "grant": self._grant,
            "cache_grant": self._cache_grant,
            "conflict": self._conflict,
            "cache_conflict": self._cache_conflict,
            "dispatch": self._dispatch,
            "write": self._write,
            "retire": self._retire,
            "scheduler": self._scheduler,
            "map": self._map,
            "cache_allocate": self._cache_allocate,
            "cta_start": self._cta_start,
            "barrier_open": self._barrier_open,
        }

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        self._text = trace.text
        counts = trace.code["source_count"].tolist()
        self._sources = [
            tuple(row[:count]) for row, count in zip(trace.code["sources"].tolist(), counts, strict=True)
        ]
        self._writes = [
            range(first, first + count) for first, count in trace.code[["destination", "count"]].tolist()
        ]
        predicates = (trace.code["predicates_read"] | trace.code["predicates_written"]).tolist()
        self._needs = [
            [*sources, *writes, *_predicates(mask), _FENCE]
            for sources, writes, mask in zip(self._sources, self._writes, predicates, strict=True)
        ]
        written = trace.code["predicates_written"].tolist()
        self._results = [
            [*writes, *_predicates(mask)] for writes, mask in zip(self._writes, written, strict=True)
        ]
        self._barriers = (trace.code["control"] == Control.BARRIER).tolist()
        self._memory = (trace.code["unit"] == Unit.LSU).tolist()
        self._fences = (trace.code["memory"] == Memory.FENCE).tolist()
        self._banks, self._entries = config.sub_core.banks, config.sub_core.cache.registers
        self._near = trace.hints.near.tolist() if self._compiled and trace.hints is not None else []
        self.timeline = Timeline(self._begin, self._end, config.sub_cores, config.sub_core.warps, self._banks)

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles. Raises `Enough` when the last of the view's cycles has come."""
        ours = (batch.records["core"] >= 0) | np.isin(batch.records["event"], _SHARED)
        rows = batch.records[ours & (batch.records["cycle"] < self._end)]
        order = (*rows["values"].T[::-1], rows["core"], _RANKS[rows["event"]], rows["cycle"])
        rows = rows[np.lexsort(order)]
        columns = [rows[name].tolist() for name in ("cycle", "core", "event", "values")]
        for cycle, core, number, values in zip(*columns, strict=True):
            name = NAMES[number]
            if name in _STATES:
                continue
            fields = dict(zip((field for field, _ in EVENTS[name].fields), values, strict=False))
            if name in self._known:
                self._known[name](cycle, core, fields)
            else:
                self._other(cycle, core, name, fields)
        self.timeline.end = min(int(batch.end), self._end)
        if batch.end >= self._end:
            raise Enough

    def finish(self) -> Timeline:
        """Finished timeline, with the uops that are still in flight."""
        self.timeline.uops += self._flying.values()
        self.timeline.uops = sorted(
            (uop for uop in self.timeline.uops if uop.retired is None or uop.retired >= self._begin),
            key=lambda uop: (max(_first(uop), self._begin), uop.core, uop.warp, uop.seq),
        )
        return self.timeline

    def _shown(self, cycle: int) -> bool:
        return cycle >= self._begin

    def _uop(self, core: int, fields: dict[str, int]) -> Uop:
        key = (core, fields["warp"], fields["seq"])
        if key not in self._flying:
            self._flying[key] = Uop(*key)
        return self._flying[key]

    def _warp_start(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        place = core, fields["warp"]
        self._base[place] = fields["row"]
        self._pending[place], self._came[place], self._issued[place] = {}, {}, cycle
        self._cta[place], self._released[place] = self._newest, 0
        self._waiting.discard(place)

    def _cta_start(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._newest = fields["cta"]

    def _barrier_open(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        for place in [place for place in self._waiting if self._cta[place] == fields["cta"]]:
            self._waiting.remove(place)
            self._released[place] = cycle + 1

    def _fill(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._uop(core, fields).filled = cycle

    def _issue(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        uop, pc = self._uop(core, fields), fields["pc"]
        uop.issued, uop.text, uop.sources, uop.destinations = (
            cycle,
            self._text[pc].strip(),
            self._sources[pc],
            self._writes[pc],
        )
        uop.waiting, uop.pc = set(uop.sources), pc
        self._hazards(cycle, uop)

    def _hazards(self, cycle: int, uop: Uop) -> None:
        """Note for which results the uop that issues has waited since it was its warp's first."""
        place = uop.core, uop.warp
        came_first = max(self._issued[place], cycle if uop.filled is None else uop.filled) + 1
        first = max(came_first, self._released[place])
        came = [self._came[place].get(need, (0, False)) for need in self._needs[uop.pc]]
        memory = max((there for there, of_memory in came if of_memory), default=0)
        other = max(there for there, _ in came)
        spans = (
            Span(came_first, first, "barrier"),
            Span(first, memory, "memory"),
            Span(max(first, memory), other, "scoreboard"),
        )
        uop.hazards = [span for span in spans if span.start < span.end]
        self._issued[place] = cycle
        if self._barriers[uop.pc]:
            self._waiting.add(place)

    def _there(self, cycle: int, uop: Uop, what: int) -> None:
        """A result of a uop is written."""
        place = uop.core, uop.warp
        seq, of_memory = self._pending[place].get(what, (-1, False))
        if seq == uop.seq:
            del self._pending[place][what]
            self._came[place][what] = cycle + 1 + (self._late and what < _PREDICATES), of_memory

    def _move(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        """A decompress move: a uop of the hardware's own, which retires without a word when its register is
        written."""
        uop, register = self._uop(core, fields), fields["register"]
        uop.issued, uop.text, uop.destinations = (
            cycle,
            f"decompress R{register}",
            range(register, register + 1),
        )
        uop.sources, uop.waiting = (register,), {register}
        self._issued[core, uop.warp] = cycle
        self._pending[core, uop.warp][register] = uop.seq, False

    def _allocate(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        uop, collector = self._uop(core, fields), fields["collector"]
        uop.collects = True
        if not uop.seq & MOVE:
            results = [*self._results[uop.pc], *([_FENCE] if self._fences[uop.pc] else [])]
            self._pending[core, uop.warp] |= dict.fromkeys(results, (uop.seq, self._memory[uop.pc]))
        uop.collector = collector
        self._inside.setdefault((core, collector), {})[uop.seq] = uop
        self._owner[core, collector] = uop.warp

    def _place(self, core: int, uop: Uop, register: int) -> tuple[bool, int, int] | None:
        """Where a uop's operand is: (in the cache, bank or entry, row or offset); None if a renamed one has
        no place."""
        key = core, uop.warp, register
        if self._compiled and self._near[uop.pc] >> uop.sources.index(register) & 1:
            return True, register % self._entries, 0
        if key in self._cached:
            return True, *self._cached[key]
        if self._renames:
            return (False, *self._mapped[key]) if key in self._mapped else None
        return (
            False,
            (register + uop.warp) % self._banks,
            self._base[core, uop.warp] + register // self._banks,
        )

    def _served(self, cycle: int, core: int, collector: int, place: tuple[bool, int, int]) -> list[Uop]:
        """A read is served. Returns the uops that waited for it."""
        served = []
        for uop in self._inside.get((core, collector), {}).values():
            found = {register for register in uop.waiting if self._place(core, uop, register) == place}
            uop.waiting -= found
            served += [uop] if found else []
            for register in found:
                source = "entry" if place[0] else "bank"
                uop.reads[uop.sources.index(register)] = Read(source, place[1], place[2], cycle)
        return served

    def _deliver(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        """An operand arrives: the one for that slot that was served first. What nothing has served was never
        written."""
        slot = fields["slot"]
        inside = self._inside.get((core, fields["collector"]), {}).values()
        served = [
            (read.granted, uop.seq, read)
            for uop in inside
            if (read := uop.reads.get(slot)) is not None
            and read.granted is not None
            and read.delivered is None
            and read.source != "collector"
        ]
        if served:
            min(served, key=lambda each: each[:2])[2].delivered = cycle
            return
        for uop in inside:
            if slot < len(uop.sources) and slot not in uop.reads:
                uop.waiting.discard(uop.sources[slot])
                uop.reads[slot] = Read("unwritten", delivered=cycle)
                return

    def _grant(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._served(cycle, core, fields["collector"], (False, fields["bank"], fields["row"]))
        self._access(
            cycle, core, fields["bank"], "read", f"row {fields['row']} for collector {fields['collector']}"
        )

    def _cache_grant(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        place = True, fields["entry"], 0 if self._compiled else fields["offset"]
        for uop in self._served(cycle, core, fields["collector"], place):
            if self._shown(cycle):
                uop.marks.append(self._mark(cycle, "cache_grant", fields))

    def _waits(self, cycle: int, core: int, cached: bool, where: int, fields: dict[str, int]) -> str:
        """Mark the uops that wait for a register in a bank, or entry of the cache, that has a conflict.
        Returns it in words."""
        name, place = ("cache_conflict", f"entry {where}") if cached else ("conflict", f"bank {where}")
        text = f"{Cause(fields['cause']).name.lower()}, {fields['count']} waiting"
        if self._shown(cycle):
            for (owner, _), uops in self._inside.items():
                for uop in uops.values() if owner == core else ():
                    found = (self._place(core, uop, register) for register in uop.waiting)
                    if any(each is not None and each[:2] == (cached, where) for each in found):
                        uop.marks.append(Mark(cycle, name, f"{place}: {text}"))
        return text

    def _conflict(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        text = self._waits(cycle, core, False, fields["bank"], fields)
        if self._shown(cycle):
            self.timeline.conflicts.setdefault((core, fields["bank"]), []).append(
                Mark(cycle, "conflict", text)
            )

    def _cache_conflict(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._waits(cycle, core, True, fields["entry"], fields)

    def _dispatch(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        uop = self._uop(core, fields)
        uop.dispatched, uop.unit = cycle, fields["unit"]
        self._inside[core, fields["collector"]].pop(uop.seq, None)

    def _write(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        uop = self._uop(core, fields)
        self._writes_back(cycle, uop)
        uop.writes.append((cycle, fields["register"], "write"))
        self._there(cycle, uop, fields["register"])
        self._access(cycle, core, fields["bank"], "write", f"R{fields['register']} of warp {uop.warp}")
        if uop.seq & MOVE:
            uop.retired = cycle
            self._leave(uop)

    @staticmethod
    def _writes_back(cycle: int, uop: Uop) -> None:
        if uop.wrote is None:
            uop.wrote = cycle

    def _retire(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        uop = self._uop(core, fields)
        uop.retired = cycle
        for what in (*self._results[uop.pc], _FENCE):  # what no event told before
            self._there(cycle, uop, what)
        self._leave(uop)

    def _leave(self, uop: Uop) -> None:
        del self._flying[uop.core, uop.warp, uop.seq]
        if uop.retired is not None and uop.retired >= self._begin:
            self.timeline.uops.append(uop)

    def _scheduler(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        if not self._shown(cycle):
            return
        name = Stall(fields["reason"]).name.lower()
        spans = self.timeline.schedulers.setdefault(core, [])
        if spans and spans[-1].name == name and spans[-1].end == cycle:
            spans[-1] = Span(spans[-1].start, cycle + 1, name)
        else:
            spans.append(Span(cycle, cycle + 1, name))

    def _map(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._mapped[core, fields["warp"], fields["register"]] = fields["bank"], fields["row"]
        self._other(cycle, core, "map", fields)

    def _cache_allocate(self, cycle: int, core: int, fields: dict[str, int]) -> None:
        self._cached[core, fields["warp"], fields["register"]] = fields["entry"], fields["offset"]
        self._other(cycle, core, "cache_allocate", fields)

    def _access(self, cycle: int, core: int, bank: int, name: str, text: str, kind: str = "") -> None:
        if self._shown(cycle):
            self.timeline.accesses.setdefault((core, bank), []).append(Mark(cycle, name, text, kind))

    def _mark(self, cycle: int, name: str, fields: dict[str, int]) -> Mark:
        text = " ".join(f"{key} {value}" for key, value in fields.items() if key not in ("warp", "seq"))
        return Mark(cycle, name, text, kind_of(name, fields, self._caching))

    def _other(self, cycle: int, core: int, name: str, fields: dict[str, int]) -> None:
        """Any other event goes to the uop, warp, collector's warp or bank that it names."""
        if name in ("unmap", "cache_release"):
            (self._mapped if name == "unmap" else self._cached).pop(
                (core, fields["warp"], fields["register"]), None
            )
        uop = self._flying.get((core, fields["warp"], fields["seq"])) if "seq" in fields else None
        if name == "cache_write":
            uop = self._writer(core, fields["warp"], fields["register"])
        if uop is not None and name in ("cache_write", "collector_write"):
            self._writes_back(cycle, uop)
            uop.writes.append((cycle, fields["register"], name))
            self._there(cycle, uop, fields["register"])
        if name in ("write_back", "fetch"):
            text = f"R{fields['register']} of warp {fields['warp']}"
            self._access(cycle, core, fields["bank"], name, text, kind_of(name, fields, self._caching))
        if uop is not None and name == "forward":  # what is found in the collector waits for no bank
            for slot, register in enumerate(uop.sources):
                if fields["slots"] >> slot & 1:
                    uop.waiting.discard(register)
                    uop.reads[slot] = Read("collector", fields["collector"], -1, cycle)
        if "slot" in fields and "bank" not in fields:  # another memory serves a source slot
            for inside in self._inside.get((core, fields["collector"]), {}).values():
                slot = fields["slot"]
                if slot < len(inside.sources) and inside.sources[slot] in inside.waiting:
                    inside.waiting.discard(inside.sources[slot])
                    inside.reads[slot] = Read(name, granted=cycle)
        if not self._shown(cycle):
            return
        mark = self._mark(cycle, name, fields)
        if uop is not None:
            uop.marks.append(mark)
        elif "warp" not in fields and "collector" not in fields and "bank" in fields:
            self._access(cycle, core, fields["bank"], name, mark.text, mark.kind)
        else:
            warp = fields.get("warp", self._owner.get((core, fields.get("collector", -1)), -1))
            self.timeline.events.setdefault((core, warp), []).append(mark)

    def _writer(self, core: int, warp: int, register: int) -> Uop | None:
        """The uop in flight that writes a register: the scoreboard lets no second one issue."""
        found = (
            uop
            for uop in self._flying.values()
            if (uop.core, uop.warp) == (core, warp)
            and uop.issued is not None
            and register in uop.destinations
        )
        return next(found, None)


class Enough(Exception):
    """Signal that the view's cycles have been seen, so that the rest of the run is not needed."""


def _first(uop: Uop) -> int:
    """The cycle in which a uop came."""
    return next(cycle for cycle in (uop.filled, uop.issued, uop.dispatched, 0) if cycle is not None)


def follow(experiment: exp.Experiment, start: int, end: int) -> Timeline:
    """Run the experiment on the golden model up to cycle `end`, and return the cycles from `start` on.

    Raises WarpbankError if the run is over before `start`.
    """
    return _follow(Follower(experiment.scheme, start, end), lambda engine: exp.run(experiment, engine))


def follow_trace(trace: Trace, config: SmConfig, scheme: Scheme, start: int, end: int) -> Timeline:
    """Run a trace that is there on the golden model up to cycle `end`, and return the cycles from `start`
    on."""
    return _follow(Follower(scheme, start, end), lambda engine: engine.run(trace, config, scheme))


def _follow(follower: Follower, run: Callable[[Observed], object]) -> Timeline:
    try:
        run(Observed(GoldenEngine(), follower))
    except Enough:
        return follower.finish()
    cycles = follower.timeline.end
    if cycles <= follower.timeline.start:
        raise WarpbankError(
            f"the run is over after {cycles} cycles, so --cycles {follower.timeline.start}:... shows none of "
            "it"
        )
    return follower.finish()
