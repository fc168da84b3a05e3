"""Mapped netlist as arrays: kinds of cells with their delay tables, pins, ways through cells, and ends of
paths.

A node is a net with an edge. A row is a way from one node to another: through a timing arc of a cell, out of
the clock, or through a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from warpbank.synth.delay_tables import Floats, Ints, Tables
from warpbank.synth.liberty import LAUNCH, SETUP, Arc, Cell, Library
from warpbank.synth.mapped import Instance, Netlist, sorted_cells
from warpbank.synth.timing import EDGES, BoxTiming, driver, launching, loads, passes

#: Cause and edge of each way through an arc, by its sense.
_BOTH = ((0, 0), (1, 0), (0, 1), (1, 1))
_FORMS = {"positive_unate": ((0, 0), (1, 1)), "negative_unate": ((1, 0), (0, 1))}
#: Tables of an arc: of delay and slew, by edge.
_ENTRIES = ("cell_rise", "cell_fall", "rise_transition", "fall_transition")


class Lists:
    """Lists of places that have one key each."""

    def __init__(self, keys: Ints, size: int) -> None:
        self._places = np.argsort(keys, kind="stable")
        self._begin = np.searchsorted(keys[self._places], np.arange(size + 1))

    def of(self, keys: Ints) -> tuple[Ints, Ints]:
        """Places of each key, one list after the other, and where each list begins."""
        begin = self._begin[keys]
        many = self._begin[keys + 1] - begin
        first = np.cumsum(many) - many
        return self._places[np.repeat(begin - first, many) + np.arange(many.sum())], first


class _Rows:
    """Rows as they are found, nodes before what follows from them."""

    def __init__(self, nets: int) -> None:
        self.level = [0] * (2 * nets)
        self._whole: list[tuple[int, int, int, int]] = []
        self._rest: list[tuple[int, int, float, float]] = []

    def node(self) -> int:
        """A node that is no net's."""
        self.level += [0, 0]
        return len(self.level) - 2

    def add(
        self,
        source: int,
        out: int,
        cell: int = -1,
        slot: int = 0,
        tables: tuple[int, int] = (0, 0),
        constant: float = 0.0,
        measured: float = -1.0,
    ) -> None:
        """Add a row: through an arc of a cell, or by tables of delay and slew."""
        self.level[out] = max(self.level[out], self.level[source] + 1)
        self._whole.append((source, out, cell, slot))
        self._rest.append((*tables, constant, measured))

    def sorted(self) -> tuple[Ints, Floats]:
        """Whole numbers and the rest, a row each, sorted by level and node."""
        whole = np.array(self._whole, np.int64).reshape(-1, 4)
        order = np.lexsort((whole[:, 1], np.array(self.level)[whole[:, 1]]))
        return whole[order], np.array(self._rest, np.float64).reshape(-1, 4)[order]


