"""Studies of a kernel's code and trace that figures need; no machine runs."""

from __future__ import annotations

from program import runner
from program.launch import Job
from program.windows import savings
from program.write_back import shares, write_back_hints


def count_sources(job: Job, options: runner.Options) -> dict[str, int]:
    """Executed uops of a job by the number of distinct registers they read."""
    trace = runner.trace_job(job, options)
    numbers = trace.code["source_count"][trace.dynamic["pc"]]
    return {str(number): int((numbers == number).sum()) for number in range(trace.code["sources"].shape[1] + 1)}


def windows(job: Job, options: runner.Options, *, first: int, last: int) -> dict[str, dict[str, int]]:
    """Accesses that windows of `first` to `last` uops save, without hints, by window."""
    trace = runner.trace_job(job, options)
    found = {window: savings(trace, window) for window in range(first, last + 1)}
    return {
        str(window): {"reads": s.reads, "reads_saved": s.reads_saved, "writes": s.writes, "writes_saved": s.writes_saved}
        for window, s in found.items()
    }


def destinations(job: Job, options: runner.Options, *, window: int) -> dict[str, int]:
    """Executed uops with a result by where the compiler's hints send it."""
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    hints = write_back_hints({name: kernels[name] for name in trace.kernels}, window)
    counted = shares(trace.code, hints.write_back, trace.dynamic["pc"])
    return {"banks": counted.banks, "collector": counted.collector, "both": counted.both}
