"""List scheduling of each block: long latencies first, within what the registers allow.

Instructions are taken one per cycle, among those whose operands have arrived the one with the longest way to
the end of the block; loads come early by their latency. Before register allocation the number of values alive
is watched: at the limit, what frees most goes first. A block whose new order would need more registers than
the limit and than its old order, or would take no fewer cycles, stays as it was.

The limit is what the kernel needs somewhere anyway, but at least the free registers of the compile options,
and less than `max_registers`: a shorter block is not worth an occupancy lost, nor a spill. Instructions that
are equal in all this keep their order.
"""

from __future__ import annotations

from dataclasses import replace

from warpbank.arch.uop import Unit
from warpbank.program.cfg import Cfg
from warpbank.program.dependences import Dependences, dependences
from warpbank.program.isa import Block, Instr, Kernel, Op, Space, unit_of
from warpbank.program.liveness import Live, Liveness, mask_of
from warpbank.program.options import FREE_REGISTERS, MAX_REGISTERS

#: Cycles from issue until a dependent instruction may issue, for the order only; the machine's latencies are
#: its configuration.
LATENCY = {
    Unit.ALU: 4,
    Unit.FMA: 4,
    Unit.SFU: 8,
    Unit.TENSOR: 16,
    Unit.FP64: 16,
    Unit.LSU: 24,
    Unit.CONTROL: 1,
}
#: Of loads and atomics that go beyond shared memory. Less than it is: other warps hide most of it.
MEMORY_LATENCY = 80


def latency(instr: Instr) -> int:
    """Latency of an instruction: cycles until its result can be used."""
    if instr.op in (Op.LD, Op.ATOM) and instr.space not in (Space.SHARED, Space.CONST):
        return MEMORY_LATENCY
    return LATENCY[unit_of(instr)]


def cycles(instrs: list[Instr]) -> int:
    """Cycles to issue straight-line code in this order, one instruction a cycle, waiting for operands."""
    return _cycles(instrs, dependences(instrs), list(range(len(instrs))))


def _cycles(instrs: list[Instr], order: Dependences, sequence: list[int]) -> int:
    issued: dict[int, int] = {}
    now = 0
    for i in sequence:
        for j, value in order.before[i].items():
            now = max(now, issued[j] + (latency(instrs[j]) if value else 1))
        issued[i] = now
        now += 1
    return now


