"""Liberty reader: a cell library as a tree of groups, and the cells of it as the synthesis flow needs
them."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from warpbank.arch.errors import shown
from warpbank.synth.boolean_functions import truth
from warpbank.synth.errors import LibertyError

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
#: An attribute whose semicolon was left out, which some libraries do.
_UNCLOSED = re.compile(r'^([ \t]*\w+[ \t]*:(?:[ \t]*"[^"\n]*"[ \t]*|[^";{}\n]+))$', re.MULTILINE)
_TOKEN = re.compile(r'"[^"]*"|[{}();:,]|[^\s{}();:,"]+')
#: Exponents of the prefixes of a unit.
_PREFIX = {"f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "": 0}
#: Words in names of cells for power domains, antennas and probes, which look like logic in the file.
_SPECIAL = ("lpflow", "probe", "macro", "tielo", "tiehi", "TIELO", "TIEHI")
#: The remedy for a library without something.
_ALL = "give all .lib files of the library, or another one (--liberty, may be repeated)"
#: The remedy for a library with something that cannot be.
_AGAIN = "fetch the library again, or give another one"
#: Timing types that launch a value at a clock edge, and those that want one before it.
LAUNCH, SETUP = ("rising_edge", "falling_edge"), ("setup_rising", "setup_falling")


@dataclass
class Group:
    """Group of a Liberty file, `kind (args) { attributes and groups }`; `file`: its name, for messages."""

    kind: str
    args: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    complex: dict[str, list[list[str]]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    file: str = ""

    def of(self, kind: str) -> Iterator[Group]:
        """Groups of a kind."""
        return (group for group in self.groups if group.kind == kind)

    def number(self, name: str, default: float = 0.0) -> float:
        """Numeric attribute of a group. Raises LibertyError if it is none."""
        if name not in self.attributes:
            return default
        return _number(self.attributes[name], f"{name} of {self.shown}")

    @property
    def shown(self) -> str:
        """Group as the file writes it, for messages."""
        return f"{self.kind} ({', '.join(self.args)})"


def parse(text: str, name: str) -> Group:
    """Library group of a text. Raises LibertyError if it is none; `name` is the file's, for the message."""
    plain = _COMMENT.sub(" ", text).replace("\r\n", "\n").replace("\\\n", " ")
    tokens = _TOKEN.findall(_UNCLOSED.sub(r"\1;", plain))
    if tokens[:2] != ["library", "("]:
        raise LibertyError(
            f"{name} is not a Liberty file: it does not begin with library (...); give the .lib of a cell "
            "library"
        )
    try:
        with _within(name):
            library = _parse(tokens)
    except IndexError:
        raise LibertyError(f"{name} ends in the middle of a group; it is cut off, fetch it again") from None
    library.file = name
    return library


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Put in front of an error where it is: a file, a cell, or a pin."""
    try:
        yield
    except LibertyError as error:
        raise LibertyError(f"{where}: {error}") from None


def _parse(tokens: list[str]) -> Group:
    root = Group("", [])
    stack, at, end = [root], 0, len(tokens)
    while at < end:
        word = tokens[at]
        if word == "}":
            stack.pop()
            at += 1
            if len(stack) == 1:
                break
        elif word in ";,":
            at += 1
        elif tokens[at + 1] == ":":
            stop = at + 2
            while tokens[stop] not in ";}":
                stop += 1
            stack[-1].attributes[word] = " ".join(tokens[at + 2 : stop]).strip('"').strip()
            at = stop
        elif tokens[at + 1] == "(":
            stop = at + 2
            while tokens[stop] != ")":
                stop += 1
            args = [token.strip('"').strip() for token in tokens[at + 2 : stop] if token != ","]
            at = stop + 1
            if tokens[at] == "{":
                group = Group(word, args)
                stack[-1].groups.append(group)
                stack.append(group)
                at += 1
            else:
                stack[-1].complex.setdefault(word, []).append(args)
        else:
            raise LibertyError(f"the file is damaged at {word!r} {tokens[at + 1]!r}; fetch it again")
    if len(stack) != 1:
        raise IndexError
    return root.groups[0]


@dataclass(frozen=True)
class Table:
    """A table of one or two variables, interpolated linearly between its points and beyond them.

    Rows go by slew (of the related pin, for a constraint), columns by load (or the constrained pin's slew).
    """

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, row: float, column: float) -> float:
        """Interpolated value at a point."""
        i, u = _place(self.rows, row)
        j, v = _place(self.columns, column)
        low = self.values[i]
        first = low[j] + v * (low[j + 1] - low[j]) if v else low[j]
        if not u:
            return first
        high = self.values[i + 1]
        second = high[j] + v * (high[j + 1] - high[j]) if v else high[j]
        return first + u * (second - first)


def _place(points: tuple[float, ...], value: float) -> tuple[int, float]:
    """The interval that holds a value, and where in it."""
    if len(points) == 1:
        return 0, 0.0
    index = min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
    return index, (value - points[index]) / (points[index + 1] - points[index])


@dataclass(frozen=True)
class Arc:
    """A timing group: from a related pin to the pin it stands at."""

    related: str
    kind: str
    sense: str
    tables: dict[str, Table]


@dataclass(frozen=True)
class Pin:
    """A pin of a cell; capacitance in fF."""

    name: str
    output: bool
    capacitance: float
    function: str
    clock: bool
    arcs: tuple[Arc, ...]
    #: Energy in fJ of a rise and of a fall, per condition: related pin ("" for an input of its own) and the
    #: tables, one for each supply, whose energies add up.
    energies: tuple[tuple[str, dict[str, tuple[Table, ...]]], ...]


@dataclass(frozen=True)
class Cell:
    """A cell: area in um2, leakage in nW.

    `state`: names of a flop's state and its inverse; `following`: what it becomes; `clocked`: at the rise of
    this. `gate`: a clock gate; `usable`: for logic or as a flop (not scan, three-state, latch, fill or marked
    as not to be used).
    """

    name: str
    area: float
    leakage: float
    pins: dict[str, Pin]
    state: tuple[str, str] | None
    following: str
    clocked: str
    settable: bool
    gate: bool
    latch: bool
    usable: bool

    @property
    def data(self) -> str:
        """Data pin, from which a flop takes its next state."""
        return self.following.strip("!()' ")

    @property
    def inverts(self) -> bool:
        """Whether a flop's state becomes the inverse of its data."""
        return truth(self.following, [self.data]) == 0b01

    @property
    def inputs(self) -> list[Pin]:
        """Input pins of the cell."""
        return [pin for pin in self.pins.values() if not pin.output]

    @property
    def outputs(self) -> list[Pin]:
        """Output pins of the cell."""
        return [pin for pin in self.pins.values() if pin.output]


def _function(cell: Cell) -> int:
    """Truth table of the only output of a cell."""
    try:
        return truth(cell.outputs[0].function, [pin.name for pin in cell.inputs])
    except ValueError as error:
        raise LibertyError(f"{error}; {_AGAIN}") from None


def _check_flop(flop: Cell) -> None:
    """Raise LibertyError unless registers can be made of a flop, and timed."""
    pins = [pin.name for pin in flop.inputs]
    for attribute, pin, stated in (
        ("next_state", flop.data, flop.following),
        ("clocked_on", flop.clocked, flop.clocked),
    ):
        if pin not in pins:
            said = f"{attribute} : {shown(stated)}, which is no input pin" if stated else f"no {attribute}"
            raise LibertyError(f"its ff group has {said}; it has to be one of {', '.join(pins)}")
    for kinds, those, tables in (
        (LAUNCH, flop.outputs, {"cell_rise", "cell_fall"}),
        (SETUP, [flop.pins[flop.data]], {"rise_constraint", "fall_constraint"}),
    ):
        found = {name for pin in those for arc in pin.arcs if arc.kind in kinds for name in arc.tables}
        if not tables <= found:
            raise LibertyError(
                f"pin {' or '.join(pin.name for pin in those)} of the flip-flop has no timing group of type "
                f"{kinds[0]} with {' and '.join(sorted(tables))}; {_AGAIN}"
            )


class Library:
    """Cells of one or more Liberty files, in ns, fF, fJ, nW and um2.

    Parameters
    ----------
    groups : the parsed files; the first one's units and wire load hold for reports.
    """

    def __init__(self, groups: list[Group]) -> None:
        self.name = groups[0].args[0] if groups[0].args else "unnamed"
        self._shown = f"library {self.name} ({', '.join(group.file for group in groups)})"
        self._wires = groups[0]
        self._cells: dict[str, tuple[Group, _Reader]] = {}
        for group in groups:
            with _within(group.file):
                reader = _Reader(group)
                for cell in group.of("cell"):
                    if not cell.args:
                        raise LibertyError("a cell has no name; it has to be cell (NAME) { ... }")
                    self._cells[cell.args[0]] = (cell, reader)
        with _within(groups[0].file):
            self.voltage = groups[0].number("nom_voltage", 1.0)
        self._read: dict[str, Cell] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def __getitem__(self, name: str) -> Cell:
        if name not in self._read:
            group, reader = self._cells[name]
            with _within(self._where(name)):
                self._read[name] = reader.cell(group)
        return self._read[name]

    def __iter__(self) -> Iterator[Cell]:
        return (self[name] for name in self._cells)

    @cached_property
    def unusable(self) -> list[str]:
        """Cells that logic may not be mapped to."""
        return [cell.name for cell in self if not cell.usable]

    def _where(self, name: str) -> str:
        """Place of a cell, for messages."""
        return f"{self._cells[name][1].file}: cell {name}"

    def _gates(self, what: str, inputs: int, function: int) -> list[Cell]:
        """Gates of one output that have this truth table, smallest first. Raises LibertyError if none."""
        found = []
        for cell in self:
            if cell.usable and not cell.state and (len(cell.inputs), len(cell.outputs)) == (inputs, 1):
                with _within(self._where(cell.name)):
                    found += [cell] * (_function(cell) == function)
        if not found:
            raise LibertyError(f"{self._shown} has no {what}; {_ALL}")
        return sorted(found, key=lambda cell: (cell.area, cell.name))

    @cached_property
    def flop(self) -> Cell:
        """The smallest flip-flop on the rising edge, without set and reset if there is one. Raises
        LibertyError if none, or if that one cannot be used."""
        found = [cell for cell in self if cell.usable and cell.state and not cell.clocked.startswith("!")]
        if not found:
            raise LibertyError(f"{self._shown} has no rising-edge flip-flop; {_ALL}")
        flop = min(found, key=lambda cell: (cell.settable, cell.area, cell.name))
        with _within(self._where(flop.name)):
            _check_flop(flop)
        return flop

    @cached_property
    def nand2(self) -> Cell:
        """The smallest gate of two inputs that is a NAND: the unit of area. Raises LibertyError if none."""
        return self._gates("two-input NAND", 2, 0b0111)[0]

    @cached_property
    def inverter(self) -> Cell:
        """The smallest inverter, without which nothing can be mapped. Raises LibertyError if none."""
        return self._gates("inverter", 1, 0b01)[0]

    @cached_property
    def buffers(self) -> list[Cell]:
        """Buffers, smallest first. Raises LibertyError if none."""
        return self._gates("buffer", 1, 0b10)

    @cached_property
    def wire_load(self) -> str:
        """Name of the default wire-load model, "" if there is none."""
        name = self._wires.attributes.get("default_wire_load", "")
        return name if any(group.args[:1] == [name] for group in self._wires.of("wire_load")) else ""

    def wire(self, fanout: int) -> float:
        """Capacitance in fF that the default wire-load model gives a net: a straight line between the
        fan-outs that it lists, its slope beyond the last, its first length below the first."""
        if not self.wire_load or not fanout:
            return 0.0
        unit, slope, lengths = self._wire
        if not lengths:
            return unit * slope * fanout
        fanouts, known = zip(*lengths, strict=True)
        beyond = max(0, fanout - fanouts[-1])
        return unit * (float(np.interp(fanout, fanouts, known)) + slope * beyond)

    @cached_property
    def _wire(self) -> tuple[float, float, list[tuple[int, float]]]:
        """Default wire-load model: fF of a unit of length, its slope, and lengths by fan-out."""
        group = next(group for group in self._wires.of("wire_load") if group.args[:1] == [self.wire_load])
        with _within(f"{self._wires.file}: {group.shown}"):
            lengths = []
            for row in group.complex.get("fanout_length", []):
                if len(row) < 2:
                    raise LibertyError(f"fanout_length ({', '.join(row)}) has to be a fan-out and a length")
                fanout, length = (_number(text, "a value of fanout_length") for text in row[:2])
                lengths.append((int(fanout), length))
            unit = _Reader(self._wires).farads * group.number("capacitance")
            return unit, group.number("slope"), sorted(lengths)


class _Reader:
    """Cells out of the groups of one file, with its units."""

    def __init__(self, library: Group) -> None:
        self.file = library.file
        stated = library.attributes
        self.time = _unit("time_unit", stated.get("time_unit", "1ns"), "s") * 1e9
        load = (library.complex.get("capacitive_load_unit") or [["1", "pf"]])[0]
        self.farads = _unit("capacitive_load_unit", ", ".join(load), "f") * 1e15
        volts = _unit("voltage_unit", stated.get("voltage_unit", "1V"), "V")
        self._energy = self.farads * volts * volts
        self._watts = _unit("leakage_power_unit", stated.get("leakage_power_unit", "1nW"), "W") * 1e9
        self._pin = library.number("default_input_pin_cap")
        self._templates = {
            group.args[0]: group
            for kind in ("lu_table_template", "power_lut_template")
            for group in library.of(kind)
            if group.args
        }

    def cell(self, group: Group) -> Cell:
        """A cell."""
        pins = {}
        for pin in group.of("pin"):
            for name in pin.args if self._shown(pin) else ():
                with _within(f"pin {name}"):
                    pins[name] = self._read_pin(name, pin)
        flops = list(group.of("ff"))
        if flops and not flops[0].args:
            raise LibertyError("its ff group names no state; it has to be as ff (IQ, IQN)")
        state = (flops[0].args[0], [*flops[0].args, ""][1]) if flops else None
        latch = any(True for _ in group.of("latch"))
        gate = "clock_gating_integrated_cell" in group.attributes
        odd = any("three_state" in pin.attributes for pin in group.of("pin"))
        scan = any(True for _ in group.of("test_cell")) or any(
            "scan" in pin.attributes.get("nextstate_type", "") for pin in group.of("pin")
        )
        logic = any(pin.output and pin.function for pin in pins.values()) and any(
            not pin.output for pin in pins.values()
        )
        barred = group.attributes.get("dont_use", "false") == "true" or any(
            word in group.args[0] for word in _SPECIAL
        )
        table = any(True for _ in group.of("statetable"))
        usable = (bool(state) or logic) and not (latch or gate or odd or scan or barred or table)
        if usable:
            for one in pins.values():
                _check_arcs(one)
        return Cell(
            name=group.args[0],
            area=group.number("area"),
            leakage=group.number("cell_leakage_power", _leakage(group)) * self._watts,
            pins=pins,
            state=state,
            following=flops[0].attributes.get("next_state", "") if flops else "",
            clocked=flops[0].attributes.get("clocked_on", "").strip("() ") if flops else "",
            settable=bool(flops) and any(name in flops[0].attributes for name in ("clear", "preset")),
            gate=gate,
            latch=latch,
            usable=usable,
        )

    @staticmethod
    def _shown(pin: Group) -> bool:
        return pin.attributes.get("direction", "") in ("input", "output")

    def _read_pin(self, name: str, group: Group) -> Pin:
        output = group.attributes["direction"] == "output"
        names = [
            name
            for name in ("capacitance", "rise_capacitance", "fall_capacitance")
            if name in group.attributes
        ]
        stated = [group.number(name) for name in names]
        capacitance = 0.0 if output else max(stated, default=self._pin)
        arcs, energies = [], []
        for timing in group.of("timing"):
            tables = {
                one.kind: self._table(one, self.time)
                for one in timing.groups
                if one.args and one.complex.get("values")
            }
            kind = timing.attributes.get("timing_type", "combinational")
            for related in timing.attributes.get("related_pin", "").split():
                arcs.append(Arc(related, kind, timing.attributes.get("timing_sense", "non_unate"), tables))
        for (related, _), supplies in _conditions(group.of("internal_power")):
            spent: dict[str, tuple[Table, ...]] = {}
            for power in supplies:
                tables = {
                    one.kind: self._table(one, self._energy)
                    for one in power.groups
                    if one.complex.get("values")
                }
                if "power" in tables:
                    tables = {"rise_power": tables["power"], "fall_power": tables["power"]}
                for kind, table in tables.items():
                    spent[kind] = (*spent.get(kind, ()), table)
            energies.append((related, spent))
        clock = (
            group.attributes.get("clock", "false") == "true"
            or group.attributes.get("clock_gate_clock_pin", "") == "true"
        )
        return Pin(
            name,
            output,
            capacitance * self.farads,
            group.attributes.get("function", ""),
            clock,
            tuple(arcs),
            tuple(energies),
        )

    def _table(self, group: Group, scale: float) -> Table:
        template = self._templates.get(group.args[0]) if group.args else None
        variables = [template.attributes.get(f"variable_{n}", "") for n in (1, 2)] if template else ["", ""]
        points = []
        for n in (1, 2):
            stated = group.complex.get(f"index_{n}") or (
                template.complex.get(f"index_{n}") if template else None
            )
            points.append(_numbers(stated[0]) if stated else (0.0,))
        flat = _numbers(group.complex["values"][0])
        if len(flat) != len(points[0]) * len(points[1]):
            points = [(0.0,), (0.0,)] if len(flat) == 1 else points
        if not flat or len(flat) != len(points[0]) * len(points[1]):
            raise LibertyError(
                f"{group.shown} of {len(points[0])} x {len(points[1])} points holds {len(flat)} values; "
                f"{_AGAIN}"
            )
        if any(after <= before for axis in points for before, after in pairwise(axis)):
            raise LibertyError(f"an index of {group.shown} does not rise from value to value; {_AGAIN}")
        width = len(points[1])
        values = tuple(flat[row * width : (row + 1) * width] for row in range(len(points[0])))
        if "capacitance" in variables[0] or variables[0] == "constrained_pin_transition":
            points.reverse()
            variables.reverse()
            values = tuple(zip(*values, strict=True))
        first, second = (
            tuple(point * self._axis(name) for point in axis)
            for axis, name in zip(points, variables, strict=True)
        )
        return Table(first, second, tuple(tuple(value * scale for value in row) for row in values))

    def _axis(self, variable: str) -> float:
        return self.farads if "capacitance" in variable else self.time


def _check_arcs(pin: Pin) -> None:
    """Raise LibertyError where a path through a pin has a delay, but not all the tables that it needs."""
    for arc in pin.arcs:
        edges = [edge for edge in ("rise", "fall") if f"cell_{edge}" in arc.tables]
        if edges and arc.kind in ("combinational", ""):
            edges = ["rise", "fall"]
        for name in (name for edge in edges for name in (f"cell_{edge}", f"{edge}_transition")):
            if name not in arc.tables:
                raise LibertyError(
                    f"pin {pin.name}: the timing group of related pin {arc.related} has delays, but no "
                    f"{name}; {_AGAIN}"
                )


def _conditions(groups: Iterable[Group]) -> list[tuple[tuple[str, str], list[Group]]]:
    """Power groups by related pin and `when`. Those of a condition are of one supply each, and add up; those
    that name no supply are conditions of their own."""
    found: dict[tuple[tuple[str, str], int], list[Group]] = {}
    count: Counter[tuple[tuple[str, str], str]] = Counter()
    for group in groups:
        condition = group.attributes.get("related_pin", ""), group.attributes.get("when", "")
        supply = group.attributes.get("related_pg_pin", "")
        found.setdefault((condition, count[condition, supply]), []).append(group)
        count[condition, supply] += 1
    return [(condition, those) for (condition, _), those in found.items()]


def _leakage(cell: Group) -> float:
    """Leakage that a cell's groups state: that under no condition, else the mean of all conditions."""
    stated = [
        (when, sum(one.number("value") for one in those))
        for (_, when), those in _conditions(
            group for group in cell.of("leakage_power") if "value" in group.attributes
        )
    ]
    chosen = [value for when, value in stated if not when] or [value for _, value in stated] or [0.0]
    return sum(chosen) / len(chosen)


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LibertyError(f"{what} is {shown(text)}, which has to be a number; {_AGAIN}")
    return value


def _numbers(texts: list[str]) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for text in texts for word in text.replace(",", " ").split())
    except ValueError:
        values = (math.nan,)
    if not all(map(math.isfinite, values)):
        raise LibertyError(f"a table holds {shown(texts[0], 30)}, not numbers; {_AGAIN}")
    return values


def _unit(name: str, text: str, base: str) -> float:
    """`10ps` or `10, ps` as a number of the base unit; `name`: of the attribute."""
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)[\s,]*([fpnum]?){base}", text.strip(), re.IGNORECASE)
    if found is None or not float(found[1]):
        raise LibertyError(
            f"{name} is {shown(text)}, a unit that is not understood; give a number and a unit, as 1n{base}"
        )
    return float(found[1]) * 10.0 ** _PREFIX[found[2].lower()]
