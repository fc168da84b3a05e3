"""Functional caches: tags as the machine's, without its time."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, WHOLE_LINE
from warpbank.golden.execute.l1 import Tags
from warpbank.golden.sm import Sm
from warpbank.program.trace.builder import TraceBuilder, load, of_line, store
from warpbank.sim.sampling.caches import Caches, contents_at

MACHINE = preset("tiny")
SECTORED = with_overrides(MACHINE, ["l1.sectors=4", "memory.l2_sectors=4"])


def _random(seed: int, ops: int) -> tuple[list[tuple[bool, tuple[int, ...]]], TraceBuilder]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(ops):
        numbers = rng.choice(60, rng.integers(1, 5), replace=False)
        lines = tuple(of_line(int(line), int(rng.integers(1, 16))) for line in numbers)
        made.append((bool(rng.integers(0, 3)), lines))
    warp = [load(2, 1, *lines) if is_load else store(1, 2, *lines) for is_load, lines in made]
    return made, TraceBuilder().launch([warp])


@pytest.mark.parametrize("machine", [MACHINE, SECTORED])
def test_misses_are_those_of_the_tags_of_the_machine(machine: SmConfig) -> None:
    for seed in range(5):
        made, builder = _random(seed, 200)
        trace = builder.build()
        l1 = Tags(machine.l1.sets, machine.l1.ways)
        l2 = Tags(machine.memory.l2_sets, machine.memory.l2_ways)
        asked = missed = 0
        for is_load, lines in made:
            for touched in lines:
                line = touched & LINE_MASK
                wanted = touched >> LINE_WIDTH if machine.l1.sectors > 1 else WHOLE_LINE
                if is_load and l1.hit(line, wanted):
                    continue
                if is_load:
                    wanted &= ~l1.there(line)
                    l1.insert(line, wanted)
                asked += 1
                if not l2.hit(line, wanted):
                    l2.insert(line, wanted)
                    missed += 1
        found = Caches(machine).walk(trace, 0, len(trace.dynamic))
        assert found == (asked, missed)
        assert 0 < missed < asked


@pytest.mark.parametrize("config", [MACHINE, SECTORED])
def test_contents_put_back_are_the_contents(config: SmConfig) -> None:
    _, builder = _random(7, 300)
    trace = builder.build()
    caches = Caches(config)
    caches.walk(trace, 0, len(trace.dynamic))
    before = caches.contents()
    machine = Sm(trace, config, parse_scheme("baseline"))
    machine.lsu.warm(before.lines, before.loads)
    other = Caches(config)
    parts = [
        load(2, 1, line) if is_load else store(1, 2, line)
        for line, is_load in zip(before.lines, before.loads, strict=True)
    ]
    again = TraceBuilder().launch([parts]).build()
    other.walk(again, 0, len(again.dynamic))
    assert other.contents() == before
    assert len(before.lines) == (
        config.l1.sets * config.l1.ways + config.memory.l2_sets * config.memory.l2_ways
    )


def test_a_launch_forgets_the_l1() -> None:
    builder = TraceBuilder()
    builder.launch([[load(2, 1, 5)]])
    builder.launch([[load(2, 1, 6)]])
    builder.launch([[load(2, 1, 7)]])
    found = contents_at(builder.build(), MACHINE, {0, 1, 2})
    assert found[0].lines == []
    assert (found[1].lines, found[1].loads) == ([of_line(5)], [False])
    assert (found[2].lines, found[2].loads) == ([of_line(5), of_line(6)], [False, False])
