"""Static timing of a mapped netlist from the library's own delay tables: the slowest path, with its start and
end.

One clock edge to the next. A path starts at the clock pin of a register and ends at the setup of another;
ports are taken as registers too: an input comes out of the library's smallest flip-flop, and an output is
captured by one. The clock arrives everywhere at once. A net's load is its pins, and what the library's
default wire-load model says for its fan-out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpbank.synth.liberty import LAUNCH, SETUP, Arc, Cell, Library
from warpbank.synth.mapped import Instance, Netlist, sorted_cells

#: What the numbers are, for a report.
METHOD = (
    "the library's delay tables, clock edge to clock edge with setup, ports as registers, ideal clock, wire "
    "load {wires}; "
    "nothing is placed: the guard band takes 3 times the wire load"
)
#: Times the wire load, for the guard band: nothing is placed.
GUARD = 3.0
#: Slew in ns where none is known: before the last stage of a memory, and at a register by itself.
SLEW = 0.02
EDGES = ("rise", "fall")


@dataclass(frozen=True)
class BoxTiming:
    """Timing of a memory as a black box, in ns.

    Parameters
    ----------
    clock : from the clock edge to data.
    address : from a read address to data; 0 where the address is registered.
    setup : before the next edge, by the beginning of a pin's name; a pin of none has no setup.
    inside : of its own slowest path from register to register, clock edge to clock edge.
    load : of a data pin, in fF, with which it was measured.
    """

    clock: float
    address: float
    setup: Mapping[str, float]
    inside: float = 0.0
    load: float = math.inf

    def before(self, pin: str) -> float | None:
        """Setup of a pin."""
        return next((time for name, time in self.setup.items() if pin.startswith(name)), None)


@dataclass(frozen=True)
class Step:
    """Step of a path through a cell: its output net and when that settles, in ns after the clock edge."""

    cell: str
    net: str
    arrival: float


@dataclass(frozen=True)
class Path:
    """Slowest path, in ns.

    Parameters
    ----------
    delay : from clock edge to clock edge, setup included.
    start, end : what is at its two sides.
    depth : cells between the two registers.
    steps : one for each cell, the launching one first.
    """

    delay: float
    start: str
    end: str
    depth: int
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Path as a JSON object."""
        steps = [
            {"cell": step.cell, "net": step.net, "arrival_ns": round(step.arrival, 4)} for step in self.steps
        ]
        return {
            "delay_ns": round(self.delay, 4),
            "start": self.start,
            "end": self.end,
            "depth": self.depth,
            "steps": steps,
        }


@dataclass
class Arrival:
    """When a net rises and falls, how fast, and why."""

    time: list[float] = field(default_factory=lambda: [-1.0, -1.0])
    slew: list[float] = field(default_factory=lambda: [0.0, 0.0])
    #: Per edge: cell type that drives it, and the net and edge it follows from; None for a start.
    why: list[tuple[str, tuple[int, int] | None, str]] = field(default_factory=lambda: [("", None, "")] * 2)


def passes(library: Library, boxes: Mapping[str, BoxTiming]) -> Any:
    """Dependences within a cycle, for `sorted_cells`."""

    def through(cell: Instance) -> list[tuple[list[str], list[str]]]:
        if cell.type in boxes:
            data = sorted(pin for pin in cell.pins if pin.startswith("RD_DATA"))
            reads = len(str(cell.parameters["RD_CLK_ENABLE"]))
            free = "1" not in str(cell.parameters["RD_CLK_ENABLE"])[-reads:]
            return [(sorted(pin for pin in cell.pins if pin.startswith("RD_ADDR")) if free else [], data)]
        kind = library[cell.type]
        if kind.state or kind.gate:
            return [([], [pin.name for pin in kind.outputs])]
        return [([pin.name for pin in kind.inputs], [pin.name]) for pin in kind.outputs]

    return through


