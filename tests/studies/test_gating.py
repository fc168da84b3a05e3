"""Power gating on events: by hand, against a search cycle by cycle, and `warpbank gating`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.hint_passes import with_hints
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import Batch, encode
from warpbank.studies.gating import WAKE_UP, Gating, Spans

#: Two banks of eight rows in two sub-arrays each.
SMALL = with_overrides(preset("tiny"), ["sub_core.rows=8", "sub_core.mapping.subarrays=2"])


def observed(
    trace: Trace, records: list[Record], end: int, at: int = 7, config: SmConfig = SMALL
) -> dict[str, Any]:
    """What the observer makes of the records, given in two batches."""
    seen = Gating()
    seen.start(trace, config)
    for start, stop in ((0, at), (at, end)):
        seen(Batch(start, stop, encode([record for record in records if start <= record[0] < stop])))
    return seen.result()


def one_launch(exempt: tuple[int, ...]) -> Trace:
    """One CTA of one warp of four registers."""
    builder = TraceBuilder()
    builder.launch([[alu(3)]], registers=4)
    trace = builder.build()
    trace.exempt = exempt
    return trace


@pytest.mark.filterwarnings("error")
def test_a_kernel_without_registers_uses_none_of_them() -> None:
    builder = TraceBuilder()
    builder.launch([[]], registers=0)
    found = observed(builder.build(), [(0, -1, "cta_start", (0,)), (9, -1, "cta_end", (0,))], 10)
    assert found["used"] == found["registers"] == 0.0


def test_renaming_by_hand() -> None:
    """p0 in cycles 2 to 6 and again from 7 to 8; p1 in 4 and 5; p9 (row 4: the other sub-array) from 8 on,
    lost in 9, the end."""
    records: list[Record] = [
        (0, -1, "cta_start", (0,)),
        (0, 0, "warp_start", (0, 0)),
        (9, -1, "cta_end", (0,)),
        (2, 0, "map", (0, 1, 0, 0)),
        (6, 0, "unmap", (0, 1, 0, 0)),
        (4, 0, "map", (0, 2, 1, 0)),
        (5, 0, "unmap", (0, 2, 1, 0)),
        (7, 0, "map", (0, 3, 0, 0)),
        (8, 0, "unmap", (0, 3, 0, 0)),
        (8, 0, "map", (0, 1, 1, 4)),
        (9, 0, "write", (1, 4, 0, 0, 1, 15)),
    ]
    found = observed(one_launch((0,)), records, 11)
    registers = [0, 0, 1, 1, 2, 2, 1, 1, 2, 1, 0]
    subarrays = [0, 0, 1, 1, 2, 2, 1, 1, 2, 1, 0]
    assert found["curve"] == {
        "step": 1,
        "given": [4.0] * 10 + [0.0],
        "registers": registers,
        "subarrays": subarrays,
    }
    assert (found["cycles"], found["given"], found["allocated"]) == (11, 4, 3)
    assert (found["of_registers"], found["of_subarrays"]) == (16, 4)
    assert found["registers"] == pytest.approx(sum(registers) / 11)
    assert found["used"] == pytest.approx(sum(registers) / 4 / 10)
    assert found["parts"] == pytest.approx(
        [sum(registers) / 4 / 1000, *[0] * 9]
    )  # the first of ten parts; then nothing runs
    assert found["first"] == [[1, 2, 7], [1, 8, 10], [2, 4, 6], [3, 7, 9]]


def test_first_touch_by_hand() -> None:
    """A register wakes up in the cycle before its first access and stays on, and its sub-array with it."""
    records: list[Record] = [
        (0, -1, "cta_start", (0,)),
        (0, 0, "warp_start", (0, 0)),
        (9, -1, "cta_end", (0,)),
        (3, 0, "write", (0, 0, 0, 0, 1, 15)),
        (5, 0, "grant", (0, 0, 0, 0)),
        (8, 0, "write_back", (0, 1, 0, 2)),
        (9, 0, "write", (1, 5, 0, 0, 3, 15)),
    ]
    found = observed(one_launch(()), records, 11)
    assert WAKE_UP == 1
    assert found["curve"]["registers"] == [0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3]
    assert found["curve"]["subarrays"] == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2]
    assert found["allocated"] == 3


def test_exempt_registers_stay_on_in_their_launch() -> None:
    """R0 of each of the eight warps is exempt: the first eight places, rows 0 to 3, are theirs."""
    records: list[Record] = [
        (0, -1, "cta_start", (0,)),
        (0, 0, "warp_start", (0, 0)),
        (9, -1, "cta_end", (0,)),
        (4, 0, "write", (0, 0, 0, 0, 0, 15)),
        (2, 0, "map", (0, 1, 0, 4)),
        (4, 0, "unmap", (0, 1, 0, 4)),
        (3, 0, "write", (0, 4, 0, 0, 1, 15)),
    ]
    found = observed(one_launch((1,)), records, 11)
    assert found["curve"]["registers"] == [0, 0, 1, 2, 2, 1, 1, 1, 1, 1, 0]


def test_registers_behind_those_of_the_slots_in_use_are_renamed() -> None:
    """A table of six entries has room for the other three registers of two warps: exempt are the first two
    places only."""
    config = with_overrides(SMALL, ["sub_core.mapping.table_bytes=3"])
    records: list[Record] = [
        (0, -1, "cta_start", (0,)),
        (0, 0, "warp_start", (0, 0)),
        (9, -1, "cta_end", (0,)),
        (6, 0, "write", (1, 0, 0, 0, 0, 15)),
        (2, 0, "map", (0, 1, 0, 1)),
        (4, 0, "unmap", (0, 1, 0, 1)),
        (3, 0, "write", (0, 1, 0, 0, 1, 15)),
    ]
    found = observed(one_launch((1,)), records, 11, config=config)
    assert found["curve"]["registers"] == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert found["curve"]["subarrays"] == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]


def test_spans_that_touch_or_overlap() -> None:
    spans = Spans(np.array([5, 5, 5, 6]), np.array([1, 3, 4, 2]), np.array([3, 5, 6, 3]))
    assert spans.count(8).tolist() == [0, 1, 2, 1, 1, 1, 0, 0]


def searched(
    records: list[Record], trace: Trace, config: Any, cycles: int, renames: bool
) -> tuple[list[int], list[int]]:
    """Registers and sub-arrays that are powered, cycle by cycle. With renaming, what is never given away is
    exempt."""
    core = config.sub_core
    shared = {(number, *values[2:]) for _, number, event, values in records if event == "map"}
    ends = sorted(record[0] for record in records if record[2] == "cta_end")
    launch_ends = [ends[count - 1] for count in np.cumsum(trace.launches["ctas"]).tolist()]
    on: dict[tuple[int, int, int], bool] = {}
    registers, subarrays = [], []
    by_cycle: dict[int, list[Record]] = {}
    for record in records:
        by_cycle.setdefault(record[0], []).append(record)
    for cycle in range(cycles):
        off = []
        for _, number, event, values in by_cycle.get(cycle, []):
            if event == "map":
                on[number, values[2], values[3]] = True
            elif event == "unmap":
                off.append((number, values[2], values[3]))
        for _, number, event, values in by_cycle.get(cycle + WAKE_UP, []):
            if event in ("write", "grant") and (not renames or (number, *values[:2]) not in shared):
                on[number, values[0], values[1]] = True
        registers.append(len(on))
        subarrays.append(
            len({(number, bank, row * core.mapping.subarrays // core.rows) for number, bank, row in on})
        )
        for place in off:
            del on[place]
        if renames and cycle in launch_ends:
            on.clear()
    return registers, subarrays


@pytest.mark.parametrize("scheme", ["renaming", "baseline"])
@pytest.mark.parametrize("name", ["vectoradd", "reduction"])
def test_against_a_search(name: str, scheme: str) -> None:
    config = with_overrides(
        preset("tiny"), ["sub_core.rows=32", "sub_core.mapping.table_bytes=40", "sub_cores=2"]
    )
    chosen = parse_scheme(scheme)
    job = workloads.get(name).job("tiny")
    trace = with_hints(trace_job(job), chosen.hints, config, lambda: compile_job(job))
    records: list[Record] = []
    cycles = simulate(trace, config, chosen, events=records).cycles
    seen = Gating()
    seen.start(trace, config)
    seen(Batch(0, cycles, encode(records)))
    found = seen.result()
    registers, subarrays = searched(records, trace, config, cycles, scheme == "renaming")
    assert found["registers"] == pytest.approx(np.mean(registers))
    assert found["subarrays"] == pytest.approx(np.mean(subarrays))
    assert 0 < found["subarrays"] < found["registers"] <= found["given"]
    assert max(registers) <= found["allocated"]


@pytest.mark.parametrize("name", ["vectoradd", "reduction"])
def test_nobody_waits_for_a_wake_up(name: str) -> None:
    """The first access to a renamed register comes after the cycle in which it is given away."""
    config, scheme = preset("tiny"), parse_scheme("renaming")
    job = workloads.get(name).job("tiny")
    records: list[Record] = []
    simulate(
        with_hints(trace_job(job), scheme.hints, config, lambda: compile_job(job)),
        config,
        scheme,
        events=records,
    )
    given: dict[tuple[int, ...], int] = {}
    accesses = 0
    for cycle, core, event, values in sorted(records, key=lambda record: (record[0], record[2])):
        if event == "map":
            given[core, *values[2:]] = cycle
        elif event == "write":
            assert cycle > given[core, *values[:2]] + WAKE_UP
            accesses += 1
    assert accesses
