"""Timeline of some cycles of a run, as the pipeline views draw them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: Stages of a uop, in order, and what each means.
STAGES = {
    "buffer": "in its warp's instruction buffer",
    "issue": "the scheduler issues it",
    "collect": "in a collector, up to its dispatch",
    "execute": "in an execution unit or the load/store unit",
    "write-back": "from its first write on",
}
#: What a scheme does, in words that all schemes share: event (`warpbank.arch.events.EVENTS`) -> kind.
#: `kind_of` knows the exceptions.
KINDS = {
    "forward": "forward",
    "cache_grant": "hit",
    **dict.fromkeys(
        ("write_back", "squeeze", "discard", "invalidate", "flush", "cache_release", "dead_value"), "evict"
    ),
    **dict.fromkeys(("prefetch", "fetch", "cache_fill", "cache_zero"), "prefetch"),
    **dict.fromkeys(("array_write", "scalar_write"), "compress"),
    **dict.fromkeys(("map", "unmap"), "rename"),
}


def kind_of(name: str, fields: Mapping[str, int], caching: bool) -> str:
    """Kind of an event; "" if it has none.

    A value found in a caching collector (`caching`) is a hit; a value that a compressing bank keeps as it is,
    is not compressed.
    """
    if name == "forward" and caching:
        return "hit"
    return "" if name == "array_write" and not fields["enc"] else KINDS.get(name, "")


@dataclass(frozen=True)
class Mark:
    """Mark of something that happened in a cycle: the event's name (`warpbank.arch.events.EVENTS`), its
    fields in words, its kind (`kind_of`)."""

    cycle: int
    name: str
    text: str
    kind: str = ""


@dataclass(frozen=True)
class Span:
    """Span of cycles from `start` up to, not including, `end` in which one thing held."""

    start: int
    end: int
    name: str


@dataclass
class Read:
    """Way of an operand into its source slot.

    Parameters
    ----------
    source : field kind of the place that it comes from: `bank`, `entry` (of the register file cache),
        `collector` (it was there already), or the name of another event that served it.
    place, row : number of the bank or entry, and the row in it.
    granted, delivered : cycles; None: not yet, or, of an operand that is there already, never.
    """

    source: str
    place: int = -1
    row: int = -1
    granted: int | None = None
    delivered: int | None = None


@dataclass
class Uop:
    """Way of a uop through the pipeline, as far as it has come.

    Parameters
    ----------
    core, warp, seq, pc : which one.
    text : its disassembly.
    sources, destinations : registers it reads and writes.
    waiting : those of its sources that have not been read.
    filled, issued, dispatched, wrote, retired : cycles; wrote: of its first write. None: not yet, or not at
        all.
    collects : it took a collector.
    collector, unit : where it was collected, and what executes it; -1: not yet, or nowhere.
    reads : by source slot, how the operand came.
    writes : registers written so far: cycle, register, name of the event.
    hazards : cycles in which its warp could not issue it: `barrier`, at one; `memory`, for a result of the
        load/store unit that was not there, or behind a fence; `scoreboard`, for another result.
    marks : what happened to it besides, conflicts among them.
    """

    core: int
    warp: int
    seq: int
    pc: int = -1
    text: str = ""
    sources: tuple[int, ...] = ()
    destinations: range = range(0)
    waiting: set[int] = field(default_factory=set)
    filled: int | None = None
    issued: int | None = None
    dispatched: int | None = None
    wrote: int | None = None
    retired: int | None = None
    collects: bool = False
    collector: int = -1
    unit: int = -1
    reads: dict[int, Read] = field(default_factory=dict)
    writes: list[tuple[int, int, str]] = field(default_factory=list)
    hazards: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def stages(self, end: int) -> Iterator[tuple[str, int, int]]:
        """Stages (stage, first cycle, cycle after the last), cut off at `end`; stages of no cycle are left
        out."""
        begins = [("buffer", self.filled)]
        if self.issued is not None:
            begins.append(("issue", self.issued))
            if self.collects:
                begins.append(("collect", self.issued + 1))
        if self.dispatched is not None:
            begins.append(("execute", self.dispatched + 1))
        if self.wrote is not None:
            begins.append(("write-back", self.wrote))
        last = end if self.retired is None else min(end, self.retired + 1)
        known = [(name, cycle) for name, cycle in begins if cycle is not None]
        for (name, cycle), (_, following) in zip(known, [*known[1:], ("", last)], strict=True):
            if cycle < min(following, last):
                yield name, cycle, min(following, last)


@dataclass
class Timeline:
    """Timeline of what happened in the cycles from `start` up to, not including, `end`.

    Parameters
    ----------
    cores, warps, banks : sub-cores, and warp slots and banks of each.
    uops : those in the pipeline in any of the cycles, in the order in which they came.
    schedulers : per sub-core, what the scheduler did: "issued", or the reason of its stall.
    accesses : per (sub-core, bank), reads and writes.
    conflicts : per (sub-core, bank), read requests that were not granted.
    events : per (sub-core, warp), what a scheme did for a warp; warp -1: for the sub-core.
    """

    start: int
    end: int
    cores: int
    warps: int
    banks: int
    uops: list[Uop] = field(default_factory=list)
    schedulers: dict[int, list[Span]] = field(default_factory=dict)
    accesses: dict[tuple[int, int], list[Mark]] = field(default_factory=dict)
    conflicts: dict[tuple[int, int], list[Mark]] = field(default_factory=dict)
    events: dict[tuple[int, int], list[Mark]] = field(default_factory=dict)
