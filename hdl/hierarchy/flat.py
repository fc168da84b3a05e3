"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.interfaces import (
    UNITS,
    Delivery,
    Start,
    WriteBack,
    Written,
    evicted_stream,
    read_stream,
    result_stream,
)
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.bank_timing import BankTiming
from warpbank.hdl.probe import Events, emit, gather, total
from warpbank.hdl.round_robin import first_from


class Flat(wiring.Component):
    """Flat register file hierarchy: collectors read the banks, and results are written into them.

    Within a cycle, results take their banks first; reads are served on the banks left over. What a bank reads
    goes through a crossbar straight into the collectors' slots.

    Parameters
    ----------
    config : the machine.
    mapping, storage, arbiter : the other rooms' units; the mapping with a port per source slot and per
        writer.
    tags : uops that one collector may have in collection.
    evicts : the collectors evict values: they are a writer behind the units.
    probe : generate `events` (grant, conflict, write, write_back, write_wait).

    Members
    -------
    start : In(Start).
    read : In(read_stream). Operand read interface: operands are requested.
    deliver : Out(Delivery) per collector. They arrive; from registers.
    result : In(result_stream) per unit. Result interface: a register is offered; `ready`: it is written in
        this cycle.
    evicted : In(evicted_stream), if `evicts`. A value that a collector evicts; `ready`: it is written in this
        cycle.
    first : In. Unit whose offer goes first, then the next ones in order, wrapping around.
    write : Out(WriteBack) per bank. What is written; its value comes in.
    written : Out(Written) per bank. Scoreboard release interface: a result is written.

    Latency: an operand requested in t is granted in t + 1 at the earliest, and delivered in the cycle after
    its grant.
    """

    #: It need not be told of activations and of what issues.
    follows = prefetches = renames = False
    #: Its operands do not come with notes, and what is written needs no move.
    notes = False

    def __init__(
        self,
        config: SmConfig,
        mapping: wiring.Component,
        storage: wiring.Component,
        arbiter: Arbiter,
        tags: int = 1,
        evicts: bool = False,
        probe: bool = False,
    ) -> None:
        self._config = config
        self._tags = tags
        self._writers = UNITS + evicts
        self._mapping, self._storage, self._arbiter = mapping, storage, arbiter
        self._probe = probe
        core = config.sub_core
        members = {
            "start": In(Start(config)),
            "read": In(read_stream(config, tags)),
            "deliver": Out(Delivery(config, tags)).array(core.collectors),
            "result": In(result_stream(config)).array(UNITS),
            "first": In(bits(self._writers)),
            "write": Out(WriteBack(config)).array(core.banks),
            "written": Out(Written(config)).array(core.banks),
        }
        if evicts:
            members["evicted"] = In(evicted_stream(config))
        if probe:
            own = Events(config, self._own_events())
            inner = [part.events.signature for part in self._reporters()]
            members["events"] = Out(Events(config, total([own, *inner])))
        members |= self._more_members()
        super().__init__(members)

    def _reporters(self) -> list[wiring.Component]:
        """The units inside that have events."""
        return [self._arbiter]

    def _own_events(self) -> dict[str, int]:
        """Events of the hierarchy itself, and how many of each there may be in a cycle."""
        backs = {"write_back": 1} if self._writers > UNITS else {}
        return {"write": self._config.sub_core.banks, "write_wait": self._writers, **backs}

    def _more_members(self) -> dict[str, Any]:
        """What a hierarchy made from this one has besides."""
        return {}

    @staticmethod
    def ports(config: SmConfig, evicts: bool = False) -> int:
        """Registers that the mapping locates in a cycle."""
        return config.sub_core.collector.slots + UNITS + evicts

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        m.submodules.mapping = self._mapping
        m.submodules.storage = self._storage
        m.submodules.arbiter = self._arbiter
        wiring.connect(m, wiring.flipped(self.start), self._mapping.start)
        self._slow = None
        if core.bank_latency != 100:
            self._slow = m.submodules.slow = BankTiming(core.banks, core.bank_latency)
            arbiter = self._arbiter
            m.d.comb += [
                self._slow.written.eq(arbiter.written),
                self._slow.waiting.eq(arbiter.waiting),
                self._slow.granted.eq(Cat(read.valid for read in arbiter.read)),
                arbiter.opening.eq(self._slow.opening),
            ]
        self._request(m)
        self._write(m)
        self._deliver(m)
        if self._probe:
            gather(m, self.events, [part.events for part in self._reporters()])
        return m

    def _request(self, m: Module) -> None:
        """Send a uop's requests to the arbiter."""
        read, request = self.read.payload, self._arbiter.request
        m.d.comb += [
            request.valid.eq(self.read.valid),
            request.collector.eq(read.collector),
            request.slots.eq(read.source_valid),
        ]
        if self._tags > 1:
            m.d.comb += request.tag.eq(read.tag)
        for slot in range(self._config.sub_core.collector.slots):
            place = self._mapping.locate[slot]
            m.d.comb += [
                place.warp.eq(read.warp),
                place.register.eq(read.sources[slot]),
                request.banks[slot].eq(place.bank),
                request.rows[slot].eq(place.row),
            ]

    def _write(self, m: Module) -> None:
        """Give each bank to one writer, and write it."""
        core = self._config.sub_core
        places = self._places()
        writers = [*self.result, self.evicted] if self._writers > UNITS else list(self.result)
        for place, writer in zip(places, writers, strict=True):
            m.d.comb += [place.warp.eq(writer.payload.warp), place.register.eq(writer.payload.register)]
        rows = Array(place.row for place in places)
        payloads = Array(result.payload.as_value() for result in self.result)
        served: list[Value] = []
        for number, port in enumerate(self.write):
            offers = Signal(self._writers, name=f"offers_{number}")
            m.d.comb += offers.eq(
                Cat(
                    writer.valid & (place.bank == number) & self._exists(unit) & self._free(number)
                    for unit, (writer, place) in enumerate(zip(writers, places, strict=True))
                )
            )
            choice = first_from(m, offers, self.first, f"bank_{number}")
            served.append(choice.one_hot)
            payload = Signal(self.result[0].payload.shape(), name=f"written_{number}")
            row = Signal(core.row_width, name=f"row_{number}")
            back = choice.one_hot[UNITS] if self._writers > UNITS else Const(0, 1)
            result = choice.any & ~back
            m.d.comb += payload.as_value().eq(payloads[choice.index[: bits(UNITS)]])
            m.d.comb += [row.eq(rows[choice.index]), port.valid.eq(result)]
            m.d.comb += [
                getattr(port, name).eq(getattr(payload, name)) for name in ("warp", "seq", "register", "mask")
            ]
            self._tell(m, number, result, payload)
            self._access(m, number, row, back, payload)
            if self._probe:
                emit(
                    m,
                    self.events.write[number],
                    result,
                    bank=number,
                    row=row,
                    warp=payload.warp,
                    seq=payload.seq,
                    register=payload.register,
                    mask=payload.mask,
                )
        taken = Signal(self._writers)
        m.d.comb += taken.eq(reduce(or_, served))
        for unit, (writer, place) in enumerate(zip(writers, places, strict=True)):
            m.d.comb += writer.ready.eq(taken[unit] | ~self._exists(unit))
            if self._probe:
                emit(
                    m, self.events.write_wait[unit], writer.valid & ~writer.ready, unit=unit, bank=place.bank
                )
        if self._probe and self._writers > UNITS:
            place, evicted = places[UNITS], self.evicted
            emit(
                m,
                self.events.write_back[0],
                evicted.valid & taken[UNITS],
                bank=place.bank,
                row=place.row,
                warp=evicted.payload.warp,
                register=evicted.payload.register,
            )

    def _tell(self, m: Module, number: int, result: Value, payload: data.View) -> None:
        """The scoreboard hears of a write into a bank."""
        written = self.written[number]
        m.d.comb += [
            written.valid.eq(result),
            written.warp.eq(payload.warp),
            written.register.eq(payload.register),
        ]

    def _free(self, number: int) -> Value:
        """Whether a bank takes a write."""
        return Const(1, 1) if self._slow is None else ~self._slow.busy[number]

    def _places(self) -> list[Any]:
        """The mapping's ports for the writers."""
        return list(self._mapping.locate)[self._config.sub_core.collector.slots :]

    def _exists(self, writer: int) -> Value:
        """Whether the register that a writer offers is anywhere; if not, its value is dropped."""
        return Const(1, 1)

    def _content(self, number: int, delivery: Any, value: Value) -> Value:
        """What collector `number` receives with a delivery, given what the bank held."""
        return value

    def _access(self, m: Module, number: int, row: Value, back: Value, payload: data.View) -> None:
        """A bank's one access: a write (of the result `payload`; `back`: of an evicted value), or else the
        read that the arbiter grants."""
        bank, port, read = self._storage.bank[number], self.write[number], self._arbiter.read[number]
        written = port.valid | back
        m.d.comb += [
            self._arbiter.written[number].eq(written),
            bank.write.eq(written),
            bank.read.eq(read.valid),
            bank.row.eq(Mux(written, row, read.row)),
            bank.mask.eq(port.mask),
            bank.value.eq(port.value),
        ]
        if self._writers > UNITS:
            with m.If(back):
                m.d.comb += [bank.mask.eq(self._config.lane_mask), bank.value.eq(self.evicted.payload.value)]

    def _deliver(self, m: Module) -> None:
        """The crossbar: a register of bank and slot numbers per collector, and a choice of the banks'
        data."""
        contents = Array(bank.data for bank in self._storage.bank)
        for number, (grant, delivery) in enumerate(zip(self._arbiter.grant, self.deliver, strict=True)):
            source = Signal.like(grant.bank, name=f"source_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            if self._tags > 1:
                m.d.sync += delivery.tag.eq(grant.tag)
            m.d.comb += delivery.value.eq(self._content(number, delivery, contents[source]))
