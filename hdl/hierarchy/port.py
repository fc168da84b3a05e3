"""Port of a bank of the register file cache to the narrow crossbar."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.hierarchy.link import beat_width, transfer_layout
from warpbank.hdl.typed import Record, record


class Port(wiring.Component):
    """Port of a bank of the cache: it puts the beats of a register that comes together, and takes those of a
    register that leaves apart. LTRF, section 4.2; see `warpbank.golden.hierarchy.engine.Engine`.

    Parameters
    ----------
    config : the machine: cache.
    noted : bits of the note that goes with a register.

    Members
    -------
    comes, leaves : Out(1). The port can take a transfer that comes; one that leaves. From registers, as all
        outputs except `sent` and `next`.
    starts : In(1). It takes `order`, whose first beat crosses in the next cycle, or in the one behind that if
        it leaves.
    order : In(transfer_layout).
    link : In. The link that it comes from or goes to.
    source : Out. The link of what crosses.
    got : In(beat). sent : Out(beat). What crosses in this cycle.
    next : Out(1). The port uses its bank of the cache in the next cycle.
    reads, fills : Out(1). The bank reads row `used.offset` in this cycle; is given `word` for it.
    used : Out(transfer_layout). What for.
    word : Out. Register that has come, and its note: in the cycle behind `fills`.
    data : In. What the bank has read, and its note: in the cycle behind `reads`.
    """

    comes: Signal
    leaves: Signal
    starts: Signal
    order: Record
    link: Signal
    source: Signal
    got: Signal
    sent: Signal
    next: Signal
    reads: Signal
    fills: Signal
    used: Record
    word: Signal
    data: Signal

    def __init__(self, config: SmConfig, noted: int) -> None:
        self._config, self._noted = config, noted
        core = config.sub_core
        layout, beat = transfer_layout(config), beat_width(config, noted)
        self._width = config.value_width + noted
        super().__init__(
            {
                "comes": Out(1),
                "leaves": Out(1),
                "starts": In(1),
                "order": In(layout),
                "link": In(core.bank_width),
                "source": Out(core.bank_width),
                "got": In(beat),
                "sent": Out(beat),
                "next": Out(1),
                "reads": Out(1),
                "fills": Out(1),
                "used": Out(layout),
                "word": Out(self._width),
                "data": In(self._width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        crossing, beat = self._config.sub_core.cache.crossing, len(self.sent)
        left = self._left = Signal(range(crossing + 2), name="left")
        transfer = self._transfer = record(transfer_layout(self._config), name="transfer")
        filled = self._filled = record(transfer_layout(self._config), name="filled")
        reads, fills = Signal(name="reads_now"), Signal(name="fills_now")
        source = Signal.like(self.link, name="link_now")
        word = self._word = Signal(beat * crossing, name="assembled", reset_less=True)
        lowest = Signal(beat, name="lowest_beat", reset_less=True)  # of what has come: the next one moves up
        last, first, taken = Signal(name="last"), Signal(name="first"), Signal(beat * crossing, name="taken")
        value = self._config.value_width
        m.d.comb += [
            last.eq(left == 1),
            first.eq(transfer.out & (left == crossing)),
            self.comes.eq(left <= 1),
            self.leaves.eq((left == 0) | last & transfer.out),
            self.reads.eq(reads),
            self.fills.eq(fills),
            self.used.eq(Mux(fills, filled.as_value(), transfer.as_value())),
            self.source.eq(source),
            self.word.eq(Cat(lowest, word)[: self._width]),
            self.next.eq(last & ~transfer.out | self.starts & self.order.out),
            taken.eq(Cat(self.data[:value], Mux(transfer.plain, 0, self.data[value:]))),
            self.sent.eq(Mux(first, taken[:beat], word[:beat])),
        ]
        m.d.sync += [reads.eq(self.starts & self.order.out), fills.eq(last & ~transfer.out)]
        with m.If(last):
            m.d.sync += filled.eq(transfer)
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(first):
            m.d.sync += word.eq(taken >> beat)
        with m.Elif(fills | (left != 0)):
            m.d.sync += word.eq(Cat(word[beat:], self.got))
        with m.If(fills):
            m.d.sync += lowest.eq(word[:beat])
        with m.If(self.starts):
            m.d.sync += [left.eq(crossing + self.order.out), transfer.eq(self.order), source.eq(self.link)]
        return m
