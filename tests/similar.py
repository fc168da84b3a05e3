"""Warp registers whose lanes resemble each other, as real ones do: what compression is tried on."""

from __future__ import annotations

import random

import numpy as np


def similar(rng: random.Random, lanes: int) -> tuple[np.ndarray, int]:
    """A value and a mask. Active lanes differ in few bytes, in small differences or not at all; the others
    hold anything."""
    mask = rng.choice((0, rng.getrandbits(lanes), (1 << lanes) - 1, (1 << rng.randrange(lanes + 1)) - 1))
    base, differing = rng.getrandbits(32), sum(0xFF << 8 * byte for byte in range(4) if rng.random() < 0.3)
    reach = rng.choice((0, 1, 0x7F, 0x80, 0x7FFF, 0x8000, 0x12345))
    value = np.array([rng.getrandbits(32) for _ in range(lanes)], np.uint32)
    kind, halves = rng.randrange(4), rng.random() < 0.3
    for lane in range(lanes):
        if mask >> lane & 1:
            value[lane] = {
                0: base ^ rng.getrandbits(32) & differing,
                1: (base + rng.choice((-reach - 1, -reach, 0, reach))) & 0xFFFFFFFF,
                2: base,
                3: base ^ (1 << rng.randrange(32) if rng.random() < 1 / lanes else 0),
            }[kind]
            if halves and lane >= lanes // 2:
                value[lane] ^= np.uint32(0x5A000000)
    return value, mask
