"""Dispatch from the bypassing operand collectors to the execution units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import BOC_READS, SmConfig
from warpbank.arch.uop import MAX_SOURCES, Unit
from warpbank.arch.uop import Memory as Op
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import AlwaysInterface, ReadDoneInterface
from warpbank.hdl.layouts import UNITS, dispatch_layout
from warpbank.hdl.round_robin import Choice, encode, pick, pick_at_once, soonest
from warpbank.hdl.typed import Record, record

#: Reads that a uop's operands take at most.
STEPS = -(-MAX_SOURCES // BOC_READS)


class DispatchPorts(Protocol):
    """The ports of `warpbank.hdl.collector.boc.Boc` that take part in dispatch."""

    issue: AlwaysInterface
    entry: Signal
    dispatch: list[stream.Interface]
    refused: Signal
    offered: list[Signal]
    read_done: list[ReadDoneInterface]
    serves: list[Signal]


@dataclass(frozen=True)
class Uops:
    """State of the uops in collection, per warp; masks of tags.

    Parameters
    ----------
    busy : uops in collection.
    complete : those whose operands are there, at the clock edge.
    completes : those whose operands are there at the end of this cycle, insertion in it left out.
    taken : those that a unit has chosen.
    kinds : per tag the uop's unit, one bit of each.
    lasts : per tag the number of its operands' last read, one bit of each.
    allocated : the tag of the uop that issues.
    tags, from_tag : the tag of the warp's next uop, behind which its uops stand in program order, and the
        mask of that tag and those above it.
    """

    busy: Sequence[Signal]
    complete: Sequence[Signal]
    completes: Sequence[Signal]
    taken: Sequence[Signal]
    kinds: Sequence[Sequence[Signal]]
    lasts: Sequence[Sequence[Signal]]
    allocated: Sequence[Signal]
    tags: Sequence[Signal]
    from_tag: Sequence[Signal]


class Chosen:
    """Uop that a unit has chosen, and what the collector has read for it.

    Parameters
    ----------
    warps, window : collectors, and uops in each.
    name : of the signals.

    Attributes
    ----------
    valid : the unit has one.
    warp, tag : masks: its collector, and its tag in it.
    entry : mask: the uop among those of all collectors.
    number : of the collector.
    step : mask: the read that comes next; `last`, the one with which it is dispatched.
    """

    def __init__(self, warps: int, window: int, name: str) -> None:
        self.valid = Signal(name=f"chosen_{name}")
        self.warp = Signal(warps, name=f"chosen_warp_{name}")
        self.tag = Signal(window, name=f"chosen_tag_{name}", reset_less=True)
        self.entry = Signal(warps * window, name=f"chosen_entry_{name}", reset_less=True)
        self.number = Signal(range(warps), name=f"chosen_number_{name}", reset_less=True)
        self.step, self.last = (Signal(STEPS, name=f"{kind}_{name}") for kind in ("step", "last"))

    def of(self, masks: Sequence[Value]) -> Value:
        """Bit of the uop in masks of tags, one per warp."""
        return (self.entry & Cat(masks)).any()


@dataclass(frozen=True)
class Departure:
    """Reads and departure of a collector in this cycle.

    Parameters
    ----------
    tag : mask: the uop that it reads operands of.
    step : mask: that read.
    places : entry that each read port reads.
    gone : mask: the uop that leaves.
    taken : mask: uops that a unit has chosen, in the next cycle.
    """

    tag: Signal
    step: Signal
    places: list[Signal]
    gone: Signal
    taken: Signal


def dispatch(
    m: Module,
    config: SmConfig,
    boc: DispatchPorts,
    uops: Uops,
    places: Sequence[Sequence[Value]],
    blocked: Value,
) -> tuple[list[Chosen], list[Departure]]:
    """Dispatch uops to the units, one from a collector and cycle. BOW, section IV-A.

    Each unit chooses one cycle ahead: by rotating priority a collector that has a complete uop for it at the
    end of the cycle, and of these uops the oldest; else the uop that issues, if that is for it. A unit that
    is free reads its uop's operands, and takes the uop with the last of them. A collector reads for the last
    in the order of `Unit` of those units. Memory uops of a warp leave in program order.

    Parameters
    ----------
    boc : `warpbank.hdl.collector.boc.Boc`, whose ports `dispatch`, `refused`, `offered` and `read_done` are
        driven here.
    uops : the uops in collection.
    places : per warp and tag, the numbers of the entries of the uop's operands, one behind the other.
    blocked : mask of collectors that read for somebody else.

    Returns what each unit has chosen, and what each collector does.
    """
    warps, window = range(len(uops.busy)), len(uops.busy[0])
    layout = data.StructLayout(
        {name: field.shape for name, field in dispatch_layout(config) if name != "collector"}
    )
    rows = m.submodules.uops = Memory(shape=layout, depth=len(warps) * window, init=[])
    write_at(m, rows, boc.entry, _kept(m, boc.issue.payload, layout), boc.issue.valid)
    chosen = [Chosen(len(warps), window, str(unit)) for unit in range(UNITS)]
    accepts = [one.valid & port.ready for one, port in zip(chosen, boc.dispatch, strict=True)]
    complete = [Signal(name=f"is_complete_{unit}") for unit in range(UNITS)]
    m.d.comb += [here.eq(one.of(uops.complete)) for here, one in zip(complete, chosen, strict=True)]
    m.d.comb += boc.refused.eq(
        Cat(
            one.valid & here & ~port.ready
            for one, here, port in zip(chosen, complete, boc.dispatch, strict=True)
        ).any()
    )
    wins = _winners(m, chosen, accepts, blocked)
    leaves, free, ends = [], [], []
    for unit, (one, win, here, port) in enumerate(zip(chosen, wins, complete, boc.dispatch, strict=True)):
        m.d.comb += [
            port.valid.eq(win.any() & here & (one.step & one.last).any()),
            port.payload.collector.eq(one.number),
        ]
        leaves.append(port.valid & port.ready)
        ends.append(Signal(name=f"ends_{unit}"))  # its uop leaves if it wins its collector
        m.d.comb += ends[unit].eq(here & (one.step & one.last).any() & port.ready)
        free.append(Signal(name=f"chooses_{unit}"))
        m.d.comb += free[unit].eq(~one.valid | ~here | leaves[unit])
        m.d.comb += boc.serves[unit].eq(win.any() & accepts[unit])
        with m.If(boc.serves[unit]):
            m.d.sync += one.step.eq(one.step << 1)
    taken = _choose(m, config, boc, uops, chosen, free)
    # Each unit looks up where its operands are; who may read is found out meanwhile.
    width = len(places[0][0]) // MAX_SOURCES
    shown = []
    for unit, one in enumerate(chosen):
        row = Signal(width * MAX_SOURCES, name=f"places_for_{unit}")
        m.d.comb += row.eq(pick(one.entry, [own for of_warp in places for own in of_warp]))
        slots = [row.word_select(slot, width) for slot in range(MAX_SOURCES)]
        shown.append([pick(one.step, slots[port::BOC_READS]) for port in range(BOC_READS)])
    found = []
    for warp in warps:
        tag, gone = (Signal(window, name=f"{name}_{warp}") for name in ("reads", "gone"))
        step, after = Signal(STEPS, name=f"step_of_{warp}"), Signal(window, name=f"taken_next_{warp}")
        reads = Cat(win[warp] & accept for win, accept in zip(wins, accepts, strict=True))
        done = Cat(win[warp] & end for win, end in zip(wins, ends, strict=True))
        loses = Cat(one.valid & one.warp[warp] & ~here for one, here in zip(chosen, complete, strict=True))
        at = [one.tag for one in chosen]
        m.d.comb += [
            tag.eq(pick(reads, at)),
            step.eq(pick(reads, [one.step for one in chosen])),
            gone.eq(pick(done, at)),
            after.eq(uops.taken[warp] & ~gone & ~pick(loses, at) | taken[warp]),
        ]
        wanted = [Signal(width, name=f"wanted_{warp}_{port}") for port in range(BOC_READS)]
        m.d.comb += [
            place.eq(pick_at_once(reads, [own[port] for own in shown])) for port, place in enumerate(wanted)
        ]
        found.append(Departure(tag, step, wanted, gone, after))
        m.d.comb += boc.offered[warp].eq(warp * window + encode(tag))
    # A unit is shown the uop that it chose, whoever reads: it looks only where its uop is valid.
    held = [read_at(m, rows, entry).as_value() for entry in range(len(warps) * window)]
    for unit, (one, port) in enumerate(zip(chosen, boc.dispatch, strict=True)):
        uop = record(layout, name=f"uop_for_{unit}")
        m.d.comb += uop.eq(pick(one.entry, held))
        m.d.comb += [getattr(port.payload, name).eq(getattr(uop, name)) for name, _ in layout]
    for number, read in enumerate(boc.read_done):
        leaves_now = found[number // window].gone[number % window]
        m.d.comb += read.slots.eq(leaves_now.replicate(MAX_SOURCES))
    return chosen, found


def _winners(m: Module, chosen: Sequence[Chosen], accepts: Sequence[Value], blocked: Value) -> list[Signal]:
    """Per unit the collector of its uop, unless that reads for a unit behind it in the order of `Unit`, or
    is `blocked`. It does not depend on whether the unit itself is free."""
    wins = []
    for unit, one in enumerate(chosen):
        win = Signal(len(one.warp), name=f"wins_{unit}")
        behind = list(zip(chosen[unit + 1 :], accepts[unit + 1 :], strict=True))
        # All those behind it are asked at once: each comes late.
        m.d.comb += win.eq(
            Cat(
                one.valid
                & here
                & ~Cat(blocked[warp], *(accept & other.warp[warp] for other, accept in behind)).any()
                for warp, here in enumerate(one.warp)
            )
        )
        wins.append(win)
    return wins


def _choose(
    m: Module,
    config: SmConfig,
    boc: DispatchPorts,
    uops: Uops,
    chosen: Sequence[Chosen],
    free: Sequence[Signal],
) -> list[Value]:
    """Let each unit that is `free` to choose do so for the next cycle. Returns per collector the mask of the
    uops that are chosen."""
    warps, window = range(len(uops.busy)), len(uops.busy[0])
    issue = boc.issue.payload
    # A uop without sources has a read, too: the first.
    last, more = Signal(STEPS, name="last_of_issue"), Signal(STEPS, name="reads_of_issue")
    m.d.comb += more.eq(
        Cat(Const(1), *(issue.uop.source_valid[BOC_READS * step :].any() for step in range(1, STEPS)))
    )
    m.d.comb += last.eq(more & ~(more >> 1))
    oldest: list[list[Choice]] = []
    for warp in warps:
        for tag, register in enumerate(uops.lasts[warp]):
            with m.If(uops.allocated[warp][tag]):
                m.d.sync += register.eq(last)
        free_uops = uops.busy[warp] & ~uops.taken[warp]
        masks: list[Value] = [Cat(kind[unit] for kind in uops.kinds[warp]) for unit in range(UNITS)]
        args = uops.tags[warp], f"memory_{warp}", uops.from_tag[warp]
        masks[Unit.LSU] = soonest(m, free_uops & masks[Unit.LSU], *args).one_hot
        oldest.append([])
        for unit, mask in enumerate(masks):
            ready = Signal(window, name=f"of_{Unit(unit).name.lower()}_{warp}")
            m.d.comb += ready.eq(uops.completes[warp] & free_uops & mask)
            oldest[warp].append(
                soonest(m, ready, uops.tags[warp], f"oldest_{warp}_{unit}", uops.from_tag[warp])
            )
    memory = Cat(
        (busy & Cat(kind[Unit.LSU] for kind in kinds)).any()
        for busy, kinds in zip(uops.busy, uops.kinds, strict=True)
    )
    issuer = Cat(allocated.any() for allocated in uops.allocated)
    taken: list[Value] = [Const(0, window) for _ in warps]
    for unit, one in enumerate(chosen):
        mask = Signal(len(warps), name=f"for_{Unit(unit).name.lower()}")
        pointer = Signal(warps, name=f"pointer_{unit}")
        m.d.comb += mask.eq(Cat(of_unit[unit].any for of_unit in oldest))
        choice = soonest(m, mask, pointer, f"unit_{unit}")
        fresh = issuer & ~memory if unit == Unit.LSU else issuer
        issues = Signal(len(warps), name=f"issues_for_{unit}")
        m.d.comb += issues.eq(Mux(~choice.any & (issue.uop.unit == unit), fresh, 0))
        with m.If(free[unit]):
            m.d.sync += [
                one.valid.eq(choice.any | issues.any()),
                one.warp.eq(choice.one_hot | issues),
                one.number.eq(choice.index | encode(issues)),
                one.tag.eq(
                    pick(choice.one_hot, [of_unit[unit].one_hot for of_unit in oldest])
                    | pick(issues, uops.allocated)
                ),
                one.step.eq(1),
                one.last.eq(
                    pick(
                        choice.one_hot,
                        [pick(of[unit].one_hot, row) for of, row in zip(oldest, uops.lasts, strict=True)],
                    )
                    | Mux(issues.any(), last, 0)
                ),
            ]
            with m.If(choice.any):
                m.d.sync += pointer.eq(choice.after)
        now = [
            Mux(choice.one_hot[warp], oldest[warp][unit].one_hot, 0)
            | Mux(issues[warp], uops.allocated[warp], 0)
            for warp in warps
        ]
        with m.If(free[unit]):
            m.d.sync += one.entry.eq(Cat(now))
        taken = [before | Mux(free[unit], mine, 0) for before, mine in zip(taken, now, strict=True)]
    return taken


def _kept(m: Module, issue: Record, layout: data.StructLayout) -> Record:
    """Fields of an issued uop that are kept for its dispatch."""
    kept = record(layout)
    uop, result = issue.uop, kept.result
    m.d.comb += [kept.memory.eq(uop.memory), kept.lines.eq(uop.lines), kept.passes.eq(uop.passes)]
    m.d.comb += [
        getattr(result, name).eq(getattr(uop, name))
        for name in ("seq", "destination", "count", "predicates_written", "mask", "part")
    ]
    m.d.comb += [
        result.warp.eq(issue.warp),
        result.fence.eq(uop.memory == Op.FENCE),
        result.near.eq(uop.near[MAX_SOURCES]),
    ]
    return kept
