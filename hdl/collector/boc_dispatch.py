"""Dispatch from the bypassing operand collectors to the execution units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, Unit
from warpbank.arch.uop import Memory as Op
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import UNITS, AlwaysInterface, ReadDoneInterface, dispatch_layout
from warpbank.hdl.round_robin import Choice, pick, soonest
from warpbank.hdl.typed import Record, record


class DispatchPorts(Protocol):
    """The ports of `warpbank.hdl.collector.boc.Boc` that take part in dispatch."""

    issue: AlwaysInterface
    entry: Signal
    dispatch: list[stream.Interface]
    refused: Signal
    offered: list[Signal]
    read_done: list[ReadDoneInterface]


def dispatch(
    m: Module,
    config: SmConfig,
    boc: DispatchPorts,
    oldest: Sequence[Choice],
    issues: Signal,
    tags: Sequence[Signal],
) -> list[Value]:
    """Choose per unit one collector's oldest complete uop, by rotating priority. BOW, section IV-A.

    Parameters
    ----------
    boc : `warpbank.hdl.collector.boc.Boc`, whose ports `dispatch`, `refused`, `offered` and `read_done` are
        driven here.
    oldest : per warp its oldest complete uop, by tag.
    issues : warps that issue in this cycle.
    tags : of the uops that they issue.

    Returns per warp the mask of tags that go.
    """
    warps, window = range(len(oldest)), len(oldest[0].one_hot)
    layout = data.StructLayout(
        {name: field.shape for name, field in dispatch_layout(config) if name != "collector"}
    )
    uops = m.submodules.uops = Memory(shape=layout, depth=len(warps) * window, init=[])
    write_at(m, uops, boc.entry, _kept(m, boc.issue.payload, layout), boc.issue.valid)
    wanted, held = [], []
    for warp, first in enumerate(oldest):
        kind = [Signal(range(UNITS), name=f"kind_{warp}_{tag}", reset_less=True) for tag in range(window)]
        for tag, signal in enumerate(kind):
            with m.If(issues[warp] & (tags[warp] == tag)):
                m.d.sync += signal.eq(boc.issue.payload.uop.unit)
        wanted.append([(first.one_hot & Cat(one == unit for one in kind)).any() for unit in range(UNITS)])
        held.append(Signal(layout.size, name=f"held_{warp}"))
        rows = [read_at(m, uops, warp * window + tag).as_value() for tag in range(window)]
        m.d.comb += [
            held[warp].eq(pick(first.one_hot, rows)),
            boc.offered[warp].eq(warp * window + first.index),
        ]
    goes, refused = [], []
    for unit, port in enumerate(boc.dispatch):
        mask, pointer = (
            Signal(len(warps), name=f"for_{Unit(unit).name.lower()}"),
            Signal(warps, name=f"pointer_{unit}"),
        )
        m.d.comb += mask.eq(Cat(kinds[unit] for kinds in wanted))
        choice, uop = soonest(m, mask, pointer, f"unit_{unit}"), record(layout, name=f"uop_for_{unit}")
        m.d.comb += [
            uop.eq(pick(choice.one_hot, held)),
            port.valid.eq(choice.any),
            port.payload.collector.eq(choice.index),
        ]
        m.d.comb += [getattr(port.payload, name).eq(getattr(uop, name)) for name, _ in layout]
        with m.If(port.valid & port.ready):
            m.d.sync += pointer.eq(choice.after)
        goes.append(Mux(port.ready, choice.one_hot, 0))
        refused.append(port.valid & ~port.ready)
    gone = Signal(len(warps))
    m.d.comb += [gone.eq(reduce(or_, goes)), boc.refused.eq(reduce(or_, refused))]
    masks = [Mux(gone[warp], first.one_hot, 0) for warp, first in enumerate(oldest)]
    for number, done in enumerate(boc.read_done):
        m.d.comb += done.slots.eq(masks[number // window][number % window].replicate(MAX_SOURCES))
    return masks


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
