"""Basic-block vectors of a trace."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.sampling.jobs import looping, waves
from warpbank.arch.config import preset
from warpbank.sim.sampling.vectors import basic_blocks, vectors

MACHINE = preset("tiny")


def test_a_loop_is_a_block() -> None:
    trace = looping(iterations=5, warps=1, meets=False)
    block = basic_blocks(trace)
    pcs = trace.dynamic["pc"]
    assert len(set(block[pcs].tolist())) == 3, "before, in and behind the loop"
    assert block[pcs[0]] != block[pcs[1]] != block[pcs[-1]]


def test_blocks_hold_every_instruction_once() -> None:
    trace = waves(ctas=6)
    found = vectors(trace, MACHINE)
    assert found.instructions.tolist() == trace.warps["length"].tolist()


def test_private_lines_miss_and_shared_ones_hit() -> None:
    own = vectors(waves(ctas=20), MACHINE).busy[:, 2].sum()
    same = vectors(waves(ctas=20, private=False), MACHINE).busy[:, 2].sum()
    assert own == 20 * same > 0


def test_shares_of_groups() -> None:
    trace = waves(ctas=4, warps=2)
    found = vectors(trace, MACHINE)
    shares = found.of_groups(np.array([0, 0, 1, 1, 1, 1, -1, -1]), 2)
    width = found.blocks.shape[1]
    assert shares[:, :width].sum(1) == pytest.approx([1, 1])
    assert shares[0] == pytest.approx(shares[1])
