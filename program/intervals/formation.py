"""Formation of register-intervals (LTRF, algorithms 1 and 2) and of strands.

Pass 1 starts an interval at the entry and takes in every piece that is entered only from it, for as long as
the registers of the whole interval are at most N; a block of which only the beginning fits is cut there.
Whatever an interval leads to and could not take in begins another. Pass 2 does the same with intervals for
pieces, without cutting, until nothing changes: each repetition can take in one more loop level. An edge of an
interval to its own entry does not count against it.

The listing of algorithm 1 adds up registers along paths only, so that two sides of a branch could fit one by
one and not together. We follow its text: the registers of the interval as a whole.

A strand may hold no operation of long or unknown latency and no backward branch: pass 1 alone, with every
block cut after a load or atomic outside shared memory, after a fence and after a CTA barrier. Irreducible
regions need nothing special: what is entered from two intervals begins its own. Code out of reach is
partitioned after all the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from warpbank.arch.errors import ConfigError
from warpbank.program.intervals.pieces import Piece, Pieces
from warpbank.program.isa import Instr, Kernel, Op, Space
from warpbank.program.liveness import members

#: Architectural registers: length of a PREFETCH bit-vector.
VECTOR_BITS = 256


class Rule(StrEnum):
    """Rule of division: register-intervals or strands."""

    INTERVAL = "interval"
    STRAND = "strand"


@dataclass(frozen=True)
class Intervals:
    """The intervals of one kernel, or of the kernels of a trace one after the other.

    Parameters
    ----------
    limit : most registers of an interval.
    interval : per pc, the number of its interval (i4).
    registers : per interval, which registers its code touches (bool, 256 columns).
    entries : per interval, the pc of its PREFETCH: that of its first instruction (i4).
    pieces : the pieces of blocks that the code was cut into, in layout order, without empty ones.
    first_pass : how many intervals there were before pass 2.
    """

    limit: int
    interval: np.ndarray
    registers: np.ndarray
    entries: np.ndarray
    pieces: tuple[Piece, ...]
    first_pass: int

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def bit_vectors(self) -> np.ndarray:
        """Per interval 32 bytes; register r is bit r % 8 of byte r // 8."""
        return np.packbits(self.registers, axis=1, bitorder="little")


def form(kernel: Kernel, limit: int, rule: Rule = Rule.INTERVAL) -> Intervals:
    """Divide allocated code into intervals of at most `limit` registers.

    Raises
    ------
    ValueError : the registers are virtual.
    ConfigError : one instruction alone needs more than `limit`.
    """
    if not kernel.allocated:
        raise ValueError(f"kernel {kernel.name} is on virtual registers; intervals need allocated ones.")
    graph = Pieces(kernel)
    for pc, mask in enumerate(graph.registers):
        if mask.bit_count() > limit:
            raise ConfigError(
                f"instruction {pc} of kernel {kernel.name} needs {mask.bit_count()} registers; an interval "
                f"has {limit}: give the machine a larger sub_core.cache.registers."
            )
    headers = _cut_strands(graph, kernel) if rule is Rule.STRAND else set()
    owner, masks, entries = _pass1(graph, limit, headers)
    first_pass = _count(graph, owner)
    if rule is Rule.INTERVAL:
        owner, masks, entries = _reduce(graph, owner, masks, entries, limit)
    return _numbered(graph, owner, masks, entries, limit, first_pass)


def long_latency(instr: Instr) -> bool:
    """Whether a warp may have to wait long for what the instruction does: a strand ends behind it."""
    return instr.op in (Op.BAR, Op.MEMBAR) or (
        instr.op in (Op.LD, Op.ATOM) and instr.space not in (Space.SHARED, Space.CONST)
    )


def _cut_strands(graph: Pieces, kernel: Kernel) -> set[int]:
    """Cut behind long operations; returns the pieces that must begin a strand."""
    code, headers = kernel.instructions(), set()
    for number in range(len(graph.pieces)):
        at = number
        whole = graph.pieces[at]
        for pc in range(whole.start, whole.end):
            if long_latency(code[pc]):
                if pc + 1 < whole.end:
                    at = graph.cut(at, pc + 1)
                    headers.add(at)
                else:
                    headers.update(graph.successors[at])
    return headers


