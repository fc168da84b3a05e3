"""`warpbank reproduce gscalar`: rows from the statistics."""

from __future__ import annotations

import pytest

import workloads
from program.runner import Options, compile_job, trace_job
from program.similarity.statistics import similarity
from sim.reproduce import PAPERS, reproduce
from sim.reproduce.gscalar import GSCALAR
from sim.reproduce.paper import published
from sim.reproduce.write import markdown
from tests.sim.command import warpbank

KERNELS = ("bfs", "btree", "nbody")


def test_rows_by_hand() -> None:
    made = reproduce(GSCALAR, KERNELS, "tiny")
    assert made.failures == {}
    rows = {part.figure.name: part.rows for part in made.comparisons}
    for name in KERNELS:
        job = workloads.get(name).job("tiny")
        trace, kernels = trace_job(job, Options()), compile_job(job, Options())
        found, wide = similarity(trace, kernels), similarity(trace, kernels, 64)
        percent = 100 / found.instructions
        values, hardware = found.by_values, found.by_hardware
        assert rows["fig1"][name] == pytest.approx(
            (percent * found.divergent, percent * values.divergent, 100 * values.divergent / max(found.divergent, 1))
        )
        accesses = [read + written for read, written in zip(found.reads, found.writes, strict=True)]
        none, one, two, three, scalar, divergent = (100 * count / sum(accesses) for count in accesses)
        assert rows["fig8"][name] == pytest.approx((scalar, three, two, one, none, divergent))
        for figure, counts in (("fig9", hardware), ("fig9-values", values)):
            parts = counts.alu, counts.sfu + counts.memory, counts.part, counts.divergent, counts.total
            assert rows[figure][name] == pytest.approx([percent * count for count in parts])
        assert rows["fig10"][name] == pytest.approx(
            (percent * hardware.part, 100 * wide.by_hardware.part / wide.instructions)
        )
        assert rows["moves"][name] == pytest.approx((percent * found.moves,))
        sizes = found.sizes
        ratios = [sizes.plain / size for size in (sizes.bytewise, sizes.parts, sizes.bdi)]
        assert rows["compression"][name] == pytest.approx(ratios)
    assert rows["fig9"]["btree"][-1] < rows["fig9-values"]["btree"][-1]


def test_published_values_are_of_columns_there_are() -> None:
    assert PAPERS["gscalar"] is GSCALAR
    assert published(GSCALAR)["fig9"][0]["all"] == sum(
        published(GSCALAR)["fig9"][0][part] for part in ("ALU", "SFU and memory", "half-warp", "divergent")
    )


def test_ratios_have_two_digits() -> None:
    made = reproduce(GSCALAR, ("nn",), "tiny", figures=("compression",))
    (part,) = made.comparisons
    assert f"ours {part.mean[0]:.2f} times, published 2.17 times" in part.sentences[0]
    assert f"| nn | {part.rows['nn'][0]:.2f} |" in markdown(made)
    done = warpbank("reproduce", "gscalar", "--size", "tiny", "--kernel", "nn", "--figure", "compression")
    assert done.code == 0, done.err
    assert f"{part.rows['nn'][2]:.2f}" in done.out
