"""Barriers in lockstep with golden's: random arrivals of random CTAs."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Const
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.wrapped import wrapped
from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.arch.events import Record
from warpbank.golden.front_end.barrier import Barriers as GoldenBarriers
from warpbank.golden.probe import Probe
from warpbank.hdl.front_end.barrier import Barriers
from warpbank.hdl.probe import event_ports


@st.composite
def machines(draw: st.DrawFn) -> SmConfig:
    return with_overrides(
        preset("tiny"),
        [
            f"sub_cores={draw(st.integers(1, 4))}",
            f"sub_core.warps={draw(st.integers(1, 5))}",
            f"cta.max_ctas={draw(st.integers(1, 5))}",
            f"cta.barriers={draw(st.integers(1, 4))}",
        ],
    )


class Warps:
    """What the rest of the SM would do: CTAs that come and go, warps that arrive, wait and end."""

    def __init__(self, config: SmConfig, rng: random.Random) -> None:
        self.config = config
        self.rng = rng
        self.of: dict[tuple[int, int], int] = {}  # (sub-core, slot) -> CTA slot
        self.members = [0] * config.cta.max_ctas
        self.waiting: set[tuple[int, int]] = set()
        self.at: dict[tuple[int, int], int] = {}  # barrier at which a warp waits, or has waited
        self.done: set[tuple[int, int]] = set()

    def issue(self, core: int) -> SimpleNamespace | None:
        """What concerns the barriers of what the sub-core issues in this cycle."""
        ready = [
            place
            for place in self.of
            if place[0] == core and place not in self.waiting and place not in self.done
        ]
        if not ready or self.rng.random() < 0.4:
            return None
        core, warp = self.rng.choice(ready)
        arrive = self.rng.random() < 0.9
        barrier = self._barrier(core, warp)
        named = barrier % 2  # a number of warps, or all
        wait = arrive and not (named and self.rng.random() < 0.5)
        last = not arrive or (not wait and self.rng.random() < 0.3)
        if wait:
            self.waiting.add((core, warp))
            self.at[core, warp] = barrier
        if last:
            self.done.add((core, warp))
        return SimpleNamespace(
            sub_core=core,
            warp=warp,
            pc=0,
            arrive=arrive,
            wait=wait,
            last=last,
            barrier=barrier,
            barrier_warps=self._named() if named else 0,
        )

    def _barrier(self, core: int, warp: int) -> int:
        """A barrier: mostly one at which a warp of the same CTA waits, so that they open."""
        cta = self.of[core, warp]
        waited = [self.at[place] for place in sorted(self.waiting) if self.of[place] == cta]
        if waited and self.rng.random() < 0.9:
            return self.rng.choice(waited)
        return self.rng.randrange(self.config.cta.barriers)

    def _named(self) -> int:
        """Number of warps, often so small that more arrive in one cycle."""
        return self.rng.randint(1, self.rng.choice((min(2, self.config.warps), self.config.warps)))

    def start(self) -> tuple[int, list[tuple[int, int]]] | None:
        """A CTA starts in a free slot on free warps."""
        slots = [slot for slot in range(self.config.cta.max_ctas) if slot not in self.of.values()]
        free = [
            (core, warp)
            for core in range(self.config.sub_cores)
            for warp in range(self.config.sub_core.warps)
            if (core, warp) not in self.of
        ]
        if not slots or not free or self.rng.random() < 0.5:
            return None
        places = self.rng.sample(free, self.rng.randint(1, len(free)))
        return slots[0], places

    def started(self, slot: int, places: list[tuple[int, int]]) -> None:
        self.members[slot] = 0
        for core, warp in places:
            self.of[core, warp] = slot
            self.members[slot] |= 1 << (core * self.config.sub_core.warps + warp)

    def end(self) -> None:
        """CTAs whose warps have all issued their last uop, and wait nowhere, are gone."""
        for slot in set(self.of.values()):
            places = [place for place, cta in self.of.items() if cta == slot]
            if all(place in self.done for place in places):
                for place in places:
                    del self.of[place]
                    self.done.discard(place)
                    self.waiting.discard(place)


def compare(config: SmConfig, seed: int, cycles: int, dut: Any = None) -> str:
    """The first difference, in words."""
    warps = Warps(config, random.Random(seed))
    records: list[Record] = []
    released: set[tuple[int, int]] = set()
    golden = GoldenBarriers(
        config.cta.barriers, Probe(-1, records.append), lambda core, warp: released.add((core, warp))
    )
    dut = dut or Barriers(config, probe=True)
    ports = event_ports(dut.events)
    wrong = ""

    async def bench(ctx: Any) -> None:
        nonlocal wrong
        for cycle in range(cycles):
            for core in range(config.sub_cores):
                uop = warps.issue(core)
                arrival = dut.arrivals[core]
                for name in ("warp", "arrive", "wait", "last", "barrier", "barrier_warps"):
                    ctx.set(getattr(arrival, name), 0 if uop is None else int(getattr(uop, name)))
                if uop is None:
                    continue
                cta = warps.of[core, uop.warp]
                ctx.set(dut.ctas[core], cta)
                ctx.set(dut.members[core], warps.members[cta])
                if uop.arrive:
                    golden.arrive(cta, uop)
                if uop.last:
                    golden.exit(cta)
            golden.step()
            start = warps.start()
            places = [] if start is None else start[1]
            ctx.set(dut.start, sum(1 << (core * config.sub_core.warps + warp) for core, warp in places))
            if start is not None:
                golden.start(start[0], len(places))
            opened = sorted(
                tuple(ctx.get(field) for field in port.fields) for port in ports if ctx.get(port.valid)
            )
            there = {
                (core, warp)
                for core in range(config.sub_cores)
                for warp in range(config.sub_core.warps)
                if ctx.get(dut.release[core]) >> warp & 1
            }
            expected = sorted(record[3] for record in records)
            if (opened, there) != (expected, released):
                wrong = f"cycle {cycle}: golden opens {expected}, releases {released}; RTL {opened}, {there}"
                return
            warps.waiting -= released
            records.clear()
            released.clear()
            warps.end()
            if start is not None:
                warps.started(*start)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return wrong


@settings(max_examples=25, deadline=None)
@given(config=machines(), seed=st.integers(0, 1 << 20))
def test_random_arrivals(config: SmConfig, seed: int) -> None:
    assert compare(config, seed, 150) == ""


class Outliving(Barriers):
    """Arrivals count on when their CTA has ended."""

    def _named(self, m: Any, waiting: Any, waits: Any, numbers: Any) -> Any:
        self._ended = [Const(0, 1) for _ in self._ended]
        return super()._named(m, waiting, waits, numbers)


class Sweeping(Barriers):
    """Whoever arrives in the cycle in which a barrier opens is released with the others."""

    def _named(self, m: Any, waiting: Any, waits: Any, numbers: Any) -> Any:
        return super()._named(m, waiting, Const(0, len(waits)), numbers)


MUTANTS = {
    "arrivals outlive their CTA": lambda config: Outliving(config, probe=True),
    "a barrier releases those of its next use": lambda config: Sweeping(config, probe=True),
    "warp 0 is not expected": lambda config: wrapped(
        Barriers(config, probe=True), start=lambda value, _: value & ~1
    ),
    "warps of other CTAs are released": lambda config: wrapped(
        Barriers(config, probe=True), members=lambda value, _: ~value
    ),
    "all CTAs share their barriers": lambda config: wrapped(
        Barriers(config, probe=True), ctas=lambda value, _: 0
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_noticed(name: str) -> None:
    small = ("sub_cores=1", "sub_core.warps=2", "cta.max_ctas=2", "cta.barriers=2")
    wide = ("sub_cores=4", "sub_core.warps=3", "cta.max_ctas=3", "cta.barriers=2")
    configs = [with_overrides(preset("tiny"), overrides) for overrides in (["sub_cores=2"], small, wide)]
    assert any(compare(config, seed, 200, MUTANTS[name](config)) for config in configs for seed in range(3))


def test_arrivals_end_with_their_cta() -> None:
    """One that nobody waited for, as a loop of producers and consumers leaves it, is not the next CTA's."""
    released: list[int] = []
    barriers = GoldenBarriers(4, Probe(-1, None), lambda core, warp: released.append(warp))

    def arrive(warp: int, wait: bool) -> None:
        uop: Any = SimpleNamespace(sub_core=0, warp=warp, pc=0, wait=wait, barrier=1, barrier_warps=2)
        barriers.arrive(0, uop)

    barriers.start(0, 1)
    arrive(0, wait=False)
    barriers.exit(0)
    barriers.step()
    barriers.start(0, 2)
    arrive(0, wait=True)
    barriers.step()
    assert released == []
    arrive(1, wait=True)
    barriers.step()
    assert released == [0, 1]


def test_configuration_is_asked_for() -> None:
    with pytest.raises(
        TypeError, match=r"Barriers needs the machine's configuration, an SmConfig, not 'tiny'\."
    ):
        Barriers("tiny")  # type: ignore[arg-type]
