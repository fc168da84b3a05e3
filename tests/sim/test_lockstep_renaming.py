"""Golden and RTL in lockstep under register renaming, with release flags, fewer registers than the static demand, and a table so
small that some are not renamed."""

from __future__ import annotations

import workloads
from arch.config import preset, with_overrides
from arch.schemes import parse_scheme
from program.annotate import annotate
from program.runner import compile_job, trace_job
from sim.engines.pysim import PysimEngine
from sim.lockstep import lockstep


def test_every_event_of_every_cycle() -> None:
    scheme = parse_scheme("renaming")
    config = with_overrides(preset("tiny"), ["sub_core.rows=12", "sub_core.mapping.table_bytes=20"])
    job = workloads.get("vectoradd").job("tiny")
    trace = annotate(trace_job(job), scheme.hints, config, lambda: compile_job(job))
    assert trace.exempt[0].bit_count() == 2
    outcome = lockstep(trace, config, scheme, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result.counters["renaming.unmaps"]
