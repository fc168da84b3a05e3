"""Timing closure of a mapped netlist that misses its clock by little: cells of other sizes, and buffers for
what has time to spare, in turn, until it meets the clock or neither brings more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from warpbank.synth import buffering
from warpbank.synth.buffering import Insertion
from warpbank.synth.liberty import Library
from warpbank.synth.mapped import Netlist
from warpbank.synth.sizing import Sizer
from warpbank.synth.timing import BoxTiming

#: Share of what the slowest path is late by that a turn has to gain for there to be one more, and how many
#: there are at most.
_SHARE, _TURNS = 0.1, 12


@dataclass
class Changes:
    """Changes of a netlist.

    Parameters
    ----------
    types : new type of each cell that has another one, by its name; none of an inserted buffer.
    inserted : buffers, in order: one may drive another.
    """

    types: dict[str, str] = field(default_factory=dict)
    inserted: list[Insertion] = field(default_factory=list)


def close(
    net: Netlist,
    library: Library,
    boxes: Mapping[str, BoxTiming],
    load: float,
    clock: float,
    tell: Callable[[str], None] = lambda _: None,
) -> Changes:
    """Exchange cells of `net` and insert buffers until it meets the clock, or nothing brings more.

    Parameters
    ----------
    net : the netlist; checked. Its cells change.
    library, boxes, load : as of `warpbank.synth.timing.Timer`.
    clock : in ns.
    tell : is told what is being done.
    """
    changes = Changes()
    if not net.cells:
        return changes
    old = [cell.type for cell in net.cells]
    sizer = Sizer(net, library, boxes, load)
    reached = sizer.run(clock)
    sizer.apply()
    for _ in range(_TURNS):
        if reached <= clock:
            break
        before = [cell.type for cell in net.cells]
        inserted = buffering.insert(net, library, sizer.graph, sizer.by_load(clock), clock)
        if not inserted:
            break
        pins = sum(len(one.pins) for one in inserted)
        tell(f"inserting {len(inserted)} buffers for {pins} pins: {reached:.3f} ns")
        sizer = Sizer(net, library, boxes, load)
        now = sizer.run(clock)
        sizer.apply()
        if now > reached - _SHARE * (reached - clock):
            buffering.remove(net, inserted)
            for cell, kind in zip(net.cells, before, strict=True):
                cell.type = kind
            break
        reached = now
        changes.inserted += inserted
    for cell, kind in zip(net.cells, old, strict=False):
        if cell.type != kind:
            changes.types[cell.name] = cell.type
    return changes
