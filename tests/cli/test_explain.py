"""`warpbank explain`: tables, and what cannot be asked for together."""

from __future__ import annotations

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.program.release.flags import release_flags
from warpbank.program.release.words import flag_words
from warpbank.program.runner import compile_job


def test_release_flags_as_tables() -> None:
    done = warpbank("explain", "spmv", "--release")
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    (kernel,) = compile_job(workloads.get("spmv").job("tiny")).values()
    flags = release_flags(kernel)
    for word in flag_words(kernel, flags):
        assert word.text in lines
    assert sum(line.startswith("pc instruction") for line in lines) == len(kernel.blocks)
    assert "2 IMAD R9, R1, c[0x0], R0 R1 R0" in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--virtual",), "is on virtual registers"),
        (("--intervals",), "choose one"),
        (("-o", "x.svg"), "give both"),
        (("--registers-per-interval", "9"), "says what --intervals draws"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    done = warpbank("explain", "spmv", "--release", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_a_drawing_is_no_json() -> None:
    done = warpbank("explain", "spmv", "--intervals", "--json")
    assert done.code == 2
    assert "--intervals makes a drawing and prints nothing; leave --json out" in " ".join(done.err.split())


def test_blocks_as_tables() -> None:
    done = warpbank("explain", "reduction", "--liveness", "simt")
    assert done.code == 0, done.err
    (kernel,) = compile_job(workloads.get("reduction").job("tiny")).values()
    lines = [line.split() for line in done.out.splitlines()]
    assert ["instructions", str(len(kernel.instructions()))] in lines
    assert sum(line[:2] == ["pc", "instruction"] for line in lines) == len(kernel.blocks)
    assert "live (simt)" in done.out
    assert "lanes meet at" in done.out
