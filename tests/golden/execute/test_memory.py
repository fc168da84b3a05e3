"""Load/store unit, L1, MSHRs, L2 and DRAM: when loads return. On `tiny`: L1 6, L2 20, DRAM 30 cycles."""

from __future__ import annotations

from itertools import pairwise

from tests.golden.measure import Run
from warpbank.arch.uop import Memory, Unit
from warpbank.golden.execute.l1 import Tags
from warpbank.program.trace.builder import Op, TraceBuilder, alu, load, store


def run(*warps: list[Op], overrides: tuple[str, ...] = ()) -> Run:
    return Run(TraceBuilder().launch(list(warps)).build(), *overrides)


def test_tags_are_lru() -> None:
    tags = Tags(2, 2)
    for line in (0, 2):
        assert not tags.hit(line)
        tags.insert(line)
    assert tags.hit(0)
    tags.insert(4)
    assert tags.hit(0)
    assert not tags.hit(2), "the least recently used went"
    assert not tags.hit(1), "the other set"
    tags.remove(0)
    assert not tags.hit(0)


def test_miss_then_hit() -> None:
    done = run([load(1, 9, 5), alu(2, 1), load(3, 2, 5)])
    accept = done.cycle("lsu_accept", 0, 0)
    served = accept + 1
    filled = served + 20 + 30
    assert done.cycle("l1_fill", 5) == filled
    assert done.cycle("write", 1, 0, 0, 0) == filled + 2, (
        "returned in the cycle after, offered to the bank in the next"
    )
    again = done.cycle("lsu_accept", 0, 2)
    assert done.cycle("write", 1, 1, 0, 2) == again + 6 + 1
    assert (done.result.counters["l1.hits"], done.result.counters["l1.misses"]) == (1, 1)


def test_hit_in_the_l2_after_a_launch() -> None:
    trace = TraceBuilder().launch([[load(1, 9, 5)]]).launch([[load(1, 9, 5)]]).build()
    done = Run(trace)
    assert done.result.counters["l1.misses"] == 2, "the L1 is invalidated between launches"
    assert done.result.counters["l2.hits"] == 1
    first, second = done.cycles("lsu_accept")
    assert [cycle - start for cycle, start in zip(done.cycles("l1_fill"), (first, second), strict=True)] == [
        51,
        21,
    ]


def test_misses_of_one_line_merge() -> None:
    done = run([load(1, 9, 5)], [load(1, 9, 5)])
    counters = done.result.counters
    assert (counters["l1.misses"], counters["l1.merges"], counters["l2.misses"]) == (1, 1, 1)
    assert len(done.cycles("l1_fill")) == 1


def test_full_mshrs_stop_the_unit() -> None:
    lines = (1, 2, 3, 4, 5)
    done = run([load(1, 9, *lines)])
    assert done.result.counters["lsu.stall.mshr"] > 0
    looked_up = done.cycles("l1_access")
    assert looked_up[:4] == list(range(looked_up[0], looked_up[0] + 4))
    assert looked_up[4] == done.cycles("l1_fill")[0] + 1
    assert run([load(1, 9, *lines)], overrides=("l1.mshrs=8",)).result.counters["lsu.stall.mshr"] == 0


def test_merges_are_limited() -> None:
    warps = [[load(1, 9, 5)]] * 4
    assert run(*warps).result.counters["lsu.stall.mshr"] > 0
    assert run(*warps, overrides=("l1.merges=4",)).result.counters["lsu.stall.mshr"] == 0


def test_dram_bandwidth() -> None:
    done = run([load(1, 9, 1, 2, 3, 4)], overrides=("memory.dram_interval=7",))
    fills = done.cycles("l1_fill")
    assert [after - before for before, after in pairwise(fills)] == [7, 7, 7]


def test_stores_write_through_and_do_not_allocate() -> None:
    done = run([store(9, 8, 5), load(1, 9, 5)])
    counters = done.result.counters
    assert (counters["l1.stores"], counters["l1.misses"], counters["l2.misses"], counters["l2.hits"]) == (
        1,
        1,
        1,
        1,
    )
    accept = done.cycle("lsu_accept", 0, 0)
    assert done.cycle("retire", 0, 0) == accept + 2


def test_full_memory_queue_stops_the_unit() -> None:
    done = run([store(9, 8, *range(12))])
    assert done.result.counters["lsu.stall.queue"] > 0


def test_atomics_go_to_the_l2_and_invalidate() -> None:
    atomic = Op(Unit.LSU, (9,), 1, 1, memory=Memory.ATOMIC_GLOBAL, lines=(5,))
    done = run([load(3, 9, 5), alu(9, 3), atomic, alu(9, 1), load(4, 9, 5)])
    counters = done.result.counters
    assert (counters["l1.atomics"], counters["l1.misses"], counters["l1.hits"], counters["l2.hits"]) == (
        1,
        2,
        0,
        2,
    )


def test_reductions_are_not_waited_for() -> None:
    done = run([Op(Unit.LSU, (9,), memory=Memory.REDUCE_GLOBAL, lines=(5,))])
    assert done.cycle("retire", 0, 0) == done.cycle("lsu_accept", 0, 0) + 2


def test_shared_memory_passes() -> None:
    def shared(memory: Memory, passes: int) -> int:
        done = run([Op(Unit.LSU, (9,), 1, int(memory != Memory.STORE_SHARED), memory=memory, passes=passes)])
        return done.cycle("retire", 0, 0) - done.cycle("lsu_accept", 0, 0)

    assert shared(Memory.LOAD_SHARED, 1) == 6 + 1
    assert shared(Memory.LOAD_SHARED, 8) == 6 + 1 + 7
    assert shared(Memory.STORE_SHARED, 8) == 2 + 7
    assert shared(Memory.ATOMIC_SHARED, 4) == 6 + 1 + 7


def test_passes_hold_the_unit() -> None:
    conflict = Op(Unit.LSU, (9,), 1, 1, memory=Memory.LOAD_SHARED, passes=16)
    done = run([conflict, load(3, 9, 5)])
    assert done.cycle("lsu_accept", 0, 1) == done.cycle("lsu_accept", 0, 0) + 16


def test_constants_and_shuffles() -> None:
    for memory in (Memory.LOAD_CONST, Memory.SHUFFLE):
        done = run([Op(Unit.LSU, (9,), 1, 1, memory=memory)])
        assert done.cycle("retire", 0, 0) == done.cycle("lsu_accept", 0, 0) + 6 + 1


def test_sub_cores_take_turns() -> None:
    warps = [[load(1, 9, 5), load(2, 9, 5), load(3, 9, 5)]] * 4
    done = Run(TraceBuilder().launch(warps).build(), machine="turing")
    order = [core for _, core, name, _ in done.events if name == "lsu_accept"]
    assert order == [0, 1, 2, 3] * 3
