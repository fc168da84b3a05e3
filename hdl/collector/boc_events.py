"""Events of the bypassing operand collectors."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Module, Signal, Value

from warpbank.arch.parameters import bits
from warpbank.hdl.collector.boc_results import Claim
from warpbank.hdl.collector.window import Entries, Inserter
from warpbank.hdl.interfaces import AlwaysInterface, DeliveryInterface, ResultOfferInterface
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.probe import EventsInterface, emit
from warpbank.hdl.round_robin import encode, pick
from warpbank.hdl.typed import Record


class BocEvents:
    """Events of `Boc`, made of what its collectors hold and do, and of the uop that is inserted."""

    _warps: int
    _entries: int
    _state: list[Entries]
    _pinned: list[Signal]
    _inserters: list[Inserter]
    _busy: list[Signal]
    _waits: Signal
    _uop: list[Record]
    _chosen: Signal
    _done: Signal
    _claim: Claim
    issue: AlwaysInterface
    slide: Signal
    deliver: list[DeliveryInterface]
    result: list[ResultOfferInterface]
    events: EventsInterface

    def _of_chosen(self, each: Sequence[Value]) -> Value:
        """Value of the collector whose uop is inserted, of a value per collector."""
        return pick(self._chosen, each)

    def _uop_of_chosen(self) -> Record:
        """The uop that is inserted."""
        return self._uop[0].shape()(self._of_chosen([uop.as_value() for uop in self._uop]))

    def _instances(self) -> dict[str, int]:
        """Instances of the events: as many of each as there may be in a cycle."""
        once = dict.fromkeys(("allocate", "forward", "reserve", "squeeze", "insert_wait", "occupied"), 1)
        of_collectors = dict.fromkeys(("deliver", "collector_write", "window"), self._warps)
        return {**once, **of_collectors, "discard": 2, "port_wait": UNITS}

    def _collector_events(self, m: Module, warp: int, present: Value) -> None:
        events, keep, delivery = self.events, self._claim.write, self.deliver[warp]
        emit(m, events.deliver[warp], delivery.valid, collector=warp, slot=delivery.slot)
        emit(
            m,
            events.collector_write[warp],
            self._claim.arrived[warp].any(),
            collector=warp,
            warp=keep.warp,
            seq=keep.seq,
            register=keep.register,
        )
        used, before = (
            Signal(bits(self._entries + 1), name=f"{name}_{warp}") for name in ("used", "used_before")
        )
        m.d.comb += used.eq(sum(present[entry] for entry in range(self._entries)))
        m.d.sync += before.eq(used)
        emit(m, events.window[warp], used != before, collector=warp, entries=used)

    def _events(self, m: Module) -> None:
        events, issue, units = self.events, self.issue, self._inserters
        uop, warp = self._uop_of_chosen(), encode(self._chosen)
        found, expected, overwritten, transient, squeezed = (
            self._of_chosen([getattr(unit, name) for unit in units])
            for name in ("found", "expected", "overwritten", "transient", "squeezed")
        )
        done = self._done.any()
        emit(
            m,
            events.allocate[0],
            issue.valid,
            collector=issue.payload.warp,
            warp=issue.payload.warp,
            seq=issue.payload.uop.seq,
        )
        emit(
            m,
            events.forward[0],
            done & found.any(),
            collector=warp,
            warp=warp,
            seq=uop.seq,
            slots=found,
            count=sum(found),
        )
        emit(
            m,
            events.reserve[0],
            done & expected.any(),
            collector=warp,
            warp=warp,
            seq=uop.seq,
            count=sum(expected),
        )
        emit(
            m,
            events.discard[0],
            done & (overwritten | transient).any(),
            collector=warp,
            overwritten=sum(overwritten),
            transient=sum(transient),
        )
        lost = Signal(bits(self._entries + 1), name="lost_by_slide")
        m.d.comb += lost.eq(
            Array(
                sum(
                    (state.valid & state.dirty & state.passed & ~pinned & ~state.owed)[entry]
                    for entry in range(self._entries)
                )
                for state, pinned in zip(self._state, self._pinned, strict=True)
            )[issue.payload.warp]
        )
        emit(
            m,
            events.discard[1],
            self.slide & (lost != 0),
            collector=issue.payload.warp,
            overwritten=0,
            transient=lost,
        )
        registers = [pick(unit.squeezed, list(unit.registers)) for unit in units]
        emit(
            m,
            events.squeeze[0],
            squeezed.any(),
            collector=warp,
            register=self._of_chosen(registers),
            dirty=(squeezed & self._of_chosen([unit.dirty for unit in units])).any(),
        )
        emit(m, events.insert_wait[0], self._waits.any(), collectors=sum(self._waits))
        for number, offer in enumerate(self.result):
            emit(m, events.port_wait[number], offer.held, unit=number, collector=offer.payload.warp)
        busy = sum(sum(busy) for busy in self._busy)
        emit(m, events.occupied[0], Cat(*self._busy).any(), collectors=busy)
