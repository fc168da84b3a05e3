"""Pseudo-random numbers as hardware makes them, from a linear feedback shift register."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.prefix_counts import at_least, exactly, nth
from warpbank.hdl.round_robin import pick

#: x^16 + x^14 + x^13 + x^11 + 1, of maximal length: 65 535 states.
TAPS = 0xB400
WIDTH = 16
#: Shifts from one number to the next, so that neighbouring numbers share few bits; no factor of 65 535, so
#: that all are reached.
STRIDE = 7


def any_of(m: Module, mask: Value, ranks: Sequence[Value], name: str) -> Signal:
    """Choose a set bit of `mask`, each with the same chance; 0 if there is none.

    Of n set bits it is the one with `ranks[n - 1]` set bits below it (`Lfsr`). That is found for every n,
    while the bits are counted. Returns a mask. `name` names the signals.
    """
    width = len(mask)
    counts = exactly(at_least(m, mask, width, f"{name}_count"))[1:]
    bits_of = nth(m, mask, width, f"{name}_bit")
    choices = [
        pick(Cat(ranks[count - 1] == place for place in range(count)), bits_of[:count])
        for count in range(1, width + 1)
    ]
    choice = Signal(width, name=f"{name}_one_hot")
    m.d.comb += choice.eq(pick(Cat(counts), choices))
    return choice


class Lfsr(wiring.Component):
    """Linear feedback shift register of 16 bits in Galois form, with the choices that its number makes.

    `number x n / 65 536` is one of n, and no two of them differ in their chance by more than one of 65 535
    numbers. The products with the following number are made while the number stands, and come from registers
    when it does.

    Parameters
    ----------
    seed : 1 to 65535.
    most : largest n.

    Members
    -------
    advance : In(1). Go on to the next number.
    state : Out(16). The number; from registers.
    ranks : Out(bits(n)) per n from 1 to `most`. One of n; from registers.

    Raises
    ------
    ValueError : the seed is 0, where the register would stay for ever, or has more than 16 bits.
    """

    advance: Signal
    state: Signal
    ranks: list[Signal]

    def __init__(self, seed: int, most: int = 1) -> None:
        if not 0 < seed < 1 << WIDTH:
            raise ValueError(
                f"An LFSR of {WIDTH} bits needs a seed from 1 to {(1 << WIDTH) - 1}, not {seed}."
            )
        self._seed, self._most = seed, most
        super().__init__({"advance": In(1), "state": Out(WIDTH), "ranks": Out(bits(most)).array(most)})

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
        for count, rank in enumerate(self.ranks, 1):
            width = bits(count)
            kept = Signal(width, name=f"rank_{count}", init=self._seed * count >> WIDTH)
            with m.If(self.advance):
                m.d.sync += kept.eq((following * count)[WIDTH : WIDTH + width])
            m.d.comb += rank.eq(kept)
        return m