class Timer:
    """Arrival times of all nets.

    Parameters
    ----------
    net : the netlist; checked.
    library : its cells.
    boxes : timing of the memories that are black boxes, by cell type.
    load : of an output, in fF.
    guard : times the wire load.
    begins : with what a path's start may begin: `input NAME`, `register NAME`, `memory NAME`.
    """

    def __init__(
        self,
        net: Netlist,
        library: Library,
        boxes: Mapping[str, BoxTiming],
        load: float,
        guard: float = 1.0,
        begins: tuple[str, ...] = ("",),
    ) -> None:
        self._net, self._library, self._boxes, self._begins = net, library, boxes, begins
        self._loads = loads(net, library, boxes, load, guard)
        self._at: dict[int, Arrival] = {}
        flop, launch = library.flop, launching(library, load)
        for name, nets in net.inputs.items():
            for bit in nets:
                if name != "clk" and f"input {name}".startswith(begins):
                    self._start(bit, flop.name, launch, f"input {net.name(bit)}")
        for cell, outs in sorted_cells(net, passes(library, boxes)):
            self._settle(cell, outs)

    def path(self, *kinds: str) -> Path:
        """The slowest path, or the slowest whose end begins with one of `kinds`. A netlist without any has a
        delay of 0."""
        worst: tuple[float, int, int, str] = (0.0, -1, 0, "")
        for bit, edge, margin, end in self._ends():
            at = self._at.get(bit)
            if at is not None and at.time[edge] >= 0 and end.startswith(kinds or ("",)):
                worst = max(
                    worst,
                    (at.time[edge] + margin(at.slew[edge], edge), bit, edge, end),
                    key=lambda one: one[0],
                )
        delay, bit, edge, end = worst
        inside = self._inside()
        if not kinds and inside.delay > delay:
            return inside
        if bit < 0:
            return Path(0.0, "", "", 0, ())
        steps, start = [], ""
        here: tuple[int, int] | None = (bit, edge)
        while here is not None:
            at = self._at[here[0]]
            cell, before, label = at.why[here[1]]
            steps.append(Step(cell, self._net.name(here[0]), at.time[here[1]]))
            start = label or start
            here = before
        return Path(delay, start, end, len(steps) - 1, tuple(reversed(steps)))

    def _inside(self) -> Path:
        """The slowest path inside a memory."""
        found = Path(0.0, "", "", 0, ())
        for cell in self._net.cells:
            if cell.type in self._boxes and self._boxes[cell.type].inside > found.delay:
                label = f"memory {cell.name}"
                found = Path(self._boxes[cell.type].inside, label, label, 0, ())
        return found

    def _start(self, bit: int, kind: str, arc: Arc, label: str) -> None:
        load, at = self._loads.get(bit, 0.0), self._at.setdefault(bit, Arrival())
        for edge, name in enumerate(EDGES):
            if f"cell_{name}" in arc.tables:
                self._later(
                    at,
                    edge,
                    arc.tables[f"cell_{name}"].at(0.0, load),
                    arc.tables[f"{name}_transition"].at(0.0, load),
                    (kind, None, label),
                )

    @staticmethod
    def _later(
        at: Arrival, edge: int, time: float, slew: float, why: tuple[str, tuple[int, int] | None, str]
    ) -> None:
        at.slew[edge] = max(at.slew[edge], slew)
        if time > at.time[edge]:
            at.time[edge], at.why[edge] = time, why

    def _settle(self, cell: Instance, outs: list[str]) -> None:
        if cell.type in self._boxes:
            self._box(cell, outs)
            return
        kind = self._library[cell.type]
        for name in outs:
            if name not in cell.pins:
                continue
            bit = cell.pins[name]
            for arc in kind.pins[name].arcs:
                if kind.state:
                    label = f"register {self._net.name(bit)}"
                    if arc.kind in LAUNCH and label.startswith(self._begins):
                        self._start(bit, cell.type, arc, label)
                elif not kind.gate and arc.kind in ("combinational", "") and "cell_rise" in arc.tables:
                    self._through(cell, bit, arc)

    def _through(self, cell: Instance, bit: int, arc: Arc) -> None:
        source = cell.pins.get(arc.related, -1)
        before = self._at.get(source)
        if before is None:
            return
        load, at = self._loads.get(bit, 0.0), self._at.setdefault(bit, Arrival())
        for edge, name in enumerate(EDGES):
            causes = {"positive_unate": (edge,), "negative_unate": (1 - edge,)}.get(arc.sense, (0, 1))
            for cause in causes:
                if before.time[cause] < 0:
                    continue
                slew = before.slew[cause]
                time = before.time[cause] + arc.tables[f"cell_{name}"].at(slew, load)
                self._later(
                    at,
                    edge,
                    time,
                    arc.tables[f"{name}_transition"].at(slew, load),
                    (cell.type, (source, cause), ""),
                )

    def _box(self, cell: Instance, outs: list[str]) -> None:
        timing = self._boxes[cell.type]
        addresses = (
            [
                (self._at[net].time[edge], net, edge)
                for pin, net in cell.pins.items()
                if pin.startswith("RD_ADDR") and net in self._at
                for edge in (0, 1)
            ]
            if timing.address
            else []
        )
        last = max(addresses, default=None)
        for name in outs:
            load = self._loads.get(cell.pins[name], 0.0)
            at = self._at.setdefault(cell.pins[name], Arrival())
            for edge in (0, 1):
                late, slew = self._driven(edge, load, timing.load)
                self._later(at, edge, timing.clock + late, slew, (cell.type, None, f"memory {cell.name}"))
                if last is not None:
                    why = (cell.type, (last[1], last[2]), "")
                    self._later(at, edge, last[0] + timing.address + late, slew, why)

    def _driven(self, edge: int, load: float, measured: float) -> tuple[float, float]:
        """What a load adds to the time of a memory's data, which was measured with another, and their slew:
        those of a buffer."""
        name, base = EDGES[edge], min(load, measured)
        arc = next(arc for arc in driver(self._library).outputs[0].arcs if f"cell_{name}" in arc.tables)
        time, slew = arc.tables[f"cell_{name}"], arc.tables[f"{name}_transition"]
        return max(0.0, time.at(SLEW, load) - time.at(SLEW, base)), slew.at(SLEW, load)

    def _ends(self) -> Any:
        """Where paths end: net, edge, what has to be added to its arrival, and a name."""
        flop = self._library.flop
        for nets in self._net.outputs.values():
            for bit in nets:
                for edge in (0, 1):
                    yield bit, edge, setup(flop, flop.data), f"output {self._net.name(bit)}"
        for cell in self._net.cells:
            if cell.type in self._boxes:
                for pin, bit in cell.pins.items():
                    margin = self._boxes[cell.type].before(pin)
                    if margin is not None:
                        for edge in (0, 1):
                            yield bit, edge, lambda slew, edge, margin=margin: margin, f"memory {cell.name}"
                continue
            kind = self._library[cell.type]
            if not (kind.state or kind.gate):
                continue
            output = next((cell.pins[pin.name] for pin in kind.outputs if pin.name in cell.pins), -1)
            for each in kind.inputs:
                if not each.clock and each.name in cell.pins and any(arc.kind in SETUP for arc in each.arcs):
                    label = f"{'clock gate' if kind.gate else 'register'} {self._net.name(output)}"
                    for edge in (0, 1):
                        yield cell.pins[each.name], edge, setup(kind, each.name), label


