"""Functional caches: tags as the machine's, without its time."""

from __future__ import annotations

import numpy as np

from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.execute.l1 import Tags
from warpbank.golden.sm import Sm
from warpbank.program.trace.builder import TraceBuilder, load, store
from warpbank.sim.sampling.caches import Caches, contents_at

MACHINE = preset("tiny")


def _random(seed: int, ops: int) -> tuple[list[tuple[bool, tuple[int, ...]]], TraceBuilder]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(ops):
        lines = tuple(int(line) for line in rng.choice(60, rng.integers(1, 5), replace=False))
        made.append((bool(rng.integers(0, 3)), lines))
    warp = [load(2, 1, *lines) if is_load else store(1, 2, *lines) for is_load, lines in made]
    return made, TraceBuilder().launch([warp])


def test_misses_are_those_of_the_tags_of_the_machine() -> None:
    for seed in range(5):
        made, builder = _random(seed, 200)
        trace = builder.build()
        l1 = Tags(MACHINE.l1.sets, MACHINE.l1.ways)
        l2 = Tags(MACHINE.memory.l2_sets, MACHINE.memory.l2_ways)
        asked = missed = 0
        for is_load, lines in made:
            for line in lines:
                if is_load and l1.hit(line):
                    continue
                if is_load:
                    l1.insert(line)
                asked += 1
                if not l2.hit(line):
                    l2.insert(line)
                    missed += 1
        found = Caches(MACHINE).walk(trace, 0, len(trace.dynamic))
        assert found == (asked, missed)
        assert 0 < missed < asked < sum(len(lines) for _, lines in made)


def test_contents_put_back_are_the_contents() -> None:
    _, builder = _random(7, 300)
    trace = builder.build()
    caches = Caches(MACHINE)
    caches.walk(trace, 0, len(trace.dynamic))
    before = caches.contents()
    machine = Sm(trace, MACHINE, parse_scheme("baseline"))
    machine.lsu.warm(before.lines, before.loads)
    other = Caches(MACHINE)
    parts = [
        load(2, 1, line) if is_load else store(1, 2, line)
        for line, is_load in zip(before.lines, before.loads, strict=True)
    ]
    again = TraceBuilder().launch([parts]).build()
    other.walk(again, 0, len(again.dynamic))
    assert other.contents() == before
    assert len(before.lines) == (
        MACHINE.l1.sets * MACHINE.l1.ways + MACHINE.memory.l2_sets * MACHINE.memory.l2_ways
    )


def test_a_launch_forgets_the_l1() -> None:
    builder = TraceBuilder()
    builder.launch([[load(2, 1, 5)]])
    builder.launch([[load(2, 1, 6)]])
    builder.launch([[load(2, 1, 7)]])
    found = contents_at(builder.build(), MACHINE, {0, 1, 2})
    assert found[0].lines == []
    assert (found[1].lines, found[1].loads) == ([5], [False])
    assert (found[2].lines, found[2].loads) == ([5, 6], [False, False])
