"""Results in the bypassing operand collectors: which go into one, and which values leave for the banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.collector.boc_values import Values
from warpbank.hdl.collector.window import Entries
from warpbank.hdl.interfaces import ResultOfferInterface, WriteBack, WriteBackInterface
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.round_robin import first_number, lowest, pick, soonest
from warpbank.hdl.typed import record


@dataclass(frozen=True)
class Claim:
    """Result port of one collector, in this cycle.

    Parameters
    ----------
    entry : mask: the entry for which the result that has the port is meant.
    arrived : `entry` if that result is written in this cycle; else 0.
    write : what is written, on which lanes.
    """

    entry: Signal
    arrived: Signal
    write: WriteBackInterface


def claim(
    m: Module,
    config: SmConfig,
    states: Sequence[Entries],
    offers: Sequence[ResultOfferInterface],
    first: Value,
    keep: Sequence[WriteBackInterface],
    evicts: bool,
) -> list[Claim]:
    """Decide which results go into a collector, wait for its port, or need no bank. BOW, section IV-A.

    Parameters
    ----------
    config : machine.
    states : entries of the collectors.
    offers : port `result` of `warpbank.hdl.collector.boc.Boc`.
    first : its port `first`.
    keep : its port `keep`.
    evicts : results go nowhere else.

    Returns the ports of the collectors.
    """
    taken = Cat(offer.taken for offer in offers)
    finds, claims, ports = [], [], []
    for warp, state in enumerate(states):
        here = _meant(m, state, offers, str(warp))
        mine = Signal(UNITS, name=f"mine_{warp}")
        m.d.comb += mine.eq(
            Cat(
                offer.valid & (offer.payload.warp == warp) & mask.any()
                for offer, mask in zip(offers, here, strict=True)
            )
        )
        port = soonest(m, mine, first, f"port_{warp}")
        finds.append(mine)
        ports.append(port.one_hot)
        write = WriteBack(config).create(path=("kept", warp))
        entry, arrived = (Signal(len(state.valid), name=f"{name}_{warp}") for name in ("claimed", "arrived"))
        payload = record(offers[0].payload.shape(), name=f"kept_{warp}")
        m.d.comb += [
            entry.eq(pick(port.one_hot, here)),
            payload.as_value().eq(pick(port.one_hot, [offer.payload.as_value() for offer in offers])),
            write.valid.eq((port.one_hot & taken).any()),
            write.value.eq(pick(port.one_hot, [one.value for one in keep])),
            arrived.eq(Mux(write.valid, entry, 0)),
            *(
                getattr(write, name).eq(getattr(payload, name))
                for name in ("warp", "seq", "register", "mask")
            ),
        ]
        claims.append(Claim(entry, arrived, write))
    found, granted = Signal(UNITS), Signal(UNITS)
    m.d.comb += [found.eq(reduce(or_, finds)), granted.eq(reduce(or_, ports))]
    for unit, (offer, written) in enumerate(zip(offers, keep, strict=True)):
        m.d.comb += [
            offer.held.eq(found[unit] & ~granted[unit]),
            offer.absorbed.eq(granted[unit] & int(evicts)),
            written.valid.eq(offer.taken & granted[unit]),
            *(
                getattr(written, name).eq(getattr(offer.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ),
        ]
    return claims


def _meant(m: Module, state: Entries, offers: Sequence[ResultOfferInterface], name: str) -> list[Signal]:
    """Entries of a collector that expect the registers offered, a mask per offer, whoever's result it is."""
    expects = Signal(len(state.valid), name=f"expects_{name}")
    m.d.comb += expects.eq(state.valid & state.reserved & (~state.passed | state.owed))
    here = [Signal(len(state.valid), name=f"here_{name}_{unit}") for unit in range(len(offers))]
    m.d.comb += [
        mask.eq(expects & state.named(offer.payload.register))
        for mask, offer in zip(here, offers, strict=True)
    ]
    return here


def write_back(
    m: Module,
    evicted: stream.Interface,
    states: Sequence[Entries],
    pinned: Sequence[Value],
    values: Sequence[Values],
) -> list[Value]:
    """Bus of a sub-core to the banks, for one dirty value that has left its window. BOW, section IV-B.

    Parameters
    ----------
    evicted : port `evicted` of `warpbank.hdl.collector.boc.Boc`.
    states : entries of the collectors.
    pinned : entries that a uop in collection reads, per collector.
    values : values of the collectors.

    Returns per collector the mask of entries whose value the banks take in this cycle.
    """
    leaving, leaves = [], []
    for warp, state in enumerate(states):
        leaving.append(Signal(len(state.valid), name=f"leaving_{warp}"))
        leaves.append(Signal(len(state.valid), name=f"leaves_{warp}"))
        m.d.comb += [
            leaving[warp].eq(state.valid & state.owed & state.passed & ~pinned[warp]),
            leaves[warp].eq(lowest(leaving[warp])),
        ]
    pointer = Signal(range(len(states)), name="bus_pointer")
    choice = soonest(m, Cat(mask.any() for mask in leaving), pointer, "bus")
    parts = [
        kept.parts(m, first_number(leaving[warp]), (kept.entry & leaves[warp]).any(), choice.one_hot[warp])
        for warp, kept in enumerate(values)
    ]
    m.d.comb += [
        evicted.valid.eq(choice.any),
        evicted.payload.warp.eq(choice.index),
        evicted.payload.register.eq(
            pick(
                choice.one_hot,
                [pick(mask, state.registers) for mask, state in zip(leaves, states, strict=True)],
            )
        ),
        evicted.payload.value.eq(
            reduce(or_, (old for old, _ in parts)) | reduce(or_, (new for _, new in parts))
        ),
    ]
    goes = evicted.valid & evicted.ready
    with m.If(goes):
        m.d.sync += pointer.eq(choice.after)
    wrote: list[Value] = []
    for warp, leaves_ in enumerate(leaves):
        mask = Signal(len(leaves_), name=f"written_back_{warp}")
        m.d.comb += mask.eq(Mux(goes & choice.one_hot[warp], leaves_, 0))
        wrote.append(mask)
    return wrote
