"""The warp control blocks place, move and free registers and rows as golden's do; what moves arrives when it
likes."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import pytest
from amaranth.hdl import Const
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop, simulate, uop_record
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.hierarchy.test_ltrf import KeepsValidBits, LosesAPlace, TwiceInACycle
from tests.thinned import examples
from warpbank.arch.config import with_overrides
from warpbank.golden.hierarchy.wcb import WarpControlBlocks as Golden
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks

#: Some of a warp's registers: low ones, and the highest.
REGISTERS = (*range(12), 100, 254)


class Bench:
    """The blocks of both, and transfers that are the test's."""

    def __init__(self, machine: str, seed: int, unit: Any, plus: bool, stages: int) -> None:
        self.rng = random.Random(seed)
        stage = [f"sub_core.front_end.issue_stages={stages}"]
        self.config = config = with_overrides(LTRFS[machine], stage)
        self.rtl = unit(config, 2, plus)
        self.quiet = 0
        core = config.sub_core
        self.model = Golden(
            core.warps,
            core.active_warps,
            core.cache.registers,
            core.transfers,
            plus,
            lambda warp: bool(self.quiet >> warp & 1),
        )
        # (warp, register) -> row, bank of the cache, whether it leaves.
        self.flying: dict[tuple[int, int], tuple[int, int, bool]] = {}
        self.live = self.active = 0  # warps that have not ended, and those that are active

    def run(self, cycles: int) -> None:
        async def bench(ctx: Any) -> None:
            for cycle in range(cycles):
                self._cycle(ctx, f"cycle {cycle}")
                await ctx.tick()

        simulate(self.rtl, bench)

    def _cycle(self, ctx: Any, where: str) -> None:
        rng, rtl, model = self.rng, self.rtl, self.model
        model.survey()
        may_issue, may_activate = model.may_issue, model.may_activate
        self.quiet = rng.getrandbits(self.config.sub_core.warps)
        ctx.set(rtl.quiet, self.quiet)
        for port, way in ((rtl.inbound, False), (rtl.outbound, True)):
            ctx.set(
                port, sum(1 << row for row in {row for row, _, out in self.flying.values() if out is way})
            )
        assert ctx.get(rtl.may_issue) == may_issue, where
        assert ctx.get(rtl.may_activate) == may_activate, where
        self._ask(ctx, where)
        empty = model.first_empty()
        assert bool(ctx.get(rtl.freed)) == (empty is not None), where
        if empty is not None:
            assert (ctx.get(rtl.freed_warp), ctx.get(rtl.freed_offset)) == (empty.warp, empty.offset), where
        turn, choice = model.next_turn(), model.choice()
        back = self._land()
        self._set_off(ctx, back, where)
        for row, port in enumerate(rtl.back):
            ctx.set(port, back[row])
        if choice and not model.chosen:
            model.choose(*choice, 0)
        model.give_turn(*turn)
        model.load()
        model.save(empty)
        self._warps(ctx, may_issue, may_activate)

    def _ask(self, ctx: Any, where: str) -> None:
        """Some registers are looked for."""
        for find in self.rtl.find:
            warp, register = self.rng.randrange(self.config.sub_core.warps), self.rng.choice(REGISTERS)
            ctx.set(find.warp, warp)
            ctx.set(find.register, register)
            block = self.model.warps[warp]
            assert ctx.get(find.placed) == block.placed >> register & 1, where
            if block.valid >> register & 1:
                entry = block.table[register]
                found = [ctx.get(port) for port in (find.entry, find.bank, find.offset)]
                assert found == [entry, 1 << entry, block.offset], where

    def _land(self) -> list[int]:
        """Some registers arrive, or are read out. Returns the places given back, by row."""
        back = [0] * self.config.sub_core.active_warps
        for (warp, register), (row, entry, out) in list(self.flying.items()):
            block = self.model.warps[warp]
            if self.rng.random() < 0.8:
                continue
            del self.flying[warp, register]
            if out:
                block.departing &= ~(1 << register)
                back[row] |= 1 << entry
            else:
                block.coming &= ~(1 << register)
        return back

    def _set_off(self, ctx: Any, back: list[int], where: str) -> None:
        """The registers that were chosen go on, or not."""
        rtl, model, row = self.rtl, self.model, self.model.row
        here = {each.register % len(rtl.setting): each for each in model.chosen}
        block, out = model.rows[row], model.out
        places = model.places[row]
        unused = places.unused
        for number, setting in enumerate(rtl.setting):
            assert ctx.get(setting.valid) == (number in here), where
            ctx.set(setting.goes, 0)
        if here:
            assert block is not None
            found = [ctx.get(port) for port in (rtl.leaves, rtl.warp, rtl.offset)]
            assert found == [out, block.warp, row], where
        for number in sorted(here):
            setting, register, live = rtl.setting[number], here[number].register, here[number].live
            assert block is not None
            entry = block.table[register] if out else (unused & -unused).bit_length() - 1
            unused &= ~(1 << entry)
            found = [ctx.get(port) for port in (setting.live, setting.register, setting.entry)]
            assert found == [live, register, entry], where
            if self.rng.random() < 0.3:
                continue
            ctx.set(setting.goes, 1)
            model.chosen.remove(here[number])
            if not out:
                places.give(entry)
                block.table[register] = entry
            if live:
                self.flying[block.warp, register] = row, entry, out
            elif out:
                block.departing &= ~(1 << register)
                back[row] |= 1 << entry
            else:
                block.coming &= ~(1 << register)
            block.storing = 0  # the blocks do not follow a register behind the cache
        for place, mask in enumerate(back):
            for entry in range(mask.bit_length()):
                if mask >> entry & 1:
                    model.places[place].take_back(entry)

    def _warps(self, ctx: Any, may_issue: int, may_activate: int) -> None:
        """Warps start, come, prefetch, issue, go and end."""
        rng, rtl, model = self.rng, self.rtl, self.model
        slots = range(self.config.sub_core.warps)
        gone = sum(
            1 << warp
            for warp in slots
            if self.active >> warp & 1 and rng.random() < (0.08 if may_issue >> warp & 1 else 0.01)
        )
        ended = gone & rng.getrandbits(len(slots)) & rng.getrandbits(len(slots))
        started = sum(
            1 << warp for warp in slots if not (self.live | self.active) >> warp & 1 and rng.random() < 0.2
        )
        come = [warp for warp in slots if (may_activate & self.live & ~self.active) >> warp & 1]
        ready = [warp for warp in slots if may_issue & self.live & ~gone & 1 << warp]
        issuer = rng.choice(ready) if ready and rng.random() < 0.6 else None
        fetches = rng.random() < 0.3
        sources = tuple(rng.sample(REGISTERS, rng.randrange(4)))
        uop = make_uop(
            issuer or 0,
            0,
            sources=sources,
            dead=rng.getrandbits(len(sources)) if sources else 0,
            destination=rng.choice(REGISTERS[:-1]),
            count=rng.choice((0, 1, 2)),
            working_set=self._set(),
        )
        ctx.set(rtl.prefetch, issuer is not None and fetches)
        ctx.set(rtl.issue.valid, issuer is not None and not fetches)
        ctx.set(rtl.prefetching, issuer or 0)
        ctx.set(rtl.registers, uop.working_set)
        ctx.set(rtl.issue.payload, {"warp": issuer or 0, "uop": uop_record(uop)})
        if issuer is not None:
            (model.prefetch if fetches else model.issue)(uop)
        for port, mask in ((rtl.start, started), (rtl.deactivate, gone), (rtl.ended, ended)):
            ctx.set(port, mask)
        forgets = rng.random() < 0.02
        comes = bool(come) and not forgets and rng.random() < 0.6
        ctx.set(rtl.activate, comes)
        for warp in slots:
            if started >> warp & 1:
                model.start(warp)
            if gone >> warp & 1:
                model.deactivate(warp, bool(ended >> warp & 1))
        self.live = (self.live | started) & ~ended
        self.active &= ~gone
        if comes:
            warp = rng.choice(come)
            ctx.set(rtl.activated, warp)
            model.activate(warp)
            self.active |= 1 << warp
        ctx.set(rtl.forget, forgets)
        if forgets:
            model.forget()

    def _set(self) -> int:
        """A working set."""
        limit = self.config.sub_core.cache.registers
        return sum(
            1 << register
            for register in self.rng.sample(REGISTERS, self.rng.choice((0, 3, limit - 1, limit)))
        )


