"""Synthesis of a unit, its cost: area, critical path, memories; in a cell library's units, or in generic
gates where there is none."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from warpbank.arch.config import SmConfig, config_hash
from warpbank.arch.schemes import Scheme
from warpbank.program.errors import WarpbankError
from warpbank.synth import (
    closure,
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
from warpbank.synth.errors import MapperError
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Netlist
from warpbank.synth.memories import Memory
from warpbank.synth.timing import BoxTiming
from warpbank.synth.timing import Path as TimedPath
from warpbank.synth.units import make

#: How much is tried: several mappings, the best of which is taken; or one, for units that are too large for
#: that.
FULL, QUICK = EFFORTS = ("full", "quick")
#: The clock that is aimed at where none is named, in ns.
CLOCK = 1.0
#: From so many registers on, inverted ones are tried too; more than so many cells are tried a few times only.
_REGISTERS, _CELLS = 256, 20_000
#: More than so many cells are not tried in other orders.
_HUGE = 500_000
#: A unit of more cells in parts is not mapped as a whole. Parts are copies: `engine` has 612 000 in parts and
#: 314 000 as a whole.
_WHOLE = 800_000
#: Shares of the clock by which a netlist may miss it and be tried again: with full and with little effort.
_NEAR, _NEAR_QUICKLY = 0.15, 0.25
#: Times the clock from which on a large netlist is not tried again.
_HOPELESS = 2.0
#: By which shares of the clock the mapper's target is then shortened, until the clock is met.
_SHORTER = (0.05, 0.08, 0.11, 0.14)
#: Share of the clock by which a huge unit's second target is shorter than by what its first netlist missed.
_SHORTFALL = 0.04
#: Share by which the delay of one circuit moves with the order of its cells (`python -m bench.mapping`), and
#: orders that are tried where the clock is missed by less.
_SPREAD, _ORDERS = 0.04, 4


@dataclass
class Synthesis:
    """Cost of a unit.

    Parameters
    ----------
    unit, config, scheme : what was built.
    liberty : name of the library, "" without one.
    digest : of the library's files.
    clock_ns : aimed at.
    effort : one of `EFFORTS`.
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
    effort : one of `EFFORTS`.
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
    net = _best(unit, folder, tools, clock, effort, boxes, _unread(memory), times, tell)
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


@dataclass(frozen=True)
class _Try:
    """A netlist: how its registers are read, which way it was mapped and for which time, around which
    memories, whether in parts, with which gap, um2, ns, whether that misses the clock, and whether the
    slowest path leads through a memory that is read within it."""

    read: str
    way: str
    target: float
    around: Sequence[str]
    in_parts: bool
    gap: int
    area: float
    delay: float
    late: bool
    within: bool
    net: Netlist
    verilog: str


