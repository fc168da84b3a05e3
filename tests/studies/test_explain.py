"""`warpbank explain --release`."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.program.release.flags import release_flags
from warpbank.program.release.words import flag_words
from warpbank.program.runner import compile_job


def test_release_flags_as_data() -> None:
    done = warpbank("explain", "spmv", "--release", "--json")
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["kernels"]
    (kernel,) = compile_job(workloads.get("spmv").job("tiny")).values()
    flags = release_flags(kernel)
    assert found["name"] == "spmv"
    assert found["flags"] == flags.pir.tolist()
    words = [(w.first, w.text, w.bits) for w in flag_words(kernel, flags)]
    assert [(w["before"], w["text"], int(w["bits"], 16)) for w in found["flag_instructions"]] == words


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
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    done = warpbank("explain", "spmv", "--release", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