def setup(cell: Cell, pin: str) -> Any:
    """The setup time of a pin as a function of slew and edge."""
    arcs = [arc for arc in cell.pins[pin].arcs if arc.kind in SETUP]

    def margin(slew: float, edge: int) -> float:
        name = f"{EDGES[edge]}_constraint"
        return max((arc.tables[name].at(0.0, slew) for arc in arcs if name in arc.tables), default=0.0)

    return margin


def loads(
    net: Netlist, library: Library, boxes: Mapping[str, BoxTiming], output: float, guard: float
) -> dict[int, float]:
    """Capacitance of every net in fF. A memory has one pin for all columns that are written together."""
    pins: dict[int, list[float]] = {}
    box = library.buffers[0].inputs[0].capacitance
    for cell in net.cells:
        kind, written = None if cell.type in boxes else library[cell.type], set[int]()
        for pin, bit in cell.pins.items():
            if kind is not None and not kind.pins[pin].output:
                pins.setdefault(bit, []).append(kind.pins[pin].capacitance)
            elif (
                kind is None
                and not pin.startswith("RD_DATA")
                and not (pin.startswith("WR_EN") and bit in written)
            ):
                written |= {bit} if pin.startswith("WR_EN") else set()
                pins.setdefault(bit, []).append(box)
    for nets in net.outputs.values():
        for bit in nets:
            pins.setdefault(bit, []).append(output)
    wires: dict[int, float] = {}
    for many in {len(each) for each in pins.values()}:
        wires[many] = guard * library.wire(many)
    return {bit: sum(each) + wires[len(each)] for bit, each in pins.items()}


def driver(library: Library) -> Cell:
    """Driver of a net that nothing of the netlist drives: the second buffer in size."""
    buffers = library.buffers
    return next((cell for cell in buffers if cell.area > buffers[0].area), buffers[0])


def launching(library: Library, load: float) -> Arc:
    """Arc of the library's flip-flop that an input comes out of: the faster one, where it has two outputs."""
    arcs = (arc for pin in library.flop.outputs for arc in pin.arcs)
    return min(
        (arc for arc in arcs if arc.kind in LAUNCH and "cell_rise" in arc.tables),
        key=lambda arc: arc.tables["cell_rise"].at(0.0, load),
    )


def launch(library: Library, load: float) -> float:
    """Launch delay from the clock of a register to its output, in ns."""
    times = [
        max(arc.tables[name].at(0.0, load) for name in ("cell_rise", "cell_fall") if name in arc.tables)
        for pin in library.flop.outputs
        for arc in pin.arcs
        if arc.kind in LAUNCH and "cell_rise" in arc.tables
    ]
    return min(times)


def overhead(library: Library, load: float) -> float:
    """Register overhead, what a register alone takes of a cycle, in ns: clock to output plus setup."""
    flop = library.flop
    return launch(library, load) + max(setup(flop, flop.data)(SLEW, edge) for edge in (0, 1))