_Partition = tuple[list[int], list[int], list[int]]  # owner per node; register mask and entry node per group


def _partition(
    successors: list[list[int]],
    predecessors: list[list[int]],
    order: list[int],
    headers: set[int],
    take: Callable[[int, int], tuple[int, int] | None],
) -> _Partition:
    """Groups with a single entry; `headers` join none but their own.

    `take(mask, node)` gives the mask with the node and the number of the node's cut-off rest (-1: none), or
    None if nothing of it fits. The lists may grow by what it cuts.
    """
    owner = [-1] * len(successors)
    masks: list[int] = []
    entries: list[int] = []
    work: deque[int] = deque()

    def begin(node: int) -> None:
        owner[node] = len(masks)
        masks.append(0)
        entries.append(node)
        work.append(node)

    def join(node: int, group: int) -> bool:
        taken = take(masks[group], node)
        if taken is None:
            return False
        owner[node] = group
        masks[group], rest = taken
        if rest >= 0:
            owner.append(-1)
            begin(rest)
        return True

    for root in order.copy():
        if owner[root] < 0:
            begin(root)
        while work:
            group = owner[work[0]]
            join(work.popleft(), group)
            grown = True
            refused = headers.copy()
            while grown:
                grown = False
                for node in order.copy():
                    inside = owner[node] < 0 and node not in refused and predecessors[node]
                    if inside and all(owner[p] == group for p in predecessors[node]):
                        if join(node, group):
                            grown = True
                        else:
                            refused.add(node)
            for node in order.copy():
                if owner[node] == group:
                    for s in successors[node]:
                        if owner[s] < 0:
                            begin(s)
    return owner, masks, entries


def _pass1(graph: Pieces, limit: int, headers: set[int]) -> _Partition:
    def take(mask: int, node: int) -> tuple[int, int] | None:
        piece = graph.pieces[node]
        for pc in range(piece.start, piece.end):
            if (mask | graph.registers[pc]).bit_count() > limit:
                return None if pc == piece.start else (mask, graph.cut(node, pc))
            mask |= graph.registers[pc]
        return mask, -1

    return _partition(graph.successors, graph.predecessors, graph.order, headers, take)


def _reduce(graph: Pieces, owner: list[int], masks: list[int], entries: list[int], limit: int) -> _Partition:
    """Pass 2, repeated until nothing changes."""
    while True:
        count = len(masks)
        successors: list[list[int]] = [[] for _ in range(count)]
        predecessors: list[list[int]] = [[] for _ in range(count)]
        for a, following in enumerate(graph.successors):
            for b in following:
                if owner[a] != owner[b] and owner[b] not in successors[owner[a]]:
                    successors[owner[a]].append(owner[b])
                    predecessors[owner[b]].append(owner[a])
        current = masks

        def take(mask: int, node: int, current: list[int] = current) -> tuple[int, int] | None:
            joined = mask | current[node]
            return (joined, -1) if joined.bit_count() <= limit else None

        outer, masks, outer_entries = _partition(successors, predecessors, list(range(count)), set(), take)
        owner = [outer[o] for o in owner]
        entries = [entries[e] for e in outer_entries]
        if len(masks) == count:
            return owner, masks, entries


def _count(graph: Pieces, owner: list[int]) -> int:
    """Intervals that hold an instruction."""
    return len({o for o, piece in zip(owner, graph.pieces, strict=True) if piece.start < piece.end})


def _numbered(
    graph: Pieces, owner: list[int], masks: list[int], entries: list[int], limit: int, first_pass: int
) -> Intervals:
    """Intervals in layout order of their first instruction; those of empty blocks alone fall away."""
    filled = sorted(
        (piece.start, piece, o)
        for o, piece in zip(owner, graph.pieces, strict=True)
        if piece.start < piece.end
    )
    number: dict[int, int] = {}
    interval = np.zeros(len(graph.registers), np.int32)
    for _, piece, o in filled:
        interval[piece.start : piece.end] = number.setdefault(o, len(number))
    registers = np.zeros((len(number), VECTOR_BITS), bool)
    for o, i in number.items():
        registers[i, list(members(masks[o]))] = True
    starts = np.array([graph.pieces[entries[o]].start for o in number], np.int32)
    return Intervals(limit, interval, registers, starts, tuple(piece for _, piece, _ in filled), first_pass)
