"""Buffer insertion in a mapped netlist that misses its clock by little: pins that have time to spare leave
the nets of its slowest paths and are driven through buffers.

A late net then has less to drive. The mapper inserts buffers where a net has many pins, before it knows which
of them are late.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.synth.delay_tables import Floats
from warpbank.synth.liberty import Cell, Library
from warpbank.synth.mapped import Instance, Netlist
from warpbank.synth.netlist_arrays import Lists
from warpbank.synth.timing import EDGES
from warpbank.synth.timing_graph import Graph

#: Least gain in ns for which a buffer is inserted, and what an um2 has to bring, in ns.
_LEAST, _WORTH = 0.0001, 0.00005
#: Slack in ns that pins behind a buffer keep.
_KEPT = 0.02


@dataclass(frozen=True)
class Insertion:
    """Buffer that drives pins of a net through a net of its own.

    Parameters
    ----------
    buffer : the buffer.
    before, behind : the two nets.
    pins : what it drives: cells, and the pin of each.
    """

    buffer: Instance
    before: int
    behind: int
    pins: tuple[tuple[Instance, str], ...]


def insert(net: Netlist, library: Library, graph: Graph, by_load: Floats, clock: float) -> list[Insertion]:
    """Insert buffers into a netlist. Returns them; none where no buffer seems to bring anything.

    Parameters
    ----------
    net, library : the netlist, whose cells change, and its library.
    graph : its timing graph, which holds for the netlist before.
    by_load : by how much late paths together become later by each fF more on a net, in ns, by the net's place
        in the graph.
    clock : what paths through a buffer have to meet, in ns.
    """
    slack, of_net = graph.pin_slack(clock), Lists(graph.pin_net, len(graph.loads))
    free, inserted = 1 + max(graph.place), list[Insertion]()
    for bit, place in graph.place.items():
        if by_load[place] <= 0:
            continue
        pins, _ = of_net.of(np.array([place]))
        pins = pins[np.argsort(-slack[pins], kind="stable")]
        found = _best(library, graph, place, slack[pins], graph.pin_load(pins), float(by_load[place]))
        if found is None:
            continue
        kind, many = found
        moved = tuple((net.cells[cell], name) for cell, name in graph.named(pins[:many]))
        behind = free + len(inserted)
        (entry,), (output,) = kind.inputs, kind.outputs
        buffer = Instance(f"inserted_{behind}", kind.name, {entry.name: bit, output.name: behind})
        inserted.append(Insertion(buffer, bit, behind, moved))
    for one in inserted:
        _connect(one, one.behind)
    net.cells += [one.buffer for one in inserted]
    return inserted


def remove(net: Netlist, inserted: list[Insertion]) -> None:
    """Remove the buffers that were inserted last."""
    for one in inserted:
        _connect(one, one.before)
    del net.cells[len(net.cells) - len(inserted) :]


def _connect(inserted: Insertion, bit: int) -> None:
    for cell, pin in inserted.pins:
        cell.pins[pin] = bit


def _best(
    library: Library, graph: Graph, place: int, slack: Floats, load: Floats, by_load: float
) -> tuple[Cell, int] | None:
    """Buffer that brings most at a net, and how many of its pins it drives.

    Parameters
    ----------
    place : the net's.
    slack, load : of its pins in ns and fF, that with the largest slack first.
    by_load : of the net, as of `insert`.
    """
    together = np.cumsum(load)
    best, most = None, _LEAST
    for kind in library.buffers:
        many = _fitting(library, graph, kind, place, slack, together)
        if not many:
            continue
        wires = library.wire(len(load)) - library.wire(len(load) - many + 1)
        less = float(together[many - 1]) + wires - kind.inputs[0].capacitance
        gain = by_load * less - _WORTH * kind.area
        if gain > most:
            best, most = (kind, many), gain
    return best


def _fitting(library: Library, graph: Graph, kind: Cell, place: int, slack: Floats, together: Floats) -> int:
    """Number of pins of a net, that with the largest slack first, which have the time for one buffer of this
    kind in front of all of them; `together`: load of the pins up to each, in fF."""
    low, high = 0, int(np.count_nonzero(slack > _KEPT))
    while low < high:
        many = (low + high + 1) // 2
        driven = float(together[many - 1]) + library.wire(many)
        delay = max(
            (
                arc.tables[f"cell_{word}"].at(float(graph.slew[2 * place + edge]), driven)
                for arc in kind.outputs[0].arcs
                for edge, word in enumerate(EDGES)
                if f"cell_{word}" in arc.tables
            ),
            default=np.inf,
        )
        if slack[many - 1] - delay >= _KEPT:
            low = many
        else:
            high = many - 1
    return low
