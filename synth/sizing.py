"""Sizing of a mapped netlist that misses its clock by little: cells of its slowest paths become larger ones
of the same function.

The mapper sizes gates between registers, and sees neither what loads a register nor the time of a memory.
Here both count: paths are timed as `warpbank.synth.timing` has it, and after a change only what hangs on it
is timed again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpbank.synth.liberty import LAUNCH, Arc, Cell, Library
from warpbank.synth.mapped import Instance, Netlist, sorted_cells
from warpbank.synth.timing import EDGES, Arrival, BoxTiming, Timer, passes, setup

#: Least gain in ns for which a cell becomes larger, and what an um2 has to bring, in ns.
_LEAST, _WORTH = 0.00005, 0.00005
#: Difference in ns that a change has to make at a net for what follows to be timed again.
_NOTICED = 0.00001


def resize(
    net: Netlist, library: Library, boxes: Mapping[str, BoxTiming], load: float, clock: float
) -> dict[str, str]:
    """Make cells of the slowest paths of `net` larger until it meets the clock, or no cell alone brings more.
    Returns the new type of each cell that has another one, by its name.

    Parameters
    ----------
    net : the netlist; checked. Its cells change.
    library, boxes, load : as of `warpbank.synth.timing.Timer`.
    clock : in ns.
    """
    sizer = Sizer(net, library, boxes, load)
    before = {cell.name: cell.type for cell in net.cells}
    sizer.run(clock)
    return {cell.name: cell.type for cell in net.cells if cell.type != before[cell.name]}


def families(library: Library) -> dict[str, list[Cell]]:
    """Cells of the same pins and functions, smallest first, by the name of each. Clock gates, latches and
    cells that may not be used have none."""
    found: dict[object, list[Cell]] = {}
    for cell in library:
        if cell.usable and not cell.gate and not cell.latch:
            pins = tuple(sorted((pin.name, pin.output, pin.function) for pin in cell.pins.values()))
            found.setdefault((pins, cell.state, cell.following, cell.clocked), []).append(cell)
    for family in found.values():
        family.sort(key=lambda cell: (cell.area, cell.name))
    return {cell.name: family for family in found.values() for cell in family}


@dataclass(frozen=True)
class _Hop:
    """Hop of a path: the net that it settles with the edge that counts, the net and edge that it follows from
    (-1: none), and the place of the cell that drives it (-1: an input of the unit)."""

    place: int
    net: int
    edge: int
    source: int
    cause: int


class Sizer(Timer):
    """Timer of a netlist whose cells change, with the parameters of `Timer`.

    Attributes
    ----------
    order : cells in an order in which a value is computed before it is used, each with its output pins; a
        cell's place is that in this order.
    """

    def __init__(self, net: Netlist, library: Library, boxes: Mapping[str, BoxTiming], load: float) -> None:
        super().__init__(net, library, boxes, load)
        self._families = families(library)
        self.order = sorted_cells(net, passes(library, boxes))
        places: dict[str, list[int]] = {}
        for place, (cell, _) in enumerate(self.order):
            places.setdefault(cell.name, []).append(place)
        #: Places of the cells that have several, one for each output.
        self._together = {name: these for name, these in places.items() if len(these) > 1}
        self._driver: dict[int, int] = {}
        self._users: dict[int, list[int]] = {}
        for place, (cell, outs) in enumerate(self.order):
            self._driver.update((cell.pins[pin], place) for pin in outs if pin in cell.pins)
            if cell.type in boxes or not (library[cell.type].state or library[cell.type].gate):
                for bit in dict.fromkeys(bit for pin, bit in cell.pins.items() if pin not in outs):
                    self._users.setdefault(bit, []).append(place)
        self._inputs = {bit for name, bits in net.inputs.items() if name != "clk" for bit in bits}
        self._where = list(self._ends())
        self._of: dict[int, list[int]] = {}
        for number, (bit, *_) in enumerate(self._where):
            self._of.setdefault(bit, []).append(number)
        self._late = [self._time_to(number) for number in range(len(self._where))]
        self._queue = [(-late, number) for number, late in enumerate(self._late)]
        heapq.heapify(self._queue)

    def run(self, clock: float) -> float:
        """Make cells larger until the slowest path takes `clock` ns, or nothing brings more. Returns what it
        takes then.

        A change stays if its path is faster afterwards, and no other one slower than that was. One that did
        not stay is tried again, behind all others, when the cells around it have changed.
        """
        changes, tried = 0, dict[tuple[int, str], int]()  # what was tried, and after how many changes
        while True:
            end = self._slowest()
            delay = self._late[end]
            if delay <= clock:
                return delay
            gains = self._gains(self._hops(end))
            for place, kind in sorted(gains, key=lambda gain: (gain[0], gain[1].name) in tried):
                if tried.get((place, kind.name)) == changes:
                    continue
                before = self._library[self.order[place][0].type]
                self.change(place, kind)
                if self._late[end] < delay and self._late[self._slowest()] <= delay:
                    changes += 1
                    break
                tried[place, kind.name] = changes
                self.change(place, before)
            else:
                return delay

    # --- Ends of paths.

    def _time_to(self, number: int) -> float:
        """Delay of the slowest path to an end, in ns; below 0 if there is none."""
        bit, edge, margin, _ = self._where[number]
        at = self._at.get(bit)
        if at is None or at.time[edge] < 0:
            return -1.0
        return float(at.time[edge] + margin(at.slew[edge], edge))

    @property
    def delay(self) -> float:
        """Delay of the slowest path, in ns."""
        return self._late[self._slowest()]

    def _slowest(self) -> int:
        """Number of the end of the slowest path."""
        while -self._queue[0][0] != self._late[self._queue[0][1]]:
            heapq.heappop(self._queue)
        return self._queue[0][1]

    def _later_ends(self, bit: int) -> None:
        """Time the ends at a net again."""
        for number in self._of.get(bit, ()):
            late = self._time_to(number)
            if late != self._late[number]:
                self._late[number] = late
                heapq.heappush(self._queue, (-late, number))

    def _hops(self, number: int) -> list[_Hop]:
        """Hops of the slowest path to an end, the launching one first."""
        here: tuple[int, int] | None = self._where[number][0], self._where[number][1]
        hops = []
        while here is not None:
            net, edge = here
            here = self._at[net].why[edge][1]
            source, cause = (-1, 0) if here is None else here
            hops.append(_Hop(self._driver.get(net, -1), net, edge, source, cause))
        return hops[::-1]

    # --- What a larger cell brings.

    def _gains(self, hops: list[_Hop]) -> list[tuple[int, Cell]]:
        """Cells of a path, by place, and what they may become, the largest gain first."""
        found: list[tuple[float, int, Cell]] = []
        for index, hop in enumerate(hops):
            now = self.order[hop.place][0].type if hop.place >= 0 else ""
            for kind in self._families.get(now, []):
                more = kind.area - self._library[now].area
                if more > 0:
                    gain = self._gain(hops, index, kind) - _WORTH * more
                    found += [(gain, index, kind)] * (gain > _LEAST)
        found.sort(key=lambda one: (-one[0], one[1]))
        return [(hops[index].place, kind) for _, index, kind in found]

    def _gain(self, hops: list[_Hop], index: int, kind: Cell) -> float:
        """Time in ns that a path gains by another type of one cell: at the cell, before it, where its pin is
        larger, and behind it, where its slew counts."""
        hop = hops[index]
        cell = self.order[hop.place][0]
        old = self._library[cell.type]
        own = slew_before = 0.0
        if index:
            before = hops[index - 1]
            more = sum(
                kind.pins[pin].capacitance - old.pins[pin].capacitance
                for pin, bit in cell.pins.items()
                if bit == hop.source and not kind.pins[pin].output
            )
            load = self._loads[before.net]
            slew_before = self._slew_into(hops, index - 1)
            was, slew = self._through_hop(before, None, slew_before, load)
            becomes, later = self._through_hop(before, None, slew_before, load + more)
            own, slew_before, slew_old = was - becomes, later, slew
        else:
            slew_old = 0.0
        was, slew = self._through_hop(hop, old, slew_old, self._loads.get(hop.net, 0.0))
        becomes, faster = self._through_hop(hop, kind, slew_before, self._loads.get(hop.net, 0.0))
        own += was - becomes
        if index + 1 < len(hops):
            behind = hops[index + 1]
            load = self._loads.get(behind.net, 0.0)
            own += (
                self._through_hop(behind, None, slew, load)[0]
                - self._through_hop(behind, None, faster, load)[0]
            )
        return own

    def _slew_into(self, hops: list[_Hop], index: int) -> float:
        """Slew at the input of a hop."""
        return self._at[hops[index].source].slew[hops[index].cause] if index else 0.0

    def _through_hop(self, hop: _Hop, kind: Cell | None, slew: float, load: float) -> tuple[float, float]:
        """Delay and slew behind a hop, with another type of its cell where one is given. 0 and the slew for
        what is not a cell of the library."""
        if hop.place < 0:
            return self._by(self._launch, hop.edge, 0.0, load)
        cell = self.order[hop.place][0]
        if cell.type in self._boxes:
            return 0.0, slew
        kind = kind or self._library[cell.type]
        pin = next(name for name, bit in cell.pins.items() if bit == hop.net and kind.pins[name].output)
        found = [
            self._by(arc, hop.edge, 0.0 if kind.state else slew, load)
            for arc in kind.pins[pin].arcs
            if f"cell_{EDGES[hop.edge]}" in arc.tables
            and (arc.kind in LAUNCH if kind.state else cell.pins.get(arc.related) == hop.source)
        ]
        return max(found, default=(0.0, slew))

    @staticmethod
    def _by(arc: Arc, edge: int, slew: float, load: float) -> tuple[float, float]:
        name = EDGES[edge]
        if f"cell_{name}" not in arc.tables:
            return 0.0, slew
        return arc.tables[f"cell_{name}"].at(slew, load), arc.tables[f"{name}_transition"].at(slew, load)

    # --- Changes.

    def change(self, place: int, kind: Cell) -> None:
        """Give a cell another type, and time again what hangs on it."""
        cell = self.order[place][0]
        old = self._library[cell.type]
        cell.type = kind.name
        again = {place, *self._together.get(cell.name, ())}
        for pin, bit in cell.pins.items():
            if not kind.pins[pin].output and bit in self._loads:
                self._loads[bit] += kind.pins[pin].capacitance - old.pins[pin].capacitance
                if bit in self._driver:
                    again.add(self._driver[bit])
                elif bit in self._inputs:
                    self._at.pop(bit, None)
                    self._start(bit, self._library.flop.name, self._launch, f"input {self._net.name(bit)}")
                    self._later_ends(bit)
                    again.update(self._users.get(bit, ()))
        if kind.state:
            self._set_up(cell, kind)
        self._time_again(again)

    def _set_up(self, cell: Instance, kind: Cell) -> None:
        """Give the ends at a register its setup time."""
        label = next(
            f"register {self._net.name(cell.pins[pin.name])}" for pin in kind.outputs if pin.name in cell.pins
        )
        for pin, bit in cell.pins.items():
            for number in self._of.get(bit, ()):
                if self._where[number][3] == label and not kind.pins[pin].clock:
                    self._where[number] = (bit, self._where[number][1], setup(kind, pin), label)
            self._later_ends(bit)

    def _time_again(self, places: Iterable[int]) -> None:
        """Time cells again, and all those to which that makes a difference."""
        waiting = list(places)
        heapq.heapify(waiting)
        last = -1
        while waiting:
            place = heapq.heappop(waiting)
            if place == last:
                continue
            last = place
            cell, outs = self.order[place]
            bits = [cell.pins[pin] for pin in outs if pin in cell.pins]
            before = [self._at.pop(bit, None) for bit in bits]
            self._settle(cell, outs)
            for bit, old in zip(bits, before, strict=True):
                new = self._at.get(bit)
                if _differ(old, new):
                    self._later_ends(bit)
                    for user in self._users.get(bit, ()):
                        heapq.heappush(waiting, user)


def _differ(old: Arrival | None, new: Arrival | None) -> bool:
    """Test whether a net settles at another time, or with another slew, so that it matters."""
    if old is None or new is None:
        return old is not new
    return any(
        abs(one - other) > _NOTICED
        for before, after in ((old.time, new.time), (old.slew, new.slew))
        for one, other in zip(before, after, strict=True)
    )