class NetlistArrays:
    """Netlist whose cells change, as arrays.

    Parameters
    ----------
    net : the netlist; checked.
    library : its cells.
    boxes : timing of the memories that are black boxes, by cell type.
    load : of an output, in fF.
    families : cells that a cell may become, by its name; those of a family have pins and arcs of one form.

    Attributes
    ----------
    kinds, area : name of each kind of cell, and its um2.
    kind : of each cell of the netlist, -1 for a memory.
    tables : delay tables of all kinds.
    capacitance : by kind and place of a pin among its inputs, in fF.
    place : place of each net, from 1.
    loads : of each net, in fF.
    pin_net, pin_cell, pin_place : of each input pin, its net, its cell, and its place among the inputs.
    source, out : node at either side of each row, rows by their level, sources before what follows from them.
        The nodes of the net at place n are 2 n, which rises, and 2 n + 1; node 0 is the clock edge.
    cell, slot : cell that a row leads through, -1 for none, and which of its arcs.
    nodes : how many there are.
    end_node : node of each end of paths.
    """

    def __init__(
        self,
        net: Netlist,
        library: Library,
        boxes: Mapping[str, BoxTiming],
        load: float,
        families: Mapping[str, list[Cell]],
    ) -> None:
        self._net, self._library, self._boxes = net, library, boxes
        types = {cell.type for cell in net.cells if cell.type not in boxes} | {library.flop.name}
        types |= {kind.name for name in types for kind in families.get(name, ())}
        self.kinds = sorted(types)
        self.number = {name: number for number, name in enumerate(self.kinds)}
        self.area = np.array([library[name].area for name in self.kinds])
        self.kind = np.array([self.number.get(cell.type, -1) for cell in net.cells], np.int64)
        self._read_kinds()
        self._place_nets()
        self._read_pins(load)
        self._read_rows(load)
        self._read_ends()
        self.tables.close()

    # --- What it is made of.

    def _read_kinds(self) -> None:
        """Tables of each kind's arcs and setups, and its pins."""
        self.tables = Tables()
        cells = [self._library[name] for name in self.kinds]
        self._arcs = [
            [(pin.name, arc) for pin in cell.outputs for arc in pin.arcs if _timed(cell, arc)]
            for cell in cells
        ]
        self._setups = [
            [(pin.name, arc) for pin in cell.inputs if not pin.clock for arc in pin.arcs if arc.kind in SETUP]
            if cell.state or cell.gate
            else []
            for cell in cells
        ]
        self._inputs = [sorted(pin.name for pin in cell.inputs) for cell in cells]
        arcs, setups, inputs = (max(1, *map(len, of)) for of in (self._arcs, self._setups, self._inputs))
        #: By kind, arc and entry.
        self._arc_tables = np.zeros((len(cells), arcs, len(_ENTRIES)), np.int64)
        self._setup_tables = np.zeros((len(cells), setups, len(EDGES)), np.int64)
        self.capacitance = np.zeros((len(cells), inputs))
        for kind, cell in enumerate(cells):
            for slot, (_, arc) in enumerate(self._arcs[kind]):
                self._arc_tables[kind, slot] = [self._table(arc, entry) for entry in _ENTRIES]
            for slot, (_, arc) in enumerate(self._setups[kind]):
                self._setup_tables[kind, slot] = [self._table(arc, f"{edge}_constraint") for edge in EDGES]
            for place, name in enumerate(self._inputs[kind]):
                self.capacitance[kind, place] = cell.pins[name].capacitance

    def _table(self, arc: Arc, entry: str) -> int:
        return self.tables.add(arc.tables[entry]) if entry in arc.tables else 0

    def _place_nets(self) -> None:
        """Places of the nets, from 1; place 0 is the clock edge that all paths start from."""
        ports = (bit for bits in (*self._net.inputs.values(), *self._net.outputs.values()) for bit in bits)
        pins = (bit for cell in self._net.cells for bit in cell.pins.values())
        self.place = {bit: place for place, bit in enumerate(dict.fromkeys((*ports, *pins)), 1)}

    def _read_pins(self, load: float) -> None:
        """Input pins of the cells, and what else loads a net."""
        pins = [
            (self.place[cell.pins[pin]], index, place)
            for index, cell in enumerate(self._net.cells)
            if cell.type not in self._boxes
            for place, pin in enumerate(self._inputs[self.kind[index]])
            if pin in cell.pins
        ]
        self.pin_net, self.pin_cell, self.pin_place = np.array(pins, np.int64).reshape(-1, 3).T
        self._pins = Lists(self.pin_cell, len(self.kind))
        self.loads = np.zeros(len(self.place) + 1)
        for bit, value in loads(self._net, self._library, self._boxes, load, 1.0).items():
            self.loads[self.place[bit]] = value

    def _read_rows(self, load: float) -> None:
        """Rows of all arcs."""
        rows = _Rows(len(self.place) + 1)
        arc = launching(self._library, load)
        for name, bits in self._net.inputs.items():
            for edge, word in enumerate(EDGES) if name != "clk" else ():
                tables = self._table(arc, f"cell_{word}"), self._table(arc, f"{word}_transition")
                for bit in bits if tables[0] else ():
                    rows.add(0, 2 * self.place[bit] + edge, tables=tables)
        forms = [[_FORMS.get(arc.sense, _BOTH) for _, arc in arcs] for arcs in self._arcs]
        number = {id(cell): index for index, cell in enumerate(self._net.cells)}
        for cell, outs in sorted_cells(self._net, passes(self._library, self._boxes)):
            if cell.type in self._boxes:
                self._read_box(rows, cell)
                continue
            index = number[id(cell)]
            kind = int(self.kind[index])
            for slot, (pin, arc) in enumerate(self._arcs[kind]):
                if pin not in outs or pin not in cell.pins:
                    continue
                out = 2 * self.place[cell.pins[pin]]
                if arc.kind in LAUNCH:
                    for edge, word in enumerate(EDGES):
                        if f"cell_{word}" in arc.tables:
                            rows.add(0, out + edge, index, slot)
                elif arc.related in cell.pins:
                    source = 2 * self.place[cell.pins[arc.related]]
                    for cause, edge in forms[kind][slot]:
                        rows.add(source + cause, out + edge, index, slot)
        whole, rest = rows.sorted()
        self.source, self.out, self.cell, self.slot = whole.T
        self._given, self._constant, self._measured = rest[:, :2].astype(np.int64), rest[:, 2], rest[:, 3]
        self.nodes = len(rows.level)
        self.loads = np.append(self.loads, np.zeros(self.nodes // 2 - len(self.loads)))  # others have none
        level = np.array(rows.level)
        nodes = np.unique(self.out)
        nodes = nodes[np.argsort(level[nodes], kind="stable")]
        self._by_level = np.split(nodes, np.flatnonzero(np.diff(level[nodes])) + 1)
        self._cuts = list(pairwise([*np.flatnonzero(np.diff(level[self.out], prepend=0)), len(self.out)]))
        self._into, self._from = Lists(self.out, self.nodes), Lists(self.source, self.nodes)
        self._through = Lists(np.where(self.cell >= 0, self.cell, len(self.kind)), len(self.kind) + 1)

    def _read_box(self, rows: _Rows, cell: Instance) -> None:
        """Rows of a memory: from the clock to data, and from the last of its addresses."""
        timing, buffer = self._boxes[cell.type], driver(self._library).outputs[0]
        data = [2 * self.place[net] for pin, net in cell.pins.items() if pin.startswith("RD_DATA")]
        starts = [(0, timing.clock)]
        if timing.address:
            last = rows.node()
            for pin, net in cell.pins.items():
                for edge in (0, 1) if pin.startswith("RD_ADDR") else ():
                    rows.add(2 * self.place[net] + edge, last)
            starts.append((last, timing.address))
        for edge, word in enumerate(EDGES):
            arc = next(arc for arc in buffer.arcs if f"cell_{word}" in arc.tables)
            tables = self._table(arc, f"cell_{word}"), self._table(arc, f"{word}_transition")
            for out in data:
                for start, constant in starts:
                    rows.add(start, out + edge, tables=tables, constant=constant, measured=timing.load)

    def _read_ends(self) -> None:
        """Ends of paths: a node; the cell and the setup of its kind, or a constant."""
        found: list[tuple[int, int, int, int, float]] = []
        flop = self.number[self._library.flop.name]

        def end(net: int, cell: int, kind: int, pin: str) -> None:
            for slot, (name, _) in enumerate(self._setups[kind]):
                for edge in (0, 1) if name == pin else ():
                    found.append((2 * self.place[net] + edge, cell, kind, slot, 0.0))

        for bits in self._net.outputs.values():
            for bit in bits:
                end(bit, -1, flop, self._library.flop.data)
        for index, cell in enumerate(self._net.cells):
            if cell.type in self._boxes:
                for pin, bit in cell.pins.items():
                    margin = self._boxes[cell.type].before(pin)
                    if margin is not None:
                        found += [(2 * self.place[bit] + edge, -1, -1, 0, margin) for edge in (0, 1)]
                continue
            kind = int(self.kind[index])
            for pin in dict.fromkeys(pin for pin, _ in self._setups[kind]):
                if pin in cell.pins:
                    end(cell.pins[pin], index, kind, pin)
        *whole, margins = zip(*found, strict=True) if found else [()] * 5
        self.end_node, self._end_cell, self._end_kind, self._end_slot = (
            np.array(one, np.int64) for one in whole
        )
        self._end_constant = np.array(margins, np.float64)
        self._captured = Lists(
            np.where(self._end_cell >= 0, self._end_cell, len(self.kind)), len(self.kind) + 1
        )

    # --- What belongs to a cell.

    def rows_of(self, cells: Ints) -> tuple[Ints, Ints]:
        """Rows through cells, and the place of each one's cell among them."""
        return _with_owners(*self._through.of(cells))

    def pins_of(self, cells: Ints) -> tuple[Ints, Ints]:
        """Input pins of cells, and the place of each one's cell among them."""
        return _with_owners(*self._pins.of(cells))

    def pin_load(self, pins: Ints) -> Floats:
        """Load that input pins are, in fF."""
        return self.capacitance[self.kind[self.pin_cell[pins]], self.pin_place[pins]]

    def named(self, pins: Ints) -> list[tuple[int, str]]:
        """Cell and name of each input pin."""
        cells, places = self.pin_cell[pins].tolist(), self.pin_place[pins].tolist()
        return [
            (cell, self._inputs[self.kind[cell]][place]) for cell, place in zip(cells, places, strict=True)
        ]

    def nets_of(self, cell: int) -> set[int]:
        """Places of the nets at a cell's pins."""
        cells = np.array([cell])
        before, behind = self.pin_net[self.pins_of(cells)[0]], self.out[self.rows_of(cells)[0]] >> 1
        return {*before.tolist(), *behind.tolist()}


def _with_owners(places: Ints, first: Ints) -> tuple[Ints, Ints]:
    return places, np.searchsorted(first, np.arange(len(places)), side="right") - 1


def _timed(cell: Cell, arc: Arc) -> bool:
    """Test whether an arc at an output lets a value through, or launches one."""
    if cell.state:
        return arc.kind in LAUNCH
    return not cell.gate and arc.kind in ("combinational", "") and "cell_rise" in arc.tables
