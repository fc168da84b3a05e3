"""`warpbank reproduce ltrf`: rows against runs, counters and intervals."""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset
from warpbank.program.intervals.dynamic import form_all, report
from warpbank.program.isa import Kernel
from warpbank.program.launch import Launch
from warpbank.program.runner import compile_job, trace_job
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec
from warpbank.studies.occupancy import resident
from warpbank.studies.reproduce import PAPERS, reproduce

KERNEL = "vectoradd"
#: The published machine's way to prefetch.
BY_BIT = "sub_core.cache.prefetch=bit"


def _run(scheme: str, *overrides: str) -> exp.Report:
    return exp.run(RunSpec(KERNEL, "tiny", scheme, "maxwell", overrides).experiment())


@pytest.mark.parametrize("name", ["fig9", "fig11", "fig12", "fig13", "fig14"])
@pytest.mark.parametrize("registers", [6, 20, 32, 48, 100, 128])
def test_a_slow_register_file_has_room_for_as_many_warps_as_the_machine_has(
    name: str, registers: int
) -> None:
    """Banks are no fairer where warps take rows that they do not need."""
    (figure,) = (each for each in PAPERS["ltrf"].figures if each.name == name)
    kernel = Kernel("k", [], {}, 0, registers=registers, shared_bytes=0)
    launch = Launch("k", (100, 1, 1), (128, 1, 1), ())
    own = resident(launch, kernel, preset("maxwell"))
    for task in figure.tasks(KERNEL, "tiny"):
        assert isinstance(task, RunSpec)
        assert resident(launch, kernel, task.experiment().config) >= own, task.overrides


@pytest.mark.long
def test_a_kernel() -> None:
    """Every figure has the kernel's row, and rows hold what the runs say."""
    made = reproduce(PAPERS["ltrf"], [KERNEL], "tiny", experiments=False)
    assert made.failures == {}
    rows = {
        part.figure.name: dict(zip(part.figure.columns, part.rows[KERNEL], strict=True))
        for part in made.comparisons
        if not part.figure.kernels and part.figure.row and not part.figure.together
    }
    together = next(part for part in made.comparisons if part.figure.name == "table4-kernels")
    assert together.rows == {
        "1 kernels": (*[rows["table4"]["average"]] * 3, *[rows["table4"]["optimal average"]] * 3)
    }
    base = _run("baseline", "sub_core.rows=136").result
    for figure, file in (("fig9", "rf7"), ("fig9-average", "rf7-average")):
        for column, scheme in (("LTRF #7", "ltrf"), ("LTRF+ #7", "ltrf-plus")):
            slow = _run(scheme, BY_BIT, file).result
            assert rows[figure][column] == pytest.approx(100 * base.cycles / slow.cycles - 100)
    one, two = (_run(*run).result.counters for run in (("baseline",), ("ltrf", BY_BIT)))
    accesses = [counters["rf.reads"] + counters["rf.writes"] for counters in (one, two)]
    assert rows["accesses"]["LTRF"] == pytest.approx(accesses[0] / accesses[1])
    for column, scheme in (("hardware", "rfc"), ("software", "sw-rfc")):
        counters = _run(scheme).result.counters
        assert rows["fig4"][column] == pytest.approx(
            100 * counters["cache.reads"] / (counters["cache.reads"] + counters["rf.reads"])
        )
    ratio = (100 + rows["fig9"]["LTRF #7"]) / (100 + rows["fig9"]["ideal"])
    assert rows["fig9-ideal"]["LTRF #7"] == pytest.approx(100 * ratio - 100)
    assert rows["fig10"]["LTRF+"] < 0
    assert rows["occupancy"]["warps, 1x"] <= rows["occupancy"]["warps, 8x"] <= 64
    assert rows["fig11-1"]["LTRF"] <= rows["fig11"]["LTRF"] <= rows["fig11-10"]["LTRF"]
    assert rows["fig14"]["BL, 8x"] < rows["fig14"]["BL, 1x"] == 0

    experiment = RunSpec(KERNEL, "tiny", "ltrf", "maxwell").experiment()
    options = exp.compile_options(experiment)
    trace = trace_job(experiment.job, options)
    kernels = compile_job(experiment.job, options)
    lengths = report(form_all({name: kernels[name] for name in trace.kernels}, 16), trace)
    assert rows["table4"]["average"] == pytest.approx(lengths.real.mean)
    assert rows["code"]["bit-vectors"] == pytest.approx(100 * lengths.growth_vectors)
