"""Result stage: the place of a result is found in the cycle before it is offered."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.interfaces import LookAhead, LookAheadInterface
from warpbank.hdl.layouts import result_layout
from warpbank.hdl.typed import Record, record


class ResultStage(wiring.Component):
    """Stage between a unit's result queue and the result arbiter, under a hierarchy that has to find where a
    result goes.

    See `warpbank.golden.execute.result_stage.ResultStage`, which has the stages of all units.

    Parameters
    ----------
    config : the machine.

    Members
    -------
    head : In(stream of result_layout). Oldest uop of the unit's queue whose result is there in the next
        cycle.
    ahead : Out(LookAhead). Register that may be offered in the next cycle: the hierarchy finds its place.
        From registers, as `valid`, `known` and `uop`.
    valid : Out(1). `uop` is in the stage.
    known : Out(1). The place of its register `destination` has been found, or it has none: it may be offered.
    uop : Out(result_layout). From registers; `destination` is its register that is written next, `count` how
        many are still to be written.
    takes : In(1). Its register `destination` is written in this cycle, or it has none.
    leaves : In(1). It has no other one left. Only with `takes`.

    Latency: a uop that is in the queue in t is in the stage in t + 1, if that is empty, or is left in t.
    """

    head: stream.Interface
    ahead: LookAheadInterface
    valid: Signal
    known: Signal
    uop: Record
    takes: Signal
    leaves: Signal

    def __init__(self, config: SmConfig) -> None:
        self._layout = layout = result_layout(config)
        super().__init__(
            {
                "head": In(stream.Signature(layout)),
                "ahead": Out(LookAhead(config)),
                "valid": Out(1),
                "known": Out(1),
                "uop": Out(layout),
                "takes": In(1),
                "leaves": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        busy, known = Signal(), Signal(name="found")
        uop, comes = record(self._layout, name="staged"), self.head.payload
        more, mine = Signal(), Signal()
        m.d.comb += [
            self.valid.eq(busy),
            self.known.eq(known),
            self.uop.eq(uop),
            self.head.ready.eq(~busy | self.leaves),
            more.eq(uop.count > 1),
            mine.eq(busy & (~known | more)),
            self.ahead.warp.eq(Mux(mine, uop.warp, comes.warp)),
            self.ahead.register.eq(Mux(mine, uop.destination + known, comes.destination)),
        ]
        with m.If(self.head.ready):
            m.d.sync += [busy.eq(self.head.valid), known.eq(1), uop.eq(comes)]
        with m.Else():
            m.d.sync += known.eq(~known | self.takes)
            with m.If(self.takes):
                m.d.sync += [uop.destination.eq(uop.destination + 1), uop.count.eq(uop.count - 1)]
        return m
