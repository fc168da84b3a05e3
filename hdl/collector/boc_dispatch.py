"""Dispatch from the bypassing operand collectors to the execution units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, Unit
from warpbank.arch.uop import Memory as Op
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import AlwaysInterface, ReadDoneInterface
from warpbank.hdl.layouts import UNITS, dispatch_layout
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
    busy: Sequence[Signal],
    complete: Sequence[Signal],
    kinds: Sequence[Sequence[Signal]],
    tags: Sequence[Signal],
    from_tag: Sequence[Signal],
) -> list[Choice]:
    """Dispatch uops to the units that are free, one from a collector and cycle. BOW, section IV-A.

    Each unit chooses, by rotating priority, a collector with a complete uop for it. Of several free units
    that choose one collector the last in the order of `Unit` takes its uop, the oldest of those for it; the
    others take nothing. All units choose at once. Memory uops of a warp leave in program order.

    Parameters
    ----------
    boc : `warpbank.hdl.collector.boc.Boc`, whose ports `dispatch`, `refused`, `offered` and `read_done` are
        driven here.
    busy, complete : per warp its uops in collection, and those of them whose operands are there, by tag.
    kinds : per warp and tag the uop's unit, one bit of each.
    tags, from_tag : per warp the tag of its next uop, behind which its uops stand in program order, and the
        mask of that tag and those above it.

    Returns per warp the tag of the uop that goes; `any` and `one_hot` are 0 if none does.
    """
    warps, window = range(len(complete)), len(complete[0])
    layout = data.StructLayout(
        {name: field.shape for name, field in dispatch_layout(config) if name != "collector"}
    )
    uops = m.submodules.uops = Memory(shape=layout, depth=len(warps) * window, init=[])
    write_at(m, uops, boc.entry, _kept(m, boc.issue.payload, layout), boc.issue.valid)
    ready = []
    for warp in warps:
        masks: list[Value] = [Cat(kind[unit] for kind in kinds[warp]) for unit in range(UNITS)]
        first = soonest(m, busy[warp] & masks[Unit.LSU], tags[warp], f"memory_{warp}", from_tag[warp])
        masks[Unit.LSU] = first.one_hot
        ready.append([Signal(window, name=f"of_{Unit(unit).name.lower()}_{warp}") for unit in range(UNITS)])
        m.d.comb += [of.eq(complete[warp] & mask) for of, mask in zip(ready[warp], masks, strict=True)]
    choices = []
    for unit, port in enumerate(boc.dispatch):
        mask = Signal(len(warps), name=f"for_{Unit(unit).name.lower()}")
        pointer = Signal(warps, name=f"pointer_{unit}")
        m.d.comb += mask.eq(Cat(of_unit[unit].any() for of_unit in ready))
        choices.append(soonest(m, mask, pointer, f"unit_{unit}"))
        with m.If(port.valid & port.ready):
            m.d.sync += pointer.eq(choices[unit].after)
    m.d.comb += boc.refused.eq(
        Cat(choice.any & ~port.ready for choice, port in zip(choices, boc.dispatch, strict=True)).any()
    )
    wins = _winners(m, choices, [port.ready for port in boc.dispatch])
    goes, held = [], []
    for warp, of_unit in enumerate(ready):
        candidates = Signal(window, name=f"candidates_{warp}")
        m.d.comb += candidates.eq(
            pick(Cat(win[warp] & port.ready for win, port in zip(wins, boc.dispatch, strict=True)), of_unit)
        )
        goes.append(soonest(m, candidates, tags[warp], f"goes_{warp}", from_tag[warp]))
        held.append(Signal(layout.size, name=f"held_{warp}"))
        rows = [read_at(m, uops, warp * window + tag).as_value() for tag in range(window)]
        m.d.comb += [
            held[warp].eq(pick(goes[warp].one_hot, rows)),
            boc.offered[warp].eq(warp * window + goes[warp].index),
        ]
    for unit, (choice, win, port) in enumerate(zip(choices, wins, boc.dispatch, strict=True)):
        uop = record(layout, name=f"uop_for_{unit}")
        m.d.comb += [
            uop.eq(pick(choice.one_hot, held)),
            port.valid.eq(win.any()),
            port.payload.collector.eq(choice.index),
        ]
        m.d.comb += [getattr(port.payload, name).eq(getattr(uop, name)) for name, _ in layout]
    for number, done in enumerate(boc.read_done):
        gone = goes[number // window].one_hot[number % window]
        m.d.comb += done.slots.eq(gone.replicate(MAX_SOURCES))
    return goes


def _winners(m: Module, choices: Sequence[Choice], accepts: Sequence[Value]) -> list[Signal]:
    """Per unit the collector that it chose, unless a unit behind it in the order of `Unit` is free and chose
    the same one. It does not depend on whether the unit itself is free."""
    wins = []
    for unit, choice in enumerate(choices):
        win = Signal(len(choice.one_hot), name=f"wins_{unit}")
        taken: Value = Const(0, len(win))
        for other, accept in zip(choices[unit + 1 :], accepts[unit + 1 :], strict=True):
            taken = taken | Mux(accept, other.one_hot, 0)
        m.d.comb += win.eq(choice.one_hot & ~taken)
        wins.append(win)
    return wins


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
