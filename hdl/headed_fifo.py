"""Queue whose oldest entry stands in a register, so that what follows from it does not wait for a memory."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.hdl.async_memory import read_at, write_at


class HeadedFifo(wiring.Component):
    """Queue of words whose oldest one stands in a register; the others are in a memory.

    Nobody asks whether there is room, so that two pointers do without a count of the words: what is written
    has a short way. The memory has a row for every word, of which the next one to be written is always empty:
    a word goes there as soon as it may be written, and counts if it is.

    Parameters
    ----------
    width : bits of a word.
    depth : words that it holds, at least 1. Who writes knows that there is room.
    changes : the oldest word may be replaced where it stands.
    shows : the word behind the oldest one is shown.
    held : of these only one that waits behind it; a word that comes now is not.

    Members
    -------
    w_data : In(width). Word to keep.
    w_may : In(1). `w_data` may be written; an early hint of `w_en`.
    w_en : In(1). `w_data` is written; only if `w_may`.
    r_data : Out(width). Oldest word, from a register; any, if there is none.
    r_rdy : Out(1). There is a word. From a register.
    r_en : In(1). The oldest word leaves; only if `r_rdy`.
    c_data : In(width), if it `changes`. What the oldest word becomes.
    c_en : In(1), if it `changes`. The oldest word becomes `c_data`; only if `r_rdy`, and not with `r_en`.
    n_data : Out(width), if it `shows`. What is behind the oldest word: the next one, or that which comes now,
        unless only what is `held` is shown.
    n_held : Out(1), if what is `held` is shown. There is such a word.
    n_en : Out(1), if it `shows`. The oldest word leaves, or there is none: `r_data` becomes `n_data`.

    Latency: a word that is written in t can be read in t + 1; one that changes in t has changed in t + 1.
    """

    w_data: Signal
    w_may: Signal
    w_en: Signal
    r_data: Signal
    r_rdy: Signal
    r_en: Signal
    c_data: Signal
    c_en: Signal
    n_data: Signal
    n_held: Signal
    n_en: Signal

    def __init__(
        self, width: int, depth: int, changes: bool = False, shows: bool = False, held: bool = False
    ) -> None:
        self._depth, self._changes, self._shows, self._held = depth, changes, shows, held
        super().__init__(
            {
                "w_data": In(width),
                "w_may": In(1),
                "w_en": In(1),
                "r_data": Out(width),
                "r_rdy": Out(1),
                "r_en": In(1),
                **({"c_data": In(width), "c_en": In(1)} if changes else {}),
                **({"n_data": Out(width), "n_en": Out(1)} if shows else {}),
                **({"n_held": Out(1)} if shows and held else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width, size = len(self.w_data), (self._depth - 1).bit_length()
        head, full, empties = Signal(width, reset_less=True), Signal(name="has_head"), Signal()
        waits, following = Signal(), Signal(width)
        m.d.comb += [empties.eq(~full | self.r_en), self.r_data.eq(head), self.r_rdy.eq(full)]
        if size:
            rest = m.submodules.rest = Memory(shape=width, depth=self._depth, init=[])
            oldest, free = Signal(size), Signal(size)
            joins = self._joins(waits, empties)
            write_at(m, rest, free, self.w_data, self.w_may)
            m.d.comb += [waits.eq(oldest != free), following.eq(read_at(m, rest, oldest))]
            # Next values of pointers are chosen, not added up: whether a word joins or leaves is known late.
            with m.If(joins):
                m.d.sync += free.eq(self._behind(free))
            with m.If(self.r_en & waits):
                m.d.sync += oldest.eq(self._behind(oldest))
        with m.If(empties):
            m.d.sync += [head.eq(Mux(waits, following, self.w_data)), full.eq(waits | self.w_en)]
        if self._shows and self._held:
            m.d.comb += [self.n_data.eq(following), self.n_held.eq(waits), self.n_en.eq(empties)]
        elif self._shows:
            m.d.comb += [self.n_data.eq(Mux(waits, following, self.w_data)), self.n_en.eq(empties)]
        if self._changes:
            with m.If(self.c_en):
                m.d.sync += head.eq(self.c_data)
        return m

    def _behind(self, row: Signal) -> Value:
        """Row that is used after `row`."""
        last = self._depth - 1
        return row + 1 if self._depth == 1 << len(row) else Mux(row == last, 0, row + 1)

    def _joins(self, waits: Value, empties: Value) -> Value:
        """Whether a word is written behind the head, given whether others wait there and whether the head
        leaves."""
        return self.w_en & (waits | ~empties)