def _best(
    unit: str,
    folder: Path,
    tools: Tools,
    clock: float,
    effort: str,
    boxes: dict[str, str],
    unread: list[str],
    times: dict[str, BoxTiming],
    tell: Callable[[str], None],
) -> Netlist:
    """The netlist: of those tried, the smallest one that meets the clock, else the fastest.

    Tried are registers as they are; inverted, if they are many; where the clock is missed, registers read at
    either output; and, where it is missed by little, shorter targets for the smallest of those: the mapper
    does not see what loads the registers. Where all of that misses the clock, logic is mapped the fast way,
    with shorter targets if it misses by little, too.

    With little effort a unit of several large sub-units is mapped with each sub-unit by itself. If it misses
    the clock so, a huge one that is late by little is mapped so once more, with a shorter target, and one
    that is not huge is mapped as one that has no sub-units. That one is mapped as a whole, the quick way; and
    once more, with the logic around memories by itself, if it is not much too late and its slowest path leads
    through a memory. If the fastest netlist misses the clock by little then, its way is taken once more, with
    a shorter target, and cells are made smaller only where that costs no time.
    What is late by no more than the order of the cells is worth is mapped with its cells in other orders. In
    the fastest netlist, if it is late by little still, cells of its slowest paths become larger ones; with
    little effort before other orders are tried, and, where that is not enough, in the fastest one that is
    mapped in parts, too: it may gain more.
    """
    library = tools.library
    target = clock - timing.overhead(library, tools.load)
    fastest = {False: math.inf, True: math.inf}  # as a whole, and in parts
    kept = {False: "fastest_whole.json", True: "fastest_in_parts.json"}

    def one(
        read: str,
        target: float,
        way: str = flow.SMALL,
        around: Sequence[str] = (),
        order: int = 0,
        in_parts: bool = False,
        gap: int = flow.LOOSE,
    ) -> _Try:
        marks = flow.mapped(
            tools,
            unit,
            folder,
            picoseconds=1000 * target,
            boxes=boxes,
            read=read,
            unread=unread,
            way=way,
            around=around,
            order=order,
            in_parts=in_parts,
            gap=gap,
        )
        net = mapped.read(folder / "mapped.json", unit, set(boxes.values()))
        mapped.check_mapped(net, _known(tools, boxes))
        path = timing.Timer(net, library, times, tools.load).path()
        parted = bool(marks)
        if path.delay < fastest[parted]:
            fastest[parted] = path.delay
            (folder / "mapped.json").replace(folder / kept[parted])
        area = sum(library[cell.type].area for cell in net.cells if cell.type in library)
        within = any(step.cell in times for step in path.steps[1:])
        verilog = (folder / "mapped.v").read_text()
        late = path.delay > clock
        return _Try(read, way, target, around, parted, gap, area, path.delay, late, within, net, verilog)

    def sized(tried: list[_Try]) -> None:
        """Exchange cells of the fastest netlists and insert buffers, until one meets the clock, if they are
        late by little."""
        for near in _nearest(tried, clock):
            tell(f"sizing cells: {near.delay:.3f} ns")
            net = replace(near.net, cells=[replace(cell, pins={**cell.pins}) for cell in near.net.cells])
            changes = closure.close(net, library, times, tools.load, clock)
            path = timing.Timer(net, library, times, tools.load).path()
            area = sum(library[cell.type].area for cell in net.cells if cell.type in library)
            flow.changed(folder, unit, kept[near.in_parts], changes)
            verilog, late = (folder / "mapped.v").read_text(), path.delay > clock
            tried.append(replace(near, net=net, verilog=verilog, area=area, delay=path.delay, late=late))
            if not late:
                break

    def taken(tried: list[_Try]) -> Netlist:
        """The smallest that meets the clock, else the fastest."""
        if effort == QUICK:
            sized(tried)
        near = min(tried, key=lambda one: one.delay)
        if clock < near.delay <= (1 + _SPREAD) * clock and len(near.net.cells) <= _HUGE:
            for order in range(1, _ORDERS + 1):
                tell("mapping again, cells in another order")
                tried.append(
                    one(near.read, near.target, near.way, near.around, order, near.in_parts, near.gap)
                )
                if not tried[-1].late:
                    break
        if effort != QUICK:
            sized(tried)
        best = min(tried, key=lambda one: (one.late, one.delay if one.late else one.area))
        (folder / "mapped.v").write_text(best.verilog)
        return best.net

    if effort == QUICK:
        return taken(_quickly(one, target, clock, times, boxes, tell))
    tried = [one(flow.PLAIN, target)]
    cells = tried[0].net.cells
    registers = sum(1 for cell in cells if cell.type in library and library[cell.type].state)
    large = len(cells) > _CELLS
    if not large:
        if registers >= _REGISTERS and flow.can_invert(library.flop):
            tell("mapping again, registers inverted")
            tried.append(one(flow.INVERTED, target))
        if all(one.late for one in tried) and registers and flow.can_invert(library.flop):
            tell("mapping again, registers read at both outputs")
            tried.append(one(flow.BOTH, target))
    for way in (flow.SMALL, flow.FAST):
        if way == flow.FAST and all(one.late for one in tried):
            tell("mapping again, the fast way")
            with suppress(MapperError):  # ABC's older mapper does not take every library
                tried.append(one(flow.PLAIN, target, way))
        near = [one for one in tried if one.way == way and one.delay <= (1 + _NEAR) * clock]
        shares = _SHORTER if not large else _SHORTER[:1] if way == flow.FAST else ()
        for share in shares if near and all(one.late for one in tried) else ():
            tell("mapping again, for more speed")
            tried.append(one(min(near, key=lambda one: one.area).read, target - share * clock, way))
            if not tried[-1].late:
                break
    return taken(tried)


