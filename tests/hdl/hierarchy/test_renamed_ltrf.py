"""The register file cache over renamed registers moves, writes, names and releases what golden's does, values
included."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop, uop_record
from tests.hdl.hierarchy.ltrf_bench import LTRFS, REGISTERS, Bench, with_unit
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Control
from warpbank.golden.interfaces import Arrival
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.registry import build_registers

#: Physical registers: fewer than the 56 that four warps may want.
PHYSICAL = 32
#: Cycles from one launch to when no warp starts any more.
LAUNCH = 90
#: Numbers in a pbr.
PLACES = 9


class RenamedBench(Bench):
    """Warps whose first uops wait for physical registers, pbr, warps that drain, launches; registers never
    written are zeros."""

    storage = "+renaming"
    mapping = "renaming"

    def __init__(self, name: str, seed: int, plus: bool = True, build: Any = build_registers) -> None:
        super().__init__(name, seed, plus, build)
        warps = self.core.warps
        self.first: list[Any] = [None] * warps  # what each warp's next uop writes
        self.blank = [0] * warps  # registers that were never written, and are renamed
        self.drained = [True] * warps
        self.finished: dict[int, tuple[int, int]] = {}
        self.cycle = self.since = self.exempt = 0

    def _machine(self, name: str) -> SmConfig:
        config = LTRFS[name]
        core = config.sub_core
        mapping = replace(core.mapping, release_flags="on")
        return replace(config, sub_core=replace(core, rows=max(4, PHYSICAL // core.banks), mapping=mapping))

    async def _cycle(self, ctx: Any, where: str) -> None:
        """What the warps are about to do comes first; a launch follows when all have drained."""
        rtl, model = self.rtl, self.model
        launches = not self.cycle or (
            self.since > LAUNCH and all(self.drained) and all(warp.waits for warp in self.warps)
        )
        self.launches, self.cycle, self.since = launches, self.cycle + 1, self.since + 1
        ctx.set(rtl.launch, launches)
        here = sum(1 << number for number, warp in enumerate(self.warps) if warp.live)
        for number, warp in enumerate(self.warps):
            if self.first[number] is None and warp.live and self.rng.random() < 0.7:
                self.first[number] = self._planned(number)
            uop = self.first[number]
            ctx.set(rtl.hazards[number].destination, uop.destination if uop else 0)
            ctx.set(rtl.hazards[number].count, uop.count if uop else 0)
        ctx.set(rtl.here, here)
        names = model._mapping
        names.look([deque() if uop is None else deque([uop]) for uop in self.first], here)
        names.settle(here)
        assert ctx.get(rtl.lacking) == names.lacking, where
        self.happened["lacking"] += names.lacking.bit_count()
        self.happened["held back"] += any(
            model.blocks[warp].moving & dying for warp, dying in enumerate(names.release.dying)
        )
        ctx.set(rtl.slide, 0)
        self.finished, self.ends = {}, 0
        await super()._cycle(ctx, where)

    def _planned(self, number: int) -> Any:
        working = self.warps[number].working
        first = self.rng.choice([register for register in range(REGISTERS) if working >> register & 1] or [0])
        count = 2 if working >> first + 1 & 1 and self.rng.random() < 0.3 else int(self.rng.random() < 0.9)
        return make_uop(number, 0, destination=first, count=count)

    # --- What the mapping is told.

    def _written(self, uop: Any, register: int, unit: int) -> None:
        super()._written(uop, register, unit)
        self.finished[unit] = uop.warp, register
        self.model._mapping.result_written(uop.warp, 1 << register)

    def _deliver(self, ctx: Any, arrived: list[Arrival], where: str) -> None:
        slots = [0] * len(self.missing)
        for collector, slot, *_ in arrived:
            slots[collector] |= 1 << slot
            warp, register, _ = self.missing[collector][slot]
            self.model._mapping.operand_read(warp, register)
        for port, mask in zip(self.rtl.done, slots, strict=True):
            ctx.set(port.slots, mask)
        super()._deliver(ctx, arrived, where)

    def _edge(self, ctx: Any) -> None:
        rtl, model = self.rtl, self.model
        for unit, port in enumerate(rtl.finished):
            warp, register = self.finished.get(unit, (0, 0))
            ctx.set(port.valid, unit in self.finished)
            ctx.set(port.warp, warp)
            ctx.set(port.register, register)
        ends = 0
        for number, warp in enumerate(self.warps):
            if not self.drained[number] and not warp.live and not warp.pending and not +warp.reads:
                self.drained[number] = True
                ends |= 1 << number
                model._mapping.end(number)
        ctx.set(rtl.end, ends)
        model.edge()
        if self.launches:
            self._launch(ctx)

    def _launch(self, ctx: Any) -> None:
        rng, start, slots = self.rng, self.rtl.start, self.core.warps
        self.since, self.exempt = (
            0,
            sum(1 << register for register in rng.sample(range(REGISTERS), rng.randrange(3))),
        )
        self.happened["moving at a launch"] += any(block.moving for block in self.model.blocks)
        for port, value in ((start.registers, REGISTERS), (start.exempt, self.exempt), (start.slots, slots)):
            ctx.set(port, value)
        self.model.launch(REGISTERS, self.exempt, slots)

    # --- Warps and their uops.

    def _may_start(self, number: int) -> bool:
        return (
            super()._may_start(number) and self.drained[number] and self.since <= LAUNCH and not self.launches
        )

    def _start(self, ctx: Any) -> None:
        super()._start(ctx)
        for number in self.started:
            self.drained[number], self.first[number], self.blank[number] = (
                False,
                None,
                ((1 << REGISTERS) - 1) & ~self.exempt,
            )

    def _gone(self) -> int:
        """When a launch is to come, all warps end."""
        if self.since <= LAUNCH:
            return super()._gone()
        return sum(
            1 << number
            for number, warp in enumerate(self.warps)
            if not warp.waits and self.rng.random() < 0.3
        )

    def _come_and_go(self, ctx: Any, may_activate: int, gone: int) -> None:
        super()._come_and_go(ctx, may_activate, gone)
        if self.since <= LAUNCH:
            return
        for number, warp in enumerate(self.warps):
            if warp.live and warp.waits and not gone >> number & 1:
                warp.live = False  # it never becomes active again

    def _readable(self, number: int) -> int:
        warp, uop = self.warps[number], self.first[number]
        blank = self.blank[number] & ~warp.pending if self.rng.random() < 0.2 else 0
        for register in range(REGISTERS):
            if blank >> register & 1:
                warp.state[register] = np.zeros(self.config.lanes, np.uint32)
        writes = 0 if uop is None else ((1 << uop.count) - 1) << uop.destination
        return (warp.known | blank) & ~writes

    def _destination(self, number: int, free: list[int]) -> tuple[int, int]:
        uop, self.first[number] = self.first[number], None
        writes = [] if uop is None else range(uop.destination, uop.destination + uop.count)
        return (len(writes), uop.destination) if writes and set(writes) <= set(free) else (0, 0)

    def _uop(self, ctx: Any, number: int, collector: int) -> None:
        if self.rng.random() < 0.15:
            self._pbr(ctx, number)
            return
        ctx.set(self.rtl.entry, collector)
        super()._uop(ctx, number, collector)
        self.blank[number] &= ~self.warps[number].pending

    def _pbr(self, ctx: Any, number: int) -> None:
        """Some registers, in the working set or not, are declared dead."""
        warp = self.warps[number]
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
        ctx.set(
            self.rtl.issue.payload, {"warp": number, "uop": {**uop_record(uop), "release": word, "wide": 0}}
        )
        ctx.set(self.rtl.slide, 1)
        self.model.issue(uop)
        warp.known &= ~uop.releases
        self.happened["pbr"] += 1


def lockstep(machine: str, seed: int, build: Any = build_registers, cycles: int = 250) -> None:
    RenamedBench(machine, seed, bool(seed % 2), build).run(cycles)


@settings(FEW, max_examples=4)
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed, cycles=150)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("machine", LTRFS)
def test_more_seeds(machine: str, seed: int) -> None:
    lockstep(machine, seed, cycles=600)


def test_what_matters_happens() -> None:
    happened: Counter[str] = Counter()
    for machine, seed in (("slow", 0), ("one", 1)):
        happened += RenamedBench(machine, seed, bool(seed % 2)).run(400).happened
    for name in (
        "fetch",
        "write_back",
        "cache_write",
        "write",
        "map",
        "unmap",
        "lookup",
        "unwritten",
        "lacking",
        "pbr",
        "again",
        "held back",
        "moving at a launch",
    ):
        assert happened[name], name


class ReleasesMoving(Release):
    """A register is released although it is on its way."""

    def _movers(self, warp: Any) -> list[Any]:
        return []


class KeepsZeros(Ltrf):
    """A register that comes without being carried gets no zeros."""

    def _write_cache(self, m: Any) -> None:
        super()._write_cache(m)
        for cleared, port in zip(self._cleared, self._cache_ports, strict=True):
            with m.If(cleared):
                m.d.comb += port.en.eq(0)


class MovesDying(Ltrf):
    """A register that is about to be released is carried like others."""

    def _has_content(self, number: int) -> Any:
        mapped = self._main.mapping.mapped
        return mapped[len(mapped) - len(self._main.mapping.content) + number]


class KeepsMoving(Ltrf):
    """What is on its way at a launch goes on."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        m.d.comb += self.engine.forget.eq(0)


@pytest.mark.parametrize("unit", [KeepsZeros, MovesDying])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("slow", seed, with_unit(unit)))


def test_what_goes_on_after_a_launch_is_caught() -> None:
    assert fails(lambda seed: lockstep("one", seed + 1, with_unit(KeepsMoving), 400), seeds=4)


def test_a_release_on_the_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.hdl.mapping.renaming.Renaming.release_class", ReleasesMoving)
    assert fails(lambda seed: lockstep("slow", seed, cycles=400), seeds=2)
