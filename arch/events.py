"""Event registry: what a unit reports that it does in a cycle.

Golden and RTL report an event under the name and with the fields given here, and lockstep compares them.
docs/machine.md is checked against this file, and against `warpbank.arch.counters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from warpbank.arch.parameters import SmConfig, bits


class Stall(IntEnum):
    """Outcome of a scheduler's cycle: a uop issued, or the reason why none did. Every scheduler has exactly
    one in every cycle.

    Every live warp that did not issue has one reason of its own; the cycle's reason is the first in this
    order that any warp has, `chosen` before all others: that of the warps nearest to issuing. (`no_warp`
    needs all slots without a live warp.) A warp is active unless two-level scheduling or its registers keep
    it from issuing: see `pending`.
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
    CHOSEN = 9


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
        "or a WAR hazard with an operand still to be read, or waits for its extra bit to be served "
        "(`cache.prefetch` is `bit`)."
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
    Stall.CHOSEN: (
        "A warp was chosen, and its uop issues in a later cycle, since the machine has stages between choice "
        "and issue (`front_end.issue_stages`). Counts before every other reason."
    ),
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


_UOP: Final = (("warp", "warp"), ("seq", "seq"))
_PLACE: Final = (("entry", "entry"), ("offset", "offset"))

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
            "prefetch",
            _UOP,
            "A PREFETCH issues, or the extra bit of the uop is served: the warp names the registers that it "
            "needs in the cache.",
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
            "The result at the head of its unit's queue waits: the collectors take another one in this "
            "cycle, or as many as they hold are on their way into their entries.",
        ),
        Event(
            "flush",
            (("collector", "collector"), ("entries", "count")),
            "A caching collector is given to another warp, or left by its own, and forgets what it kept.",
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
        # Twice 255 passes; the operands of all uops in collection at one bank.
        "count": max(9, bits(core.queue_depth * core.collector.window + 1)),
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
