"""Result arbitration: which units' results are written in a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MOVE
from warpbank.hdl.execute.result_stage import ResultStage
from warpbank.hdl.interfaces import (
    LookAhead,
    LookAheadInterface,
    NextResult,
    NextResultInterface,
    ResultOffer,
    ResultOfferInterface,
    Retired,
    RetiredInterface,
    Written,
    WrittenInterface,
    result_stream,
)
from warpbank.hdl.layouts import UNITS, result_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import first_from


class ResultArbiter(wiring.Component):
    """Result arbiter of a sub-core: each unit offers one register of its oldest result per cycle.

    A bank takes one write per cycle.

    Units are looked at in rotating order, starting after the first one that was served in the last cycle that
    served any. A wide result takes one cycle per register; one without registers retires without a bank. The
    banks are given out by the hierarchy, which knows them; this unit keeps the order.

    Parameters
    ----------
    config : the machine.
    keeps : units whose results the collectors may keep: none or all. They see the offers first.
    evicts : values that the collectors evict in a cycle: they are a writer behind the units.
    ahead : the hierarchy finds the place of a result in the cycle before it is offered: a `ResultStage` per
        unit.
    shown : collectors find a result's entry a cycle ahead; only with `ahead`: else the pipelines tell them.
    probe : generate `events` (retire).

    Members
    -------
    head : In(stream of result_layout) per unit. Oldest uop of the unit whose result is there; taken with its
        last write. With `ahead`, whose result is there in the next cycle; taken as its stage is free.
        `destination` is its register that is written next, `count` how many are still to be written.
    step : Out(1) per unit, without `ahead`. The register is written, and others are left: `head` names the
        next one from the next cycle on.
    ahead : Out(LookAhead) per unit, with `ahead`. Register that may be offered in the next cycle.
    upcoming : Out(NextResult) per unit, if `shown`. Register that `result` names next.
    result : Out(result_stream) per unit. Result interface to the hierarchy: the next register of that uop.
    offer : Out(ResultOffer) per unit of `keeps`. Result interface to the collectors: the register that
        `result` offers.
    finished : Out(Written) per unit. A register of the unit is taken in this cycle, by a bank or a collector.
    evicted : In(evicts). What a collector evicted is written in this cycle.
    first : Out(bits(units)). Unit whose offer goes first, then the next ones in order.
    retired : Out(Retired) per unit. The last write of a uop is done in this cycle.
    """

    head: list[stream.Interface]
    step: list[Signal]
    ahead: list[LookAheadInterface]
    upcoming: list[NextResultInterface]
    result: list[stream.Interface]
    first: Signal
    finished: list[WrittenInterface]
    retired: list[RetiredInterface]
    events: EventsInterface
    offer: list[ResultOfferInterface]
    evicted: Signal

    def __init__(
        self,
        config: SmConfig,
        keeps: int = 0,
        evicts: int = 0,
        ahead: bool = False,
        probe: bool = False,
        shown: bool = False,
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"ResultArbiter needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        self._ahead = ahead
        members = {
            "head": In(stream.Signature(result_layout(config))).array(UNITS),
            "step": Out(1).array(0 if ahead else UNITS),
            "ahead": Out(LookAhead(config)).array(UNITS if ahead else 0),
            "upcoming": Out(NextResult(config)).array(UNITS if shown else 0),
            "result": Out(result_stream(config)).array(UNITS),
            "first": Out(bits(UNITS + evicts)),
            "retired": Out(Retired(config)).array(UNITS),
            "offer": Out(ResultOffer(config)).array(keeps),
            "finished": Out(Written(config)).array(UNITS),
            "evicted": In(evicts),
        }
        if probe:
            members["events"] = Out(Events(config, {"retire": UNITS}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        served: list[Value] = []
        for unit, (head, result, retired) in enumerate(
            zip(self.head, self.result, self.retired, strict=True)
        ):
            uop, offer, there = head.payload, result.payload, head.valid
            stage: ResultStage | None = None
            if self._ahead:
                stage = m.submodules[f"stage_{unit}"] = ResultStage(self._config)
                wiring.connect(m, wiring.flipped(head), stage.head)
                wiring.connect(m, wiring.flipped(self.ahead[unit]), stage.ahead)
                uop, there = stage.uop, stage.valid
            nothing = uop.count == 0
            asks = there & ~nothing if stage is None else there & stage.known & ~nothing
            taken: Value = result.ready
            if self.offer:
                port = self.offer[unit]
                taken = port.absorbed | result.ready & ~port.barred
                m.d.comb += [port.valid.eq(asks), port.payload.eq(offer), port.taken.eq(asks & taken)]
                m.d.comb += result.valid.eq(asks & ~port.barred)
            else:
                m.d.comb += result.valid.eq(asks)
            m.d.comb += [
                offer.warp.eq(uop.warp),
                offer.seq.eq(uop.seq),
                offer.mask.eq(uop.mask),
                offer.near.eq(uop.near),
                offer.part.eq(uop.part),
                offer.register.eq(uop.destination),
            ]
            finished = self.finished[unit]
            m.d.comb += [
                finished.valid.eq(asks & taken),
                finished.warp.eq(uop.warp),
                finished.register.eq(offer.register),
            ]
            takes, leaves = Signal(name=f"served_{unit}"), head.ready
            if stage is not None:
                leaves, taken = stage.leaves, stage.known & taken
                m.d.comb += stage.takes.eq(takes)
                for upcoming in self.upcoming[unit : unit + 1]:
                    m.d.comb += [
                        upcoming.changes.eq(head.ready | takes),
                        upcoming.warp.eq(stage.ahead.warp),
                        upcoming.register.eq(stage.ahead.register),
                    ]
            m.d.comb += takes.eq(there & (nothing | taken))
            served.append(takes)
            last = ~uop.count[1:].any()  # its last register, or it has none
            m.d.comb += leaves.eq(takes & last)
            if stage is None:
                m.d.comb += self.step[unit].eq(takes & ~last)
            m.d.comb += [
                retired.valid.eq(leaves),
                retired.warp.eq(uop.warp),
                retired.seq.eq(uop.seq),
                retired.predicates.eq(uop.predicates_written),
                retired.fence.eq(uop.fence),
            ]
            if self._probe:
                moved = uop.seq[MOVE.bit_length() - 1]  # a move is no uop of the program
                emit(m, self.events.retire[unit], leaves & ~moved, warp=uop.warp, seq=uop.seq)
        served += list(self.evicted)
        choice = first_from(m, Cat(served), self.first, "served")
        with m.If(choice.any):
            m.d.sync += self.first.eq(choice.after)
        return m
