"""Power of a mapped netlist from the activity of a real kernel, split into clock, combinational, register and
leakage."""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.synth import gates
from warpbank.synth.flow import Tools
from warpbank.synth.liberty import Cell, Pin
from warpbank.synth.mapped import Instance, Netlist, NetlistError
from warpbank.synth.timing import loads

#: What the numbers are, for a report.
METHOD = (
    "toggles counted by simulating the mapped netlist cycle by cycle without delays (so without "
    "glitches), half C V^2 a toggle plus the library's internal energies, averaged over their conditions; "
    "the clock without its tree."
)
#: Slew in ns at which internal energies are read.
_SLEW = 0.02


@dataclass(frozen=True)
class Stimulus:
    """Stimulus of a simulation: a unit's ports, one value a cycle, and where they came from."""

    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]
    source: str

    def busy(self) -> Stimulus | None:
        """Stimulus of the cycles alone in which the unit's input `enable` is on, one after the other, as if
        it took a value in every cycle. None for a unit without one, and if it is never on.

        A unit that keeps its outputs until it takes the next value gives in these cycles what it gave before.
        """
        taken = [cycle for cycle, on in enumerate(self.inputs.get("enable", ())) if on]
        if not taken:
            return None
        inputs, outputs = (
            {name: [values[cycle] for cycle in taken] for name, values in ports.items()}
            for ports in (self.inputs, self.outputs)
        )
        return Stimulus(inputs, outputs, self.source)


def estimate(net: Netlist, tools: Tools, stimulus: Stimulus, clock: float) -> dict[str, float]:
    """Power estimate in milliwatts at a clock of `clock` ns.

    Raises NetlistError if the netlist's outputs are not those of the simulation: it is not the same unit
    then.
    """
    library = tools.library
    active = gates.simulate(net, library, stimulus.inputs)
    _same(net, active.outputs, stimulus.outputs)
    capacitance = loads(net, library, {}, tools.load, 1.0)
    cycles = max(1, active.cycles - 1)
    rate = {bit: count / cycles for bit, count in active.toggles.items()}
    share = {bit: count / max(1, active.cycles) for bit, count in active.opened.items()}
    spent = {"clock": 0.0, "combinational": 0.0, "register": 0.0}
    volts = library.voltage**2
    states = {
        cell.pins[pin.name]
        for cell in net.cells
        if library[cell.type].state
        for pin in library[cell.type].outputs
        if pin.name in cell.pins
    }
    for bit, count in rate.items():
        if bit >= 0 and bit not in share and net.inputs.get("clk") != [bit]:
            kind = "register" if bit in states else "combinational"
            spent[kind] += 0.5 * capacitance.get(bit, 0.0) * volts * count
    for bit in (*net.inputs.get("clk", []), *share):
        spent["clock"] += capacitance.get(bit, 0.0) * volts * share.get(bit, 1.0)
    leakage = 0.0
    for cell in net.cells:
        leakage += library[cell.type].leakage
        _internal(cell, library[cell.type], rate, share, capacitance, spent)
    milliwatts = {name: energy / clock * 1e-3 for name, energy in spent.items()}  # fJ in a ns are microwatts
    milliwatts["leakage"] = leakage * 1e-6
    milliwatts["total"] = sum(milliwatts.values())
    return {name: round(value, 6) for name, value in milliwatts.items()}


def _internal(
    cell: Instance,
    kind: Cell,
    rate: dict[int, float],
    share: dict[int, float],
    capacitance: dict[int, float],
    spent: dict[str, float],
) -> None:
    """Add what a cell spends inside; a register's two outputs are one change of its state."""
    for name, bit in cell.pins.items():
        pin = kind.pins[name]
        load = capacitance.get(bit, 0.0)
        if pin.clock:
            spent["clock"] += 2 * _energy(pin, load) * share.get(bit, 1.0)
        elif kind.gate:
            spent["clock"] += _energy(pin, load) * (
                2 * share.get(bit, 0.0) if pin.output else rate.get(bit, 0.0)
            )
        elif not (
            kind.state
            and pin.output
            and name != next(one.name for one in kind.outputs if one.name in cell.pins)
        ):
            spent["register" if kind.state else "combinational"] += _energy(pin, load) * rate.get(bit, 0.0)


def _energy(pin: Pin, load: float) -> float:
    """fJ of a change of a pin from all supplies, mean of rise and fall and of all conditions."""
    found = [
        sum(table.at(_SLEW, load) for table in supplies)
        for _, tables in pin.energies
        for supplies in tables.values()
    ]
    return sum(found) / len(found) if found else 0.0


def _same(net: Netlist, ours: dict[str, list[int]], theirs: dict[str, list[int]]) -> None:
    for name, values in theirs.items():
        for cycle, value in enumerate(values):
            if name in ours and ours[name][cycle] != value:
                raise NetlistError(
                    f"the netlist of {net.top} differs from its RTL: in cycle {cycle} of the kernel {name} "
                    f"is {ours[name][cycle]:#x}, not {value:#x}; this is a bug of the flow, please report "
                    f"it"
                )
