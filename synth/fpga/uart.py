"""UART transmitter: eight data bits, no parity, one stop bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Transmitter(wiring.Component):
    """Serial transmitter of bytes.

    Parameters
    ----------
    divisor : clock cycles per bit.

    Members
    -------
    data : In(stream of 8 bits).
    line : Out(1). The wire; idle at 1.
    """

    data: stream.Interface
    line: Signal

    def __init__(self, divisor: int) -> None:
        if divisor < 1:
            raise ValueError(f"a bit takes at least one clock cycle, not {divisor}.")
        self._divisor = divisor
        super().__init__({"data": In(stream.Signature(8)), "line": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self._divisor))
        left = Signal(range(11))  # bits yet to be sent, the stop bit among them
        frame = Signal(10, init=1)
        m.d.comb += [self.data.ready.eq(left == 0), self.line.eq((left == 0) | frame[0])]
        with m.If(left == 0), m.If(self.data.valid):
            m.d.sync += [
                frame.eq(Cat(Const(0, 1), self.data.payload, Const(1, 1))),
                left.eq(10),
                count.eq(self._divisor - 1),
            ]
        with m.Elif(count == 0):
            m.d.sync += [frame.eq(frame >> 1), left.eq(left - 1), count.eq(self._divisor - 1)]
        with m.Else():
            m.d.sync += count.eq(count - 1)
        return m
