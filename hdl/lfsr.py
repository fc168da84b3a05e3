"""Pseudo-random numbers as hardware makes them, from a linear feedback shift register."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: x^16 + x^14 + x^13 + x^11 + 1, of maximal length: 65 535 states.
TAPS = 0xB400
WIDTH = 16
#: Shifts from one number to the next, so that neighbouring numbers share few bits; no factor of 65 535, so
#: that all are reached.
STRIDE = 7


class Lfsr(wiring.Component):
    """Linear feedback shift register of 16 bits in Galois form.

    Parameters
    ----------
    seed : 1 to 65535.

    Members
    -------
    advance : In(1). Go on to the next number.
    state : Out(16). The number; from registers.

    Raises
    ------
    ValueError : the seed is 0, where the register would stay for ever, or has more than 16 bits.
    """

    advance: Signal
    state: Signal

    def __init__(self, seed: int) -> None:
        if not 0 < seed < 1 << WIDTH:
            raise ValueError(
                f"An LFSR of {WIDTH} bits needs a seed from 1 to {(1 << WIDTH) - 1}, not {seed}."
            )
        self._seed = seed
        super().__init__({"advance": In(1), "state": Out(WIDTH)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(WIDTH, init=self._seed)
        following = state
        for step in range(1, STRIDE + 1):
            before, following = following, Signal(WIDTH, name=f"after_{step}")
            m.d.comb += following.eq((before >> 1) ^ Mux(before[0], TAPS, 0))
        with m.If(self.advance):
            m.d.sync += state.eq(following)
        m.d.comb += self.state.eq(state)
        return m
