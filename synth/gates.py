"""Gate-level simulation of a mapped netlist, cycle by cycle without delays: how often each net changes, and
how often each clock gate opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from warpbank.synth.boolean_functions import truth
from warpbank.synth.liberty import Cell, Library
from warpbank.synth.mapped import Instance, Netlist, NetlistError, sorted_cells
from warpbank.synth.timing import passes

#: Most inputs of a cell.
_PINS = 6


@dataclass(frozen=True)
class Activity:
    """Activity that a simulation counted.

    Parameters
    ----------
    cycles : simulated.
    toggles : changes of each net, per net number.
    opened : cycles in which a clock gate let the clock pass, by the net of the gated clock.
    outputs : value of each output port, per cycle.
    """

    cycles: int
    toggles: dict[int, int]
    opened: dict[int, int]
    outputs: dict[str, list[int]]


def simulate(net: Netlist, library: Library, stimulus: dict[str, list[int]]) -> Activity:
    """Run a netlist without black boxes.

    Parameters
    ----------
    net : the netlist; registers begin at its initial values.
    library : its cells.
    stimulus : the value of each input port in each cycle; an input that is not named stays 0.

    Raises
    ------
    NetlistError : a cell whose function is not understood.
    """
    place = _places(net)
    cycles = max((len(values) for values in stimulus.values()), default=0)
    given = np.zeros((cycles, max(1, sum(len(bits) for bits in net.inputs.values()))), np.uint8)
    columns, at = [], 0
    for name, bits in net.inputs.items():
        for index, bit in enumerate(bits):
            columns.append(place[bit])
            if name in stimulus:
                given[:, at] = [value >> index & 1 for value in stimulus[name]]
            at += 1
    tables, ins, outs = _logic(net, library, place)
    flops, gates, gated = _registers(net, library, place)
    watched = [place[bit] for bits in net.outputs.values() for bit in bits]
    toggles, opened, seen = _run(
        len(place),
        given,
        np.array(columns, np.int64),
        tables,
        ins,
        outs,
        flops["table"],
        flops["ins"],
        flops["gate"],
        flops["first"],
        flops["q"],
        flops["qn"],
        gates,
        np.array(watched, np.int64),
    )
    outputs: dict[str, list[int]] = {}
    at = 0
    for name, bits in net.outputs.items():
        part = seen[:, at : at + len(bits)]
        outputs[name] = [sum(int(bit) << index for index, bit in enumerate(row)) for row in part]
        at += len(bits)
    return Activity(
        cycles,
        {bit: int(toggles[index]) for bit, index in place.items()},
        {clock: int(opened[index]) for index, clock in enumerate(gated)},
        outputs,
    )


def _places(net: Netlist) -> dict[int, int]:
    """Nets to places, constants first."""
    bits = {-1, -2}
    for ports in (net.inputs, net.outputs):
        bits |= {bit for each in ports.values() for bit in each}
    for cell in net.cells:
        bits |= set(cell.pins.values())
    return {bit: index for index, bit in enumerate([-1, -2, *sorted(bits - {-1, -2})])}


def _logic(net: Netlist, library: Library, place: dict[int, int]) -> tuple[Any, Any, Any]:
    tables, ins, outs = [], [], []
    for cell, pins in sorted_cells(net, passes(library, {})):
        kind = library[cell.type]
        if kind.state or kind.gate:
            continue
        names = [pin.name for pin in kind.inputs]
        for pin in pins:
            if pin in cell.pins:
                tables.append(_table(kind.pins[pin].function, names, cell.type))
                ins.append([place[cell.pins.get(name, -1)] for name in names] + [0] * (_PINS - len(names)))
                outs.append(place[cell.pins[pin]])
    return np.array(tables, np.uint64), np.array(ins, np.int64).reshape(-1, _PINS), np.array(outs, np.int64)


def _table(function: str, names: list[str], kind: str) -> int:
    try:
        if len(names) > _PINS:
            raise ValueError(f"it has {len(names)} inputs")
        return truth(function, names)
    except ValueError as error:
        raise NetlistError(f"cell {kind} cannot be simulated for its power: {error}") from None


def _registers(
    net: Netlist, library: Library, place: dict[int, int]
) -> tuple[dict[str, Any], Any, list[int]]:
    """Flops as arrays, enable places of the clock gates, and the gates' clock nets."""
    enables, gated = [], []
    for cell in net.cells:
        kind = library[cell.type]
        if kind.gate:
            enable = next(
                cell.pins[pin.name] for pin in kind.inputs if not pin.clock and pin.name in cell.pins
            )
            enables.append(place[enable])
            gated.append(cell.pins[kind.outputs[0].name])
    rows: dict[str, list[Any]] = {name: [] for name in ("table", "ins", "gate", "first", "q", "qn")}
    for cell in net.cells:
        kind = library[cell.type]
        if not kind.state:
            continue
        names = [pin.name for pin in kind.inputs]
        rows["table"].append(_table(kind.following, names, cell.type))
        rows["ins"].append([place[cell.pins.get(name, -1)] for name in names] + [0] * (_PINS - len(names)))
        clock = cell.pins[kind.clocked]
        rows["gate"].append(gated.index(clock) if clock in gated else -1)
        q, qn = (
            [
                place[cell.pins[pin.name]]
                for pin in kind.outputs
                if pin.function == name and pin.name in cell.pins
            ]
            for name in kind.state
        )
        rows["q"].append(q[0] if q else -1)
        rows["qn"].append(qn[0] if qn else -1)
        rows["first"].append(initial(net, cell, kind))
    flops = {
        name: np.array(values, np.uint64 if name == "table" else np.int64) for name, values in rows.items()
    }
    flops["ins"] = flops["ins"].reshape(-1, _PINS)
    return flops, np.array(enables, np.int64), gated


