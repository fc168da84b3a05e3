"""Counter registry: what a run counts.

A counter is a sum of events (of a field of theirs, or of those with a given field value), so that the model,
the RTL, the terminal and the documentation cannot count differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from warpbank.arch.events import EVENTS, Cause, L1Result, LsuStall, Record, Stall
from warpbank.arch.uop import Scalar


@dataclass(frozen=True)
class Counter:
    """Counter: dotted name, unit, description, and the events it sums.

    Parameters
    ----------
    event : name of the event counted.
    field : field that is summed; "" counts events.
    when : (field, value) that an event must have; None takes all.
    also : another event that counts, one each.
    """

    name: str
    unit: str
    description: str
    event: str
    field: str = ""
    when: tuple[str, int] | None = None
    also: str = ""


_SCALAR: Final = {
    Scalar.ALU: "Uops of arithmetic units executed by one lane.",
    Scalar.SFU: "Uops of the special-function unit executed by one lane.",
    Scalar.MEMORY: "Uops of the load/store unit executed by one lane.",
    Scalar.HALF: "Uops that had at least one half executed by one lane.",
    Scalar.DIVERGENT: "Divergent uops executed by one lane.",
}

COUNTERS: dict[str, Counter] = {
    counter.name: counter
    for counter in (
        Counter("issue.uops", "uops", "Uops issued.", "issue"),
        Counter("fill.uops", "uops", "Uops that entered an instruction buffer.", "fill"),
        Counter("rf.reads", "warp registers", "Bank reads.", "grant", also="fetch"),
        Counter(
            "rf.writes",
            "warp registers",
            "Bank writes, of results and of evicted values.",
            "write",
            also="write_back",
        ),
        Counter(
            "rf.write_backs",
            "warp registers",
            "Bank writes of values that leave a collector or the cache.",
            "write_back",
        ),
        Counter(
            "rf.conflict.write",
            "request-cycles",
            "Oldest requests that waited because a write took their bank.",
            "conflict",
            "count",
            ("cause", Cause.WRITE),
        ),
        Counter(
            "rf.conflict.port",
            "request-cycles",
            "Oldest requests that waited because their collector's port was taken.",
            "conflict",
            "count",
            ("cause", Cause.PORT),
        ),
        Counter(
            "rf.conflict.queue",
            "request-cycles",
            "Requests that waited behind an older one of their bank.",
            "conflict",
            "count",
            ("cause", Cause.QUEUE),
        ),
        Counter("cache.reads", "warp registers", "Reads of the register file cache.", "cache_grant"),
        Counter(
            "cache.writes", "warp registers", "Results written into the register file cache.", "cache_write"
        ),
        Counter(
            "cache.fills",
            "warp registers",
            "Registers that arrived in the cache from the banks.",
            "cache_fill",
        ),
        Counter(
            "cache.zeros",
            "warp registers",
            "Zeros written into the cache for registers without a physical one.",
            "cache_zero",
        ),
        Counter("cache.fetches", "warp registers", "Registers read from the banks for the cache.", "fetch"),
        Counter(
            "cache.allocations", "warp registers", "Registers given a place in the cache.", "cache_allocate"
        ),
        Counter("cache.prefetches", "uops", "PREFETCHes, issued or by the extra bit.", "prefetch"),
        Counter(
            "cache.interval_reads",
            "warp registers",
            "Reads of the main register file inside an interval: always 0 under LTRF.",
            "interval_read",
        ),
        Counter(
            "cache.conflict.write",
            "request-cycles",
            "Oldest requests at the cache that waited because a write took their bank.",
            "cache_conflict",
            "count",
            ("cause", Cause.WRITE),
        ),
        Counter(
            "cache.conflict.port",
            "request-cycles",
            "Oldest requests at the cache that waited because their collector's port was taken.",
            "cache_conflict",
            "count",
            ("cause", Cause.PORT),
        ),
        Counter(
            "cache.conflict.queue",
            "request-cycles",
            "Requests at the cache that waited behind an older one of their bank.",
            "cache_conflict",
            "count",
            ("cause", Cause.QUEUE),
        ),
        Counter(
            "rf.write_wait",
            "result-cycles",
            "Results that waited because another write took their bank.",
            "write_wait",
        ),
        Counter("collector.allocations", "uops", "Uops that went through a collector.", "allocate"),
        Counter(
            "collector.residency",
            "collector-cycles",
            "Cycles in which a collector was occupied, summed over collectors.",
            "occupied",
            "collectors",
        ),
        Counter("collector.deliveries", "warp registers", "Operands that arrived in a collector.", "deliver"),
        Counter(
            "boc.forwards",
            "warp registers",
            "Sources found in the window: bank reads saved.",
            "forward",
            "count",
        ),
        Counter("boc.writes", "warp registers", "Results written into a collector.", "collector_write"),
        Counter(
            "boc.port_wait",
            "result-cycles",
            "Results that waited since the collectors took another one, or had as many on their way.",
            "port_wait",
        ),
        Counter(
            "boc.reserved",
            "warp registers",
            "Result registers for which an entry was kept.",
            "reserve",
            "count",
        ),
        Counter("boc.squeezed", "warp registers", "Values evicted because entries were short.", "squeeze"),
        Counter(
            "boc.overwritten",
            "warp registers",
            "Dirty values overwritten in the window: bank writes saved.",
            "discard",
            "overwritten",
        ),
        Counter(
            "boc.transient",
            "warp registers",
            "Dirty values dropped by the compiler's hint: bank writes saved.",
            "discard",
            "transient",
        ),
        Counter(
            "ccu.flushes",
            "flushes",
            "Caching collectors given to another warp, or left by their own, while they kept values.",
            "flush",
        ),
        Counter(
            "ccu.invalidations",
            "warp registers",
            "Copies dropped because a newer value went to the bank only.",
            "invalidate",
        ),
        Counter(
            "ccu.waits",
            "cycles",
            "Cycles in which a warp waited although a caching collector was free.",
            "unit_wait",
        ),
        Counter(
            "boc.insert_wait",
            "uop-cycles",
            "Cycles in which an issued uop waited for entries.",
            "insert_wait",
            "collectors",
        ),
        Counter("two_level.activations", "warps", "Pending warps that became active.", "activate"),
        Counter(
            "two_level.deactivations", "warps", "Active warps that became pending, or ended.", "deactivate"
        ),
        Counter(
            "two_level.ready_pending",
            "cycles",
            "Cycles in which nothing issued, although the next uop of an inactive warp had no hazard.",
            "ready_pending",
        ),
        Counter("renaming.maps", "warp registers", "Registers that got a physical register.", "map"),
        Counter("renaming.unmaps", "warp registers", "Registers that were released.", "unmap"),
        Counter(
            "renaming.dead_values",
            "warp registers",
            "Evicted values dropped since their registers were released: bank writes saved.",
            "dead_value",
        ),
        Counter(
            "renaming.flag_hits",
            "flag instructions",
            "Release flag instructions that were found in the cache.",
            "flag_hit",
        ),
        Counter(
            "renaming.flag_fetches", "flag instructions", "Release flag instructions fetched.", "flag_fetch"
        ),
        Counter(
            "renaming.lookups",
            "warp registers",
            "Look-ups in the renaming table: sources, and registers moved to and from a cache.",
            "lookup",
            "count",
        ),
        Counter(
            "renaming.unwritten",
            "warp registers",
            "Sources without a physical register.",
            "unwritten",
            "count",
        ),
        Counter("dispatch.uops", "uops", "Uops dispatched to an execution unit.", "dispatch"),
        Counter("issue.moves", "uops", "Decompress moves issued.", "move"),
        Counter("rf.arrays.read", "arrays", "Arrays that bank reads activated.", "array_read", "arrays"),
        Counter(
            "rf.arrays.plain_read",
            "arrays",
            "Arrays that plain banks would activate for the reads of `rf.arrays.read`.",
            "array_read",
            "plain",
        ),
        Counter("rf.arrays.write", "arrays", "Arrays that bank writes activated.", "array_write", "arrays"),
        Counter(
            "rf.arrays.plain_write",
            "arrays",
            "Arrays that plain banks would activate for the writes of `rf.arrays.write`.",
            "array_write",
            "plain",
        ),
        Counter("scalar_rf.reads", "warp registers", "Reads of the scalar bank.", "scalar_grant"),
        Counter("scalar_rf.writes", "warp registers", "Writes of the scalar bank.", "scalar_write"),
        Counter(
            "scalar_rf.waits",
            "request-cycles",
            "Requests at the scalar bank that waited.",
            "scalar_conflict",
            "count",
        ),
        Counter(
            "scalar_rf.write_waits",
            "result-cycles",
            "Results that waited for the scalar bank.",
            "scalar_wait",
            "count",
        ),
        Counter("lanes.clocked", "lanes", "Lanes that units clocked for dispatched uops.", "lanes", "lanes"),
        *(
            Counter(f"scalar.{kind.name.lower()}", "uops", text, "lanes", "", ("scalar", kind))
            for kind, text in _SCALAR.items()
        ),
        Counter("retire.uops", "uops", "Uops retired.", "retire"),
        Counter("lsu.uops", "uops", "Uops that the load/store unit took.", "lsu_accept"),
        Counter(
            "lsu.stall.mshr",
            "cycles",
            "No MSHR (or no room to merge) for a missing line.",
            "lsu_stall",
            "",
            ("cause", LsuStall.MSHR),
        ),
        Counter(
            "lsu.stall.queue",
            "cycles",
            "The queue to the L2 was full.",
            "lsu_stall",
            "",
            ("cause", LsuStall.QUEUE),
        ),
        Counter(
            "lsu.stall.pending",
            "cycles",
            "Too many loads in flight.",
            "lsu_stall",
            "",
            ("cause", LsuStall.PENDING),
        ),
        Counter("shared.passes", "passes", "Passes over the shared-memory banks.", "shared_pass", "passes"),
        Counter("l1.hits", "lines", "Loads that hit in the L1.", "l1_access", "", ("result", L1Result.HIT)),
        Counter(
            "l1.misses",
            "lines",
            "Loads that missed and sent a request.",
            "l1_access",
            "",
            ("result", L1Result.MISS),
        ),
        Counter(
            "l1.merges",
            "lines",
            "Loads of a line that was already on its way.",
            "l1_access",
            "",
            ("result", L1Result.MERGE),
        ),
        Counter(
            "l1.stores",
            "lines",
            "Lines stored (written through).",
            "l1_access",
            "",
            ("result", L1Result.STORE),
        ),
        Counter(
            "l1.atomics",
            "lines",
            "Lines of atomics and reductions (done at the L2).",
            "l1_access",
            "",
            ("result", L1Result.ATOMIC),
        ),
        Counter("l2.hits", "lines", "Look-ups that hit in the L2.", "l2_access", "", ("hit", 1)),
        Counter("l2.misses", "lines", "Look-ups that missed in the L2.", "l2_access", "", ("hit", 0)),
        Counter("barrier.opens", "barriers", "CTA barriers completed.", "barrier_open"),
        Counter("cta.started", "CTAs", "CTAs started.", "cta_start"),
    )
}


def count(records: Iterable[Record]) -> dict[str, int]:
    """Sum recorded events into every counter of the registry."""
    totals = dict.fromkeys(COUNTERS, 0)
    by_event: dict[str, list[Counter]] = {}
    also: dict[str, list[Counter]] = {}
    for counter in COUNTERS.values():
        by_event.setdefault(counter.event, []).append(counter)
        if counter.also:
            also.setdefault(counter.also, []).append(counter)
    positions = {
        name: {field: place for place, (field, _) in enumerate(event.fields)}
        for name, event in EVENTS.items()
    }
    for _, _, name, values in records:
        place = positions[name]
        for counter in by_event.get(name, ()):
            if counter.when is None or values[place[counter.when[0]]] == counter.when[1]:
                totals[counter.name] += values[place[counter.field]] if counter.field else 1
        for counter in also.get(name, ()):
            totals[counter.name] += 1
    return totals


def stalls(records: Iterable[Record], schedulers: int) -> list[dict[str, int]]:
    """Sum recorded events into scheduler-cycles by reason, for each scheduler."""
    totals = [{reason.name.lower(): 0 for reason in Stall} for _ in range(schedulers)]
    for _, sub_core, name, values in records:
        if name == "scheduler":
            totals[sub_core][Stall(values[0]).name.lower()] += 1
    return totals
