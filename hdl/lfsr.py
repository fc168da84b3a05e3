"""Pseudo-random numbers as hardware makes them, from a linear feedback shift register."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
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
#: Bits by which the number is turned for each choice of a cycle: what leads in one is far behind in the next.
TURNS = (0, 8, 4, 12, 2, 10)


def turned(number: Value, turn: Value, most: int) -> Value:
    """Number of the choice `turn` of a cycle, below `most`: the register's number, turned."""
    return Array(Cat(number[place:], number[:place]) for place in TURNS[:most])[turn]


def any_of(m: Module, mask: Value, number: Value, name: str) -> Signal:
    """Choose a set bit of `mask`, each with the same chance where `number` is random; 0 if there is none.

    Of n set bits it is the one with number x n / 65 536 set bits below it, so that no two chances differ by
    more than one of 65 535 numbers. Returns a mask. `name` names the signals.
    """
    width = len(mask)
    counts = exactly(at_least(m, mask, width, f"{name}_count"))[1:]
    rank = Signal(bits(width), name=f"{name}_rank")
    m.d.comb += rank.eq(pick(Cat(counts), [(number * count)[WIDTH:] for count in range(1, width + 1)]))
    choice = Signal(width, name=f"{name}_one_hot")
    m.d.comb += choice.eq(Array(nth(m, mask, width, f"{name}_bit"))[rank])
    return choice


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
