"""A GPU as a form of the program tests, on a stand-in whose memory is the emulator's, or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.hardware import form
from tests.program.semantics.bench import M32, Case, failures, run
from tests.program.test_random_programs import check
from warpbank.program.launch import Job
from warpbank.program.runner import execute

CASES = [Case("add.u32 %r, %ra, %rb;", lambda a, b, c: a + b & M32)]


class StandIn:
    """GPU that runs the emulator and then flips a bit of the last byte of every buffer, if it is told to."""

    name = "Stand-In 1"

    def __init__(self, *, wrong: bool, new: bool = True) -> None:
        self.wrong, self.new, self.ran = wrong, new, 0

    def runs(self, job: Job) -> bool:
        return self.new

    def run(self, job: Job, *, optimised: bool) -> dict[str, np.ndarray]:
        self.ran += 1
        buffers = {name: value.copy() for name, value in execute(job).buffers.items()}
        for value in buffers.values():
            value.reshape(-1).view(np.uint8)[-1] ^= self.wrong
        return buffers


@pytest.fixture
def attach() -> Iterator[Any]:
    def attached(gpu: Any) -> Any:
        form.attach(gpu)
        return gpu

    yield attached
    form.detach()


def test_without_a_gpu_there_are_two_forms() -> None:
    assert len(run(".visible .entry k(.param .u64 p) { ret; }", {"p": np.zeros(1, np.uint32)})) == 2


def test_a_gpu_that_agrees_adds_two_forms(attach: Any) -> None:
    gpu = attach(StandIn(wrong=False))
    assert failures(CASES) == []
    assert len(run(".visible .entry k(.param .u64 p) { ret; }", {"p": np.zeros(1, np.uint32)})) == 4
    check(0)
    assert gpu.ran == 5


def test_a_gpu_that_disagrees_fails_the_test_by_its_name(attach: Any) -> None:
    attach(StandIn(wrong=True))
    optimised, plain = failures(CASES)
    assert optimised.startswith("Stand-In 1: add.u32 %r, %ra, %rb; a=")
    assert plain.startswith("Stand-In 1, level 0: add.u32")
    with pytest.raises(AssertionError, match="Stand-In 1, level 0: buffer"):
        check(0)


def test_a_gpu_too_old_for_the_ptx_is_not_asked(attach: Any) -> None:
    gpu = attach(StandIn(wrong=True, new=False))
    assert failures(CASES) == []
    assert gpu.ran == 0
