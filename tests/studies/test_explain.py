"""Machine code and release flags as data."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.program.errors import WarpbankError
from warpbank.program.options import CodeOrder
from warpbank.program.release.flags import release_flags
from warpbank.program.release.words import flag_words
from warpbank.program.runner import Options, compile_job
from warpbank.studies.explain import Liveness, explain, interval_drawing, release


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


def test_listings_as_data() -> None:
    kernels = compile_job(workloads.get("reduction").job("tiny"))
    thread, simt = (explain(kernels, liveness).to_dict() for liveness in Liveness)
    assert (thread["liveness"], simt["liveness"]) == ("thread", "simt")
    assert [kernel["name"] for kernel in thread["kernels"]] == list(kernels)
    assert thread["kernels"][0]["pressure"] <= simt["kernels"][0]["pressure"]
    assert json.loads(json.dumps(thread))["kernels"][0]["instructions"] == len(
        kernels["reduction"].instructions()
    )


def test_a_register_is_released_after_its_last_read() -> None:
    (kernel,) = compile_job(workloads.get("spmv").job("tiny")).values()
    (listed,) = release({"spmv": kernel}).kernels
    for instr, released in zip(kernel.instructions(), listed.released, strict=True):
        assert set(released) <= set(instr.registers_read())
    assert any(listed.released)


def test_virtual_registers_have_no_flags() -> None:
    kernels = compile_job(
        workloads.get("spmv").job("tiny"), Options(allocate=False, code_order=CodeOrder.SOURCE)
    )
    with pytest.raises(WarpbankError, match="is on virtual registers"):
        release(kernels)
    with pytest.raises(WarpbankError, match="is on virtual registers"):
        interval_drawing(kernels, 16)
