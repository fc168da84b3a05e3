"""Registry of events and counters, the only one.

An event is something a unit does in a cycle; golden and RTL both report it under the name and with the fields
given here, and lockstep compares them. A counter is a sum of events (of a field of theirs, or of those with a
given field value), so that the model, the RTL, the terminal and the documentation cannot count differently.
docs/machine.md is checked against this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import Scalar


class Stall(IntEnum):
    """Outcome of a scheduler's cycle: a uop issued, or the reason why none did. Every scheduler has exactly
    one in every cycle.

    Every live warp that did not issue has one reason of its own; the cycle's reason is the first in this
    order that any warp has: that of the warps nearest to issuing. (`no_warp` needs all slots without a live
    warp.) A warp is active unless two-level scheduling or its registers keep it from issuing: see `pending`.
    """

    ISSUED = 0
    UNIT_BUSY = 1
    COLLECTOR_FULL = 2
    PENDING = 3
    SCOREBOARD = 4
    FETCH = 5
    MEMORY = 6
    BARRIER = 7
    NO_WARP = 8


#: Reason -> definition, in order of priority.
STALLS: dict[Stall, str] = {
    Stall.ISSUED: "A uop was issued.",
    Stall.UNIT_BUSY: (
        "An active warp's next uop has no hazard, but no collector may take it, and in this cycle the "
        "dispatch of a complete collector was refused because its execution unit was not free (interval, "
        "credits, load/store queue)."
    ),
    Stall.COLLECTOR_FULL: (
        "An active warp's next uop has no hazard, but no collector may take it: the collectors wait for "
        "operands (bank conflicts, port), or for their turn to be dispatched."
    ),
    Stall.PENDING: (
        "The next uop of a warp that may not issue yet has no hazard: the warp is not active (two-level "
        "scheduling), its registers are on their way into the register file cache, or no physical "
        "register is free for its result (renaming)."
    ),
    Stall.SCOREBOARD: (
        "A warp's next uop has a RAW or WAW hazard with a pending result that does not come from memory, "
        "or a WAR hazard with an operand still to be read."
    ),
    Stall.FETCH: (
        "A live warp's instruction buffer is empty: a branch holds it, or its turn to be filled has not come."
    ),
    Stall.MEMORY: (
        "A warp's next uop has a RAW or WAW hazard with a result of the load/store unit, or waits behind a "
        "fence."
    ),
    Stall.BARRIER: "A warp waits at a CTA barrier.",
    Stall.NO_WARP: "No warp slot holds a warp that still has uops to issue.",
}


class Cause(IntEnum):
    """Reason why a bank did not grant a read request in a cycle."""

    WRITE = 0
    PORT = 1
    QUEUE = 2


class Hazard(IntEnum):
    """Hazard that keeps a warp's next uop from issuing, as the scoreboard tells them apart.

    Every member but `NONE` names the stall reason that follows from it; `DISTANT` counts as `Stall.MEMORY`.
    """

    NONE = 0
    SCOREBOARD = 1  # a result of an execution unit, or an operand still to be read
    MEMORY = 2  # a result of the load/store unit
    DISTANT = 3  # a result from beyond the SM


class LsuStall(IntEnum):
    """Reason why the load/store unit could not proceed in a cycle."""

    MSHR = 0
    QUEUE = 1
    PENDING = 2


class L1Result(IntEnum):
    """Outcome of a line's look-up in the L1."""

    HIT = 0
    MISS = 1
    MERGE = 2
    STORE = 3
    ATOMIC = 4


@dataclass(frozen=True)
class Event:
    """Event type: name, fields (name -> kind, see `field_width`), description. Cycle and sub-core go with
    every event."""

    name: str
    fields: tuple[tuple[str, str], ...]
    description: str


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


_UOP = (("warp", "warp"), ("seq", "seq"))
_PLACE = (("entry", "entry"), ("offset", "offset"))

_SCALAR = {
    Scalar.ALU: "Uops of arithmetic units executed by one lane.",
    Scalar.SFU: "Uops of the special-function unit executed by one lane.",
    Scalar.MEMORY: "Uops of the load/store unit executed by one lane.",
    Scalar.HALF: "Uops that had at least one half executed by one lane.",
    Scalar.DIVERGENT: "Divergent uops executed by one lane.",
}

