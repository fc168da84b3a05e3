"""Memories of a unit: which are SRAM macros, which arrays of flip-flops, which plain registers; none is
mapped unsaid.

- `sram`: at least 32 rows, every read is synchronous, one read and one write port at most. Tiled from the
  macros of `synth/memories.toml`.
- `array`: no SRAM, but written, and of values of at least 256 bits; narrower ones if they have more than 4096
  bits, more than 64 rows, and no read at a fixed row. A slice of the array is mapped to flip-flops with the
  same ports, and the rest is a straight line in the number of columns; of a narrow one, of rows. A black box
  in the unit's netlist.
- `registers`: all others. Mapped with the unit's logic, and counted beside it.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

#: Fewest rows that are worth an SRAM: under it no memory compiler has an organisation.
SRAM_ROWS = 32
#: Fewest bits of a word that make an array of flip-flops a black box.
ARRAY_WIDTH = 256
#: Most bits that are mapped one by one.
ARRAY_BITS = 4096
#: Rows of the smaller of the two slices of a narrow array.
SLICE_ROWS = 32
#: Columns of the smaller of the two slices that are mapped where nothing else says how wide a write is.
SLICE = 16


@dataclass(frozen=True)
class Macro:
    """SRAM macro of `synth/memories.toml`."""

    rows: int
    width: int
    area_um2: float
    access_ns: float
    picojoules: float
    milliwatts: float


@dataclass(frozen=True)
class Tiling:
    """A memory built of one kind of macro: `down` by `across`."""

    macro: Macro
    down: int
    across: int

    @property
    def area(self) -> float:
        """Area in um2."""
        return self.macro.area_um2 * self.down * self.across


@dataclass(frozen=True)
class Memory:
    """A memory as Yosys collected it.

    Parameters
    ----------
    name : of its cell.
    rows, width : words and bits.
    group : bits that are always written together.
    reads : per read port: its address if that is a constant, else None.
    synchronous : of each read port.
    transparent : whether some read sees what is written in the same cycle.
    writes : write ports.
    address : bits of an address.
    unread : nothing of the design uses what is read: what does is outside, as the lanes that take a
        collector's operands.
    """

    name: str
    rows: int
    width: int
    group: int
    reads: tuple[int | None, ...]
    synchronous: tuple[bool, ...]
    transparent: bool
    writes: int
    address: int
    unread: bool = False

    @property
    def bits(self) -> int:
        """Size in bits."""
        return self.rows * self.width

    @property
    def kind(self) -> str:
        """Kind: `sram`, `array` or `registers`."""
        if self.rows >= SRAM_ROWS and all(self.synchronous) and len(self.reads) <= 1 and self.writes <= 1:
            return "sram"
        return "array" if self.writes and (self.width >= ARRAY_WIDTH or self.tall) else "registers"

    @property
    def tall(self) -> bool:
        """Whether the array is narrow, so that slices of it are rows. One that is read at fixed rows has none
        that are like the others."""
        return (
            self.width < ARRAY_WIDTH
            and self.bits > ARRAY_BITS
            and self.rows > 2 * SLICE_ROWS
            and all(place is None for place in self.reads)
        )

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape, which memories of one price have in common."""
        return self.rows, self.width, self.group, self.reads, self.synchronous, self.transparent, self.writes

    def to_dict(self) -> dict[str, Any]:
        """Memory as a JSON object."""
        return {
            "name": self.name,
            "kind": self.kind,
            "rows": self.rows,
            "width": self.width,
            "bits": self.bits,
            "reads": len(self.reads),
            "writes": self.writes,
        }


def found(path: Path, top: str) -> list[Memory]:
    """The memories of `coarse.json`, by name."""
    module = json.loads(path.read_text())["modules"][top]
    used = {bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]}
    for cell in module["cells"].values():
        for pin, bits in cell["connections"].items():
            if cell["port_directions"][pin] == "input":
                used.update(bits)
    return [
        _memory(name, cell, used)
        for name, cell in sorted(module["cells"].items())
        if cell["type"] == "$mem_v2"
    ]


def _memory(name: str, cell: dict[str, Any], used: set[int | str]) -> Memory:
    def number(parameter: str) -> int:
        return int(cell["parameters"][parameter], 2)

    pins, width, address, reads = cell["connections"], number("WIDTH"), number("ABITS"), number("RD_PORTS")
    runs = [
        len(list(run))
        for port in range(number("WR_PORTS"))
        for _, run in itertools.groupby(pins["WR_EN"][port * width : (port + 1) * width])
    ]
    group = math.gcd(width, *runs)
    places = []
    for port in range(reads):
        bits = pins["RD_ADDR"][port * address : (port + 1) * address]
        fixed = all(isinstance(bit, str) for bit in bits)
        places.append(sum(1 << place for place, bit in enumerate(bits) if bit == "1") if fixed else None)
    clocked = cell["parameters"]["RD_CLK_ENABLE"][-reads:] if reads else ""
    return Memory(
        name,
        number("SIZE"),
        width,
        group,
        tuple(places),
        tuple(bit == "1" for bit in reversed(clocked)),
        "1" in cell["parameters"]["RD_TRANSPARENCY_MASK"],
        number("WR_PORTS"),
        address,
        used.isdisjoint(pins["RD_DATA"]),
    )


