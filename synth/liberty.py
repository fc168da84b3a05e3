"""Liberty reader: a cell library as a tree of groups, and the cells of it as the synthesis flow needs
them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

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
#: Timing types that launch a value at a clock edge, and those that want one before it.
LAUNCH, SETUP = ("rising_edge", "falling_edge"), ("setup_rising", "setup_falling")


@dataclass
class Group:
    """Group of a Liberty file, `kind (args) { attributes and groups }`."""

    kind: str
    args: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    complex: dict[str, list[list[str]]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def of(self, kind: str) -> Iterator[Group]:
        """Groups of a kind."""
        return (group for group in self.groups if group.kind == kind)

    def number(self, name: str, default: float = 0.0) -> float:
        """Numeric attribute of a group."""
        try:
            return float(self.attributes[name]) if name in self.attributes else default
        except ValueError:
            raise LibertyError(f"{self.kind} {' '.join(self.args)}: {name} is not a number") from None


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
        return _parse(tokens)
    except IndexError:
        raise LibertyError(f"{name} ends in the middle of a group; it is cut off, fetch it again") from None


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
            raise LibertyError(f"the Liberty file is damaged at {word!r} {tokens[at + 1]!r}; fetch it again")
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
    #: Energy in fJ of a rise and of a fall, per group: related pin ("" for an input of its own) and the
    #: tables.
    energies: tuple[tuple[str, dict[str, Table]], ...]


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
        return self.following.strip("!() ")

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
        raise LibertyError(f"cell {cell.name}: {error}") from None


class Library:
    """Cells of one or more Liberty files, in ns, fF, fJ, nW and um2.

    Parameters
    ----------
    groups : the parsed files; the first one's units and wire load hold for reports.
    """

    def __init__(self, groups: list[Group]) -> None:
        self.name = groups[0].args[0] if groups[0].args else "unnamed"
        self.voltage = groups[0].number("nom_voltage", 1.0)
        self._wires = groups[0]
        self._cells: dict[str, tuple[Group, _Reader]] = {}
        for group in groups:
            reader = _Reader(group)
            for cell in group.of("cell"):
                self._cells[cell.args[0]] = (cell, reader)
        self._read: dict[str, Cell] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._cells

    def __getitem__(self, name: str) -> Cell:
        if name not in self._read:
            group, reader = self._cells[name]
            self._read[name] = reader.cell(group)
        return self._read[name]

    def __iter__(self) -> Iterator[Cell]:
        return (self[name] for name in self._cells)

    @cached_property
    def unusable(self) -> list[str]:
        """Cells that logic may not be mapped to."""
        return [cell.name for cell in self if not cell.usable]

    @cached_property
    def flop(self) -> Cell:
        """The smallest flip-flop on the rising edge, without set and reset if there is one. Raises
        LibertyError if none."""
        found = [
            cell for cell in self if cell.usable and cell.state and not cell.clocked.startswith(("!", "(!"))
        ]
        if not found:
            raise LibertyError(f"library {self.name} has no rising-edge flip-flop; {_ALL}")
        return min(found, key=lambda cell: (cell.settable, cell.area, cell.name))

    @cached_property
    def nand2(self) -> Cell:
        """The smallest gate of two inputs that is a NAND: the unit of area. Raises LibertyError if there is
        none."""
        found = [
            cell
            for cell in self
            if cell.usable
            and not cell.state
            and len(cell.inputs) == 2
            and len(cell.outputs) == 1
            and _function(cell) == 0b0111
        ]
        if not found:
            raise LibertyError(f"library {self.name} has no two-input NAND; {_ALL}")
        return min(found, key=lambda cell: (cell.area, cell.name))

    @cached_property
    def buffers(self) -> list[Cell]:
        """Buffers, smallest first."""
        found = [
            cell
            for cell in self
            if cell.usable
            and not cell.state
            and len(cell.inputs) == 1
            and len(cell.outputs) == 1
            and _function(cell) == 0b10
        ]
        if not found:
            raise LibertyError(f"library {self.name} has no buffer; {_ALL}")
        return sorted(found, key=lambda cell: (cell.area, cell.name))

    @cached_property
    def wire_load(self) -> str:
        """Name of the default wire-load model, "" if there is none."""
        name = self._wires.attributes.get("default_wire_load", "")
        return name if any(group.args[:1] == [name] for group in self._wires.of("wire_load")) else ""

    def wire(self, fanout: int) -> float:
        """Capacitance in fF that the default wire-load model gives a net."""
        if not self.wire_load or not fanout:
            return 0.0
        group = next(group for group in self._wires.of("wire_load") if group.args[:1] == [self.wire_load])
        lengths = sorted(
            (int(float(n)), float(length)) for n, length in group.complex.get("fanout_length", [])
        )
        unit = _Reader(self._wires).farads * group.number("capacitance")
        if not lengths:
            return unit * group.number("slope") * fanout
        known = [length for n, length in lengths if n <= fanout]
        last = max((n for n, _ in lengths if n <= fanout), default=lengths[0][0])
        base = known[-1] if known else lengths[0][1]
        return unit * (base + group.number("slope") * max(0, fanout - last))


class _Reader:
    """Cells out of the groups of one file, with its units."""

    def __init__(self, library: Group) -> None:
        self.time = _unit(library.attributes.get("time_unit", "1ns"), "s") * 1e9
        load = (library.complex.get("capacitive_load_unit") or [["1", "pf"]])[0]
        self.farads = float(load[0]) * _unit("1" + load[-1].lower(), "f") * 1e15
        volts = _unit(library.attributes.get("voltage_unit", "1V"), "V")
        self._energy = self.farads * volts * volts
        self._watts = _unit(library.attributes.get("leakage_power_unit", "1nW"), "W") * 1e9
        self._pin = library.number("default_input_pin_cap")
        self._templates = {
            group.args[0]: group
            for kind in ("lu_table_template", "power_lut_template")
            for group in library.of(kind)
            if group.args
        }

    def cell(self, group: Group) -> Cell:
        """A cell."""
        pins = {
            name: self._read_pin(name, pin)
            for pin in group.of("pin")
            for name in pin.args
            if self._shown(pin)
        }
        flops = list(group.of("ff"))
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
        stated = [one.number("value") for one in group.of("leakage_power") if "value" in one.attributes]
        leakage = group.number("cell_leakage_power", sum(stated) / len(stated) if stated else 0.0)
        table = any(True for _ in group.of("statetable"))
        usable = (bool(state) or logic) and not (latch or gate or odd or scan or barred or table)
        return Cell(
            name=group.args[0],
            area=group.number("area"),
            leakage=leakage * self._watts,
            pins=pins,
            state=state,
            following=flops[0].attributes.get("next_state", "") if flops else "",
            clocked=flops[0].attributes.get("clocked_on", "") if flops else "",
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
        for power in group.of("internal_power"):
            tables = {
                one.kind: self._table(one, self._energy) for one in power.groups if one.complex.get("values")
            }
            if "power" in tables:
                tables = {"rise_power": tables["power"], "fall_power": tables["power"]}
            energies.append((power.attributes.get("related_pin", ""), tables))
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
        if len(flat) != len(points[0]) * len(points[1]):
            raise LibertyError(
                f"a table of {len(points[0])} x {len(points[1])} points holds {len(flat)} values; it is "
                "damaged, fetch it again"
            )
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


def _numbers(texts: list[str]) -> tuple[float, ...]:
    try:
        return tuple(float(word) for text in texts for word in text.replace(",", " ").split())
    except ValueError:
        raise LibertyError(
            f"a table of the library holds {texts[0][:30]!r}, not numbers; fetch it again"
        ) from None


def _unit(text: str, base: str) -> float:
    """`10ps` as a number of the base unit."""
    found = re.fullmatch(r"([\d.]+)\s*([fpnum]?)" + base, text.strip(), re.IGNORECASE)
    if found is None:
        raise LibertyError(
            f"the library has a unit that is not understood: {text!r}; fetch it again, or give another one"
        )
    return float(found[1]) * 10.0 ** _PREFIX[found[2].lower()]
