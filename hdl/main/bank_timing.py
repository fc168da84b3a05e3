"""Bank timing: the cycles that accesses to a slow bank take."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits


class FractionalLatency(wiring.Component):
    """Cycles of each access to a bank whose latency need not be a whole number: the fraction is met on
    average.

    Parameters
    ----------
    percent : latency of an access in hundredths of a cycle, at least 100.

    Members
    -------
    access : In(1). An access begins in this cycle.
    cycles : Out. How many it takes, or would take. From registers.
    """

    access: Signal
    cycles: Signal

    def __init__(self, percent: int) -> None:
        if type(percent) is not int or percent < 100:
            raise TypeError(f"Pace needs a latency of at least 100 percent, not {percent!r}.")
        self._percent = percent
        super().__init__({"access": In(1), "cycles": Out(bits(percent // 100 + 2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        whole, fraction = divmod(self._percent, 100)
        owed, total = Signal(range(100)), Signal(range(200))
        m.d.comb += [total.eq(owed + fraction), self.cycles.eq(whole + (total >= 100))]
        with m.If(self.access):
            m.d.sync += owed.eq(Mux(total >= 100, total - 100, total))
        return m


class BankTiming(wiring.Component):
    """Banks whose accesses take longer than a cycle.

    A write is done in the cycle in which it is taken and keeps its bank busy for the rest of its time. A read
    is begun when its bank is free, and can be granted in the last cycle of its time, or later.

    Parameters
    ----------
    banks : number of banks.
    percent : latency of an access in hundredths of a cycle.

    Members
    -------
    written, waiting, granted : In(banks). Banks that are written in this cycle; have reads; serve one in this
        cycle.
    opening : Out(banks). Banks that cannot serve theirs yet. Depends on the first two.
    busy : Out(banks). Banks that take no write. From registers.
    cycles : Out, per bank. How long an access takes, or would take. From registers.
    """

    written: Signal
    waiting: Signal
    granted: Signal
    opening: Signal
    busy: Signal
    cycles: list[Signal]

    def __init__(self, banks: int, percent: int) -> None:
        self._banks, self._percent = banks, percent
        super().__init__(
            {
                "written": In(banks),
                "waiting": In(banks),
                "granted": In(banks),
                "opening": Out(banks),
                "busy": Out(banks),
                "cycles": Out(bits(percent // 100 + 2)).array(banks),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reading = self._reading = Signal(self._banks)
        self._left: list[Signal] = []
        busy, opening, begun = [], [], []
        for bank in range(self._banks):
            pace = m.submodules[f"pace_{bank}"] = FractionalLatency(self._percent)
            m.d.comb += self.cycles[bank].eq(pace.cycles)
            left = Signal(len(pace.cycles), name=f"left_{bank}")
            self._left.append(left)
            begins, free = Signal(name=f"begins_{bank}"), Signal(name=f"free_{bank}")
            m.d.comb += [
                free.eq(left == 0),
                begins.eq(free & ~self.written[bank] & self.waiting[bank] & ~reading[bank]),
                pace.access.eq(begins | (free & self.written[bank])),
            ]
            with m.If(~free):
                m.d.sync += left.eq(left - 1)
            with m.Elif(self.written[bank]):
                m.d.sync += left.eq(pace.cycles - 1)
            with m.Elif(begins & (pace.cycles > 1)):
                m.d.sync += left.eq(pace.cycles - 2)
            busy.append(reading[bank] | ~free)
            opening.append(~free | (begins & (pace.cycles > 1)))
            begun.append(begins)
        m.d.comb += [self.busy.eq(Cat(busy)), self.opening.eq(Cat(opening))]
        m.d.sync += reading.eq((reading | Cat(begun)) & ~self.granted)
        return m
