"""Linear feedback shift register: pseudo-random numbers as hardware makes them."""

from __future__ import annotations

from typing import Final

#: x^16 + x^14 + x^13 + x^11 + 1, of maximal length: 65 535 states.
TAPS: Final = 0xB400
WIDTH: Final = 16
#: Shifts from one number to the next, so that neighbouring numbers share few bits; no factor of 65 535, so
#: that all are reached.
STRIDE: Final = 7


class Lfsr:
    """Linear feedback shift register of 16 bits in Galois form. It moves only on `advance`, so that a model
    that skips idle cycles sees the numbers of one that does not.

    Parameters
    ----------
    seed : 1 to 65535.

    Raises
    ------
    ValueError : the seed is 0, where the register would stay for ever, or has more than 16 bits.
    """

    def __init__(self, seed: int) -> None:
        if not 0 < seed < 1 << WIDTH:
            raise ValueError(
                f"An LFSR of {WIDTH} bits needs a seed from 1 to {(1 << WIDTH) - 1}, not {seed}."
            )
        self.state = seed

    def advance(self) -> None:
        """Move on to the next number."""
        for _ in range(STRIDE):
            self.state = self.state >> 1 ^ (TAPS if self.state & 1 else 0)

    def choose(self, mask: int) -> int:
        """Return the number of a set bit of `mask`, each with the same chance.

        Of n set bits it is the one with number x n / 65 536 set bits below it, so that no two chances differ
        by more than one of 65 535 numbers.
        """
        for _ in range(self.state * mask.bit_count() >> WIDTH):
            mask &= mask - 1
        return (mask & -mask).bit_length() - 1
