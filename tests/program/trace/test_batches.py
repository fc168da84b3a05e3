"""Passes on batches of warps make the trace that they make of the whole, whatever the batches are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program import hint_passes
from warpbank.program.hint_passes import with_hints
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.batches import in_batches
from warpbank.program.trace.schema import Trace

CONFIG = preset("tiny")


def _rows(trace: Trace) -> list[bytes]:
    """The rows of every warp, in the order of `trace.warps`."""
    return [
        trace.dynamic[int(w["first"]) : int(w["first"]) + int(w["length"])].tobytes() for w in trace.warps
    ]


@pytest.mark.quick("300-*")
@pytest.mark.parametrize("scheme", ["ltrf", "ltrf-strand", "renaming", "ltrf+renaming"])
@pytest.mark.parametrize("rows", [1, 300, 1 << 19])
def test_batches_are_seams_that_nobody_sees(scheme: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    job = workloads.get("bfs").job("tiny")
    trace, hints = trace_job(job), parse_scheme(scheme).hints
    whole = with_hints(trace, hints, CONFIG, lambda: compile_job(job))
    monkeypatch.setattr(
        hint_passes, "in_batches", lambda part, insert: in_batches(part, insert, limit=1 << 10, rows=rows)
    )
    parts = with_hints(trace, hints, CONFIG, lambda: compile_job(job))
    assert len(parts.dynamic) > len(trace.dynamic)
    assert _rows(parts) == _rows(whole)
    for name in ("code", "lines", "values", "ptx_line"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name)), name
    for name in ("text", "working_sets", "flag_words", "exempt"):
        assert getattr(parts, name) == getattr(whole, name)
    results = [simulate(made, CONFIG, parse_scheme(scheme)).to_dict() for made in (whole, parts)]
    assert results[0] == results[1]


def test_warps_in_any_order_and_rows_that_no_warp_has() -> None:
    """Warps need not stand as their rows do; rows between warps are left to the pass."""
    trace = trace_job(workloads.get("nn").job("tiny"))
    turned = replace(trace, warps=trace.warps[::-1].copy())
    seen: list[int] = []

    def insert(part: Trace) -> Trace:
        seen.append(len(part.warps))
        return part

    assert _rows(in_batches(turned, insert, limit=0, rows=1)) == _rows(turned)
    assert set(seen) == {1}
    gap = replace(trace, warps=trace.warps[1:])
    seen.clear()
    assert in_batches(gap, insert, limit=0, rows=1) is gap
    assert seen == [len(gap.warps)]
