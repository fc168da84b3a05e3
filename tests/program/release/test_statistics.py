"""Statistics of lifetimes and of flags."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.release.replay import drawn
from warpbank import workloads
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.release.statistics import (
    Growth,
    growth,
    held_registers,
    in_step,
    lifetimes,
    live_registers,
)
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.builder import ALL, TraceBuilder, alu
from warpbank.program.trace.schema import Trace

LOW, HIGH = 0xFFFF, 0xFFFF0000


def example() -> Trace:
    """One warp; R1 is written by half of the lanes twice, R2 for nothing."""
    ops = [
        alu(1),
        alu(2),
        alu(1, 1, mask=LOW),
        alu(3, 1),
        alu(1, 3, mask=HIGH),
        alu(1, 3, mask=LOW),
        alu(4, 1, 3),
        alu(4, 4),
    ]
    return TraceBuilder().launch([ops], registers=5).build()


def test_live_registers_by_hand() -> None:
    assert live_registers(example()).tolist() == [1, 1, 1, 1, 2, 2, 1, 0, 0]


def test_lifetimes_by_hand() -> None:
    """The second values of R1 come from two writes, the first of which begins the stay."""
    found = sorted((int(s["register"]), int(s["first"]), int(s["last"])) for s in lifetimes(example()))
    assert found == [(1, 0, 3), (1, 4, 6), (3, 3, 6), (4, 6, 7)]


def test_in_step() -> None:
    """A warp of four uops and EXIT beside one of one and EXIT, with 2 registers each."""
    first, second = [alu(1), alu(0, 1), alu(1, 0), alu(0, 1)], [alu(0)]
    trace = TraceBuilder().launch([first, second], registers=2).build()
    counts = np.array([2, 2, 1, 1, 0, 2, 1])
    assert in_step(trace, counts, 2).tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]
    assert in_step(trace, counts, 1).tolist() == [1.0, 1.0, 0.5, 0.5, 0.0]


def reads_later(trace: Trace, warp: int) -> list[int]:
    """Live registers after each instruction of a warp, by looking ahead lane by lane."""
    rows = trace.dynamic[int(trace.warps["first"][warp]) :][: int(trace.warps["length"][warp])]
    alive: set[tuple[int, int]] = set()
    found = []
    for row in rows[::-1]:
        found.append(len({r for r, _ in alive}))
        code = trace.code[row["pc"]]
        lanes = [lane for lane in range(32) if int(row["mask"]) >> lane & 1]
        alive -= {(int(code["destination"]) + k, lane) for k in range(int(code["count"])) for lane in lanes}
        alive |= {(int(r), lane) for r in code["sources"][: int(code["source_count"])] for lane in lanes}
    return found[::-1]


def test_live_registers_against_a_search() -> None:
    for seed in range(4):
        _, trace = drawn(seed)
        live, stays = live_registers(trace), lifetimes(trace)
        for warp in range(len(trace.warps)):
            first, length = int(trace.warps["first"][warp]), int(trace.warps["length"][warp])
            assert live[first : first + length].tolist() == reads_later(trace, warp)
        spans = np.zeros(len(trace.dynamic) + 1, np.int64)
        np.add.at(spans, stays["first"].astype(np.int64), 1)
        np.add.at(spans, stays["last"].astype(np.int64), -1)
        undefined = (
            live - np.cumsum(spans)[:-1]
        )  # alive without a write that begins it: read before they are written
        assert (undefined >= 0).all()


@pytest.mark.parametrize("name", ["bfs", "lud", "spmv", "sad"])
def test_what_is_live_is_held(name: str) -> None:
    job = workloads.get(name).job("tiny")
    before, kernels = trace_job(job), compile_job(job)
    after = insert_flags(before, release_all(kernels))
    held = held_registers(after)[~np.isin(after.dynamic["pc"], list(after.flag_words))]
    live = live_registers(before)
    assert (held >= live).all()
    given = np.repeat(before.launches["registers"][before.warps["launch"]], before.warps["length"])
    assert (held <= given).all()
    assert live.mean() <= held.mean() < given.mean()
    everything = {name: (1 << kernel.registers) - 1 for name, kernel in kernels.items()}
    after = insert_flags(before, release_all(kernels, everything))
    assert (held_registers(after) == given).all()


def test_held_registers_by_hand() -> None:
    job = workloads.get("vectoradd").job("tiny")
    trace = insert_flags(trace_job(job), release_all(compile_job(job)))
    held, allocated = held_registers(trace), set()
    assert trace.hints is not None
    for row in range(int(trace.warps["length"][0])):
        pc = int(trace.dynamic["pc"][row])
        code = trace.code[pc]
        allocated -= {
            r for r in range(256) if pc in trace.flag_words and trace.flag_words[pc].registers >> r & 1
        }
        if trace.dynamic["mask"][row]:
            allocated -= {int(r) for k, r in enumerate(code["sources"]) if trace.hints.dead[pc] >> k & 1}
            allocated |= {int(code["destination"]) + k for k in range(int(code["count"]))}
        assert held[row] == len(allocated)


def test_growth() -> None:
    job = workloads.get("reduction").job("tiny")
    trace, kernels = trace_job(job), compile_job(job)
    release = release_all(kernels)
    after, found = insert_flags(trace, release), growth(trace, release)
    assert found.pir + found.pbr == len(release.words) == len(after.code) - len(trace.code)
    assert found.pir_met + found.pbr_met == len(after.dynamic) - len(trace.dynamic)
    assert found.pbr_met == sum(
        w.registers > 0 for w in map(after.flag_words.get, after.dynamic["pc"].tolist()) if w
    )
    assert found.registers >= found.pbr > 0
    assert growth(trace, release_all(kernels, empty=True)).pir > found.pir
    straight = TraceBuilder().launch([[alu(1, mask=ALL)]]).build()
    empty = release_all(kernels, dict.fromkeys(kernels, (1 << 255) - 1))
    assert growth(straight, empty) == Growth(len(empty.dead), 0, 0, 0, 2, 0, 0)
