"""Queue whose oldest entry stands in a register, so that what follows from it does not wait for a memory."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out


class HeadedFifo(wiring.Component):
    """Queue of words whose oldest one stands in a register; the others are in a `SyncFIFO` behind it.

    Parameters
    ----------
    width : bits of a word.
    depth : words that it holds, at least 1. Who writes knows that there is room.

    Members
    -------
    w_data : In(width). Word to keep.
    w_en : In(1). `w_data` is written.
    r_data : Out(width). Oldest word, from a register; any, if there is none.
    r_rdy : Out(1). There is a word. From a register.
    r_en : In(1). The oldest word leaves; only if `r_rdy`.

    Latency: a word that is written in t can be read in t + 1.
    """

    w_data: Signal
    w_en: Signal
    r_data: Signal
    r_rdy: Signal
    r_en: Signal

    def __init__(self, width: int, depth: int) -> None:
        self._depth = depth
        super().__init__(
            {"w_data": In(width), "w_en": In(1), "r_data": Out(width), "r_rdy": Out(1), "r_en": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        behind = m.submodules.behind = SyncFIFO(width=len(self.w_data), depth=self._depth - 1)
        head, full = Signal.like(self.w_data, name="head", reset_less=True), Signal(name="has_head")
        empties = Signal()
        m.d.comb += [
            empties.eq(~full | self.r_en),
            self.r_data.eq(head),
            self.r_rdy.eq(full),
            behind.w_data.eq(self.w_data),
            behind.w_en.eq(self.w_en & (behind.r_rdy | ~empties)),
            behind.r_en.eq(self.r_en),
        ]
        with m.If(empties):
            m.d.sync += [
                head.eq(Mux(behind.r_rdy, behind.r_data, self.w_data)),
                full.eq(behind.r_rdy | self.w_en),
            ]
        return m
