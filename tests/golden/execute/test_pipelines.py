"""Units: when a uop may enter."""

from __future__ import annotations

from tests.golden.measure import Run
from warpbank.program.trace.builder import TraceBuilder, alu


def test_a_credit_counts_from_the_cycle_after_the_last_write() -> None:
    trace = TraceBuilder().launch([[alu(2), alu(4)]]).build()
    run = Run(trace, "sub_core.execute.result_queue=1")
    assert run.cycle("dispatch", 1, 0, 0, 1) == run.cycle("retire", 0, 0) + 1
