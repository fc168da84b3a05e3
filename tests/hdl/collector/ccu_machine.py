"""What surrounds the caching collectors in their lockstep bench: hazards, banks and execution units."""

from __future__ import annotations

import random
from collections import Counter
from typing import ClassVar

import numpy as np

from tests.hdl.bench import make_uop
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.collector.cache_table import CacheTable, Line
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

UNITS = len(Unit)
#: Registers that a program uses; more than lines, so that some are replaced.
REGISTERS = 20


class Watched(CacheTable):
    """Golden's table; counts what decides a replacement."""

    seen: ClassVar[Counter[str]] = Counter()

    def next_victim(self, spared: list[Line]) -> Line | None:
        line = super().next_victim(spared)
        open_ = [each for each in self.lines if not each.locked and each not in spared]
        far = [each for each in open_ if not each.near]
        self.seen[
            "none"
            if line is None
            else "empty"
            if not line.valid
            else "far"
            if self._far_first and len(far) > 1
            else "one far"
            if self._far_first and far
            else "oldest"
        ] += 1
        return line


def number(value: Value | None) -> int:
    """A value as the RTL has it."""
    assert value is not None
    return sum(int(lane) << 32 * place for place, lane in enumerate(value))


class Machine:
    """Surroundings of the collectors: hazards, banks, units. Their interfaces in golden are its methods."""

    def __init__(self, config: SmConfig, rng: random.Random) -> None:
        self.config, self.rng = config, rng
        core = config.sub_core
        self.banks = [[self.draw() for _ in range(REGISTERS)] for _ in range(core.warps)]
        self.pending: list[set[int]] = [set() for _ in range(core.warps)]  # registers that will be written
        #: Operands still to be read, and how many uops are to read them.
        self.reading: list[Counter[int]] = [Counter() for _ in range(core.warps)]
        self.next: list[TraceUop] = []
        self.seq = [0] * core.warps
        self.flying: list[list[TraceUop]] = [[] for _ in Unit]  # dispatched, by unit
        self.heads: list[TraceUop | None] = [None] * UNITS  # whose results are offered
        self.requests: list[tuple[int, int, int, int]] = []
        self.accepting = 0
        self.taken: dict[int, tuple[int, TraceUop]] = {}
        for warp in range(core.warps):
            self.next.append(self.make(warp))

    def draw(self) -> Value:
        """A random value."""
        return np.array([self.rng.getrandbits(32) for _ in range(self.config.lanes)], np.uint32)

    def make(self, warp: int) -> TraceUop:
        """A warp's next uop; near registers are few, so that some are met again."""
        rng = self.rng
        self.seq[warp] += 1
        low = rng.choice((4, 9, REGISTERS))
        sources = tuple(rng.sample(range(low), min(low, rng.choice((0, 1, 2, 3, 3, 6)))))
        count = rng.choice((0, 1, 1, 1, 2, 4))
        every = self.config.lane_mask
        return make_uop(
            warp,
            self.seq[warp],
            sources=sources,
            near=rng.choice((0, 127, rng.getrandbits(7))),
            destination=rng.randrange(low - count + 1),
            count=count,
            unit=rng.choice(list(Unit)),
            predicates_written=rng.getrandbits(7),
            memory=rng.randrange(13),
            passes=rng.randrange(9),
            lane_mask=rng.choice((every, every, every, rng.getrandbits(self.config.lanes))),
        )

    @property
    def ready(self) -> int:
        """Warps whose next uop has no hazard."""

        def free(warp: int) -> bool:
            uop = self.next[warp]
            written = set(range(uop.destination, uop.destination + uop.count))
            return not self.pending[warp] & (written | set(uop.sources)) and not written & set(
                self.reading[warp]
            )

        return sum(free(warp) << warp for warp in range(len(self.next)))

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: its hazards begin."""
        uop.written, uop.values = 0, [self.draw() for _ in range(uop.count)]
        self.pending[uop.warp] |= set(range(uop.destination, uop.destination + uop.count))
        self.reading[uop.warp].update(uop.sources)
        self.next[uop.warp] = self.make(uop.warp)

    def read(self, collector: int, slot: int, uop: TraceUop, register: int) -> None:
        """Take a request (operand read interface)."""
        self.requests.append((collector, slot, uop.warp, register))

    def read_done(self, warp: int, register: int) -> None:
        """Release an operand (scoreboard release interface)."""
        assert self.reading[warp][register]
        self.reading[warp] -= Counter((register,))

    def accepts(self, unit: int, cycle: int) -> bool:
        """Return whether the unit takes a uop (dispatch interface)."""
        return bool(self.accepting >> unit & 1)

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop whose operands are the values of the banks (dispatch interface)."""
        assert [number(value) for value in uop.operands] == [
            number(self.banks[uop.warp][each]) for each in uop.sources
        ]
        self.taken[uop.unit] = collector, uop
        self.flying[uop.unit].append(uop)

    def offers(self) -> list[int]:
        """Units that offer a result in this cycle."""
        for unit, flying in enumerate(self.flying):
            while flying and not flying[0].count:
                flying.pop(0)
            if self.heads[unit] is None and flying and self.rng.random() < 0.5:
                self.heads[unit] = flying.pop(0)
        return [unit for unit, uop in enumerate(self.heads) if uop is not None]

    def write(self, unit: int) -> tuple[TraceUop, int, Value]:
        """A result goes to its bank."""
        uop = self.heads[unit]
        assert uop is not None
        register, value = uop.destination + uop.written, uop.values[uop.written]
        bank = self.banks[uop.warp]
        bank[register] = merge(bank[register], value, uop.lane_mask)
        self.pending[uop.warp].remove(register)
        uop.written += 1
        if uop.written == uop.count:
            self.heads[unit] = None
        return uop, register, value

    def drained(self, warp: int) -> bool:
        """Nothing of the warp is on its way."""
        queued = [uop for flying in self.flying for uop in flying] + [
            uop for uop in self.heads if uop is not None
        ]
        return not any(uop.warp == warp for uop in queued) and not self.pending[warp]
