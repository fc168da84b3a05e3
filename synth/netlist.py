"""Netlist writer from an Amaranth component to RTLIL and Verilog."""

from __future__ import annotations

import gc
import random
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import amaranth.back.rtlil as rtlil
from amaranth.hdl import Value
from amaranth.lib import data, wiring

from warpbank.synth import yosys

#: Passes that keep names and give `if (rst) ... else if (enable) ...` per register. Memories that only a
#: testbench looks into stay: without them the SM would have no operands.
READABLE = ["setattr -set keep 1 t:$memrd_v2", "proc", "opt_clean", "opt_dff", "opt_clean -purge"]
#: Passes that make registers of memories of one word: readers of Verilog take them apart, and would find a
#: driver for each of its ports.
_SINGLES = [
    "proc",
    "memory_collect",
    "select -set single t:$mem_v2 r:SIZE=1 %i",
    "memory_map @single",
    "memory_unpack",
]
_SINGLE = re.compile(r"^ *memory width \d+ size 1 ", re.MULTILINE)

#: Of RTLIL, what concerns no bit: wires, what is connected to them, and choices between values of no bit.
_NOTHING = re.compile(
    r"(?:^ *attribute [^\n]*\n)*^ *wire width 0 [^\n]*\n\n?|^connect \S+ \{ *\}\n"
    r"|^ *cell \$mux \S+\n *parameter \\WIDTH 0\n(?: *connect [^\n]*\n)* *end\n\n?",
    re.MULTILINE,
)

#: A module of RTLIL, and a cell of one with its attributes.
_MODULE = re.compile(r"^module [^\n]*\n.*?^end\n", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"(?:^  attribute [^\n]*\n)*^  cell [^\n]*\n(?:^    [^\n]*\n)*^  end\n", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """A port of an exported module.

    Parameters
    ----------
    path : member names from the component down, as in Python.
    name : in Verilog.
    width : bits.
    output : direction.
    fields : what its bits are, if it carries a record: `name [high:low]`, records in records by dotted names.
    """

    path: tuple[str | int, ...]
    name: str
    width: int
    output: bool
    fields: tuple[str, ...] = ()


def ports(component: Any) -> list[Port]:
    """The ports of a component, clock and reset excepted, in the order of its signature."""
    found = []
    for path, member, value in component.signature.flatten(component):
        name = "__".join(str(part) for part in path)
        if not len(Value.cast(value)):
            continue
        found.append(
            Port(
                tuple(path),
                name,
                len(Value.cast(value)),
                member.flow is wiring.Out,
                tuple(_fields(member.shape)),
            )
        )
    return found


def _fields(shape: Any, prefix: str = "", offset: int = 0) -> list[str]:
    """The fields of a record, one text each."""
    if not isinstance(shape, data.StructLayout):
        return []
    found = []
    for name, field in shape:
        low, high = offset + field.offset, offset + field.offset + field.width - 1
        inner = _fields(field.shape, f"{prefix}{name}.", low)
        found += inner or [f"{prefix}{name} [{high}:{low}]"]
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles of garbage: Amaranth's netlist has a tuple of integers per value, all of them
    alive, and walking them again and again takes up to a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def to_rtlil(component: Any, name: str) -> str:
    """RTLIL text, without the source positions, which name files of this machine, and without wires of no
    bit, which Verilog has not. Raises what the component raises."""
    with warnings.catch_warnings(), _uncollected():
        warnings.simplefilter("ignore")
        return _NOTHING.sub("", str(rtlil.convert(component, name=name, emit_src=False)))


def to_verilog(source: str, passes: list[str]) -> str:
    """Verilog text of RTLIL text. Raises YosysError."""
    return _through(source, passes, "write_verilog -noattr")


def changed(source: str, passes: list[str]) -> str:
    """RTLIL text after some passes. Raises YosysError."""
    return _through(source, passes, "write_rtlil")


def shuffled(source: str, seed: int) -> str:
    """RTLIL text with the cells of each module listed in another order, which a seed gives. The circuit is
    what it was."""
    order = random.Random(seed)

    def module(found: re.Match[str]) -> str:
        text = found.group()
        cells = _CELL.findall(text)
        order.shuffle(cells)
        return _CELL.sub("", text).removesuffix("end\n") + "".join(cells) + "end\n"

    return _MODULE.sub(module, source)


def simulation(top: str, *, flat: bool) -> list[str]:
    """Passes that give fast C++ through Verilator: enables become `if (en) q <= d`, which costs nothing
    while en is 0. Memories that only a testbench looks into stay.

    Parameters
    ----------
    top : module whose reset is tied to 0, so that its state is that of its initial values.
    flat : without hierarchy.
    """
    return [
        "setattr -set keep 1 t:$memrd_v2",
        "proc",
        *(["flatten"] if flat else []),
        "opt_clean",  # other names of the reset become its own
        f"cd {top}",
        "delete -input w:rst",
        "connect -set rst 1'0",
        "cd ..",
        "opt_expr",
        "opt_clean -purge",
        "opt_dff -nosdff",
        "opt_expr",
        "opt_clean -purge",
    ]


def _through(source: str, passes: list[str], writes: str) -> str:
    singles = _SINGLES if _SINGLE.search(source) else []
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "design.il").write_text(source)
        yosys.run(["read_rtlil design.il", *singles, *passes, f"{writes} result"], at)
        return (at / "result").read_text()
