"""G-Scalar's banks by themselves: what is written is read, and arrays of shared bytes stay untouched."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.arch.config import preset
from warpbank.golden.storage.gscalar import GScalar
from warpbank.golden.storage.metadata import Fill
from warpbank.golden.values import lane_select, packed

LANES = 32
ALL = (1 << LANES) - 1


@pytest.mark.parametrize("parts", [1, 2])
def test_what_is_written_is_read(parts: int) -> None:
    """Registers with 0 to 4 shared bytes, some moved as they are, some with a divergent write behind."""
    banks, draw = GScalar(preset("turing").sub_core, LANES, parts), np.random.default_rng(parts)
    for number in range(300):
        row, varying = number % 7, np.uint32(draw.choice([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF]))
        value = draw.integers(1 << 32, dtype=np.uint32) & ~varying | (
            draw.integers(1 << 32, size=LANES, dtype=np.uint32) & varying
        )
        banks.write(1, row, ALL, value, Fill.WHOLE if number % 3 else Fill.MOVED)
        assert (banks.read(1, row) == value).all()
        if banks.note(1, row).compressed:
            assert banks.arrays_read(banks.note(1, row)) < banks.arrays_read(banks.note(0, 0))
            continue
        mask = int(draw.integers(1, ALL))
        other = draw.integers(1 << 32, size=LANES, dtype=np.uint32)
        banks.write(1, row, mask, other, Fill.PART)
        assert (banks.read(1, row) == np.where(lane_select(mask, LANES) != 0, other, value)).all()
        assert banks.note(1, row).divergent


@pytest.mark.parametrize(("varying", "arrays"), [(0, 0), (0xFF, 2), (0xFFFF, 4), (0xFFFFFFFF, 8)])
def test_arrays(varying: int, arrays: int) -> None:
    """Eight arrays of 16 lanes' bytes; those of a byte that all lanes share are left alone."""
    banks = GScalar(preset("turing").sub_core, LANES)
    value = np.uint32(0x12345678) & ~np.uint32(varying) | np.arange(LANES, dtype=np.uint32) * np.uint32(
        0x01010101
    ) & np.uint32(varying)
    note = banks.describe(packed(value), ALL, Fill.WHOLE)
    assert banks.arrays_read(note) == banks.arrays_written(note, ALL) == arrays
