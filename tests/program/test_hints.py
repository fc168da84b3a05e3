"""The hints' container."""

from __future__ import annotations

import numpy as np

from warpbank.program.hints import BOTH, Hints


def test_nothing_known_is_safe() -> None:
    hints = Hints.none(3)
    assert hints.write_back.tolist() == [BOTH] * 3
    assert (
        hints.near.tolist() == hints.dead.tolist() == hints.scalar.tolist() == hints.fresh.tolist() == [0] * 3
    )


def test_pieces_join_in_order() -> None:
    one, two = Hints(*(np.array([v], np.uint8) for v in (1, 2, 3, 4, 5))), Hints.none(2)
    joined = Hints.join([one, two])
    assert (joined.write_back.tolist(), joined.near.tolist(), joined.dead.tolist()) == (
        [1, 3, 3],
        [2, 0, 0],
        [3, 0, 0],
    )
    assert (joined.scalar.tolist(), joined.fresh.tolist()) == ([4, 0, 0], [5, 0, 0])
    assert joined.write_back.dtype == np.uint8
    assert len(Hints.join([]).dead) == 0
