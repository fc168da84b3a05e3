"""Search for a unit's netlist: which ways of mapping are tried, and which of their netlists is taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from warpbank.synth import closure, flow, mapped, timing
from warpbank.synth.errors import MapperError
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Netlist
from warpbank.synth.timing import BoxTiming

#: How much is tried: several mappings, the best of which is taken; or one, for units that are too large for
#: that.
FULL, QUICK = EFFORTS = ("full", "quick")
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
#: Files of the fastest netlist as a whole, and in parts.
_KEPT = {False: "fastest_whole.json", True: "fastest_in_parts.json"}


@dataclass(frozen=True)
class Tried:
    """Netlist that was tried.

    Parameters
    ----------
    read : how its registers are read, see `warpbank.synth.flow.mapped`.
    way, around, gap : see there.
    target : time that it was mapped for, in ns.
    in_parts : whether there were parts.
    area, delay : in um2 and ns.
    late : whether it misses the clock.
    within : whether the slowest path leads through a memory that is read within it.
    net, verilog : the netlist.
    """

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


class Search:
    """Search for the netlist of a unit, whose words are in `coarse.il` of a folder.

    Parameters
    ----------
    unit : its name.
    folder : the folder, where mappings leave what `warpbank.synth.flow.mapped` says.
    tools : the library.
    clock : in ns.
    boxes : see `warpbank.synth.flow.mapped`.
    unread : memories that nothing reads.
    times : timing of the memories that are black boxes, by module.
    tell : is told what is being done.
    """

    def __init__(
        self,
        unit: str,
        folder: Path,
        tools: Tools,
        clock: float,
        boxes: dict[str, str],
        unread: Sequence[str],
        times: Mapping[str, BoxTiming],
        tell: Callable[[str], None],
    ) -> None:
        self._unit, self._folder, self._tools, self._clock = unit, folder, tools, clock
        self._boxes, self._unread, self._times, self._tell = boxes, unread, times, tell
        #: Delay of the fastest netlist as a whole, and in parts; both are kept in the folder.
        self._fastest = {False: math.inf, True: math.inf}

    def best(self, effort: str) -> Netlist:
        """The netlist, whose Verilog is then `mapped.v` in the folder: of those tried, the smallest one that
        meets the clock, else the fastest.

        Tried are registers as they are; inverted, if they are many; where the clock is missed, registers read
        at either output; and, where it is missed by little, shorter targets for the smallest of those: the
        mapper does not see what loads the registers. Where all of that misses the clock, logic is mapped the
        fast way, with shorter targets if it misses by little, too.

        With little effort a unit of several large sub-units is mapped with each sub-unit by itself. If it
        misses the clock so, a huge one that is late by little is mapped so once more, with a shorter target,
        and one that is not huge is mapped as one that has no sub-units. That one is mapped as a whole, the
        quick way; and once more, with the logic around memories by itself, if it is not much too late and its
        slowest path leads through a memory. If the fastest netlist misses the clock by little then, its way
        is taken once more, with a shorter target, and cells are made smaller only where that costs no time.
        What is late by no more than the order of the cells is worth is mapped with its cells in other orders.
        In the fastest netlist, if it is late by little still, cells are exchanged and buffers inserted; with
        little effort before other orders are tried, and, where that is not enough, in the fastest one that is
        mapped in parts, too: it may gain more.
        """
        tried = self.quickly(self._target) if effort == QUICK else self._thoroughly(self._target)
        if effort == QUICK:
            self._close(tried)
        self._reorder(tried)
        if effort != QUICK:
            self._close(tried)
        best = min(tried, key=lambda one: (one.late, one.delay if one.late else one.area))
        (self._folder / "mapped.v").write_text(best.verilog)
        return best.net

    @property
    def _target(self) -> float:
        """Time in ns for the logic between registers."""
        return self._clock - timing.overhead(self._tools.library, self._tools.load)

    def map(
        self,
        read: str,
        target: float,
        way: str = flow.SMALL,
        around: Sequence[str] = (),
        order: int = 0,
        in_parts: bool = False,
        gap: int = flow.LOOSE,
    ) -> Tried:
        """Netlist of one way of mapping; parameters as of `warpbank.synth.flow.mapped`, `target` in ns."""
        marks = flow.mapped(
            self._tools,
            self._unit,
            self._folder,
            picoseconds=1000 * target,
            boxes=self._boxes,
            read=read,
            unread=self._unread,
            way=way,
            around=around,
            order=order,
            in_parts=in_parts,
            gap=gap,
        )
        net = mapped.read(self._folder / "mapped.json", self._unit, set(self._boxes.values()))
        mapped.check_mapped(net, _Known(self._tools, self._boxes))
        path, parted = self._path(net), bool(marks)
        if path.delay < self._fastest[parted]:
            self._fastest[parted] = path.delay
            (self._folder / "mapped.json").replace(self._folder / _KEPT[parted])
        within = any(step.cell in self._times for step in path.steps[1:])
        verilog, late = (self._folder / "mapped.v").read_text(), path.delay > self._clock
        return Tried(
            read, way, target, around, parted, gap, self._area(net), path.delay, late, within, net, verilog
        )

    def _path(self, net: Netlist) -> timing.Path:
        return timing.Timer(net, self._tools.library, self._times, self._tools.load).path()

    def _area(self, net: Netlist) -> float:
        library = self._tools.library
        return sum(library[cell.type].area for cell in net.cells if cell.type in library)

    def _thoroughly(self, target: float) -> list[Tried]:
        """Netlists that full effort tries."""
        library = self._tools.library
        tried = [self.map(flow.PLAIN, target)]
        cells = tried[0].net.cells
        registers = sum(1 for cell in cells if cell.type in library and library[cell.type].state)
        large = len(cells) > _CELLS
        if not large:
            if registers >= _REGISTERS and flow.can_invert(library.flop):
                self._tell("mapping again, registers inverted")
                tried.append(self.map(flow.INVERTED, target))
            if all(one.late for one in tried) and registers and flow.can_invert(library.flop):
                self._tell("mapping again, registers read at both outputs")
                tried.append(self.map(flow.BOTH, target))
        for way in (flow.SMALL, flow.FAST):
            if way == flow.FAST and all(one.late for one in tried):
                self._tell("mapping again, the fast way")
                with suppress(MapperError):  # ABC's older mapper does not take every library
                    tried.append(self.map(flow.PLAIN, target, way))
            near = [one for one in tried if one.way == way and one.delay <= (1 + _NEAR) * self._clock]
            shares = _SHORTER if not large else _SHORTER[:1] if way == flow.FAST else ()
            for share in shares if near and all(one.late for one in tried) else ():
                self._tell("mapping again, for more speed")
                read = min(near, key=lambda one: one.area).read
                tried.append(self.map(read, target - share * self._clock, way))
                if not tried[-1].late:
                    break
        return tried

    def quickly(self, target: float) -> list[Tried]:
        """Netlists that little effort tries; `target` in ns."""
        clock, parts = self._clock, list[Tried]()

        def faster() -> Tried:
            """The parts once more, with a shorter target."""
            late = parts[0].delay / clock - 1
            self._tell(f"mapping again, for more speed: {parts[0].delay:.3f} ns")
            share = max(_SHORTER[0], late + _SHORTFALL)
            return self.map(flow.PLAIN, target - share * clock, flow.QUICK, in_parts=True, gap=flow.TIGHT)

        try:
            tried = [self.map(flow.PLAIN, target, flow.QUICK, in_parts=True)]
            if tried[0].in_parts:
                parts = tried
                near = parts[0].delay <= (1 + _NEAR_QUICKLY) * clock
                if not parts[0].late:
                    return parts
                if len(parts[0].net.cells) > _WHOLE:
                    return [*parts, faster()] if near else parts
                self._tell("mapping again, all sub-units as one")
                tried = [self.map(flow.PLAIN, target, flow.QUICK)]
        except MapperError:  # ABC's older mapper does not take every library
            tried = [self.map(flow.PLAIN, target, flow.BARE)]
        around: list[str] = []
        if tried[0].within and clock < tried[0].delay < _HOPELESS * clock:
            self._tell("mapping again, what is around memories by itself")
            looked_up = [
                name for name in self._boxes.values() if name in self._times and self._times[name].address
            ]
            tried.append(self.map(flow.PLAIN, target, tried[0].way, looked_up))
            around = looked_up if tried[1].delay < tried[0].delay else []
        fastest = min((*parts, *tried), key=lambda one: one.delay)
        if clock < fastest.delay <= (1 + _NEAR_QUICKLY) * clock:
            if fastest.in_parts:
                tried.append(faster())
            else:
                self._tell("mapping again, for more speed")
                shorter = target - _SHORTER[0] * clock
                tried.append(self.map(flow.PLAIN, shorter, tried[0].way, around, gap=flow.TIGHT))
        return [*parts, *tried]

    def _close(self, tried: list[Tried]) -> None:
        """Exchange cells of the fastest netlists and insert buffers, until one meets the clock, if they are
        late by little."""
        for near in nearest(tried, self._clock):
            self._tell(f"sizing cells: {near.delay:.3f} ns")
            net = replace(near.net, cells=[replace(cell, pins={**cell.pins}) for cell in near.net.cells])
            changes = closure.close(
                net, self._tools.library, self._times, self._tools.load, self._clock, self._tell
            )
            delay = self._path(net).delay
            flow.changed(self._folder, self._unit, _KEPT[near.in_parts], changes)
            verilog, late = (self._folder / "mapped.v").read_text(), delay > self._clock
            tried.append(
                replace(near, net=net, verilog=verilog, area=self._area(net), delay=delay, late=late)
            )
            if not late:
                break

    def _reorder(self, tried: list[Tried]) -> None:
        """Map the fastest netlist with its cells in other orders, until one meets the clock, if it is late by
        no more than the order is worth."""
        near = min(tried, key=lambda one: one.delay)
        if self._clock < near.delay <= (1 + _SPREAD) * self._clock and len(near.net.cells) <= _HUGE:
            for order in range(1, _ORDERS + 1):
                self._tell("mapping again, cells in another order")
                tried.append(
                    self.map(near.read, near.target, near.way, near.around, order, near.in_parts, near.gap)
                )
                if not tried[-1].late:
                    break


def nearest(tried: Sequence[Tried], clock: float) -> list[Tried]:
    """The fastest netlist as a whole and the fastest in parts, where these are late by little, and none of
    all meets the clock."""
    if not all(one.late for one in tried):
        return []
    ways = [[one for one in tried if one.in_parts == in_parts] for in_parts in (False, True)]
    fastest = [min(way, key=lambda one: one.delay) for way in ways if way]
    return [one for one in fastest if one.delay <= (1 + _NEAR) * clock]


@dataclass(frozen=True)
class _Known:
    """Types of cells that a netlist may hold: usable ones of the library, clock gates, memories."""

    tools: Tools
    boxes: Mapping[str, str]

    def __contains__(self, name: object) -> bool:
        kind, library = str(name), self.tools.library
        return kind in self.boxes.values() or (kind in library and not library[kind].latch)