def _nearest(tried: Sequence[_Try], clock: float) -> list[_Try]:
    """The fastest netlist as a whole and the fastest in parts, where these are late by little, and none of
    all meets the clock."""
    if not all(one.late for one in tried):
        return []
    ways = [[one for one in tried if one.in_parts == in_parts] for in_parts in (False, True)]
    fastest = [min(way, key=lambda one: one.delay) for way in ways if way]
    return [one for one in fastest if one.delay <= (1 + _NEAR) * clock]


def _quickly(
    one: Callable[..., _Try],
    target: float,
    clock: float,
    times: dict[str, BoxTiming],
    boxes: dict[str, str],
    tell: Callable[[str], None],
) -> list[_Try]:
    """Netlists that little effort tries, as `_best` says."""
    parts: list[_Try] = []

    def faster() -> _Try:
        """The parts once more, with a shorter target."""
        late = parts[0].delay / clock - 1
        tell(f"mapping again, for more speed: {parts[0].delay:.3f} ns")
        share = max(_SHORTER[0], late + _SHORTFALL)
        return one(flow.PLAIN, target - share * clock, flow.QUICK, in_parts=True, gap=flow.TIGHT)

    try:
        tried = [one(flow.PLAIN, target, flow.QUICK, in_parts=True)]
        if tried[0].in_parts:
            parts = tried
            near = parts[0].delay <= (1 + _NEAR_QUICKLY) * clock
            if not parts[0].late:
                return parts
            if len(parts[0].net.cells) > _WHOLE:
                return [*parts, faster()] if near else parts
            tell("mapping again, all sub-units as one")
            tried = [one(flow.PLAIN, target, flow.QUICK)]
    except MapperError:  # ABC's older mapper does not take every library
        tried = [one(flow.PLAIN, target, flow.BARE)]
    around: list[str] = []
    if tried[0].within and clock < tried[0].delay < _HOPELESS * clock:
        tell("mapping again, what is around memories by itself")
        looked_up = [name for name in boxes.values() if name in times and times[name].address]
        tried.append(one(flow.PLAIN, target, tried[0].way, looked_up))
        around = looked_up if tried[1].delay < tried[0].delay else []
    fastest = min((*parts, *tried), key=lambda one: one.delay)
    if clock < fastest.delay <= (1 + _NEAR_QUICKLY) * clock:
        if fastest.in_parts:
            tried.append(faster())
        else:
            tell("mapping again, for more speed")
            share = _SHORTER[0]
            tried.append(one(flow.PLAIN, target - share * clock, tried[0].way, around, gap=flow.TIGHT))
    return [*parts, *tried]


def _unread(memory: list[Memory]) -> list[str]:
    """Memories that nothing reads."""
    return [one.name for one in memory if one.unread]


def _known(tools: Tools, boxes: dict[str, str]) -> Any:
    """Cells a netlist may hold: usable ones of the library, clock gates, memories."""

    class Known:
        def __contains__(self, name: object) -> bool:
            kind = str(name)
            return kind in boxes.values() or (kind in tools.library and not tools.library[kind].latch)

    return Known()


def _memory_method() -> str:
    return (
        f"SRAM: {memories.table()['source']}; arrays: slices mapped to flip-flops, straight line in the "
        "columns"
    )
