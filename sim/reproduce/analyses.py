"""Studies of a kernel's code and trace that figures need; no machine runs."""

from __future__ import annotations

from program import runner
from program.launch import Job


def count_sources(job: Job, options: runner.Options) -> dict[str, int]:
    """Executed uops of a job by the number of distinct registers they read."""
    trace = runner.trace_job(job, options)
    numbers = trace.code["source_count"][trace.dynamic["pc"]]
    return {str(number): int((numbers == number).sum()) for number in range(trace.code["sources"].shape[1] + 1)}