def initial(net: Netlist, cell: Instance, kind: Cell) -> int:
    """Initial state of a flop, before the first clock edge."""
    assert kind.state is not None
    for pin in kind.outputs:
        if cell.pins.get(pin.name) in net.initial:
            return net.initial[cell.pins[pin.name]] ^ (pin.function == kind.state[1])
    return 0


def _kernel(
    count: int,
    given: Any,
    columns: Any,
    tables: Any,
    ins: Any,
    outs: Any,
    flop_tables: Any,
    flop_ins: Any,
    flop_gate: Any,
    first: Any,
    q: Any,
    qn: Any,
    gates: Any,
    watched: Any,
) -> Any:
    values = np.zeros(count, np.uint8)
    before = np.zeros(count, np.uint8)
    toggles = np.zeros(count, np.int64)
    opened = np.zeros(len(gates), np.int64)
    state = first.astype(np.uint8)
    seen = np.zeros((given.shape[0], len(watched)), np.uint8)
    values[1] = before[1] = 1
    for cycle in range(given.shape[0]):
        for index in range(len(columns)):
            values[columns[index]] = given[cycle, index]
        for index in range(len(state)):
            if q[index] >= 0:
                values[q[index]] = state[index]
            if qn[index] >= 0:
                values[qn[index]] = 1 - state[index]
        for index in range(len(tables)):
            row = np.uint64(0)
            for pin in range(6):
                row |= np.uint64(values[ins[index, pin]]) << np.uint64(pin)
            values[outs[index]] = (tables[index] >> row) & np.uint64(1)
        for index in range(count):
            toggles[index] += cycle > 0 and values[index] != before[index]
            before[index] = values[index]
        for index in range(len(watched)):
            seen[cycle, index] = values[watched[index]]
        for index in range(len(gates)):
            opened[index] += values[gates[index]]
        for index in range(len(state)):
            if flop_gate[index] < 0 or values[gates[flop_gate[index]]]:
                row = np.uint64(0)
                for pin in range(6):
                    row |= np.uint64(values[flop_ins[index, pin]]) << np.uint64(pin)
                state[index] = (flop_tables[index] >> row) & np.uint64(1)
    return toggles, opened, seen


_run: Callable[..., Any] = njit(cache=True)(_kernel)