EVENTS: dict[str, Event] = {
    event.name: event
    for event in (
        Event(
            "warp_start",
            (("warp", "warp"), ("row", "row")),
            "A warp slot receives a warp; its registers start at this row.",
        ),
        Event("fill", _UOP, "A uop enters its warp's instruction buffer."),
        Event("issue", (*_UOP, ("pc", "pc")), "The scheduler issues a uop."),
        Event(
            "move",
            (*_UOP, ("register", "register")),
            "A decompress move of a register issues in the place of the uop that is about to write some of "
            "its lanes.",
        ),
        Event("allocate", (("collector", "collector"), *_UOP), "An issued uop takes a collector."),
        Event(
            "grant",
            (("bank", "bank"), ("row", "row"), ("collector", "collector"), ("slot", "slot")),
            "A bank serves a read.",
        ),
        Event(
            "conflict",
            (("bank", "bank"), ("cause", "cause"), ("count", "count")),
            "Read requests at a bank that were not granted this cycle: cause 0 a write took the bank, 1 "
            "the collector's port was taken by another bank (the oldest request waits, so count is 1), 2 "
            "requests behind the oldest one.",
        ),
        Event(
            "deliver",
            (("collector", "collector"), ("slot", "slot")),
            "An operand arrives in its source slot.",
        ),
        Event(
            "dispatch",
            (("collector", "collector"), ("unit", "unit"), *_UOP),
            "A collector's uop goes to its execution unit.",
        ),
        Event(
            "write",
            (("bank", "bank"), ("row", "row"), *_UOP, ("register", "register"), ("mask", "mask")),
            "A result is written into a bank.",
        ),
        Event(
            "write_back",
            (("bank", "bank"), ("row", "row"), ("warp", "warp"), ("register", "register")),
            "A value that leaves a collector or the register file cache is written into a bank, all lanes.",
        ),
        Event(
            "cache_grant",
            (("entry", "entry"), ("offset", "offset"), ("collector", "collector"), ("slot", "slot")),
            "A bank of the register file cache serves a read.",
        ),
        Event(
            "cache_conflict",
            (("entry", "entry"), ("cause", "cause"), ("count", "count")),
            "Read requests at a bank of the register file cache that were not granted this cycle: cause 0 "
            "the bank was written or a register left it, 1 the collector's port was taken by another bank, "
            "2 requests behind the oldest one.",
        ),
        Event(
            "prefetch", _UOP, "A PREFETCH issues: it names the registers that its warp needs in the cache."
        ),
        Event(
            "cache_allocate",
            (*_PLACE, ("warp", "warp"), ("register", "register")),
            "A register is given a bank of the register file cache.",
        ),
        Event(
            "cache_release",
            (*_PLACE, ("warp", "warp"), ("register", "register")),
            "A register loses its bank of the register file cache.",
        ),
        Event(
            "fetch",
            (("bank", "bank"), ("row", "row"), ("warp", "warp"), ("register", "register")),
            "A bank of the main register file reads a register for the cache.",
        ),
        Event(
            "cache_fill",
            (*_PLACE, ("warp", "warp"), ("register", "register")),
            "A fetched register arrives in the cache.",
        ),
        Event(
            "cache_zero",
            (*_PLACE, ("warp", "warp"), ("register", "register")),
            "A register without a physical register is brought into the cache: zeros are written.",
        ),
        Event(
            "cache_write",
            (*_PLACE, ("warp", "warp"), ("register", "register")),
            "A result is written into the cache.",
        ),
        Event(
            "interval_read",
            (("warp", "warp"), ("register", "register")),
            "The register file cache does not hold an operand that is looked up, or a bank of the main "
            "register file is read for a warp that may issue: LTRF promises that neither happens.",
        ),
        Event(
            "row_free",
            (("warp", "warp"), ("offset", "offset")),
            "The last register of a deactivated warp leaves the cache: the warp's row is free.",
        ),
        Event(
            "write_wait",
            (("unit", "unit"), ("bank", "any_bank")),
            "The result at the head of its unit's queue found its bank taken.",
        ),
        Event(
            "forward",
            (("collector", "collector"), *_UOP, ("slots", "slots"), ("count", "count")),
            "Sources of a uop are found in its collector and cost no bank read.",
        ),
        Event(
            "collector_write",
            (("collector", "collector"), *_UOP, ("register", "register")),
            "A result is written into a collector.",
        ),
        Event(
            "reserve",
            (("collector", "collector"), *_UOP, ("count", "count")),
            "A collector reserves entries for a uop's result registers.",
        ),
        Event(
            "squeeze",
            (("collector", "collector"), ("register", "register"), ("dirty", "bit")),
            "A collector evicts a value before its window has passed, since the entry is needed.",
        ),
        Event(
            "discard",
            (("collector", "collector"), ("overwritten", "count"), ("transient", "count")),
            "Dirty values leave a collector without a bank write: overwritten in the collector, or "
            "dropped since the compiler says that nobody reads them (transient).",
        ),
        Event(
            "insert_wait",
            (("collectors", "count"),),
            "Uops wait for entries of their collector at the start of this cycle; collectors: how many.",
        ),
        Event(
            "port_wait",
            (("unit", "unit"), ("collector", "collector")),
            "The result at the head of its unit's queue found its collector's port taken.",
        ),
        Event(
            "flush",
            (("collector", "collector"), ("entries", "count")),
            "A caching collector changes its warp and forgets the values that it kept.",
        ),
        Event(
            "invalidate",
            (("collector", "collector"), ("register", "register")),
            "A caching collector drops its copy of a register: a newer value went to the bank only.",
        ),
        Event(
            "unit_wait",
            (("cycles", "count"),),
            "A warp waits for a caching collector, since the free ones keep values of near reuse; cycles: "
            "waited so far.",
        ),
        Event(
            "sthld",
            (("state", "state"), ("cycles", "count")),
            "An interval of the adaptive waiting time ends: next state of its machine, and the waiting time "
            "from now on.",
        ),
        Event(
            "window",
            (("collector", "collector"), ("entries", "count")),
            "The number of values that a collector holds has changed since the cycle before.",
        ),
        Event("activate", (("warp", "warp"),), "Two-level scheduling: a pending warp becomes active."),
        Event(
            "deactivate",
            (("warp", "warp"),),
            "Two-level scheduling: an active warp becomes pending, or has ended.",
        ),
        Event(
            "ready_pending",
            (("warps", "count"),),
            "Nothing issues, although inactive warps have a next uop without hazard; warps: how many.",
        ),
        Event(
            "map",
            (("warp", "warp"), ("register", "register"), ("bank", "bank"), ("row", "row")),
            "A register gets a physical register, since a uop that writes it issues.",
        ),
        Event(
            "unmap",
            (("warp", "warp"), ("register", "register"), ("bank", "bank"), ("row", "row")),
            "A register gives its physical register back.",
        ),
        Event(
            "dead_value",
            (("warp", "warp"), ("register", "register")),
            "A collector evicts a value whose register has been released: the value is dropped.",
        ),
        Event(
            "flag_hit",
            (("warp", "warp"),),
            "The release flag cache holds the flags of the instructions that a warp comes to.",
        ),
        Event(
            "flag_fetch",
            (("warp", "warp"), ("pc", "pc")),
            "A release flag instruction is fetched in the place of a uop; pc: first instruction it covers.",
        ),
        Event(
            "lookup",
            (("count", "count"),),
            "Registers are looked up in the renaming table: a uop's sources, or a register that is moved.",
        ),
        Event(
            "unwritten",
            (("count", "count"),),
            "Sources of a uop that were never written have no physical register and read as zeros.",
        ),
        Event(
            "array_read",
            (
                ("bank", "bank"),
                ("divergent", "bit"),
                ("enc", "count"),
                ("arrays", "count"),
                ("plain", "count"),
            ),
            "A compressing bank reads a register: divergence bit D, encoding bits (4 per half), arrays "
            "activated, and arrays that a plain bank would activate.",
        ),
        Event(
            "array_write",
            (
                ("bank", "bank"),
                ("divergent", "bit"),
                ("enc", "count"),
                ("arrays", "count"),
                ("plain", "count"),
            ),
            "A compressing bank writes a register: divergence bit D, encoding bits (4 per half), arrays "
            "activated, and arrays that a plain bank would activate.",
        ),
        Event(
            "scalar_grant",
            (("row", "place"), ("collector", "collector"), ("slot", "slot")),
            "The scalar bank serves a read; row: the register's row in its bank, joined with the bank.",
        ),
        Event(
            "scalar_conflict",
            (("cause", "cause"), ("count", "count")),
            "Read requests at the scalar bank that were not granted this cycle: cause 0 a write took the "
            "bank, 1 the collector's port was taken by another bank, 2 requests behind the oldest one.",
        ),
        Event(
            "scalar_write",
            (("row", "place"),),
            "The scalar bank is written with a register whose lanes are all equal.",
        ),
        Event(
            "scalar_wait",
            (("count", "count"),),
            "Writes wait for the scalar bank in the stages that compare lanes; count: how many.",
        ),
        Event(
            "lanes",
            (*_UOP, ("lanes", "count"), ("scalar", "state")),
            "A unit clocks lanes for a dispatched uop; scalar: kind of scalar execution, 0 none, 1 ALU, 2 "
            "SFU, 3 memory, 4 by halves, 5 divergent.",
        ),
        Event("retire", _UOP, "The last write of a uop is done, or a uop without results is complete."),
        Event(
            "occupied",
            (("collectors", "count"),),
            "Collectors hold a uop at the start of this cycle; collectors: how many.",
        ),
        Event(
            "scheduler",
            (("reason", "reason"),),
            "A scheduler's cycle ends; reason: a uop issued, or why none did (see the stalls).",
        ),
        Event("lsu_accept", _UOP, "The load/store unit takes a uop from the sub-core's queue."),
        Event(
            "shared_pass",
            (("passes", "count"),),
            "A shared-memory uop begins its passes over the shared banks.",
        ),
        Event(
            "l1_access",
            (("line", "line"), ("result", "result")),
            "The L1 looks a line up: result 0 hit, 1 miss (request sent), 2 merged into a pending miss, 3 "
            "store, 4 atomic.",
        ),
        Event("l2_access", (("line", "line"), ("hit", "bit")), "The L2 looks a line up."),
        Event("l1_fill", (("line", "line"),), "A missing line arrives in the L1."),
        Event(
            "lsu_stall",
            (("cause", "cause"),),
            "The load/store unit could not proceed this cycle: 0 MSHRs, 1 memory queue, 2 pending loads.",
        ),
        Event(
            "barrier_open",
            (("cta", "count"), ("barrier", "count")),
            "All warps expected at a barrier have arrived.",
        ),
        Event("cta_start", (("cta", "count"),), "A CTA slot receives a CTA."),
        Event("cta_end", (("cta", "count"),), "A CTA's last warp has drained."),
    )
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
        Counter("cache.prefetches", "uops", "PREFETCHes issued.", "prefetch"),
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
            "Results that waited because another one took their collector's port.",
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
            "Caching collectors given to another warp while they kept values.",
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


def field_width(kind: str, config: SmConfig) -> int:
    """Return the bits of an event field of `kind` on the machine `config`."""
    core = config.sub_core
    widths = {
        "warp": core.warp_width,
        "seq": 32,
        "pc": 32,
        "collector": core.collector_width,
        "slot": core.slot_width,
        "bank": core.bank_width,
        "row": core.row_width,
        "register": 8,
        "mask": config.lanes,
        "unit": 3,
        "reason": bits(len(Stall)),
        "cause": bits(max(len(Cause), len(LsuStall))),
        "count": 8,
        "line": 57,
        "result": bits(len(L1Result)),
        "bit": 1,
        "slots": core.collector.slots,
        "state": 3,
        "entry": bits(core.cache.registers),
        "offset": bits(core.active_warps),
        "place": core.row_width + core.bank_width,
        "any_bank": max(core.bank_width, bits(core.cache.registers)),
    }
    return widths[kind]


#: One event as a sink receives it: (cycle, sub-core or -1 for the SM's shared units, name, field values in
#: registry order).
Record = tuple[int, int, str, tuple[int, ...]]


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
