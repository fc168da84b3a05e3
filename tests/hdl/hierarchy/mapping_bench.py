"""What a bench of the register file cache does because of its mapping: nothing for direct mapping; launches,
first uops that wait, pbr and zeros for renaming."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.hdl.bench import make_uop, uop_record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Control
from warpbank.golden.interfaces import Arrival

if TYPE_CHECKING:
    from tests.hdl.hierarchy.ltrf_bench import Bench

#: Registers that the warps use.
REGISTERS = 14
#: Physical registers under renaming: fewer than the 56 that four warps may want.
PHYSICAL = 32
#: Cycles from a launch to when its exempt registers are counted, and to when no warp starts any more.
COUNTED = 2
LAUNCH = 90
#: Numbers in a pbr.
PLACES = 9


class Direct:
    """Hooks of a bench under direct mapping, which do nothing.

    Parameters
    ----------
    bench : whose warps these are.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench, self.rng = bench, bench.rng

    @staticmethod
    def machine(config: SmConfig) -> SmConfig:
        """The machine as the mapping is tried on it."""
        return config

    def begin(self, ctx: Any, where: str) -> None:
        """A cycle begins."""

    def written(self, unit: int, warp: int, register: int) -> None:
        """A result has been taken from a unit."""

    def deliver(self, ctx: Any, arrived: list[Arrival]) -> None:
        """Operands are about to arrive."""

    def edge(self, ctx: Any) -> None:
        """The cycle ends."""

    def may_start(self, number: int) -> bool:
        """Whether a slot with nothing left to do may receive a warp."""
        return True

    def start(self, number: int) -> None:
        """A slot has received a warp."""

    @property
    def closing(self) -> bool:
        """Whether all warps are to end."""
        return False

    def readable(self, number: int) -> int:
        """Registers of a warp whose content is known."""
        return self.bench.warps[number].known

    def destination(self, number: int, free: list[int]) -> tuple[int, int]:
        """How many registers the warp's uop writes, and the first; all of them are among those that are
        `free`."""
        rng = self.rng
        count, destination = (1, rng.choice(free)) if free and rng.random() < 0.8 else (0, 0)
        return (2 if count and destination + 1 in free and rng.random() < 0.4 else count), destination

    def instead(self, ctx: Any, number: int, collector: int) -> bool:
        """Whether something else has issued in the place of the warp's next uop."""
        return False

    def issued(self, number: int) -> None:
        """A uop of the warp has issued."""


