"""Sizing of a mapped netlist that misses its clock by little: cells of its slowest paths become larger ones
of their function, and cells that only load these paths become smaller ones.

The mapper sizes gates between registers, and sees neither what loads a register nor the time of a memory.
Here both count: paths are timed as `warpbank.synth.timing` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warpbank.synth.delay_tables import Floats, Ints
from warpbank.synth.liberty import Arc, Cell, Library
from warpbank.synth.mapped import Netlist
from warpbank.synth.timing import BoxTiming
from warpbank.synth.timing_graph import Graph

#: Least gain in ns for which a cell is exchanged, and what an um2 more has to bring, in ns.
_LEAST, _WORTH = 0.00005, 0.00005
#: Paths that are worked on are the slowest: those within this share of what the slowest is late by, and this
#: time in ns.
_SHARE, _SLOWEST = 0.05, 0.002
#: How much wider that becomes after a round of changes that left less than `_ENOUGH` of their lateness, how
#: much narrower after one that made no change, and at what width in ns there is an end.
_WIDER, _NARROWER, _ENOUGH, _END = 1.3, 0.6, 0.9, 0.00005
#: Slack in ns that a way through a cell keeps when the cell becomes slower, and how many times the loss has
#: to fit in beside it: other cells of that way may become slower, too.
_KEPT, _TIMES = 0.02, 4.0
#: Groups of changes that are tried in a round, and rounds.
_TRIES, _ROUNDS = 32, 400
#: Steps in ns and fF by which a slope is found.
_SLEW, _LOAD = 0.001, 0.1


def families(library: Library) -> dict[str, list[Cell]]:
    """Cells of the same pins, functions and arcs, smallest first, by the name of each. Clock gates, latches
    and cells that may not be used have none."""
    found: dict[object, list[Cell]] = {}
    for cell in library:
        if cell.usable and not cell.gate and not cell.latch:
            pins = tuple(
                (pin.name, pin.output, pin.function, _arcs(pin.arcs))
                for pin in sorted(cell.pins.values(), key=lambda pin: pin.name)
            )
            found.setdefault((pins, cell.state, cell.following, cell.clocked), []).append(cell)
    for family in found.values():
        family.sort(key=lambda cell: (cell.area, cell.name))
    return {cell.name: family for family in found.values() for cell in family}


def _arcs(arcs: tuple[Arc, ...]) -> tuple[object, ...]:
    return tuple((arc.related, arc.kind, arc.sense, tuple(sorted(arc.tables))) for arc in arcs)


@dataclass(frozen=True)
class _Change:
    """Exchange of a cell for one of another kind, and what it seems to bring, in ns."""

    gain: float
    cell: int
    kind: int


class Sizer:
    """Sizer of a netlist, with the parameters of `warpbank.synth.timing.Timer`.

    Attributes
    ----------
    graph : the netlist's timing graph, whose cells change.
    """

    def __init__(self, net: Netlist, library: Library, boxes: Mapping[str, BoxTiming], load: float) -> None:
        self._net, kinds = net, families(library)
        self.graph = Graph(net, library, boxes, load, kinds)
        most = max((len(kinds.get(name, ())) for name in self.graph.kinds), default=0)
        #: By kind, the kinds of its family, and -1 after them.
        self._family = np.full((len(self.graph.kinds), most), -1, np.int64)
        for number, name in enumerate(self.graph.kinds):
            for place, kind in enumerate(kinds.get(name, ())):
                self._family[number, place] = self.graph.number[kind.name]
        #: Cells and kinds that brought nothing since paths became faster, or that were left for others.
        self._vain: set[tuple[int, int]] = set()

    @property
    def delay(self) -> float:
        """Delay of the slowest path, in ns."""
        return float(self.graph.ends.max(initial=0.0))

    def run(self, clock: float) -> float:
        """Exchange cells until the slowest path takes `clock` ns, or nothing brings more. Returns what it
        takes then: the least there was."""
        kind, least = self.graph.kind.copy(), self.delay
        width = self.delay - clock
        for _ in range(_ROUNDS):
            late = self.delay - clock
            if late <= 0 or width < _END:
                break
            width = min(width, _SHARE * late + _SLOWEST, late)
            aim = self.delay - width
            before = self._lateness(aim)
            taken = self._take(self._changes(aim), aim)
            after = self._lateness(aim)
            if after < before:
                self._vain.clear()
            if self.delay < least:
                kind, least = self.graph.kind.copy(), self.delay
            width *= _WIDER if after < _ENOUGH * before else 1.0 if taken else _NARROWER
        changed = np.flatnonzero(kind != self.graph.kind)
        self.graph.exchange(changed, kind[changed])
        return self.delay

    def apply(self) -> None:
        """Give the netlist's cells the types that they have here."""
        for cell, kind in zip(self._net.cells, self.graph.kind.tolist(), strict=True):
            if kind >= 0:
                cell.type = self.graph.kinds[kind]

    def by_load(self, aim: float) -> Floats:
        """Loss of all paths of more than `aim` ns by each fF more on a net, in ns, by the net's place."""
        return self._critical(aim)[3].reshape(-1, 2).sum(1)

    def _lateness(self, aim: float) -> float:
        """Sum of the squares of what paths take longer than `aim` ns: the latest ones count most."""
        return float((np.maximum(self.graph.ends - aim, 0.0) ** 2).sum())

    def _take(self, changes: list[_Change], aim: float) -> bool:
        """Make changes after which paths are no later: all at once, or else in groups of half as many.
        Returns whether any was made.

        One that leaves the lateness as it is counts: where several paths to an end are equally late, each of
        them has to become faster before the end does.
        """
        late, groups, taken = self._lateness(aim), [changes] if changes else [], False
        for _ in range(_TRIES):
            if not groups:
                break
            group = groups.pop()
            cells = np.array([one.cell for one in group])
            old = self.graph.kind[cells].tolist()
            saved = self.graph.exchange(cells, np.array([one.kind for one in group]))
            now = self._lateness(aim)
            if now <= late:
                late, taken = now, True
                self._vain.update(zip(cells.tolist(), old, strict=True))  # not back again
                continue
            saved.restore()
            half = len(group) // 2
            if half:
                groups += [group[half:], group[:half]]
            else:
                self._vain.add((group[0].cell, group[0].kind))
        return taken

    # --- What a change seems to bring.

    def _changes(self, aim: float) -> list[_Change]:
        """Changes that seem to make paths of more than `aim` ns faster, the largest gain first, no two of
        them at one net."""
        found = [one for one in self._gains(aim) if (one.cell, one.kind) not in self._vain]
        found.sort(key=lambda one: (-one.gain, one.cell, one.kind))
        chosen, taken = [], set[int]()
        for one in found:
            nets = self.graph.nets_of(one.cell)
            if taken.isdisjoint(nets):
                taken |= nets
                chosen.append(one)
        return chosen

    def _gains(self, aim: float) -> list[_Change]:
        """Changes that seem to bring something: at the cell; at what drives it, where its pins are larger or
        smaller; and at what follows, where its slew counts. None that makes another path late."""
        graph = self.graph
        weight, critical, by_slew, by_load = self._critical(aim)
        by_net = by_load.reshape(-1, 2).sum(1)
        through = graph.cell[critical]
        cells = np.union1d(through[through >= 0], graph.pin_cell[by_net[graph.pin_net] > 0])
        rows, of_row = graph.rows_of(cells)
        reached = graph.arrival[graph.source[rows]] >= 0
        rows, of_row = rows[reached], of_row[reached]
        out = graph.out[rows]
        decides = np.zeros(len(graph.source), bool)
        decides[critical] = True
        heavy = np.where(decides[rows], weight[out], 0.0)
        slopes = np.where(decides[rows], by_slew[out], 0.0)
        slack = graph.required(aim)[out] - graph.delay[rows] - graph.arrival[graph.source[rows]]
        delay, after = self._pass(rows, graph.kind[graph.cell[rows]])
        pins, of_pin = graph.pins_of(cells)
        now = graph.kind[cells]
        found: list[_Change] = []
        for kinds in self._family[now].T:
            gain = -_WORTH * np.maximum(graph.area[kinds] - graph.area[now], 0.0)
            more = graph.capacitance[kinds[of_pin], graph.pin_place[pins]]
            more = more - graph.capacitance[now[of_pin], graph.pin_place[pins]]
            gain -= np.bincount(of_pin, more * by_net[graph.pin_net[pins]], len(cells))
            its_delay, its_slew = self._pass(rows, kinds[of_row])
            less = heavy * (delay - its_delay) + slopes * (after - its_slew)
            gain += np.bincount(of_row, less, len(cells))
            loss = its_delay - delay + np.maximum(its_slew - after, 0.0)
            spoilt = (heavy == 0) & (loss > 0) & (slack - _TIMES * loss < _KEPT)
            gain[of_row[spoilt]] = 0.0
            gain[(kinds < 0) | (kinds == now)] = 0.0
            found += [
                _Change(float(gain[place]), int(cells[place]), int(kinds[place]))
                for place in np.flatnonzero(gain > _LEAST)
            ]
        return found

    def _critical(self, aim: float) -> tuple[Floats, Ints, Floats, Floats]:
        """Weight of each node in paths of more than `aim` ns, the rows that these lead through, and `_slopes`
        of both."""
        deciding = self.graph.deciding()
        weight = self.graph.weights(aim, deciding) / max(self.delay - aim, _END)
        critical = deciding[weight[self.graph.out[deciding]] > 0]
        return weight, critical, *self._slopes(weight, critical)

    def _slopes(self, weight: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """Loss of all ends by each ns of a node's slew, and by each fF of its load, where they wait for these
        rows."""
        graph = self.graph
        times, slews, slew, load = graph.look_up(rows)
        at, out = graph.tables.at, graph.out[rows]
        delay = at(times, slew, load)
        by_slew, by_load = np.zeros(len(weight)), np.zeros(len(weight))
        more = (at(times, slew + _SLEW, load) - delay) / _SLEW
        np.add.at(by_slew, graph.source[rows], weight[out] * more)
        more = (at(times, slew, load + _LOAD) - delay) / _LOAD
        slower = (at(slews, slew, load + _LOAD) - at(slews, slew, load)) / _LOAD
        by_load[out] = weight[out] * more + by_slew[out] * slower
        return by_slew, by_load

    def _pass(self, rows: Ints, kinds: Ints) -> tuple[Floats, Floats]:
        """Delay of rows through cells of these kinds, and slew behind them, in ns."""
        times, slews, slew, load = self.graph.look_up(rows, kinds)
        return self.graph.tables.at(times, slew, load), self.graph.tables.at(slews, slew, load)
