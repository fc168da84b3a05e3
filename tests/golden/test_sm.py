"""The whole SM on random traces: skipping idle cycles changes nothing, counters are sums of events, nothing
is lost."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.invariants import check
from tests.thinned import examples
from warpbank.arch.config import PRESETS, SmConfig, preset, with_overrides
from warpbank.arch.counters import count, stalls
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import Sm, simulate
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu

BASELINE = parse_scheme("baseline")
_TIGHT = [
    "lsu.queue=1",
    "lsu.pending=2",
    "l1.mshrs=1",
    "l1.merges=1",
    "l1.sets=1",
    "l1.ways=1",
    "memory.queue=1",
    "sub_core.execute.result_queue=1",
]


@st.composite
def machines(draw: st.DrawFn) -> SmConfig:
    """A preset, perhaps with every queue as short as it can be, other banks, other buffers."""
    overrides = [
        f"sub_core.front_end.scheduler={draw(st.sampled_from(('lrr', 'gto')))}",
        f"sub_core.front_end.buffer_entries={draw(st.integers(1, 3))}",
        f"sub_core.front_end.branch_hold={draw(st.integers(0, 4))}",
    ]
    name = draw(st.sampled_from(list(PRESETS)))
    if draw(st.booleans()):
        overrides += _TIGHT
    if name != "pascal":
        overrides += [
            f"sub_core.collectors={draw(st.integers(1, 4))}",
            f"sub_core.banks={draw(st.sampled_from((1, 2, 4)))}",
        ]
    return with_overrides(preset(name), overrides)


@settings(max_examples=examples(40, 20), deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    config=machines(),
    length=st.integers(0, 25),
    warps=st.integers(1, 4),
    launches=st.integers(1, 2),
)
def test_random_traces(seed: int, config: SmConfig, length: int, warps: int, launches: int) -> None:
    trace = random_trace(seed, length=length, warps=warps, launches=launches)
    events: list[Record] = []
    stepped: list[Record] = []
    result = simulate(trace, config, BASELINE, events=events)
    assert result == simulate(trace, config, BASELINE, events=stepped, skip=False)
    assert sorted(events) == sorted(stepped)
    assert result.counters == count(events)
    assert result.stalls_per_scheduler == stalls(events, config.sub_cores)
    assert sum(result.stalls.values()) == result.cycles * config.schedulers
    assert result.stalls["issued"] == result.warp_instructions == trace.warp_instructions
    retired = [(core, *values) for _, core, name, values in events if name == "retire"]
    assert len(retired) == trace.warp_instructions
    check(events, config)


def test_without_events_and_checks_the_result_is_the_same() -> None:
    trace = random_trace(5)
    result = simulate(trace, preset("turing"), BASELINE)
    bare = simulate(trace, preset("turing"), BASELINE, check_operands=False)
    assert bare.operands_checked == 0
    assert result.operands_checked == result.counters["collector.deliveries"]
    assert {**result.to_dict(), "operands_checked": 0} == bare.to_dict()


def test_result_as_dictionary() -> None:
    result = simulate(random_trace(5), preset("tiny"), BASELINE)
    content = result.to_dict()
    assert content["ipc"] == result.warp_instructions / result.cycles
    assert content["operand_mismatches"] == 0


def test_progress_is_told() -> None:
    calls: list[tuple[int, int]] = []
    trace = TraceBuilder().launch(*[[[alu(1)] * 300] * 4] * 6).build()
    simulate(trace, preset("tiny"), BASELINE, progress=lambda done, total: calls.append((done, total)))
    assert len(calls) >= 5
    assert all(total == trace.warp_instructions for _, total in calls)
    assert sorted(calls) == calls


def test_progress_shows_who_runs_where() -> None:
    trace = TraceBuilder().launch(*[[[alu(1)] * 40] * 2 for _ in range(9)]).build()
    sm = Sm(trace, preset("tiny"), BASELINE)
    seen: list[tuple[int, int, list[int], int]] = []

    def look(done: int, total: int) -> None:
        rows = sorted(sm.resident.values())
        running = sum(sm.cores[core].retired[slot] for core, slot in sm.resident)
        seen.append((sm.cycle, sm.started, rows, running))
        assert done == running + 41 * (sm.started - len(rows))

    sm.run(look, 10)
    cycles = [cycle for cycle, *_ in seen]
    assert cycles[0] == 0
    assert all(after >= before + 10 for before, after in itertools.pairwise(cycles))
    assert max(len(rows) for _, _, rows, _ in seen) == 8
    assert {row for _, _, rows, _ in seen for row in rows} == set(range(18))
    assert sm.started == 18
    assert not sm.resident


def test_launches_run_one_after_the_other() -> None:
    trace = TraceBuilder().launch([[alu(1)]]).launch([[alu(2)]], registers=64).build()
    events: list[Record] = []
    result = simulate(trace, preset("turing"), BASELINE, events=events)
    starts = [cycle for cycle, _, name, _ in events if name == "cta_start"]
    ends = [cycle for cycle, _, name, _ in events if name == "cta_end"]
    assert len(starts) == 2
    assert starts[1] == ends[0] + 1
    assert [launch["cycles"] for launch in result.launches] == [ends[0] + 1, result.cycles - ends[0] - 1]
