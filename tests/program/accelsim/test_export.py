"""Exported traces: our own reader finds in the files what was in the trace."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.uop import LINE_MASK, Memory
from warpbank.program.accelsim import read_accelsim, write_accelsim
from warpbank.program.accelsim.addresses import LOCAL_LINES
from warpbank.program.errors import TraceError
from warpbank.program.runner import Options, trace_job
from warpbank.program.trace.schema import LAUNCH, WARP, Trace
from warpbank.sim import experiment as exp

#: Barriers and shared memory, divergence, atomics, tensor and double-precision operands, local memory, many
#: launches.
KERNELS = ("reduction", "bfs", "mma_gemm", "attention", "fft", "libor")
_STATIC = ("unit", "memory", "control", "sources", "source_count", "destination", "count")


def _trace(kernel: str) -> Trace:
    job = workloads.get(kernel).job("tiny")
    return trace_job(job, Options(max_registers=exp.register_limit(job, preset("turing"))))


def _files(kernels: Path) -> list[Path]:
    return [kernels.parent / name for name in kernels.read_text().split()]


def _same(trace: Trace, again: Trace) -> None:
    """Every row is there again, with the lines that it touches, and its instruction is the same."""
    for name in LAUNCH.names or ():
        if name != "kernel":
            assert np.array_equal(trace.launches[name], again.launches[name]), name
    assert [trace.kernels[row["kernel"]] for row in trace.launches] == again.kernels
    for name in set(WARP.names or ()) - {"first"}:
        assert np.array_equal(trace.warps[name], again.warps[name]), name
    codes: dict[int, int] = {}
    for mine, other in zip(trace.warps, again.warps, strict=True):
        rows = trace.dynamic[mine["first"] : mine["first"] + mine["length"]]
        found = again.dynamic[other["first"] : other["first"] + other["length"]]
        for name in ("mask", "line_count", "passes", "memory", "flags", "barrier"):
            assert np.array_equal(rows[name], found[name]), name
        for row, copy in zip(rows, found, strict=True):
            lines = trace.lines[row["line"] : row["line"] + row["line_count"]] & np.uint64(LINE_MASK)
            others = again.lines[copy["line"] : copy["line"] + copy["line_count"]] & np.uint64(LINE_MASK)
            if row["memory"] in (Memory.LOAD_LOCAL, Memory.STORE_LOCAL):  # each has its own place for it
                lines, others = lines % LOCAL_LINES, others % LOCAL_LINES
            assert np.array_equal(lines, others)
            codes.setdefault(int(copy["pc"]), int(row["pc"]))
            assert codes[int(copy["pc"])] == row["pc"]
    for copied, pc in codes.items():
        one, other = trace.code[pc], again.code[copied]
        for name in _STATIC if one["memory"] == other["memory"] else set(_STATIC) - {"memory"}:
            if name != "destination" or one["count"]:
                assert np.array_equal(one[name], other[name]), (name, trace.text[pc], again.text[copied])


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_written_is_read(kernel: str, tmp_path: Path) -> None:
    trace = _trace(kernel)
    made = write_accelsim(trace, tmp_path / kernel)
    assert made.instructions == trace.warp_instructions
    assert not made.differs
    _same(trace, read_accelsim(_files(made.kernels)))


@pytest.mark.long
@pytest.mark.parametrize("kernel", workloads.names(workloads.ALL))
def test_every_kernel_is_exported(kernel: str, tmp_path: Path) -> None:
    """What cannot be said is counted, and nothing else differs."""
    trace = _trace(kernel)
    made = write_accelsim(trace, tmp_path / kernel)
    again = read_accelsim(_files(made.kernels))
    assert again.warp_instructions == trace.warp_instructions
    assert np.array_equal(trace.warps["length"], again.warps["length"])
    if not made.differs:
        _same(trace, again)


def test_what_a_line_cannot_say_is_counted(tmp_path: Path) -> None:
    trace = _trace("reduction")
    trace.dynamic = trace.dynamic.copy()
    shared = np.flatnonzero(trace.dynamic["passes"])[0]
    trace.dynamic["passes"][shared] = 77
    made = write_accelsim(trace, tmp_path)
    assert made.differs == {"passes of shared memory": 1}


def test_instructions_of_a_pass_are_refused(tmp_path: Path) -> None:
    experiment = exp.find("reduction", "tiny", None, "turing", None, "ltrf", [], None, 10**6)
    trace = exp.hinted(experiment, _trace("reduction"))
    with pytest.raises(TraceError, match="export the trace before the pass"):
        write_accelsim(trace, tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match=re.escape(f"cannot be written to {tmp_path / 'file' / 'x'}: ")):
        write_accelsim(_trace("reduction"), tmp_path / "file" / "x")
