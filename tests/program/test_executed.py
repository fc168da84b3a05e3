"""Kernels from executed edges: their graph, and hints of passes on them, under which the machine checks every
operand of traces that have values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.errors import OperandMismatch
from warpbank.golden.sm import simulate
from warpbank.program import executed
from warpbank.program.cfg import Cfg, always
from warpbank.program.executed import executed_kernels
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.runner import Options, trace_job
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace

#: Kernels with divergent branches, loops, barriers, and guards.
KERNELS = ("bfs", "reduction", "hotspot", "pathfinder")


def _trace(kernel: str) -> Trace:
    return trace_job(workloads.get(kernel).job("tiny"), Options(max_registers=64))


def _steps(trace: Trace) -> set[tuple[int, int]]:
    """Steps of the warps, one after the other."""
    found = set()
    for warp in trace.warps:
        rows = trace.dynamic["pc"][int(warp["first"]) : int(warp["first"] + warp["length"])].tolist()
        found |= set(zip(rows, [*rows[1:], -1], strict=True))
    return found


def _edges(kernel: Kernel) -> set[tuple[int, int]]:
    """Steps that the graph of a kernel allows."""
    cfg = Cfg(kernel)
    found = set()
    for block in range(cfg.exit):
        first, end = cfg.starts[block], cfg.starts[block + 1]
        found |= {(pc, pc + 1) for pc in range(first, end - 1)}
        if end > first:
            found |= {(end - 1, -1 if s == cfg.exit else cfg.starts[s]) for s in cfg.successors[block]}
    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("chunk", [1 << 20, 97])
def test_the_graph_is_what_ran(kernel: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.program.executed._CHUNK", chunk)
    trace = _trace(kernel)
    made = list(executed_kernels(trace).values())
    ran = _steps(trace)
    allowed: set[tuple[int, int]] = set()
    for kernel_made, first in zip(made, trace.first_pc, strict=True):
        allowed |= {(a + first, b + first if b >= 0 else b) for a, b in _edges(kernel_made)}
    executed = set(np.unique(trace.dynamic["pc"]).tolist())
    assert ran <= allowed
    assert {(a, b) for a, b in allowed if a in executed} == ran
    instructions = [i for each in made for i in each.instructions()]
    assert len(instructions) == len(trace.code)
    existing = np.zeros(len(trace.dynamic), np.uint32)
    for warp in trace.warps:
        existing[int(warp["first"]) : int(warp["first"] + warp["length"])] = warp["mask"]
    guarded = set(trace.dynamic["pc"][trace.dynamic["mask"] != existing].tolist())
    for pc, (instr, row) in enumerate(zip(instructions, trace.code, strict=True)):
        assert instr.registers_read() == row["sources"][: row["source_count"]].tolist()
        assert instr.registers_written() == list(range(row["destination"], row["destination"] + row["count"]))
        assert always(instr) == (pc not in guarded)


@pytest.mark.parametrize(
    "scheme", ["bow-wr", "ltrf", "ltrf-plus", "ltrf-strand", "renaming", "sw-rfc", "ltrf-plus+renaming"]
)
@pytest.mark.parametrize("kernel", ["bfs", "reduction"])
def test_every_operand_is_right(kernel: str, scheme: str) -> None:
    """What the passes find on executed edges loses no value that a warp of the trace reads."""
    assert _operands(kernel, scheme) > 700


def _operands(kernel: str, scheme: str) -> int:
    """Run with hints from executed edges; operands that were compared."""
    trace, chosen = _trace(kernel), parse_scheme(scheme)
    machine = chosen.machine(preset("turing"))
    hinted = with_hints(trace, chosen.hints, machine, lambda: executed_kernels(trace))
    return simulate(hinted, preset("turing"), chosen).operands_checked


def _two_sides() -> Trace:
    """One side of a branch writes what the other still reads, later than any window of BOW; the warp's path
    goes through both."""
    half = 0xFFFF
    fill = [alu(10, 1), *(alu(11 + place, 10 + place) for place in range(7))]
    warp = [alu(1, 2), *fill, alu(1, 2, mask=half), alu(3, 1, mask=half << 16), alu(4, 1)]
    return TraceBuilder().launch([warp], registers=32).build()


def _under_hints(trace: Trace) -> int:
    """Operands that a run under write-back hints compared."""
    chosen, machine = parse_scheme("bow-wr"), preset("turing")
    hinted = with_hints(trace, ("write_back",), chosen.machine(machine), lambda: executed_kernels(trace))
    return simulate(hinted, machine, chosen).operands_checked


def test_a_partial_write_kills_nothing() -> None:
    trace = _two_sides()
    (kernel,) = executed_kernels(trace).values()
    assert [pc for pc, instr in enumerate(kernel.instructions()) if not always(instr)] == [9, 10]
    assert _under_hints(trace) == 12


def test_writes_of_some_lanes_must_not_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that takes every write for one of the whole warp loses a value."""

    def careless(trace: Trace) -> tuple[Any, ...]:
        edges, entries, partial = steps(trace)
        return edges, entries, np.zeros_like(partial)

    steps = executed._steps
    monkeypatch.setattr(executed, "_steps", careless)
    with pytest.raises(OperandMismatch):
        _under_hints(_two_sides())


def test_a_kernel_that_is_launched_twice() -> None:
    """Two launches of one name have code of their own; a warp that begins elsewhere gets an entry."""
    one = TraceBuilder().launch([[alu(1, 2), alu(3, 1)], [alu(3, 1)]]).build()
    (kernel,) = executed_kernels(one).values()
    cfg = Cfg(kernel)
    assert cfg.starts[1] == 0, "an empty block stands in front"
    assert {cfg.starts[s] for s in cfg.successors[0]} == {0, 1}