@cache
def table() -> dict[str, Any]:
    """Contents of `synth/memories.toml`."""
    return tomllib.loads((Path(__file__).parent / "memories.toml").read_text())


@cache
def macros() -> tuple[Macro, ...]:
    """SRAM macros of the table."""
    return tuple(Macro(**row) for row in table()["macro"])


def tiling(memory: Memory, fewest_rows: int = 0) -> Tiling:
    """The cheapest way to build a memory of one kind of macro, of those with `fewest_rows` rows or more."""
    ways = [
        Tiling(macro, -(-memory.rows // macro.rows), -(-memory.width // macro.width))
        for macro in macros()
        if macro.rows >= fewest_rows
    ]
    return min(ways, key=lambda way: (way.area, way.macro.rows, way.macro.width))


@dataclass(frozen=True)
class Sram:
    """Cost of a memory of SRAM macros: area in um2, energy of an access in pJ, leakage in mW, clock to data
    in ns."""

    area: float
    picojoules: float
    milliwatts: float
    access_ns: float


def sram(rows: int, width: int, fewest_rows: int = 0) -> Sram:
    """Cost of a memory with one port, of SRAM macros with `fewest_rows` rows at least; an access takes one
    macro of every column."""
    address = max(1, (rows - 1).bit_length())
    way = tiling(Memory("", rows, width, width, (None,), (True,), False, 1, address), fewest_rows)
    macro = way.macro
    return Sram(
        way.area, macro.picojoules * way.across, macro.milliwatts * way.across * way.down, macro.access_ns
    )


def box(name: str, cell: Memory) -> str:
    """Black box, an empty module with the ports of the cell."""
    reads, writes = len(cell.reads), cell.writes
    read = {
        "RD_CLK": 1,
        "RD_EN": 1,
        "RD_ARST": 1,
        "RD_SRST": 1,
        "RD_ADDR": cell.address,
        "RD_DATA": cell.width,
    }
    write = {"WR_CLK": 1, "WR_EN": cell.width, "WR_ADDR": cell.address, "WR_DATA": cell.width}
    ports = [
        ("output" if port == "RD_DATA" else "input", port, reads * width) for port, width in read.items()
    ]
    ports += [("input", port, writes * width) for port, width in write.items()]
    listed = ", ".join(f"{way} [{max(width, 1) - 1}:0] {port}" for way, port, width in ports)
    return f"(* blackbox *)\nmodule {name} ({listed});\nendmodule\n"


def slice_widths(memory: Memory) -> tuple[int, int]:
    """Columns of the two slices of an array that are mapped."""
    step = memory.group if memory.group < memory.width else SLICE
    return step, 2 * step


def array(memory: Memory, columns: int) -> str:
    """Slice of an array in Verilog, module `slice`: all its rows and ports, fewer columns."""
    group = min(memory.group, columns)
    address = max(1, (memory.rows - 1).bit_length())
    ports, body = ["input clk"], [f"  reg [{columns - 1}:0] word [0:{memory.rows - 1}];"]
    writes = []
    for port in range(memory.writes):
        widths = {"we": columns // group, "wa": address, "wd": columns}
        ports += [f"input [{width - 1}:0] {name}{port}" for name, width in widths.items()]
        for index in range(columns // group):
            bits = f"[{(index + 1) * group - 1}:{index * group}]"
            writes.append(f"    if (we{port}[{index}]) word[wa{port}]{bits} <= wd{port}{bits};")
    body += ["  always @(posedge clk) begin", *writes, "  end"]
    for port, (place, clocked) in enumerate(zip(memory.reads, memory.synchronous, strict=True)):
        where = str(place) if place is not None else f"ra{port}"
        ports += [] if place is not None else [f"input [{address - 1}:0] ra{port}"]
        ports += [
            f"output {'reg ' if clocked else ''}[{columns - 1}:0] rd{port}",
            *([f"input re{port}"] if clocked else []),
        ]
        body.append(
            f"  always @(posedge clk) if (re{port}) rd{port} <= word[{where}];"
            if clocked
            else f"  assign rd{port} = word[{where}];"
        )
    return f"module slice ({', '.join(ports)});\n" + "\n".join(body) + "\nendmodule\n"


def row_choice(tiling: Tiling, columns: int) -> str:
    """Choice of one of several rows of macros in Verilog, module `slice`, of some columns: which is enabled,
    and, a cycle later, which is read."""
    address = (tiling.down - 1).bit_length()
    data = [f"of{row}" for row in range(tiling.down)]
    ports = ["input clk", "input en", f"input [{address - 1}:0] ra", f"output [{tiling.down - 1}:0] ce"]
    ports += [f"input [{columns - 1}:0] {name}" for name in data]
    ports += [f"output reg [{columns - 1}:0] rd"]
    cases = [f"      {row}: rd = {name};" for row, name in enumerate(data[:-1])]
    return "\n".join(
        (
            f"module slice ({', '.join(ports)});",
            f"  reg [{address - 1}:0] row;",
            "  always @(posedge clk) if (en) row <= ra;",
            "  assign ce = en << ra;",
            "  always @* case (row)",
            *cases,
            f"      default: rd = {data[-1]};",
            "    endcase",
            "endmodule\n",
        )
    )
