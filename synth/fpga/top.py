"""Top level of the demonstrator with its lamps and its serial line, for any board."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.schemes import Scheme
from warpbank.synth.fpga.demonstrator import Demonstrator
from warpbank.synth.fpga.image import Image
from warpbank.synth.fpga.uart import Transmitter

#: Bits per second of the serial line.
BAUD = 115_200


class Top(wiring.Component):
    """Top level that runs the demonstrator once and says how it went, on lamps and on a serial line.

    The line says "PASS" or "FAIL", memory instructions compared and clock cycles in hexadecimal digits, again
    and again: `PASS 0010 000002C7`.

    Parameters
    ----------
    image, scheme : as for `Demonstrator`.
    frequency : of the clock, in Hz.

    Members
    -------
    busy, passed, failed : Out(1). Lamps: runs; all was right; something was not, or was missing.
    serial : Out(1). 115 200 bits per second, 8 data bits, no parity.
    """

    busy: Signal
    passed: Signal
    failed: Signal
    serial: Signal

    def __init__(self, image: Image, scheme: Scheme, frequency: float) -> None:
        self.machine = Demonstrator(image, scheme)
        self._divisor = max(1, round(frequency / BAUD))
        super().__init__({"busy": Out(1), "passed": Out(1), "failed": Out(1), "serial": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.machine = machine = self.machine
        m.submodules.sender = sender = Transmitter(self._divisor)
        text = self._text(machine)
        place = Signal(range(len(text)))
        m.d.comb += [
            self.busy.eq(~machine.done),
            self.passed.eq(machine.passed),
            self.failed.eq(machine.done & ~machine.passed),
            self.serial.eq(sender.line),
            sender.data.valid.eq(machine.done),
            sender.data.payload.eq(Array(text)[place]),
        ]
        with m.If(sender.data.valid & sender.data.ready):
            m.d.sync += place.eq(Mux(place == len(text) - 1, 0, place + 1))
        return m

    def _text(self, machine: Demonstrator) -> list[Value]:
        """The characters of the line."""
        verdict = [Mux(machine.passed, ord(good), ord(bad)) for good, bad in zip("PASS", "FAIL", strict=True)]
        space = Const(ord(" "), 8)
        return [
            *verdict,
            space,
            *_digits(machine.checked),
            space,
            *_digits(machine.cycles),
            Const(13, 8),
            Const(10, 8),
        ]


def _digits(value: Value) -> list[Value]:
    """A number as hexadecimal digits, the highest first."""
    digits = Array([Const(ord(digit), 8) for digit in "0123456789ABCDEF"])
    return [digits[value.word_select(place, 4)] for place in reversed(range(len(value) // 4))]
