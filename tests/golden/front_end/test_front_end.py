"""Schedulers, scoreboard, instruction buffers, barriers: when uops issue."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.golden.measure import Run
from warpbank.arch.uop import Memory, Unit
from warpbank.golden.front_end.gto import Gto
from warpbank.golden.front_end.lrr import Lrr
from warpbank.program.errors import ExecutionError
from warpbank.program.trace.builder import BRANCH, Op, TraceBuilder, alu, barrier, load


def run(*warps: list[Op], overrides: tuple[str, ...] = (), registers: int = 16) -> Run:
    return Run(TraceBuilder().launch(list(warps), registers=registers).build(), *overrides)


def test_lrr_rotates() -> None:
    policy = Lrr(4)
    assert [policy.pick(0b1111) for _ in range(5)] == [0, 1, 2, 3, 0]
    assert policy.pick(0b1001) == 3
    assert policy.pick(0b0001) == 0


def test_gto_is_greedy_then_oldest() -> None:
    policy = Gto(4)
    for warp in (2, 0, 3, 1):
        policy.start(warp)
    assert policy.pick(0b1011) == 0
    assert policy.pick(0b1111) == 0, "greedy"
    assert policy.pick(0b1110) == 2, "the oldest"
    assert policy.pick(0b1010) == 3
    policy.start(2)
    assert policy.pick(0b0110) == 1, "a new warp is the youngest"


@pytest.mark.parametrize(("policy", "switches"), [("lrr", True), ("gto", False)])
def test_policies_on_the_machine(policy: str, switches: bool) -> None:
    free = [alu(register, mask=0) for register in range(6)]
    slow = [alu(9, unit=Unit.SFU), alu(10, 9)]  # so that both buffers are full when the barrier opens
    done = run(
        [barrier(), *free],
        [*slow, barrier(), *free],
        overrides=(
            "sub_core.front_end.buffer_entries=9",
            "sub_core.execute.sfu.latency=40",
            f"sub_core.front_end.scheduler={policy}",
        ),
    )
    opened = done.cycles("barrier_open")[0]
    warps = [
        values[0]
        for cycle, _, name, values in done.events
        if name == "issue" and opened < cycle <= opened + 12
    ]
    changes = sum(before != after for before, after in pairwise(warps))
    assert changes == (11 if switches else 1)


def test_raw_waits_for_the_bank_write() -> None:
    done = run([alu(1), alu(2, 1)])
    assert done.cycle("issue", 0, 1) == done.cycle("write", 1, 0, 0, 0) + 1


def test_waw_waits_for_the_bank_write() -> None:
    done = run([alu(1, unit=Unit.SFU), alu(1)])
    assert done.cycle("issue", 0, 1) == done.cycle("write", 1, 0, 0, 0) + 1


def test_war_waits_for_the_delivery() -> None:
    done = run([alu(8, 1, 3, 5), alu(5)])
    last = max(done.cycles("deliver"))
    assert done.cycle("issue", 0, 1) == last + 1
    assert done.cycle("dispatch", 0, 0) == last + 1


def test_war_counts_every_reader() -> None:
    done = run([alu(8, 1, 3, 5), alu(9, 5), alu(5)], overrides=("sub_core.banks=1",))
    assert done.cycle("issue", 0, 2) == max(done.cycles("deliver")) + 1


def test_predicates_are_written_at_retirement() -> None:
    done = run(
        [Op(Unit.ALU, (1,), writes=2), Op(Unit.ALU, (), 3, 1, reads=2), Op(Unit.ALU, (), 4, 1, reads=1)]
    )
    assert done.cycle("issue", 0, 1) == done.cycle("retire", 0, 0) + 1


def test_wide_results_take_a_cycle_per_register() -> None:
    done = run([alu(4, count=4), alu(1, 7)])
    assert done.cycles("write")[:4] == [7, 8, 9, 10]
    assert done.cycle("issue", 0, 1) == 11


def test_false_guard_needs_no_collector() -> None:
    done = run([alu(1, 2, 3, mask=0), alu(2)])
    assert done.result.counters["collector.allocations"] == 1
    assert done.cycle("retire", 0, 0) == done.cycle("issue", 0, 0)
    assert done.result.counters["rf.reads"] == 0


@pytest.mark.parametrize("hold", [0, 3, 10])
def test_branch_holds_the_stream(hold: int) -> None:
    done = run([BRANCH, alu(1), alu(2)], overrides=(f"sub_core.front_end.branch_hold={hold}",))
    issued = done.cycle("issue", 0, 0)
    assert done.cycle("fill", 0, 1) == issued + 1 + hold
    assert done.cycle("issue", 0, 1) == issued + 2 + hold


def test_one_fill_per_cycle_in_rotation() -> None:
    done = run(*[[alu(1), alu(2)]] * 4)
    cycles = done.cycles("fill")
    assert cycles == sorted(set(cycles))
    assert [warp for warp, _ in done.order("fill")][:8] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_barrier_opens_for_all_at_once() -> None:
    done = run([barrier(), alu(1)], [alu(2, unit=Unit.SFU), alu(3, 2), barrier(), alu(1)])
    opened = done.cycles("barrier_open")
    assert opened == [done.cycle("issue", 1, 2)]
    assert min(done.cycle("issue", 0, 1), done.cycle("issue", 1, 3)) == opened[0] + 1
    assert done.result.stalls["barrier"] == 0, "warp 1 is nearer to issuing all the time"


def test_barrier_of_some_warps_and_arrival_without_waiting() -> None:
    consumer, producer, other = [barrier(1, 2), alu(1)], [alu(2), barrier(1, 2, wait=False), alu(3)], [alu(4)]
    done = run(consumer, producer, other)
    assert done.result.counters["barrier.opens"] == 1
    assert done.cycle("issue", 0, 1) > done.cycle("issue", 1, 1)


@pytest.mark.parametrize("late", [0, 1])
def test_who_arrives_behind_a_complete_barrier_is_of_its_next_use(late: int) -> None:
    """Three warps arrive at a barrier of two in one cycle, and a fourth with them or behind them."""
    arrives, others = barrier(1, 2), [alu(1), alu(2, 1)] * late
    machine = ("sub_cores=4", "sub_core.warps=2")
    done = run([arrives], [arrives], [arrives], [*others, arrives], overrides=machine)
    opened = done.cycles("barrier_open")
    assert len(opened) == 2
    assert (opened[0] == opened[1]) == (not late)


def test_exited_warps_are_not_waited_for() -> None:
    done = run([barrier(), alu(1)], [alu(2, unit=Unit.SFU), alu(3, 2)])
    assert done.cycles("barrier_open") == [done.cycle("issue", 1, 2)]


def test_barrier_that_cannot_complete_is_explained() -> None:
    message = (
        r"Deadlock in cycle \d+: no warp can ever proceed\. warp slot 0 of sub-core 0 \(CTA slot 0\) waits "
        r"at barrier 2 "
        r"of CTA slot 0, where 1 of 3 warps arrived"
    )
    with pytest.raises(ExecutionError, match=message):
        run([barrier(2, 3)], [alu(1)])


def test_barriers_are_numbered() -> None:
    with pytest.raises(
        ExecutionError, match=r"pc 0 uses barrier 2, and the machine has 2 per CTA \(cta\.barriers\)\."
    ):
        run([barrier(2)], overrides=("cta.barriers=2",))


def test_fence_stops_its_warp() -> None:
    done = run([load(1, 2, 7), Op(Unit.LSU, memory=Memory.FENCE), alu(5)])
    assert done.cycle("issue", 0, 2) == done.cycle("retire", 0, 1) + 1


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ([alu(1, unit=Unit.SFU), alu(2, 1)], "scoreboard"),
        ([load(1, 2, 9), alu(2, 1)], "memory"),
        ([BRANCH, alu(1)], "fetch"),
        ([alu(register, unit=Unit.FP64) for register in range(6)], "unit_busy"),
        ([alu(register, 9, 11, 13, 15, 1, 3) for register in (2, 4, 6)], "collector_full"),
    ],
)
def test_stall_reasons(program: list[Op], reason: str) -> None:
    done = run(program, overrides=("sub_core.execute.fp64.interval=20",))
    stalls = {name: count for name, count in done.result.stalls.items() if name not in ("issued", "no_warp")}
    assert max(stalls, key=lambda name: stalls[name]) == reason


def test_barrier_is_a_reason_only_where_all_others_are_gone() -> None:
    trace = TraceBuilder().launch([[barrier()], [load(1, 2, 9), alu(2, 1), barrier()]]).build()
    done = Run(trace, "sub_core.warps=1", "sub_core.collectors=1", "sub_cores=2")
    assert done.result.stalls_per_scheduler[0]["barrier"] > 20
    assert done.result.stalls_per_scheduler[1]["barrier"] == 0
