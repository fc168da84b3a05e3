"""Slices of memories: small pieces that are mapped to cells and timed, from which whole ones are priced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warpbank.synth import flow, mapped, timing, yosys
from warpbank.synth.errors import MapperError
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Netlist
from warpbank.synth.timing import BoxTiming, Timer
from warpbank.synth.timing import Path as TimedPath

#: Ports of a slice, by their first letters, that stand for the pins of a memory.
PINS = {"WR_EN": "we", "WR_ADDR": "wa", "WR_DATA": "wd", "RD_EN": "re", "RD_ADDR": "ra"}
#: Where a path ends that has to be over before the clock edge.
_ENDS = ("register", "clock gate")


@dataclass(frozen=True)
class Slice:
    """Slice as it was mapped: its netlist, and its area in um2."""

    net: Netlist
    area: float


def mapped_slice(verilog: str, tools: Tools, folder: Path, clock: float) -> Slice:
    """Slice of module `slice` in Verilog, mapped for a clock in ns, in a folder whose `coarse.il` stays as it
    is. Raises what mapping raises."""
    (folder / "slice.v").write_text(verilog)
    passes = ["read_verilog slice.v", "hierarchy -check -top slice", *flow.COARSE, "memory_map", "opt"]
    yosys.run([*passes, "write_rtlil coarse_slice.il"], folder)
    kept = (folder / "coarse.il").read_text() if (folder / "coarse.il").exists() else ""
    (folder / "coarse.il").write_text((folder / "coarse_slice.il").read_text())
    target = 1000 * (clock - timing.overhead(tools.library, tools.load))
    try:
        try:
            flow.mapped(tools, "slice", folder, picoseconds=target, boxes={}, way=flow.FAST, seen=False)
        except MapperError:  # ABC's older mapper does not take every library
            flow.mapped(tools, "slice", folder, picoseconds=target, boxes={}, way=flow.BARE, seen=False)
        net = mapped.read(folder / "mapped.json", "slice")
    finally:
        (folder / "coarse.il").write_text(kept)
    return Slice(net, sum(tools.library[cell.type].area for cell in net.cells))


def timed(net: Netlist, tools: Tools, guard: float) -> BoxTiming:
    """Timing of a slice as if it were the memory, with `guard` times the wire load. A pin of the memory is
    taken for a small buffer's input."""
    library = tools.library
    setup = {}
    for pin, port in PINS.items():
        path = _from(net, tools, guard, f"input {port}").path(*_ENDS)
        if path.steps:
            setup[pin] = path.delay - launched(tools, guard)
    registers = _from(net, tools, guard, "register")
    read = _from(net, tools, guard, f"input {PINS['RD_ADDR']}").path("output")
    return BoxTiming(
        arrival(registers.path("output")),
        arrival(read) - launched(tools, guard) if read.steps else 0.0,
        setup,
        registers.path(*_ENDS).delay,
        tools.load + guard * library.wire(1),
    )


def _from(net: Netlist, tools: Tools, guard: float, begin: str) -> Timer:
    return Timer(net, tools.library, {}, tools.load, guard, (begin,))


def through(net: Netlist, tools: Tools, guard: float, port: str, end: str = "") -> float:
    """Time in ns from input ports that begin with `port` to the slowest output that begins with `end`."""
    path = _from(net, tools, guard, f"input {port}").path(f"output {end}")
    return arrival(path) - launched(tools, guard) if path.steps else 0.0


def arrival(path: TimedPath) -> float:
    """Time in ns from the clock edge to the end of a path, without setup."""
    return path.steps[-1].arrival if path.steps else 0.0


def launched(tools: Tools, guard: float) -> float:
    """Time in ns from the clock edge to a pin of a memory, out of a register."""
    pin = tools.library.buffers[0].inputs[0].capacitance + guard * tools.library.wire(1)
    return timing.launch(tools.library, pin)
