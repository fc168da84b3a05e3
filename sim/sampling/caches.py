"""Functional caches, tags of L1 and L2 that see what a program touches in its own order and take no time.

They tell what missed, and what the caches hold where a part of the program begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, WHOLE_LINE, Memory
from warpbank.program.loops import loop
from warpbank.program.trace.schema import Trace

#: A way without a line: a number without sectors.
_NONE = 0
_LOADS = (int(Memory.LOAD_GLOBAL), int(Memory.LOAD_LOCAL))


@dataclass(frozen=True)
class Contents:
    """Contents of the caches: lines, in the order in which to touch them to have them there.

    Parameters
    ----------
    lines : the lines, each with the mask of its sectors above its number, as a trace has them.
    loads : per line, whether a load touches it, so that the L1 has it.
    """

    lines: list[int]
    loads: list[bool]


class Caches:
    """Tags of L1 and L2, replaced as those of the machine (`warpbank.golden.execute.l1.Tags`).

    Parameters
    ----------
    machine : gives their sizes.
    """

    def __init__(self, machine: SmConfig) -> None:
        self._l1 = np.full((machine.l1.sets, machine.l1.ways), _NONE, np.int64)
        self._l2 = np.full((machine.memory.l2_sets, machine.memory.l2_ways), _NONE, np.int64)
        self._sectored = np.array([machine.l1.sectors > 1, machine.memory.l2_sectors > 1])

    def launch(self) -> None:
        """Invalidate the L1, since a kernel launch begins."""
        self._l1[:] = _NONE

    def walk(self, trace: Trace, first: int, length: int) -> tuple[int, int]:
        """Touch the lines of a warp, by its rows of `trace.dynamic`. Returns the requests that the L2 got and
        those that it missed."""
        mine = trace.dynamic[first : first + length]
        mine = mine[mine["line_count"] > 0]
        if not len(mine):
            return 0, 0
        loads = (mine["memory"] == _LOADS[0]) | (mine["memory"] == _LOADS[1])
        starts, counts = mine["line"].astype(np.int64), mine["line_count"].astype(np.int64)
        begin = int(starts.min())
        lines = trace.lines[begin : int((starts + counts).max())].astype(np.int64)
        asked, missed = _walk(lines, starts - begin, counts, loads, self._l1, self._l2, self._sectored)
        return int(asked), int(missed)

    def contents(self) -> Contents:
        """Lines that the caches hold."""
        first = self._l1[:, ::-1].T.ravel()
        second = self._l2[:, ::-1].T.ravel()
        first, second = first[first != _NONE], second[second != _NONE]
        return Contents([*first.tolist(), *second.tolist()], [True] * len(first) + [False] * len(second))


@loop
def _walk(
    lines: np.ndarray,
    starts: np.ndarray,
    counts: np.ndarray,
    loads: np.ndarray,
    l1: np.ndarray,
    l2: np.ndarray,
    sectored: np.ndarray,
) -> tuple[int, int]:
    """Touch `counts` lines from `starts` on, per instruction. A set's lines stand from the latest used on,
    with the sectors that are there."""
    asked = missed = 0
    for row in range(len(starts)):
        for place in range(starts[row], starts[row] + counts[row]):
            line = lines[place] & LINE_MASK
            sectors = lines[place] >> LINE_WIDTH
            level = 0 if loads[row] else 1
            while level < 2:
                tags = l1 if level == 0 else l2
                if level == 1:
                    asked += 1
                if not sectored[level]:
                    sectors = WHOLE_LINE
                ways = tags[line & (len(tags) - 1)]
                at = len(ways) - 1
                there = 0
                for way in range(len(ways)):
                    if ways[way] & LINE_MASK == line:
                        at, there = way, ways[way] >> LINE_WIDTH
                        break
                for way in range(at, 0, -1):
                    ways[way] = ways[way - 1]
                ways[0] = (there | sectors) << LINE_WIDTH | line
                sectors &= ~there
                if sectors == 0:
                    break
                if level == 1:
                    missed += 1
                level += 1
    return asked, missed


def contents_at(trace: Trace, machine: SmConfig, places: set[int]) -> dict[int, Contents]:
    """Contents of the caches before each of these rows of `trace.warps`, when the program has run up to it,
    warp by warp."""
    caches, launch, found = Caches(machine), -1, {}
    last = max(places, default=-1)
    warps = trace.warps[: last + 1]
    for row, (number, first, length) in enumerate(
        zip(warps["launch"].tolist(), warps["first"].tolist(), warps["length"].tolist(), strict=True)
    ):
        if number != launch:
            launch = number
            caches.launch()
        if row in places:
            found[row] = caches.contents()
        if row < last:
            caches.walk(trace, first, length)
        if row % 1024 == 0:
            trace.let_go()
    return found