def lockstep(
    machine: str,
    seed: int,
    unit: Any = WarpControlBlocks,
    plus: bool = True,
    cycles: int = 300,
    stages: int = 0,
) -> None:
    Bench(machine, seed, unit, plus, stages).run(cycles)


@pytest.mark.parametrize("stages", [0, 1])
@pytest.mark.parametrize(
    ("machine", "plus", "seed"), [("fast", True, 3), ("slow", False, 3), ("dirty", True, 3), ("bit", True, 1)]
)
def test_the_first_cycles_equal_golden(machine: str, plus: bool, seed: int, stages: int) -> None:
    """A short run, which most wrong changes do not outlive."""
    lockstep(machine, seed, plus=plus, cycles=80, stages=stages)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS, plus=strategies.booleans())
def test_equals_golden(machine: str, seed: int, plus: bool) -> None:
    lockstep(machine, seed, plus=plus)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS, plus=strategies.booleans())
def test_equals_golden_with_an_issue_stage(machine: str, seed: int, plus: bool) -> None:
    lockstep(machine, seed, plus=plus, stages=1)


class NeverDead(WarpControlBlocks):
    """A last read is not noted."""

    def _accessed(self, m: Any) -> None:
        super()._accessed(m)
        m.d.comb += self._last.eq(0)


