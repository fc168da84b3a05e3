"""Tags and MSHRs against golden's, operation by operation."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from warpbank.golden.execute.l1 import Missing
from warpbank.golden.execute.l1 import Mshrs as GoldenMshrs
from warpbank.golden.execute.l1 import Tags as GoldenTags
from warpbank.hdl.execute.l1 import Mshrs, Tags


def simulate(dut: Any, bench: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@settings(max_examples=25, deadline=None)
@given(
    sets=st.sampled_from((1, 2, 4, 16)),
    ways=st.integers(1, 8),
    sectors=st.sampled_from((1, 2, 4)),
    ahead=st.booleans(),
    seed=st.integers(0, 1 << 20),
)
def test_tags(sets: int, ways: int, sectors: int, ahead: bool, seed: int) -> None:
    rng = random.Random(seed)
    golden = GoldenTags(sets, ways)
    dut = Tags(sets, ways, sectors, ahead=ahead, clearable=not ahead)
    lines = [rng.getrandbits(57) & ~(sets * 4 - 1) | rng.randrange(sets) for _ in range(sets * ways + 2)]

    async def bench(ctx: Any) -> None:
        line = lines[0]
        if ahead:
            ctx.set(dut.next_line, line)
            ctx.set(dut.next_valid, 1)
            await ctx.tick()
        for _ in range(150):
            wanted = rng.randrange(1, 1 << sectors)
            ctx.set(dut.line, line)
            ctx.set(dut.sectors, wanted)
            missing = wanted & ~golden.there(line)
            assert (ctx.get(dut.hit), ctx.get(dut.missing)) == (not missing, missing)
            kind = rng.choice(("touch", "touch", "remove" if rng.random() < 0.3 else "insert", "clear", ""))
            kind = {
                "insert": "insert" if missing else "touch",
                "clear": "clear" if not ahead and rng.random() < 0.1 else "",
            }.get(kind, kind)
            for name in ("touch", "insert", "remove", *(() if ahead else ("clear",))):
                ctx.set(getattr(dut, name), name == kind)
            if kind == "touch":
                golden.hit(line, wanted)
            elif kind == "insert":
                golden.insert(line, wanted)
            elif kind == "remove":
                golden.remove(line)
            elif kind == "clear":
                golden.clear()
            line = rng.choice(lines)
            if ahead:
                ctx.set(dut.next_line, line)
                ctx.set(dut.next_valid, 1)
            await ctx.tick()

    simulate(dut, bench)


@settings(max_examples=25, deadline=None)
@given(
    entries=st.integers(1, 6),
    merges=st.integers(1, 5),
    slots=st.integers(1, 12),
    sectors=st.sampled_from((1, 2, 4)),
    seed=st.integers(0, 1 << 20),
)
def test_mshrs(entries: int, merges: int, slots: int, sectors: int, seed: int) -> None:
    rng = random.Random(seed)
    golden = GoldenMshrs(entries, merges)
    dut = Mshrs(entries, merges, slots, sectors)
    at: dict[int, Missing] = {}  # entry -> request

    async def bench(ctx: Any) -> None:
        for _ in range(200):
            line, wanted = rng.randrange(2 * entries + 1) << 50, rng.randrange(1, 1 << sectors)
            ctx.set(dut.line, line)
            ctx.set(dut.sectors, wanted)
            pending = golden.find(line, wanted)
            coming = golden.coming(line)
            assert (ctx.get(dut.pending), ctx.get(dut.full)) == (pending is not None, golden.full)
            ctx.set(dut.fill, 0)
            ctx.set(dut.wait, 0)
            entry = ctx.get(dut.entry)
            if pending is not None:
                assert ctx.get(dut.can_merge) == golden.can_merge(pending)
                assert at[entry] is pending
                assert ctx.get(dut.left) == wanted & ~pending.sectors
            else:
                assert (ctx.get(dut.asks), ctx.get(dut.left)) == (wanted & ~coming, wanted & coming)
            if at and rng.random() < 0.2:
                number = rng.choice(list(at))
                gone = at.pop(number)
                ctx.set(dut.fill, 1)
                ctx.set(dut.fill_entry, number)
                assert (ctx.get(dut.fill_line), ctx.get(dut.fill_sectors)) == (gone.line, gone.sectors)
                assert list(ctx.get(dut.waiters))[: ctx.get(dut.waiting)] == golden.fill(gone)
            elif golden.can_merge(pending) if pending is not None else not golden.full:
                slot: Any = rng.randrange(slots)
                if pending is None:
                    assert entry not in at, "an entry in use was given away"
                    pending = at[entry] = golden.ask(line, wanted & ~coming)
                pending.waiting.append(slot)
                ctx.set(dut.wait, 1)
                ctx.set(dut.slot, slot)
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Tags(3, 1),
            r"Tags\.sets must be a power of two, since low address bits select the set, not 3\.",
        ),
        (lambda: Tags(0, 1), r"Tags\.sets must be at least 1, not 0\."),
        (lambda: Tags(4, 0), r"Tags\.ways must be at least 1, not 0\."),
        (lambda: Tags(4, 1, 0), r"Tags\.sectors must be at least 1, not 0\."),
        (lambda: Mshrs(0, 1, 1), r"Mshrs\.entries must be at least 1, not 0\."),
        (lambda: Mshrs(1, 0, 1), r"Mshrs\.merges must be at least 1, not 0\."),
        (lambda: Mshrs(1, 1, 0), r"Mshrs\.slots must be at least 1, not 0\."),
        (lambda: Mshrs(1, 1, 1, 0), r"Mshrs\.sectors must be at least 1, not 0\."),
    ],
)
def test_sizes_are_checked(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
