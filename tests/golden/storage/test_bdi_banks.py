"""Banks of Warped-Compression by themselves: what is written is read; packed registers take few arrays."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.arch.config import preset
from warpbank.golden.storage.bdi import Delta
from warpbank.golden.storage.bdi_banks import BdiBanks
from warpbank.golden.storage.metadata import Fill
from warpbank.golden.values import lane_select, packed

LANES = 32
ALL = (1 << LANES) - 1


def test_what_is_written_is_read() -> None:
    """Registers whose lanes lie close together and far apart, some with a divergent write behind."""
    banks, draw = BdiBanks(preset("turing").sub_core, LANES), np.random.default_rng(1)
    seen = set()
    for number in range(300):
        row, spread = number % 7, int(draw.choice([1, 100, 20000, 1 << 32]))
        steps = draw.integers(spread, size=LANES, dtype=np.uint64)
        value = (draw.integers(1 << 32, dtype=np.uint64) + steps).astype(np.uint32)
        banks.write(1, row, ALL, value, Fill.WHOLE)
        assert (banks.read(1, row) == value).all()
        kind = Delta(banks.note(1, row).enc[0])
        seen.add(kind)
        if kind is Delta.RAW:
            mask = int(draw.integers(1, ALL))
            other = draw.integers(1 << 32, size=LANES, dtype=np.uint32)
            banks.write(1, row, mask, other, Fill.PART)
            assert (banks.read(1, row) == np.where(lane_select(mask, LANES) != 0, other, value)).all()
    assert seen == set(Delta)


@pytest.mark.parametrize(
    ("step", "kind"), [(0, Delta.NONE), (1, Delta.BYTE), (500, Delta.HALF), (1 << 20, Delta.RAW)]
)
def test_arrays(step: int, kind: Delta) -> None:
    """A raw register takes all eight; what is packed is written and read in its own."""
    banks = BdiBanks(preset("turing").sub_core, LANES)
    note = banks.describe(packed(np.arange(LANES, dtype=np.uint32) * np.uint32(step)), ALL, Fill.WHOLE)
    assert note.enc == (kind,)
    assert banks.arrays_read(note) == banks.arrays_written(note, ALL) == kind.arrays(LANES)
    assert (banks.arrays_read(note) == 8) == (kind is Delta.RAW)
