"""Synthesis of a unit, its cost: area, critical path, memories; in a cell library's units, or in generic
gates where there is none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from warpbank.arch.config import SmConfig, config_hash
from warpbank.arch.schemes import Scheme
from warpbank.program.errors import WarpbankError
from warpbank.synth import (
    flow,
    generic,
    mapped,
    memories,
    memory_prices,
    netlist,
    opensta,
    pdk,
    power,
    timing,
    yosys,
)
from warpbank.synth.flow import Tools
from warpbank.synth.memories import Memory
from warpbank.synth.search import FULL, QUICK, Search
from warpbank.synth.timing import Path as TimedPath
from warpbank.synth.units import make

#: The clock that is aimed at where none is named, in ns.
CLOCK = 1.0


@dataclass
class Synthesis:
    """Cost of a unit.

    Parameters
    ----------
    unit, config, scheme : what was built.
    liberty : name of the library, "" without one.
    digest : of the library's files.
    clock_ns : aimed at.
    effort : one of `warpbank.synth.search.EFFORTS`.
    area_um2 : of the cells, memories that are black boxes not included; None without a library.
    nand2_equivalents : the same in the library's two-input NANDs.
    transistors : without a library.
    cells, flops, gates : instances; flip-flops and clock gates among them.
    types : instances by type.
    memories : see `warpbank.synth.memories`.
    path, guarded : the slowest path with the wire load of the library, and with `warpbank.synth.timing.GUARD`
        times that.
    opensta_ns : delay of the slowest path by OpenSTA; None where it is not installed, or memories are black
        boxes.
    depth : gates between two registers.
    power : milliwatts, see `warpbank.synth.power`; None where no activity was given.
    busy_power : milliwatts in the cycles alone in which it takes a value, see `Stimulus.busy` there; None for
        a unit without an input `enable`.
    method : how each number was found.
    tools : versions.
    verilog : the mapped netlist.
    """

    unit: str
    config: SmConfig
    scheme: Scheme
    liberty: str
    digest: str
    clock_ns: float
    effort: str
    cells: int
    flops: int
    gates: int
    depth: int
    types: dict[str, int]
    memories: list[dict[str, Any]]
    method: dict[str, str]
    tools: dict[str, str]
    verilog: str
    area_um2: float | None = None
    nand2_equivalents: float | None = None
    transistors: int | None = None
    path: TimedPath | None = None
    guarded: TimedPath | None = None
    opensta_ns: float | None = None
    power: dict[str, float] | None = None
    busy_power: dict[str, float] | None = None

    @property
    def memory_um2(self) -> float | None:
        """Area of the memories that are black boxes."""
        return (
            None if self.area_um2 is None else sum(memory.get("area_um2") or 0.0 for memory in self.memories)
        )

    def to_dict(self) -> dict[str, Any]:
        """Cost as a JSON object."""
        delay = self.path.delay if self.path else None
        return {
            "unit": self.unit,
            "preset": self.config.preset,
            "scheme": self.scheme.name,
            "config_hash": config_hash(self.config),
            "liberty": self.liberty or None,
            "liberty_digest": self.digest or None,
            "clock_ns": self.clock_ns,
            "effort": self.effort,
            "area_um2": _rounded(self.area_um2, 3),
            "nand2_equivalents": _rounded(self.nand2_equivalents, 1),
            "memory_um2": _rounded(self.memory_um2, 3),
            "transistors": self.transistors,
            "cells": self.cells,
            "flops": self.flops,
            "clock_gates": self.gates,
            "memories": self.memories,
            "delay_ns": _rounded(delay, 4),
            "meets_clock": None if delay is None else delay <= self.clock_ns,
            "logic_depth": self.depth,
            "critical_path": self.path.to_dict() if self.path else None,
            "delay_ns_guard_band": _rounded(self.guarded.delay if self.guarded else None, 4),
            "opensta_ns": _rounded(self.opensta_ns, 4),
            "power_mw": self.power,
            "busy_power_mw": self.busy_power,
            "types": self.types,
            "method": self.method,
            "tools": self.tools,
        }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def synthesize(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    files: Sequence[Path],
    *,
    clock: float = CLOCK,
    effort: str = FULL,
    signoff: bool = True,
    activity: Callable[[], power.Stimulus] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Synthesis:
    """Map a unit and measure it.

    Parameters
    ----------
    unit : see `warpbank.synth.units`.
    config, scheme : the machine.
    files : Liberty files; none: generic gates.
    clock : in ns.
    effort : one of `warpbank.synth.search.EFFORTS`.
    signoff : where OpenSTA is installed, its path is the critical one, else it stands beside ours.
    activity : gives what the unit's ports were in a simulation, for power.
    on_step : is told what is being done.

    Raises
    ------
    WarpbankError : what `warpbank.synth.units.make` raises; LibertyError, NetlistError, YosysError; a clock
        no register can follow.
    """
    tell = on_step or (lambda _: None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = pdk.load(files, folder) if files else None
        if tools is not None:
            _possible(tools, clock)
        tell("elaborating")
        source = netlist.to_rtlil(make(unit, config, scheme), unit)
        tell("mapping to words")
        flow.coarse(source, unit, folder)
        memory = memories.found(folder / "coarse.json", unit)
        boxes = {one.name: f"box_{number}" for number, one in enumerate(memory) if one.kind != "registers"}
        (folder / "boxes.v").write_text(
            "".join(memories.box(boxes[one.name], one) for one in memory if one.name in boxes)
        )
        versions = {"amaranth": version("amaranth"), "pyosys": yosys.version()}
        if tools is None:
            tell("mapping to gates")
            return _generic(unit, config, scheme, folder, memory, boxes, clock, effort, versions)
        tell("mapping to cells")
        return _mapped(
            unit,
            config,
            scheme,
            folder,
            tools,
            pdk.digest(files),
            memory,
            boxes,
            clock,
            effort,
            versions,
            signoff,
            activity,
            tell,
        )


def _possible(tools: Tools, clock: float) -> None:
    least = timing.overhead(tools.library, tools.load)
    if clock <= least:
        raise WarpbankError(
            f"a clock of {clock:g} ns is impossible: a register of {tools.library.name} alone takes "
            f"{least:.3f} ns from clock to output and for setup; give --clock more than that"
        )


def _generic(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    folder: Path,
    memory: list[Memory],
    boxes: dict[str, str],
    clock: float,
    effort: str,
    versions: dict[str, str],
) -> Synthesis:
    flow.generic(unit, folder, boxes, _unread(memory), quick=effort == QUICK)
    net = mapped.read(folder / "mapped.json", unit, set(boxes.values()))
    mapped.check_mapped(net, {*generic.TRANSISTORS, *boxes.values()})
    counts = net.count()
    return Synthesis(
        unit=unit,
        config=config,
        scheme=scheme,
        liberty="",
        digest="",
        clock_ns=clock,
        effort=effort,
        cells=len(net.cells) - len(boxes),
        flops=generic.flops(counts),
        gates=0,
        depth=generic.depth(net, set(boxes.values())),
        types=dict(sorted(counts.items())),
        memories=[one.to_dict() for one in memory],
        transistors=generic.transistors(counts),
        method={
            "area": generic.METHOD,
            "delay": "none: gates between two registers are counted",
            "memories": _memory_method(),
        },
        tools=versions,
        verilog=(folder / "mapped.v").read_text(),
    )


def _mapped(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    folder: Path,
    tools: Tools,
    digest: str,
    memory: list[Memory],
    boxes: dict[str, str],
    clock: float,
    effort: str,
    versions: dict[str, str],
    signoff: bool,
    activity: Callable[[], power.Stimulus] | None,
    tell: Callable[[str], None],
) -> Synthesis:
    library = tools.library
    prices = memory_prices.prices([one for one in memory if one.name in boxes], tools, folder, clock, tell)
    boxed = {boxes[one.name]: prices[one.shape] for one in memory if one.name in boxes}
    times = {name: price.timing for name, price in boxed.items()}
    net = Search(unit, folder, tools, clock, boxes, _unread(memory), times, tell).best(effort)
    versions = dict(versions)
    tell("timing")
    path = timing.Timer(net, library, times, tools.load).path()
    slow = {name: price.guarded for name, price in boxed.items()}
    guarded = timing.Timer(net, library, slow, tools.load, timing.GUARD).path()
    how = timing.METHOD.format(wires=library.wire_load or "none in this library")
    other = (
        opensta.path(net.top, folder, tools, clock, path)
        if opensta.program() is not None and not boxes
        else None
    )
    if signoff and other is not None:
        path = other
        versions["opensta"], how = (
            opensta.version(),
            opensta.METHOD.format(wires=library.wire_load or "none in this library"),
        )
    kinds = [library[cell.type] for cell in net.cells if cell.type not in times]
    area = sum(kind.area for kind in kinds)
    listed = [one.to_dict() | (prices[one.shape].to_dict() if one.name in boxes else {}) for one in memory]
    method = {
        "area": "sum of the cells' areas in the Liberty file",
        "delay": how,
        "memories": _memory_method(),
    }
    result = Synthesis(
        unit=unit,
        config=config,
        scheme=scheme,
        liberty=library.name,
        digest=digest,
        clock_ns=clock,
        effort=effort,
        cells=len(net.cells) - len(boxes),
        flops=sum(1 for kind in kinds if kind.state),
        gates=sum(1 for kind in kinds if kind.gate),
        depth=path.depth,
        types=dict(sorted(net.count().items())),
        memories=listed,
        method=method,
        tools=versions,
        verilog=(folder / "mapped.v").read_text(),
        area_um2=area,
        nand2_equivalents=area / library.nand2.area,
        path=path,
        guarded=guarded,
        opensta_ns=None if other is None else other.delay,
    )
    if activity is None:
        method["power"] = "not measured: --kernel names the kernel whose activity is taken"
    elif boxes:
        method["power"] = "not measured: memories that are black boxes are not simulated"
    else:
        tell("simulating the kernel")
        stimulus = activity()
        tell("power")
        result.power = power.estimate(net, tools, stimulus, clock)
        busy = stimulus.busy()
        if busy is not None:
            result.busy_power = power.estimate(net, tools, busy, clock)
        method["power"] = f"{power.METHOD} {stimulus.source}"
    return result


def _unread(memory: list[Memory]) -> list[str]:
    """Memories that nothing reads."""
    return [one.name for one in memory if one.unread]


def _memory_method() -> str:
    return (
        f"SRAM: {memories.table()['source']}; arrays: slices mapped to flip-flops, straight line in the "
        "columns"
    )
