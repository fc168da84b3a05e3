"""OpenSTA, where it is installed: a signoff-grade tool finds the slowest path, as `warpbank.synth.timing`
does."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from warpbank.program.errors import WarpbankError
from warpbank.synth import timing
from warpbank.synth.flow import Tools
from warpbank.synth.timing import Path as TimedPath
from warpbank.synth.timing import Step

METHOD = (
    "OpenSTA, clock edge to clock edge with setup, ports as registers, ideal clock, wire load {wires}; "
    "nothing is placed: the "
    "guard band takes 3 times the wire load, by the library's delay tables"
)
_SCRIPT = """
{read}
read_verilog timed.v
link_design {top}
create_clock -name clk -period {period} {clock}
set inputs {{}}
foreach port [all_inputs] {{ if {{[get_property $port full_name] ne "clk"}} {{ lappend inputs $port }} }}
set_driving_cell -lib_cell {flop} -pin {pin} -from_pin {clock_pin} $inputs
set_input_delay {intrinsic} -clock clk $inputs
set_output_delay {setup} -clock clk [all_outputs]
set_load {load} [all_outputs]
{wires}
report_checks -path_delay max -digits 5
"""
_LINE = re.compile(r"^\s*(-?[\d.]+)\s+(-?[\d.]+)\s+[v^]\s+(\S+)\s+\((\S+)\)", re.MULTILINE)


@cache
def program() -> str | None:
    """Path of OpenSTA, if it is anywhere."""
    return shutil.which("sta") or shutil.which("opensta")


@cache
def version() -> str:
    """Version of OpenSTA."""
    done = subprocess.run(
        [str(program()), "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    return (done.stdout.split() or ["unknown"])[0]


def path(top: str, folder: Path, tools: Tools, clock: float, ours: TimedPath) -> TimedPath:
    """The slowest path of `mapped.v` in `folder`. A netlist without any path keeps ours. Raises
    WarpbankError."""
    library = tools.library
    flop = library.flop
    output = next(pin.name for pin in flop.outputs if any("cell_rise" in arc.tables for arc in pin.arcs))
    has_clock = "input clk" in (folder / "mapped.v").read_text()
    script = _SCRIPT.format(
        read="\n".join(f"read_liberty {name}" for name in tools.files),
        top=top,
        period=clock,
        clock="[get_ports clk]" if has_clock else "",
        flop=flop.name,
        pin=output,
        clock_pin=flop.clocked,
        intrinsic=timing.launch(library, 0.0),
        load=tools.load,
        setup=timing.overhead(library, tools.load) - timing.launch(library, tools.load),
        wires=f"set_wire_load_model -name {library.wire_load}\nset_wire_load_mode top"
        if library.wire_load
        else "",
    )
    (folder / "time.tcl").write_text(script)
    (folder / "timed.v").write_text(one_by_one((folder / "mapped.v").read_text()))
    done = subprocess.run(
        [str(program()), "-exit", "time.tcl"], cwd=folder, capture_output=True, text=True, timeout=1800
    )
    text = done.stdout + done.stderr
    start, end = (
        re.search(r"^Startpoint: (\S+)", text, re.MULTILINE),
        re.search(r"^Endpoint: (\S+)", text, re.MULTILINE),
    )
    slack = re.search(r"(-?[\d.]+)\s+slack", text)
    if slack is None:
        if "No paths found" in text:
            return ours
        raise WarpbankError(f"OpenSTA gave no timing report: {' '.join(text.split()[-40:])}")
    assert start is not None
    assert end is not None
    verilog = (folder / "mapped.v").read_text()
    steps = tuple(Step(kind, place, float(at)) for _, at, place, kind in _LINE.findall(text))
    depth = sum(
        1
        for step in steps
        if step.cell in library and not library[step.cell].state and not library[step.cell].gate
    )
    places = [_place(found[1], verilog, tools) for found in (start, end)]
    return TimedPath(clock - float(slack[1]), places[0], places[1], depth, steps)


def one_by_one(verilog: str) -> str:
    """The netlist with an assignment per bit where several nets are assigned together, which OpenSTA does not
    read."""
    widths = {
        name: abs(int(high) - int(low)) + 1
        for high, low, name in re.findall(r"\[(\d+):(\d+)\] (\S+);", verilog)
    }

    def apart(found: re.Match[str]) -> str:
        left, right = (_bits(side, widths) for side in found.groups())
        return "\n".join(f"  assign {one} = {other};" for one, other in zip(left, right, strict=True))

    return re.sub(r"^  assign \{(.*?)\} = (.*?);$", apart, verilog, flags=re.MULTILINE)


def _bits(side: str, widths: dict[str, int]) -> list[str]:
    """The bits of one side of an assignment, the highest first."""
    result = []
    for part in re.findall(r"\\\S+ |[^\s,{}]+", side):
        name, _, place = part.partition("[")
        size, _, number = part.partition("'h")
        if part.startswith("\\"):
            result.append(part)
        elif ":" in place:
            high, low = (int(number) for number in place.rstrip("]").split(":"))
            result += [f"{name}[{bit}]" for bit in range(high, low - 1, -1)]
        elif size.isdigit():
            result += [f"1'h{int(number, 16) >> bit & 1}" for bit in reversed(range(int(size)))]
        elif not place and part in widths:
            result += [f"{name}[{bit}]" for bit in range(widths[part] - 1, -1, -1)]
        else:
            result.append(part)
    return result


def _place(name: str, verilog: str, tools: Tools) -> str:
    """A start or end as `warpbank.synth.timing` names it: a register by the net it drives."""
    found = re.search(rf"^  (\w+) {re.escape(name)} \((.*?)\);", verilog, re.MULTILINE | re.DOTALL)
    if found is None or found[1] not in tools.library:
        return f"port {name}"
    cell = tools.library[found[1]]
    for pin in cell.outputs:
        net = re.search(rf"\.{pin.name}\(\\?([^\s)]+)", found[2])
        if net is not None:
            return f"{'clock gate' if cell.gate else 'register'} {net[1]}"
    return name
