"""Address allocation: which places of the register file cache are free (LTRF, figure 8)."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.round_robin import after


class AddressAllocation(wiring.Component):
    """A queue of unused addresses and the set of those that are occupied. LTRF, section 4.2.

    Parameters
    ----------
    count : addresses; all of them are unused at first, in ascending order.

    Members
    -------
    available : Out(1). An address is unused. From registers.
    head : Out. It: the one that is allocated next.
    allocate : In(1). It is taken; only if `available`.
    release : In(1). `address` is given back; only if it is occupied.
    address : In.
    occupied : Out(count). Addresses that are given out; a mask.

    Latency: an address released in cycle t can be allocated in t + 1.

    Raises
    ------
    TypeError : `count` is no positive number.
    """

    available: Signal
    head: Signal
    allocate: Signal
    release: Signal
    address: Signal
    occupied: Signal

    def __init__(self, count: int) -> None:
        if type(count) is not int or count < 1:
            raise TypeError(f"AddressAllocation needs a number of addresses of at least 1, not {count!r}.")
        self._count = count
        width = bits(count)
        super().__init__(
            {
                "available": Out(1),
                "head": Out(width),
                "allocate": In(1),
                "release": In(1),
                "address": In(width),
                "occupied": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._count
        queue = m.submodules.queue = Memory(shape=bits(count), depth=max(2, count), init=[])
        first = self._first = Signal(range(max(2, count)))
        last = self._last = Signal(range(max(2, count)))
        # A reset does not reach a memory: until a place of the queue is written its content is its number.
        around, written = Signal(), Signal()
        self._around = around
        write_at(m, queue, last, self.address, self.release)
        m.d.comb += [
            written.eq(around | (first < last)),
            self.head.eq(Mux(written, read_at(m, queue, first), first)),
            self.available.eq(~self.occupied.all()),
        ]
        with m.If(self.allocate):
            m.d.sync += first.eq(after(first, count))
        with m.If(self.release):
            m.d.sync += [last.eq(after(last, count)), around.eq(around | (last == count - 1))]
        given = Signal(count)
        m.d.comb += given.eq(Mux(self.allocate, 1 << self.head, 0))
        m.d.sync += self.occupied.eq(self.occupied & ~Mux(self.release, 1 << self.address, 0) | given)
        return m