class BeforeItsVectors(WarpControlBlocks):
    """A row moves what the vectors of the warp that had it before say, until those of its own have come."""

    def _take_turns(self, m: Any) -> None:
        with mock.patch.object(self, "_loading", Const(0, len(self._loading))):
            super()._take_turns(m)


class ComesBeforeAllLeft(WarpControlBlocks):
    """The row whose turn it is chooses in the direction that it would have in this cycle."""

    def _choose(self, m: Any) -> None:
        turned = {
            "_all_leave": self._turn & self._leaves & self._leaving,
            "_some_leave": self._turn & self._leaves & ~self._leaving,
            "_some_come": self._turn & ~self._leaves & ~self._leaving,
            "_turn_leaves": (self._turn & self._leaves).any(),
        }
        with mock.patch.multiple(self, **turned):
            super()._choose(m)


class WantsWhatWasChosen(WarpControlBlocks):
    """Registers that have been chosen are wanted, whatever happens then."""

    def _choose(self, m: Any) -> None:
        with mock.patch.object(self, "forget", Const(0)):
            super()._choose(m)


class WantsWhatItHolds(WarpControlBlocks):
    """Registers that the cache holds are wanted until their warp ends, whatever happens then."""

    def _row(self, m: Any, row: int) -> None:
        with mock.patch.object(self, "forget", Const(0)):
            super()._row(m, row)


@pytest.mark.quick("LosesAPlace", "KeepsValidBits")
@pytest.mark.parametrize(
    "unit",
    [
        *(KeepsValidBits, LosesAPlace, TwiceInACycle, NeverDead, BeforeItsVectors, ComesBeforeAllLeft),
        *(WantsWhatWasChosen, WantsWhatItHolds),
    ],
)
def test_mutants_are_caught(unit: type[WarpControlBlocks]) -> None:
    assert fails(lambda seed: lockstep("fast", seed, unit))


class ReadsAnothersVectors(WarpControlBlocks):
    """With an issue stage: the vectors that come are those of the warp named in the cycle after."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        m.d.comb += self._loads.addr.eq(self.activated)


class LivesAsTheFirst(WarpControlBlocks):
    """With an issue stage: a register that is moved is live if the first one of its class is."""

    def _choose(self, m: Any) -> None:
        with mock.patch("warpbank.hdl.hierarchy.wcb.of_lowest", lambda mask, flags: flags[0]):
            super()._choose(m)


@pytest.mark.quick("ReadsAnothersVectors")
@pytest.mark.parametrize("unit", [ReadsAnothersVectors, LivesAsTheFirst])
def test_mutants_with_an_issue_stage_are_caught(unit: type[WarpControlBlocks]) -> None:
    assert fails(lambda seed: lockstep("fast", seed, unit, stages=1))
