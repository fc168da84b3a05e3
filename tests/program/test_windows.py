"""Window savings against counts made by hand, and against each other."""

from __future__ import annotations

from itertools import pairwise

import pytest

from warpbank import workloads
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.windows import savings, source_counts
from warpbank.program.write_back import write_back_hints
from warpbank.studies.reproduce.snippet import snippet_kernel, snippet_trace

#: Bank writes of r0..r4 that the printed code needs at a window of 3, if results arrive at once.
WRITE_THROUGH, WRITE_BACK, WITH_HINTS = [3, 4, 3, 1, 1], [1, 2, 2, 1, 1], [0, 1, 0, 1, 0]


def test_bank_writes_of_the_btree_snippet() -> None:
    trace = snippet_trace()
    plain = savings(trace, 3)
    assert plain.writes == sum(WRITE_THROUGH)
    assert plain.bank_writes[:5].tolist() == WRITE_BACK
    hinted = savings(trace, 3, write_back_hints({"btree_snippet": snippet_kernel()}, 3))
    assert hinted.bank_writes[:5].tolist() == WITH_HINTS
    assert hinted.writes_saved == 10


def test_reads_of_the_btree_snippet() -> None:
    """Of 19 reads these go to the banks: r8, r0 (line 4), r9 (line 9), r3 and r1 (line 14)."""
    found = savings(snippet_trace(), 3)
    assert (found.reads, found.reads - found.reads_saved) == (19, 5)
    assert source_counts(snippet_trace()).tolist() == [2, 7, 3, 2]


@pytest.mark.parametrize("name", ["btree", "reduction", "gaussian"])
def test_a_wider_window_saves_more(name: str) -> None:
    job = workloads.get(name).job("tiny")
    trace, kernels = trace_job(job), compile_job(job)
    found = [savings(trace, window) for window in range(2, 8)]
    for narrow, wide in pairwise(found):
        assert narrow.reads_saved <= wide.reads_saved
        assert narrow.writes_saved <= wide.writes_saved
    for window, plain in enumerate(found, 2):
        hinted = savings(trace, window, write_back_hints(kernels, window))
        assert hinted.writes_saved >= plain.writes_saved * 0.9
        assert (hinted.reads, hinted.writes) == (plain.reads, plain.writes)


def test_a_window_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        savings(snippet_trace(), 1)
