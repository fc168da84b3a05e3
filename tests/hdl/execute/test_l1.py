"""Tags and MSHRs against golden's, operation by operation."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

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
    ahead=st.booleans(),
    seed=st.integers(0, 1 << 20),
)
def test_tags(sets: int, ways: int, ahead: bool, seed: int) -> None:
    rng = random.Random(seed)
    golden = GoldenTags(sets, ways)
    dut = Tags(sets, ways, ahead=ahead, clearable=not ahead)
    lines = [rng.getrandbits(57) & ~(sets * 4 - 1) | rng.randrange(sets) for _ in range(sets * ways + 2)]

    async def bench(ctx: Any) -> None:
        line = lines[0]
        if ahead:
            ctx.set(dut.next_line, line)
            ctx.set(dut.next_valid, 1)
            await ctx.tick()
        for _ in range(150):
            ctx.set(dut.line, line)
            known = line in golden._sets[line & (sets - 1)]
            assert ctx.get(dut.hit) == known
            kind = rng.choice(("touch", "touch", "remove" if rng.random() < 0.3 else "insert", "clear", ""))
            kind = {
                "insert": "touch" if known else "insert",
                "clear": "clear" if not ahead and rng.random() < 0.1 else "",
            }.get(kind, kind)
            for name in ("touch", "insert", "remove", *(() if ahead else ("clear",))):
                ctx.set(getattr(dut, name), name == kind)
            if kind == "touch":
                golden.hit(line)
            elif kind == "insert":
                golden.insert(line)
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
    seed=st.integers(0, 1 << 20),
)
def test_mshrs(entries: int, merges: int, slots: int, seed: int) -> None:
    rng = random.Random(seed)
    golden: Any = GoldenMshrs(entries, merges)
    dut = Mshrs(entries, merges, slots)
    at: dict[int, int] = {}  # line -> entry

    async def bench(ctx: Any) -> None:
        for _ in range(200):
            line = rng.randrange(2 * entries + 1) << 50
            ctx.set(dut.line, line)
            pending = golden.pending(line)
            assert (ctx.get(dut.pending), ctx.get(dut.full)) == (pending, golden.full)
            ctx.set(dut.fill, 0)
            ctx.set(dut.wait, 0)
            if pending:
                assert ctx.get(dut.can_merge) == golden.can_merge(line)
                assert ctx.get(dut.entry) == at[line]
            if golden._waiting and rng.random() < 0.2:
                gone = rng.choice(list(golden._waiting))
                ctx.set(dut.fill, 1)
                ctx.set(dut.fill_entry, at.pop(gone))
                assert ctx.get(dut.fill_line) == gone
                assert list(ctx.get(dut.waiters))[: ctx.get(dut.waiting)] == golden.fill(gone)
            elif golden.can_merge(line) if pending else not golden.full:
                slot = rng.randrange(slots)
                at[line] = ctx.get(dut.entry)
                assert len(set(at.values())) == len(at), "an entry in use was given away"
                golden.wait(line, slot)
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
        (lambda: Mshrs(0, 1, 1), r"Mshrs\.entries must be at least 1, not 0\."),
        (lambda: Mshrs(1, 0, 1), r"Mshrs\.merges must be at least 1, not 0\."),
        (lambda: Mshrs(1, 1, 0), r"Mshrs\.slots must be at least 1, not 0\."),
    ],
)
def test_sizes_are_checked(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
