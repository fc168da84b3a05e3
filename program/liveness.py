"""Thread liveness analysis: which registers and predicates one lane may still read.

Classic backward data flow over 32-bit registers and predicates. A guarded write does not kill, since lanes
whose guard is false keep the old value, unless all that follows is read under the same guard; a write to some
words of a group kills those words only. Sets are Python integers, bit i for register (or predicate) i: unions
over thousands of virtual registers stay cheap.

What is true of a thread is not true of its warp: for hints that hardware acts on use
`warpbank.program.simt_liveness`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import PT, Instr, Kernel, Pred


def mask_of(indices: Iterable[int]) -> int:
    """Set of numbers as a bit mask."""
    mask = 0
    for i in indices:
        mask |= 1 << i
    return mask


def members(mask: int) -> Iterator[int]:
    """Members of a bit-mask set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True, slots=True)
class Live:
    """Live registers and predicates at one place."""

    registers: int
    predicates: int

    def __or__(self, other: Live) -> Live:
        return Live(self.registers | other.registers, self.predicates | other.predicates)


NOTHING = Live(0, 0)


class Backward:
    """Backward walk through straight-line code, one lane's view.

    A guarded write satisfies the reads that follow under the same guard, as long as the guard's predicate
    does not change between; `_only` remembers under which guard a register (or predicate) is wanted, if under
    one alone.
    """

    def __init__(self, live: Live) -> None:
        self.registers, self.predicates = live.registers, live.predicates
        self._only_registers: dict[int, Pred] = {}
        self._only_predicates: dict[int, Pred] = {}

    @property
    def live(self) -> Live:
        """Live registers and predicates here."""
        return Live(self.registers, self.predicates)

    def step(self, instr: Instr) -> None:
        """Step over one instruction, from after it to before it."""
        guard = None if always(instr) else instr.guard
        for (
            p
        ) in instr.pdst:  # what was wanted under the new value of a predicate is wanted, whatever its old one
            for only in (self._only_registers, self._only_predicates):
                for i in [i for i, g in only.items() if g.index == p]:
                    del only[i]
        self.registers &= ~_killed(instr.registers_written(), guard, self._only_registers)
        self.predicates &= ~_killed(instr.predicates_written(), guard, self._only_predicates)
        for i in instr.registers_read():
            self.registers |= _wanted(i, guard, self.registers, self._only_registers)
        for p in [q.index for q in instr.psrc if q.index != PT]:
            self.predicates |= _wanted(p, guard, self.predicates, self._only_predicates)
        if guard is not None and guard.index != PT:
            self.predicates |= _wanted(guard.index, None, self.predicates, self._only_predicates)


def _killed(written: list[int], guard: Pred | None, only: dict[int, Pred]) -> int:
    killed = 0
    for i in written:
        if guard is None or only.get(i) == guard:
            killed |= 1 << i
            only.pop(i, None)
    return killed


def _wanted(i: int, guard: Pred | None, live: int, only: dict[int, Pred]) -> int:
    if not live >> i & 1:
        if guard is not None:
            only[i] = guard
    elif i in only and only[i] != guard:
        del only[i]
    return 1 << i


class Liveness:
    """Liveness at every place of a kernel.

    Attributes
    ----------
    cfg : the graph it was computed over.
    at_start, at_end : per block, what is alive at its first instruction and after its last.
    """

    def __init__(self, kernel: Kernel, cfg: Cfg | None = None) -> None:
        self.kernel = kernel
        self.cfg = cfg or Cfg(kernel)
        n = len(kernel.blocks)
        self.at_start = [NOTHING] * n + [NOTHING]  # the virtual exit reads nothing
        self.at_end = [NOTHING] * n
        # A block as one transfer function: alive at start = reads | (alive at end without kills).
        transfers = [self._transfer(b.instrs) for b in kernel.blocks]
        unreached = [b for b in range(n) if self.cfg.idom[b] is None and b]
        work = unreached + self.cfg.order  # popped from the end: post-order
        queued = [True] * n
        while work:
            b = work.pop()
            queued[b] = False
            registers = predicates = 0
            for s in self.cfg.successors[b]:
                registers |= self.at_start[s].registers
                predicates |= self.at_start[s].predicates
            self.at_end[b] = Live(registers, predicates)
            reads, kills = transfers[b]
            new = Live(
                reads.registers | (registers & ~kills.registers),
                reads.predicates | (predicates & ~kills.predicates),
            )
            if new != self.at_start[b]:
                self.at_start[b] = new
                for p in self.cfg.predecessors[b]:
                    if not queued[p]:
                        queued[p] = True
                        work.append(p)

    @staticmethod
    def _transfer(instrs: list[Instr]) -> tuple[Live, Live]:
        walk, kills_r, kills_p = Backward(NOTHING), 0, 0
        for instr in reversed(instrs):
            walk.step(instr)
            if always(instr):
                kills_r |= mask_of(instr.registers_written())
                kills_p |= mask_of(instr.predicates_written())
        return walk.live, Live(kills_r, kills_p)

    def after(self, block: int) -> list[Live]:
        """Live registers and predicates after each instruction of a block."""
        instrs = self.kernel.blocks[block].instrs
        found = [NOTHING] * len(instrs)
        walk = Backward(self.at_end[block])
        for i in range(len(instrs) - 1, -1, -1):
            found[i] = walk.live
            walk.step(instrs[i])
        return found

    def __iter__(self) -> Iterator[tuple[int, Instr, Live]]:
        """Every instruction in layout order as (pc, instruction, what is alive after it)."""
        pc = 0
        for b, block in enumerate(self.kernel.blocks):
            for instr, live in zip(block.instrs, self.after(b), strict=True):
                yield pc, instr, live
                pc += 1

    def pressure(self) -> int:
        """Register pressure: most 32-bit registers alive at once, destinations of an instruction included."""
        most = 0
        for _, instr, live in self:
            most = max(most, (live.registers | mask_of(instr.registers_written())).bit_count())
        return max([most] + [live.registers.bit_count() for live in self.at_start])


def thread_liveness(kernel: Kernel, cfg: Cfg | None = None) -> Liveness:
    """Liveness of a single lane at every place of `kernel`."""
    return Liveness(kernel, cfg)


def maybe_defined(kernel: Kernel, cfg: Cfg) -> list[Live]:
    """Possibly defined registers and predicates when each block starts. A value alive but never written is
    nobody's: PTX may read registers that it did not write, and what they then hold is undefined."""
    n = len(kernel.blocks)
    writes = []
    for block in kernel.blocks:
        registers = predicates = 0
        for instr in block.instrs:
            registers |= mask_of(instr.registers_written())
            predicates |= mask_of(instr.predicates_written())
        writes.append(Live(registers, predicates))
    at_start = [NOTHING] * n
    changed = True
    while changed:
        changed = False
        for b in cfg.order:
            new = at_start[b]
            for p in cfg.predecessors[b]:
                new = new | at_start[p] | writes[p]
            if new != at_start[b]:
                at_start[b] = new
                changed = True
    return at_start