class Renamed(Direct):
    """Hooks of a bench under renaming: warps whose first uops wait for physical registers, pbr, warps that
    drain, launches; registers never written are zeros."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        warps = bench.core.warps
        self.first: list[Any] = [None] * warps  # what each warp's next uop writes
        self.blank = [0] * warps  # registers that were never written, and are renamed
        self.drained = [True] * warps
        self.finished: dict[int, tuple[int, int]] = {}
        self.cycle = self.since = self.exempt = 0
        self.launches = False

    @staticmethod
    def machine(config: SmConfig) -> SmConfig:
        core = config.sub_core
        mapping = replace(core.mapping, release_flags="on")
        return replace(config, sub_core=replace(core, rows=max(4, PHYSICAL // core.banks), mapping=mapping))

    def begin(self, ctx: Any, where: str) -> None:
        """What the warps are about to do comes first; a launch follows when all have drained."""
        bench, rtl, warps = self.bench, self.bench.rtl, self.bench.warps
        self.launches = not self.cycle or (
            self.since > LAUNCH and all(self.drained) and all(warp.waits for warp in warps)
        )
        self.cycle, self.since = self.cycle + 1, self.since + 1
        ctx.set(rtl.launch, self.launches)
        here = sum(1 << number for number, warp in enumerate(warps) if warp.live)
        for number, warp in enumerate(warps):
            if self.first[number] is None and warp.live and self.rng.random() < 0.7:
                self.first[number] = self._planned(number)
            uop = self.first[number]
            ctx.set(rtl.hazards[number].destination, uop.destination if uop else 0)
            ctx.set(rtl.hazards[number].count, uop.count if uop else 0)
        ctx.set(rtl.here, here)
        mapping = bench.mapping
        mapping.look([deque() if uop is None else deque([uop]) for uop in self.first], here)
        mapping.settle(here)
        assert (ctx.get(rtl.lacking), ctx.get(rtl.choosing)) == (mapping.lacking, mapping.choosing), where
        bench.happened["lacking"] += mapping.lacking.bit_count()
        bench.happened["held back"] += any(
            bench.model.blocks.warps[warp].moving & dying for warp, dying in enumerate(mapping.release.dying)
        )
        ctx.set(rtl.slide, 0)
        self.finished = {}

    def _planned(self, number: int) -> Any:
        working = self.bench.warps[number].working
        first = self.rng.choice([register for register in range(REGISTERS) if working >> register & 1] or [0])
        count = 2 if working >> first + 1 & 1 and self.rng.random() < 0.3 else int(self.rng.random() < 0.9)
        return make_uop(number, 0, destination=first, count=count)

    # --- What the mapping is told.

    def written(self, unit: int, warp: int, register: int) -> None:
        self.finished[unit] = warp, register
        self.bench.mapping.result_written(warp, 1 << register)

    def deliver(self, ctx: Any, arrived: list[Arrival]) -> None:
        missing = self.bench.missing
        slots = [0] * len(missing)
        for collector, slot, *_ in arrived:
            slots[collector] |= 1 << slot
            warp, register, _ = missing[collector][slot]
            self.bench.mapping.operand_read(warp, register)
        for port, mask in zip(self.bench.rtl.done, slots, strict=True):
            ctx.set(port.slots, mask)

    def edge(self, ctx: Any) -> None:
        rtl, model = self.bench.rtl, self.bench.model
        for unit, port in enumerate(rtl.finished):
            warp, register = self.finished.get(unit, (0, 0))
            ctx.set(port.valid, unit in self.finished)
            ctx.set(port.warp, warp)
            ctx.set(port.register, register)
        ends = 0
        for number, slot in enumerate(self.bench.warps):
            if not self.drained[number] and not slot.live and not slot.pending and not +slot.reads:
                self.drained[number] = True
                ends |= 1 << number
                self.bench.mapping.end(number)
        ctx.set(rtl.end, ends)
        model.edge()
        if self.launches:
            self._launch(ctx)

    def _launch(self, ctx: Any) -> None:
        rng, start, model = self.rng, self.bench.rtl.start, self.bench.model
        slots = self.bench.core.warps
        self.since = 0
        self.exempt = sum(1 << register for register in rng.sample(range(REGISTERS), rng.randrange(3)))
        self.bench.happened["moving at a launch"] += any(block.moving for block in model.blocks.warps)
        for port, value in ((start.registers, REGISTERS), (start.exempt, self.exempt), (start.slots, slots)):
            ctx.set(port, value)
        model.launch(REGISTERS, self.exempt, slots, 0)

    # --- Warps and their uops.

    def may_start(self, number: int) -> bool:
        return self.drained[number] and COUNTED < self.since <= LAUNCH and not self.launches

    def start(self, number: int) -> None:
        self.drained[number], self.first[number] = False, None
        self.blank[number] = ((1 << REGISTERS) - 1) & ~self.exempt

    @property
    def closing(self) -> bool:
        """A launch is to come: a warp that waits never becomes active again."""
        return self.since > LAUNCH

    def readable(self, number: int) -> int:
        warp, uop = self.bench.warps[number], self.first[number]
        blank = self.blank[number] & ~warp.pending if self.rng.random() < 0.2 else 0
        for register in range(REGISTERS):
            if blank >> register & 1:
                warp.state[register] = np.zeros(self.bench.config.lanes, np.uint32)
        writes = 0 if uop is None else ((1 << uop.count) - 1) << uop.destination
        return (warp.known | blank) & ~writes

    def destination(self, number: int, free: list[int]) -> tuple[int, int]:
        uop, self.first[number] = self.first[number], None
        writes = [] if uop is None else range(uop.destination, uop.destination + uop.count)
        return (len(writes), uop.destination) if writes and set(writes) <= set(free) else (0, 0)

    def instead(self, ctx: Any, number: int, collector: int) -> bool:
        """Now and then a pbr."""
        if self.rng.random() < 0.15:
            self._pbr(ctx, number)
            return True
        ctx.set(self.bench.rtl.entry, collector)
        return False

    def issued(self, number: int) -> None:
        self.blank[number] &= ~self.bench.warps[number].pending

    def _pbr(self, ctx: Any, number: int) -> None:
        """Some registers, in the working set or not, are declared dead."""
        warp, rtl = self.bench.warps[number], self.bench.rtl
        known = [register for register in range(REGISTERS) if (warp.known & ~warp.pending) >> register & 1]
        if not known:
            return
        named = self.rng.sample(known, min(len(known), self.rng.randint(1, 3)))
        uop = make_uop(
            number,
            warp.seq,
            control=Control.PBR,
            collects=False,
            releases=sum(1 << register for register in named),
        )
        word = sum(
            register << 6 * place
            for place, register in enumerate([*named, *named[:1] * (PLACES - len(named))])
        )
        ctx.set(rtl.issue.payload, {"warp": number, "uop": {**uop_record(uop), "release": word, "wide": 0}})
        ctx.set(rtl.slide, 1)
        self.bench.model.issue(uop)
        warp.known &= ~uop.releases
        self.bench.happened["pbr"] += 1
