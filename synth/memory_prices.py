"""Prices of memories that are black boxes: SRAM by its macros, an array of flip-flops by two slices that are
mapped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpbank.synth import flow, mapped, memories, timing, yosys
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Netlist
from warpbank.synth.memories import Memory, Tiling
from warpbank.synth.timing import BoxTiming, Timer

#: Fan-out of each stage of the tree that brings an address to all columns.
FAN = 8


@dataclass(frozen=True)
class Price:
    """Price of a memory: area in um2, flip-flops, timing; how it was found: the macros, or the larger slice
    with its columns and area."""

    area: float
    flops: int
    timing: BoxTiming
    tiling: Tiling | None = None
    sample: tuple[Netlist, int, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Price as a JSON object."""
        found: dict[str, Any] = {"area_um2": round(self.area, 3), "flops": self.flops}
        if self.tiling is not None:
            macro = self.tiling.macro
            found["macros"] = f"{self.tiling.down} x {self.tiling.across} of {macro.rows} x {macro.width}"
            found["access_pj"] = round(macro.picojoules * self.tiling.across, 3)
            found["leakage_mw"] = round(macro.milliwatts * self.tiling.down * self.tiling.across, 4)
        return found


def prices(
    found: Sequence[Memory], tools: Tools, folder: Path, clock: float, tell: Callable[[str], None]
) -> dict[Any, Price]:
    """Prices of the shapes among the memories. Raises what mapping raises."""
    made: dict[Any, Price] = {}
    for memory in found:
        if memory.shape in made:
            continue
        if memory.kind == "sram":
            tiling = memories.tiling(memory)
            macro = tiling.macro
            made[memory.shape] = Price(
                tiling.area, 0, BoxTiming(macro.access_ns, 0.0, memories.table()["setup_ns"]), tiling
            )
        else:
            tell(f"mapping an array of {memory.rows} x {memory.width}")
            made[memory.shape] = (_tall if memory.tall else _array)(memory, tools, folder, clock)
    return made


def _tall(memory: Memory, tools: Tools, folder: Path, clock: float) -> Price:
    """A narrow array from two slices of its rows: area in a straight line, time in one with every
    doubling."""
    rows = (memories.SLICE_ROWS, 2 * memories.SLICE_ROWS)
    areas, outs, intos = [], [], []
    for count in rows:
        net = _slice(replace(memory, rows=count), memory.width, tools, folder, clock)
        areas.append(sum(tools.library[cell.type].area for cell in net.cells))
        timer = Timer(net, tools.library, {}, tools.load)
        outs.append(timer.path("output").delay)
        intos.append(timer.path("register").delay)
    area = areas[0] + (areas[1] - areas[0]) / (rows[1] - rows[0]) * (memory.rows - rows[0])
    doublings, flop = math.log2(memory.rows / rows[0]), timing.overhead(tools.library, tools.load)
    out, into = (times[0] + max(0.0, times[1] - times[0]) * doublings for times in (outs, intos))
    address = 0.0 if any(memory.synchronous) else max(0.0, out - flop)
    return Price(
        area, memory.bits, BoxTiming(out, address, into - flop), sample=(net, memory.width, areas[1])
    )


def _array(memory: Memory, tools: Tools, folder: Path, clock: float) -> Price:
    small, large = memories.slice_widths(memory)
    areas, net = [], None
    for columns in (small, large):
        net = _slice(memory, columns, tools, folder, clock)
        areas.append(sum(tools.library[cell.type].area for cell in net.cells))
    assert net is not None
    slope = (areas[1] - areas[0]) / (large - small)
    area = areas[0] + slope * (memory.width - small)
    timer = Timer(net, tools.library, {}, tools.load)
    flop = timing.overhead(tools.library, tools.load)
    out, into = timer.path("output").delay, timer.path("register").delay
    tree = _tree(tools, memory.width / large)
    dynamic = any(place is None for place in memory.reads)
    address = max(0.0, out - flop) + tree if dynamic and not any(memory.synchronous) else 0.0
    return Price(
        area, memory.bits, BoxTiming(out, address, into - flop + tree), sample=(net, large, areas[1])
    )


def _slice(memory: Memory, columns: int, tools: Tools, folder: Path, clock: float) -> Netlist:
    (folder / "slice.v").write_text(memories.array(memory, columns))
    passes = ["read_verilog slice.v", "hierarchy -check -top slice", *flow.COARSE, "memory_map", "opt"]
    yosys.run([*passes, "write_rtlil coarse_slice.il"], folder)
    kept = (folder / "coarse.il").read_text() if (folder / "coarse.il").exists() else ""
    (folder / "coarse.il").write_text((folder / "coarse_slice.il").read_text())
    try:
        flow.mapped(
            tools,
            "slice",
            folder,
            picoseconds=1000 * (clock - timing.overhead(tools.library, tools.load)),
            boxes={},
        )
        return mapped.read(folder / "mapped.json", "slice")
    finally:
        (folder / "coarse.il").write_text(kept)


def _tree(tools: Tools, times: float) -> float:
    """Time in ns that buffers take to bring a signal to `times` slices."""
    if times <= 1:
        return 0.0
    buffer = tools.driver
    load = FAN * buffer.inputs[0].capacitance + tools.library.wire(FAN)
    arcs = [arc for arc in buffer.outputs[0].arcs if "cell_rise" in arc.tables]
    stage = max(arc.tables[name].at(0.02, load) for arc in arcs for name in ("cell_rise", "cell_fall"))
    return math.ceil(math.log(times, FAN)) * stage
