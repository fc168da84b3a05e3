"""LTRF's Algorithms 1 and 2 a second time, written from the paper's listings over single instructions.

`warpbank.program.intervals.formation` works on pieces of blocks that it cuts; here nothing is cut: a node is
an instruction, and a block that does not fit is one whose later instructions belong to another interval. The
edges are read from the instructions themselves. Shared are the decoding of registers and the order in which
blocks are tried, which the paper leaves open, and the decision to count N over the whole interval
(docs/intervals.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from warpbank.program.isa import Kernel, Op

#: Instructions that belong together.
Partition = frozenset[frozenset[int]]


class Code:
    """Kernel as a graph of instructions.

    Attributes
    ----------
    blocks : per block the numbers of its instructions.
    touches : per instruction, the registers it reads or writes.
    follows, precedes : edges between blocks that are not left out for being empty.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.blocks: list[list[int]] = []
        self.touches: list[set[int]] = []
        label = {block.label: number for number, block in enumerate(kernel.blocks)}
        self.follows: list[set[int]] = [set() for _ in kernel.blocks]
        for number, block in enumerate(kernel.blocks):
            first = len(self.touches)
            self.blocks.append(list(range(first, first + len(block.instrs))))
            falls = True
            for instr in block.instrs:
                self.touches.append({*instr.registers_read(), *instr.registers_written()})
                if instr.op is Op.BRA:
                    assert instr.target is not None
                    self.follows[number].add(label[instr.target])
                if instr.op in (Op.BRA, Op.EXIT) and instr.guard is None:
                    falls = False
            if falls and number + 1 < len(kernel.blocks):
                self.follows[number].add(number + 1)
        self.precedes = [
            {a for a, following in enumerate(self.follows) if b in following}
            for b in range(len(kernel.blocks))
        ]


class FirstPass:
    """Algorithm 1. An interval is a number; `inside` says of every instruction in which it is.

    Parameters
    ----------
    code : the kernel.
    order : blocks in the order in which they are tried.
    limit : N.
    """

    def __init__(self, code: Code, order: Sequence[int], limit: int) -> None:
        self.code, self.limit = code, limit
        self.inside: dict[int, int] = {}
        self.starts: dict[int, tuple[int, int]] = {}  # interval -> block and place in it of its entry
        self.lists: list[set[int]] = []  # register_list of every interval
        self.begun: dict[int, int] = {}  # block -> interval of its first instruction
        self.ended: dict[int, int] = {}  # block -> interval of its last one
        self.working: list[int] = []
        for root in order:
            if root not in self.begun:
                self._new(root, 0)
            while self.working:
                self._grow(self.working.pop(0), order)

    def _new(self, block: int, place: int) -> None:
        interval = len(self.lists)
        self.lists.append(set())
        self.starts[interval] = block, place
        if not place:
            self.begun[block] = interval
        self.working.append(interval)

    def _grow(self, interval: int, order: Sequence[int]) -> None:
        code = self.code
        block, place = self.starts[interval]
        self._traverse(interval, block, place)
        refused: set[int] = set()
        changed = True
        while changed:
            changed = False
            for h in order:
                if h in self.begun or h in refused or not code.precedes[h]:
                    continue
                if any(self.ended.get(p) != interval for p in code.precedes[h]):
                    continue
                first = code.touches[code.blocks[h][0]] if code.blocks[h] else set()
                if len(self.lists[interval] | first) > self.limit:
                    refused.add(h)
                    continue
                self.begun[h] = interval
                self._traverse(interval, h, 0)
                changed = True
        for b in order:
            if self.ended.get(b) == interval:
                for s in sorted(code.follows[b], key=list(order).index):
                    if s not in self.begun:
                        self._new(s, 0)

    def _traverse(self, interval: int, block: int, place: int) -> None:
        """TRAVERSE: take in a block from `place` on, until it does not fit."""
        for at in range(place, len(self.code.blocks[block])):
            pc = self.code.blocks[block][at]
            together = self.lists[interval] | self.code.touches[pc]
            if len(together) > self.limit:
                self._new(block, at)
                return
            self.lists[interval] = together
            self.inside[pc] = interval
        self.ended[block] = interval


def second_pass(edges: dict[int, set[int]], lists: list[set[int]], limit: int) -> list[int]:
    """Algorithm 2, once: per interval, the one of the next level that it belongs to."""
    level: dict[int, int] = {}
    joined: list[set[int]] = []
    before = {h: {i for i, following in edges.items() if h in following} for h in edges}
    for root in edges:
        working = []
        if root not in level:
            level[root] = len(joined)
            joined.append(set(lists[root]))
            working.append(root)
        while working:
            ii = level[working.pop(0)]
            refused: set[int] = set()
            while True:
                h = next(
                    (
                        h
                        for h in edges
                        if h not in level
                        and h not in refused
                        and before[h]
                        and all(level.get(p) == ii for p in before[h])
                    ),
                    None,
                )
                if h is None:
                    break
                if len(joined[ii] | lists[h]) > limit:
                    refused.add(h)
                    continue
                level[h] = ii
                joined[ii] |= lists[h]
            for i in edges:
                if level.get(i) == ii:
                    for s in sorted(edges[i]):
                        if s not in level:
                            level[s] = len(joined)
                            joined.append(set(lists[s]))
                            working.append(s)
    return [level[i] for i in edges]


def partitions(kernel: Kernel, order: Sequence[int], limit: int) -> tuple[Partition, Partition]:
    """Instructions of every interval, after Algorithm 1 and after Algorithm 2."""
    code = Code(kernel)
    first = FirstPass(code, order, limit)
    number = [first.inside[pc] for pc in range(len(code.touches))]
    edges: dict[int, set[int]] = {interval: set() for interval in range(len(first.lists))}
    for block, pcs in enumerate(code.blocks):
        for a, b in pairwise(pcs):
            if number[a] != number[b]:
                edges[number[a]].add(number[b])
        for s in code.follows[block]:
            if first.ended[block] != first.begun[s]:
                edges[first.ended[block]].add(first.begun[s])
    after_first = _groups(number)
    lists = first.lists
    while True:
        level = second_pass(edges, lists, limit)
        count = max(level) + 1
        number = [level[i] for i in number]
        if count == len(lists):
            return after_first, _groups(number)
        merged: list[set[int]] = [set() for _ in range(count)]
        outer: dict[int, set[int]] = {interval: set() for interval in range(count)}
        for i, ii in enumerate(level):
            merged[ii] |= lists[i]
            outer[ii] |= {level[s] for s in edges[i]} - {ii}
        edges, lists = outer, merged


def _groups(number: list[int]) -> Partition:
    return frozenset(
        frozenset(pc for pc, mine in enumerate(number) if mine == interval) for interval in set(number)
    )
