"""Results in the bypassing operand collectors: which go into one, and which values leave for the banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.collector.window import Entries
from warpbank.hdl.interfaces import NextResultInterface, ResultOfferInterface, WriteBack, WriteBackInterface
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.round_robin import encode, lowest, pick, soonest
from warpbank.hdl.typed import record


@dataclass(frozen=True)
class Claim:
    """Result that a sub-core's collectors take in this cycle.

    Parameters
    ----------
    entries : per collector, the mask of the entry for which the chosen result is meant.
    arrived : per collector, `entries` if that result is taken in this cycle; else 0.
    write : what is taken, on which lanes.
    """

    entries: list[Signal]
    arrived: list[Signal]
    write: WriteBackInterface


def claim(
    m: Module,
    config: SmConfig,
    states: Sequence[Entries],
    named: Sequence[Sequence[Value]],
    pinned: Sequence[Value],
    offers: Sequence[ResultOfferInterface],
    first: Value,
    keep: Sequence[WriteBackInterface],
    evicts: bool,
    full: Value,
    expecting: Sequence[Signal],
) -> Claim:
    """Choose the result that goes to a collector, and say which wait for their turn or need no bank. BOW,
    section IV-A.

    Parameters
    ----------
    config : machine.
    states : entries of the collectors.
    named : per collector and unit the entries for the register that the unit offers, of that warp.
    pinned : entries that a uop in collection reads or a result waits for, per collector.
    offers : port `result` of `warpbank.hdl.collector.boc.Boc`.
    first : its port `first`.
    keep : its port `keep`.
    evicts : results go nowhere else.
    full : none can be taken.
    expecting : per collector the entries that expect a result, from registers; none: they are found here.
    """
    taken = Cat(offer.taken for offer in offers)
    found = Signal(UNITS, name="found")
    masks = []
    for warp, state in enumerate(states):
        expects, mine = (
            Signal(len(state.valid), name=f"expects_{warp}"),
            [Signal(len(state.valid), name=f"meant_{warp}_{unit}") for unit in range(len(offers))],
        )
        m.d.comb += [
            expects.eq(
                expecting[warp]
                if expecting
                else state.valid & state.reserved & (~state.passed | pinned[warp] | state.owed)
            ),
            *(
                mask.eq(expects & here if expecting else Mux(offer.valid, expects & here, 0))
                for mask, here, offer in zip(mine, named[warp], offers, strict=True)
            ),
        ]
        masks.append(mine)
    meant = Cat(Cat(mine[unit] for mine in masks).any() for unit in range(UNITS))
    # Where the entries are known from registers, whether a result is offered at all is known after them.
    m.d.comb += found.eq(meant & Cat(offer.valid for offer in offers) if expecting else meant)
    port = soonest(m, found, first, "result_port")
    granted = Signal(UNITS)
    m.d.comb += granted.eq(Mux(full, 0, port.one_hot))
    write = WriteBack(config).create(path=("kept",))
    payload = record(offers[0].payload.shape(), name="kept_payload")
    m.d.comb += [
        payload.as_value().eq(pick(granted, [offer.payload.as_value() for offer in offers])),
        write.valid.eq((granted & taken).any()),
        write.value.eq(pick(granted, [one.value for one in keep])),
        *(getattr(write, name).eq(getattr(payload, name)) for name in ("warp", "seq", "register", "mask")),
    ]
    entries, arrived = [], []
    for warp, mine in enumerate(masks):
        entry, arrives = (Signal(len(mine[0]), name=f"{name}_{warp}") for name in ("claimed", "arrived"))
        m.d.comb += [entry.eq(pick(granted, mine)), arrives.eq(Mux(write.valid, entry, 0))]
        entries.append(entry)
        arrived.append(arrives)
    for unit, (offer, written) in enumerate(zip(offers, keep, strict=True)):
        m.d.comb += [
            offer.held.eq(found[unit] & ~granted[unit]),
            offer.absorbed.eq(granted[unit] & int(evicts)),
            # With write-back a result for a collector needs no bank, whether it has its turn or not.
            offer.barred.eq(found[unit] if evicts else offer.held),
            written.valid.eq(offer.taken & granted[unit]),
            *(
                getattr(written, name).eq(getattr(offer.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ),
        ]
    return Claim(entries, arrived, write)


def look_ahead(
    m: Module,
    state: Entries,
    named: Sequence[Signal],
    upcoming: Sequence[NextResultInterface],
    taken: Value,
    warp: int,
) -> None:
    """Find the entries of a collector for the registers that the units offer in the next cycle.

    An entry that is given to a register in this cycle is for no result that is offered in the next one: its
    uop is not dispatched before that. So the entries are compared as they are.

    Parameters
    ----------
    state : entries of the collector.
    named : per unit the entries for its register, from registers; driven here.
    upcoming : port `upcoming` of `warpbank.hdl.collector.boc.Boc`.
    taken : entries that are given to a register in this cycle.
    warp : of the collector.
    """
    for unit, (mask, following) in enumerate(zip(named, upcoming, strict=True)):
        found = Signal(len(mask), name=f"found_{warp}_{unit}")
        m.d.comb += found.eq(Mux(following.warp == warp, state.named(following.register), 0))
        m.d.sync += mask.eq(Mux(following.changes, found, mask) & ~taken)


@dataclass(frozen=True)
class Bus:
    """Bus of a sub-core to the banks.

    Parameters
    ----------
    valid : it has chosen a value; `has` : and read it.
    warps, number : the value's collector, as a mask and as a number.
    entry, place : its entry, as a mask and as a number.
    register : its register.
    reads : collectors that read for it in this cycle: one at most; from registers.
    stays : what it has chosen is still to be written.
    value : what it has read.
    wrote : per collector the mask of entries whose value the banks take in this cycle.
    """

    valid: Signal
    has: Signal
    warps: Signal
    number: Signal
    entry: Signal
    place: Signal
    register: Signal
    reads: Signal
    stays: Signal
    value: Signal
    wrote: list[Signal]


def write_back(
    m: Module,
    evicted: stream.Interface,
    states: Sequence[Entries],
    pinned: Sequence[Value],
    values: Sequence[Value],
) -> Bus:
    """Bus of a sub-core to the banks, for one dirty value that has left its window. BOW, section IV-B.

    It chooses a value, reads it in the next cycle, and offers it from then on, until the banks take it or a
    uop uses it.

    Parameters
    ----------
    evicted : port `evicted` of `warpbank.hdl.collector.boc.Boc`.
    states : entries of the collectors.
    pinned : entries that a uop in collection reads, per collector.
    values : what the collectors read for the bus.
    """
    size = len(states[0].valid)
    valid, has = Signal(name="bus_valid"), Signal(name="bus_has")
    # The value comes late: a register for each half of the collectors, one of which holds 0.
    half = -(-len(states) // 2)
    halves = [Signal.like(values[0], name=f"bus_value_{number}", reset_less=True) for number in range(2)]
    value = Signal.like(values[0], name="bus_value")
    warps = Signal(len(states), name="bus_warps", reset_less=True)
    number = Signal(range(len(states)), name="bus_warp", reset_less=True)
    entry = Signal(size, name="bus_entry", reset_less=True)
    place = Signal(bits(size), name="bus_place", reset_less=True)
    register = Signal(REGISTER_WIDTH, name="bus_register", reset_less=True)
    leaving, first = [], []
    for warp, state in enumerate(states):
        leaving.append(Signal(size, name=f"leaving_{warp}"))
        first.append(Signal(size, name=f"leaves_{warp}"))
        others = leaving[warp] & ~Mux(valid & warps[warp], entry, 0)
        m.d.comb += [
            leaving[warp].eq(state.valid & state.owed & state.passed & ~pinned[warp]),
            first[warp].eq(lowest(others)),
        ]
    pointer = Signal(range(len(states)), name="bus_pointer")
    choice = soonest(m, Cat(mask.any() for mask in first), pointer, "bus")
    # Collectors dispatch nothing while they read for the bus: their mask stands in a register for that.
    reads, stays = Signal(len(states), name="bus_reads"), Signal(name="bus_stays")
    m.d.comb += [
        value.eq(halves[0] | halves[1]),
        stays.eq(
            Cat(valid & at & (mask & entry).any() for at, mask in zip(warps, leaving, strict=True)).any()
        ),
        evicted.valid.eq(stays & has),
        evicted.payload.warp.eq(number),
        evicted.payload.register.eq(register),
        evicted.payload.value.eq(value),
    ]
    goes = evicted.valid & evicted.ready
    with m.If(reads.any()):
        m.d.sync += [
            halves[0].eq(pick(reads[:half], values[:half])),
            halves[1].eq(pick(reads[half:], values[half:]) if half < len(states) else 0),
        ]
    m.d.sync += [has.eq(stays & ~goes), reads.eq(Mux(goes | ~stays, choice.one_hot, 0))]
    with m.If(goes | ~stays):
        m.d.sync += [
            valid.eq(choice.any),
            warps.eq(choice.one_hot),
            number.eq(choice.index),
            entry.eq(pick(choice.one_hot, first)),
            place.eq(encode(pick(choice.one_hot, first))),
            register.eq(
                pick(
                    choice.one_hot,
                    [pick(mask, state.registers) for mask, state in zip(first, states, strict=True)],
                )
            ),
        ]
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
    wrote = []
    for warp in range(len(states)):
        wrote.append(Signal(size, name=f"written_back_{warp}"))
        m.d.comb += wrote[warp].eq(Mux(goes & warps[warp], entry, 0))
    return Bus(valid, has, warps, number, entry, place, register, reads, stays, value, wrote)
