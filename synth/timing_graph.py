"""Timing graph of a mapped netlist as arrays: arrival times of all its nets as `warpbank.synth.timing` has
them, required times, and what changes when cells are exchanged for others of their function.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpbank.synth.delay_tables import Floats, Ints
from warpbank.synth.liberty import Cell, Library
from warpbank.synth.mapped import Netlist
from warpbank.synth.netlist_arrays import NetlistArrays
from warpbank.synth.timing import SLEW, BoxTiming

Flags = NDArray[np.bool_]

#: Arrival at a node that nothing reaches.
NEVER = -1.0
#: Difference in ns that an exchange has to make at a node for what follows to be timed again.
_NOTICED = 1e-7
#: Difference in ns by which the row that a node waits for may seem to come too early for that.
_NEAR = 1e-5


class Saved:
    """State of a graph before an exchange: places in its arrays, and what stood there."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[Any], Ints, NDArray[Any]]] = []

    def keep(self, array: NDArray[Any], places: Ints) -> None:
        """Save places of an array."""
        self._parts.append((array, places, array[places]))

    def restore(self) -> None:
        """Put back what was saved."""
        for array, places, values in reversed(self._parts):
            array[places] = values


class Graph(NetlistArrays):
    """Arrival times of a netlist whose cells change, with the parameters and attributes of `NetlistArrays`.

    Attributes
    ----------
    arrival, slew : of each node, in ns; `NEVER` where nothing arrives.
    delay : of each row, in ns.
    ends : delay of the paths to each end, in ns.
    """

    def __init__(
        self,
        net: Netlist,
        library: Library,
        boxes: Mapping[str, BoxTiming],
        load: float,
        families: Mapping[str, list[Cell]],
    ) -> None:
        super().__init__(net, library, boxes, load, families)
        self._time()

    # --- Times.

    def _time(self) -> None:
        """Time all nodes and ends."""
        self.arrival, self.slew = np.full(self.nodes, NEVER), np.zeros(self.nodes)
        self.arrival[0] = 0.0
        self.delay = np.zeros(len(self.source))
        self.ends, self._margin = np.zeros(len(self.end_node)), np.zeros(len(self.end_node))
        self._settle(np.ones(self.nodes, bool), Saved())
        self._capture(np.arange(len(self.end_node)))

    def exchange(self, cells: Ints, kinds: Ints) -> Saved:
        """Make each of `cells` one of another kind of its family, and time again what hangs on it. Returns
        what was known before."""
        saved = Saved()
        pins, _ = self._pins.of(cells)
        nets, owner, place = self.pin_net[pins], self.pin_cell[pins], self.pin_place[pins]
        saved.keep(self.kind, cells)
        saved.keep(self.loads, np.unique(nets))
        before = self.capacitance[self.kind[owner], place]
        self.kind[cells] = kinds
        np.add.at(self.loads, nets, self.capacitance[self.kind[owner], place] - before)
        waiting = np.zeros(self.nodes, bool)
        waiting[2 * nets] = waiting[2 * nets + 1] = True
        waiting[self.out[self._through.of(cells)[0]]] = True
        self._settle(waiting, saved)
        late = waiting[self.end_node]
        late[self._captured.of(cells)[0]] = True
        ends = np.flatnonzero(late)
        saved.keep(self.ends, ends)
        saved.keep(self._margin, ends)
        self._capture(ends)
        return saved

    def _settle(self, waiting: Flags, saved: Saved) -> None:
        """Time the nodes that wait for it, and mark and time those to which that makes a difference."""
        for level in self._by_level:
            nodes = level[waiting[level]]
            if not len(nodes):
                continue
            rows, first = self._into.of(nodes)
            saved.keep(self.arrival, nodes)
            saved.keep(self.slew, nodes)
            saved.keep(self.delay, rows)
            old_arrival, old_slew = self.arrival[nodes], self.slew[nodes]
            delay, after = self._through_rows(rows)
            before = self.arrival[self.source[rows]]
            reached = before >= 0
            self.arrival[nodes] = np.maximum.reduceat(np.where(reached, before + delay, NEVER), first)
            self.slew[nodes] = np.maximum.reduceat(np.where(reached, after, 0.0), first)
            self.delay[rows] = delay
            differs = np.abs(self.arrival[nodes] - old_arrival) > _NOTICED
            differs |= np.abs(self.slew[nodes] - old_slew) > _NOTICED
            waiting[self.out[self._from.of(nodes[differs])[0]]] = True

    def _through_rows(self, rows: Ints) -> tuple[Floats, Floats]:
        """Delay of rows, and slew behind them, in ns."""
        times, slews, slew, load = self.look_up(rows)
        delay, after = self.tables.at(times, slew, load), self.tables.at(slews, slew, load)
        boxed = np.flatnonzero(self._measured[rows] >= 0)
        if len(boxed):
            least = np.minimum(load[boxed], self._measured[rows[boxed]])
            more = delay[boxed] - self.tables.at(times[boxed], slew[boxed], least)
            delay[boxed] = self._constant[rows[boxed]] + np.maximum(more, 0.0)
        return delay, after

    def look_up(self, rows: Ints, kind: Ints | None = None) -> tuple[Ints, Ints, Floats, Floats]:
        """Tables of delay and slew of rows, the slew before them in ns, and the load behind them in fF; with
        other kinds of cells where these are given."""
        cell, slot, edge = self.cell[rows], self.slot[rows], self.out[rows] & 1
        kind = self.kind[cell] if kind is None else kind
        times = np.where(cell >= 0, self._arc_tables[kind, slot, edge], self._given[rows, 0])
        slews = np.where(cell >= 0, self._arc_tables[kind, slot, 2 + edge], self._given[rows, 1])
        slew = np.where(self._measured[rows] >= 0, SLEW, self.slew[self.source[rows]])
        return times, slews, slew, self.loads[self.out[rows] >> 1]

    def _capture(self, ends: Ints) -> None:
        """Time ends: what they add, and the delay of their paths."""
        cell, node = self._end_cell[ends], self.end_node[ends]
        kind = np.where(cell >= 0, self.kind[cell], self._end_kind[ends])
        setups = np.where(kind >= 0, self._setup_tables[kind, self._end_slot[ends], node & 1], 0)
        margin = self._end_constant[ends] + self.tables.at(setups, np.zeros(len(ends)), self.slew[node])
        self._margin[ends] = margin
        self.ends[ends] = np.where(self.arrival[node] >= 0, self.arrival[node] + margin, NEVER)

    # --- What is critical.

    def required(self, clock: float) -> Floats:
        """Time in ns at which each node is needed for all paths to take `clock` ns at most."""
        needed = np.full(self.nodes, np.inf)
        np.minimum.at(needed, self.end_node, clock - self._margin)
        for low, high in reversed(self._cuts):
            np.minimum.at(needed, self.source[low:high], needed[self.out[low:high]] - self.delay[low:high])
        return needed

    def pin_slack(self, clock: float) -> Floats:
        """Slack in ns of each input pin, if paths are to take `clock` ns: of the slowest path through it;
        infinite where none leads through. Pins of one cell on one net share one."""
        needed, nets = self.required(clock), len(self.loads)
        keys, which = np.unique(self.pin_cell * nets + self.pin_net, return_inverse=True)
        slack = np.full(len(keys), np.inf)
        rows = np.flatnonzero((self.cell >= 0) & (self.source > 1) & (self.arrival[self.source] >= 0))
        left = needed[self.out[rows]] - self.delay[rows] - self.arrival[self.source[rows]]
        np.minimum.at(slack, np.searchsorted(keys, self.cell[rows] * nets + (self.source[rows] >> 1)), left)
        ends = np.flatnonzero(self._end_cell >= 0)
        key = self._end_cell[ends] * nets + (self.end_node[ends] >> 1)
        np.minimum.at(slack, np.searchsorted(keys, key), clock - self.ends[ends])
        return slack[which]

    def deciding(self) -> Ints:
        """Deciding row of each node, the one that it waits for; sources before what follows from them."""
        before = self.arrival[self.source]
        found = np.flatnonzero((before >= 0) & (before + self.delay > self.arrival[self.out] - _NEAR))
        return found[np.diff(self.out[found], prepend=-1) != 0]

    def weights(self, clock: float, deciding: Ints) -> Floats:
        """Loss of all ends that take longer than `clock` ns by each node's being later, where nodes wait for
        the rows `deciding`. An end counts as much as it is late, in ns."""
        weight = np.zeros(self.nodes)
        late = np.flatnonzero(self.ends > clock)
        np.add.at(weight, self.end_node[late], self.ends[late] - clock)
        cuts = [*np.searchsorted(deciding, [low for low, _ in self._cuts]), len(deciding)]
        for low, high in reversed(list(pairwise(cuts))):
            rows = deciding[low:high]
            np.add.at(weight, self.source[rows], weight[self.out[rows]])
        return weight