def schedule(
    kernel: Kernel, max_registers: int = MAX_REGISTERS, free_registers: int = FREE_REGISTERS
) -> Kernel:
    """Copy of `kernel` with its blocks reordered.

    Parameters
    ----------
    max_registers : registers per thread that the allocator may use.
    free_registers : registers that a block may use without asking.
    """
    live = Liveness(kernel, Cfg(kernel))
    limit = min(max(live.pressure(), free_registers), max_registers - max_registers // 8)
    blocks = []
    for b, block in enumerate(kernel.blocks):
        instrs = block.instrs
        if len(instrs) > 2:
            instrs = _schedule(instrs, live.at_end[b], None if kernel.allocated else limit)
        blocks.append(Block(block.label, [i.copy() for i in instrs]))
    return replace(kernel, blocks=blocks, groups=dict(kernel.groups))


def _schedule(instrs: list[Instr], at_end: Live, limit: int | None) -> list[Instr]:
    order = dependences(instrs)
    old = list(range(len(instrs)))
    tries = [limit] if limit is None else [limit, limit - 4, limit - 8]
    most = None if limit is None else max(limit, _pressure(instrs, at_end, old))
    for attempt in tries:
        sequence = _Chooser(instrs, order, at_end, attempt).run()
        if most is not None and _pressure(instrs, at_end, sequence) > most:
            continue
        if _cycles(instrs, order, sequence) < _cycles(instrs, order, old):
            return [instrs[i] for i in sequence]
        break
    return instrs


def _pressure(instrs: list[Instr], at_end: Live, sequence: list[int]) -> int:
    """Most words alive at once within the block, in an order of it. Guarded writes count as reads."""
    alive, most = at_end.registers, 0
    for i in reversed(sequence):
        written = mask_of(instrs[i].registers_written())
        most = max(most, (alive | written).bit_count())
        if instrs[i].guard is None:
            alive &= ~written
        alive |= mask_of(instrs[i].registers_read())
    return max(most, alive.bit_count())


class _Chooser:
    """One pass of list scheduling over a block."""

    def __init__(self, instrs: list[Instr], order: Dependences, at_end: Live, limit: int | None) -> None:
        self.instrs, self.order, self.limit = instrs, order, limit
        n = len(instrs)
        self.height = [0] * n  # longest way to the end of the block
        for i in range(n - 1, -1, -1):
            mine = latency(instrs[i])
            self.height[i] = max(
                [self.height[j] + (mine if value else 1) for j, value in order.after[i].items()], default=0
            )
        self.ready_at = [0] * n
        self.missing = [len(b) for b in order.before]
        if limit is not None:
            self._count_values(at_end)

    def _count_values(self, at_end: Live) -> None:
        """Number the values that registers hold in turn, and count how often each is still to be read."""
        current: dict[int, int] = {}
        self.remaining: list[int] = []
        self.reads: list[list[int]] = []
        self.makes: list[list[int]] = []

        def value_of(register: int) -> int:
            if register not in current:
                current[register] = len(self.remaining)
                self.remaining.append(0)
            return current[register]

        for instr in self.instrs:
            read = {value_of(r): None for r in instr.registers_read()}
            if instr.guard is not None:
                read |= {value_of(r): None for r in instr.registers_written()}
            made = []
            for r in instr.registers_written():
                if instr.guard is None:
                    current.pop(r, None)
                made.append(value_of(r))
            for v in read:
                self.remaining[v] += 1
            self.reads.append(list(read))
            self.makes.append(made)
        self.alive = set()
        made_here = {v for made in self.makes for v in made}
        for v in range(len(self.remaining)):
            if v not in made_here:
                self.alive.add(v)
        passing = 0
        for register in range(at_end.registers.bit_length()):
            if at_end.registers >> register & 1:
                if register in current:
                    self.remaining[current[register]] += 1  # read after the block
                else:
                    passing += 1
        self.passing = passing

    def _growth(self, i: int) -> int:
        """By how many values an instruction would raise what is alive."""
        made = sum(v not in self.alive for v in self.makes[i])
        return made - sum(self.remaining[v] == 1 for v in self.reads[i])

    def run(self) -> list[int]:
        n = len(self.instrs)
        ready = [i for i in range(n) if not self.missing[i]]
        sequence: list[int] = []
        now = 0
        while ready:
            i = self._choose(ready, now)
            now = max(now, self.ready_at[i])
            ready.remove(i)
            sequence.append(i)
            for j, value in self.order.after[i].items():
                self.ready_at[j] = max(self.ready_at[j], now + (latency(self.instrs[i]) if value else 1))
                self.missing[j] -= 1
                if not self.missing[j]:
                    ready.append(j)
            now += 1
            if self.limit is not None:
                for v in self.makes[i]:
                    self.alive.add(v)
                for v in self.reads[i]:
                    self.remaining[v] -= 1
                for v in [*self.makes[i], *self.reads[i]]:
                    if not self.remaining[v]:
                        self.alive.discard(v)
        return sequence

    def _choose(self, ready: list[int], now: int) -> int:
        if self.limit is not None and len(self.alive) + self.passing + 3 > self.limit:
            tight = min(
                ready, key=lambda i: (self._growth(i), max(0, self.ready_at[i] - now) > 8, -self.height[i], i)
            )
            if self._growth(tight) < 0 or len(self.alive) + self.passing + 1 > self.limit:
                return tight
        return min(ready, key=lambda i: (max(0, self.ready_at[i] - now), -self.height[i], i))
