"""Prices of memories that are black boxes: SRAM by its macros, an array of flip-flops by two slices that are
mapped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpbank.synth import memories, slices, timing
from warpbank.synth.flow import Tools
from warpbank.synth.memories import Memory, Tiling
from warpbank.synth.slices import Slice, mapped_slice
from warpbank.synth.timing import BoxTiming

#: Fan-out of each stage of a tree that brings a signal to all columns, or all rows.
FAN = 8
#: Most rows that what is written reaches without a tree.
_ROWS = 2 * FAN


@dataclass(frozen=True)
class Price:
    """Price of a memory: area in um2, flip-flops, timing with the wire load and with
    `warpbank.synth.timing.GUARD` times that; the macros, if there are any."""

    area: float
    flops: int
    timing: BoxTiming
    guarded: BoxTiming
    tiling: Tiling | None = None

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
        if memory.shape not in made:
            if memory.kind != "sram":
                tell(f"mapping an array of {memory.rows} x {memory.width}")
            price = _sram if memory.kind == "sram" else _tall if memory.tall else _array
            made[memory.shape] = price(memory, tools, folder, clock)
    return made


def _sram(memory: Memory, tools: Tools, folder: Path, clock: float) -> Price:
    """A memory of macros. What chooses the row of macros that is read, and that is enabled, is mapped for two
    slices of its columns."""
    tiling = memories.tiling(memory)
    access, setup = tiling.macro.access_ns, memories.table()["setup_ns"]
    if tiling.down == 1:
        only = BoxTiming(access, 0.0, dict.fromkeys(slices.PINS, setup))
        return Price(tiling.area, 0, only, only, tiling)
    columns = (memories.SLICE, 2 * memories.SLICE)
    small, large = (
        mapped_slice(memories.row_choice(tiling, count), tools, folder, clock) for count in columns
    )

    def timed(guard: float) -> BoxTiming:
        tree = _tree(tools, memory.width / columns[1], guard)
        chosen = slices.timed(large.net, tools, guard)
        data = access + slices.through(large.net, tools, guard, "of", "rd")
        enable = setup + max(slices.through(large.net, tools, guard, port, "ce") for port in ("ra", "en"))
        pins = dict.fromkeys(slices.PINS, enable) | {"WR_DATA": setup}
        return BoxTiming(max(chosen.clock + tree, data), 0.0, pins, load=chosen.load)

    area = tiling.area + _line(columns, (small.area, large.area), memory.width)
    return Price(area, (tiling.down - 1).bit_length(), timed(1.0), timed(timing.GUARD), tiling)


def _tall(memory: Memory, tools: Tools, folder: Path, clock: float) -> Price:
    """A narrow array from two slices of its rows: area in a straight line, time in one with every
    doubling."""
    rows = (memories.SLICE_ROWS, 2 * memories.SLICE_ROWS)
    small, large = (
        mapped_slice(memories.array(replace(memory, rows=count), memory.width), tools, folder, clock)
        for count in rows
    )
    few = _few_rows(memory, memory.width, tools, folder, clock)
    doublings = math.log2(memory.rows / rows[0])

    def line(one: float, two: float) -> float:
        return one + max(0.0, two - one) * doublings

    def timed(guard: float) -> BoxTiming:
        first, second = (slices.timed(one.net, tools, guard) for one in (small, large))
        setup = {pin: line(first.setup[pin], second.setup[pin]) for pin in first.setup}
        return BoxTiming(
            line(first.clock, second.clock),
            line(first.address, second.address),
            setup | _written(memory, few, tools, guard),
            line(first.inside, second.inside),
            first.load,
        )

    area = _line(rows, (small.area, large.area), memory.rows) + _buffers(memory, tools)
    return Price(area, memory.bits, timed(1.0), timed(timing.GUARD))


def _array(memory: Memory, tools: Tools, folder: Path, clock: float) -> Price:
    """An array of wide words from two slices of its columns: area in a straight line; what all columns have
    in common comes through a tree."""
    columns = memories.slice_widths(memory)
    small, large = (mapped_slice(memories.array(memory, count), tools, folder, clock) for count in columns)
    few = _few_rows(memory, columns[0], tools, folder, clock)
    own = {"WR_DATA"} | ({"WR_EN"} if memory.group < memory.width else set())

    def timed(guard: float) -> BoxTiming:
        tree = _tree(tools, memory.width / columns[1], guard)
        found = slices.timed(large.net, tools, guard)
        setup = {pin: time + tree * (pin not in own) for pin, time in found.setup.items()}
        setup |= _written(memory, few, tools, guard)
        return replace(found, setup=setup, address=found.address + tree * (found.address > 0))

    area = _line(columns, (small.area, large.area), memory.width) + _buffers(memory, tools)
    return Price(area, memory.bits, timed(1.0), timed(timing.GUARD))


def _few_rows(memory: Memory, columns: int, tools: Tools, folder: Path, clock: float) -> Slice | None:
    """Slice of as many rows as what is written reaches without a tree, of an array that needs one: the mapper
    puts none between an input and registers."""
    if memory.rows <= _ROWS:
        return None
    return mapped_slice(memories.array(replace(memory, rows=FAN), columns), tools, folder, clock)


def _written(memory: Memory, few: Slice | None, tools: Tools, guard: float) -> dict[str, float]:
    """Setup of what is written, of an array that brings it to its rows through a tree."""
    if few is None:
        return {}
    last = slices.timed(few.net, tools, guard).setup["WR_DATA"]
    return {"WR_DATA": _tree(tools, memory.rows / FAN, guard) + last}


def _buffers(memory: Memory, tools: Tools) -> float:
    """Area in um2 of the trees that bring what is written to the rows."""
    stages = _stages(memory.rows / FAN) if memory.rows > _ROWS else 0
    count = sum(math.ceil(memory.rows / FAN**stage) for stage in range(1, stages + 1))
    return memory.width * memory.writes * count * tools.driver.area


def _line(places: tuple[int, int], values: tuple[float, float], place: int) -> float:
    """Value at `place` of the straight line through two."""
    return values[0] + (values[1] - values[0]) / (places[1] - places[0]) * (place - places[0])


def _stages(times: float) -> int:
    """Stages of a tree of buffers to `times` ends."""
    stages = 0
    while FAN**stages < times:
        stages += 1
    return stages


def _tree(tools: Tools, times: float, guard: float) -> float:
    """Time in ns that buffers take to bring a signal to `times` ends."""
    buffer = tools.driver
    load = FAN * buffer.inputs[0].capacitance + guard * tools.library.wire(FAN)
    arcs = [arc for arc in buffer.outputs[0].arcs if "cell_rise" in arc.tables]
    stage = max(arc.tables[name].at(timing.SLEW, load) for arc in arcs for name in ("cell_rise", "cell_fall"))
    return _stages(times) * stage
