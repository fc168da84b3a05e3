"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig, bits

from ..collector.arbiter import Arbiter
from ..priority import first_from
from ..probe import Events, emit, gather, total
from ..seams import UNITS, Delivery, Start, WriteBack, Written, read_stream, result_stream


class Flat(wiring.Component):
    """Seams 2 to 5 of the design in their simplest form.

    Within a cycle, results take their banks first; reads are served on the banks left over. What a bank reads goes through a
    crossbar straight into the collectors' slots.

    Parameters
    ----------
    config : the machine.
    mapping, storage, arbiter : the other rooms' units; the mapping with a port per source slot and per unit.
    probe : generate `events` (grant, conflict, write, write_wait).

    Members
    -------
    start : In(Start).
    read : In(read_stream). Operands are requested (seam 2).
    deliver : Out(Delivery) per collector. They arrive; from registers.
    result : In(result_stream) per unit. A result register is offered (seam 4); `ready`: it is written in this cycle.
    first : In. Unit whose offer goes first, then the next ones in order, wrapping around.
    write : Out(WriteBack) per bank. What is written; its value comes in.
    written : Out(Written) per bank. Tells the scoreboard (seam 6).

    Latency: an operand requested in t is granted in t + 1 at the earliest, and delivered in the cycle after its grant.
    """

    def __init__(self, config: SmConfig, mapping: wiring.Component, storage: wiring.Component, arbiter: Arbiter,
                 probe: bool = False) -> None:
        self._config = config
        self._mapping, self._storage, self._arbiter = mapping, storage, arbiter
        self._probe = probe
        core = config.sub_core
        members = {
            "start": In(Start(config)), "read": In(read_stream(config)),
            "deliver": Out(Delivery(config)).array(core.collectors), "result": In(result_stream(config)).array(UNITS),
            "first": In(bits(UNITS)), "write": Out(WriteBack(config)).array(core.banks),
            "written": Out(Written(config)).array(core.banks),
        }
        if probe:
            own = Events(config, {"write": core.banks, "write_wait": UNITS})
            members["events"] = Out(Events(config, total([own, arbiter.events.signature])))
        super().__init__(members)

    @staticmethod
    def ports(config: SmConfig) -> int:
        """Registers that the mapping locates in a cycle."""
        return config.sub_core.collector.slots + UNITS

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.mapping = self._mapping
        m.submodules.storage = self._storage
        m.submodules.arbiter = self._arbiter
        wiring.connect(m, wiring.flipped(self.start), self._mapping.start)
        self._request(m)
        self._write(m)
        self._deliver(m)
        if self._probe:
            gather(m, self.events, [self._arbiter.events])
        return m

    def _request(self, m: Module) -> None:
        """Send a uop's requests to the arbiter."""
        read, request = self.read.payload, self._arbiter.request
        m.d.comb += [request.valid.eq(self.read.valid), request.collector.eq(read.collector), request.slots.eq(read.source_valid)]
        for slot in range(self._config.sub_core.collector.slots):
            place = self._mapping.locate[slot]
            m.d.comb += [
                place.warp.eq(read.warp), place.register.eq(read.sources[slot]),
                request.banks[slot].eq(place.bank), request.rows[slot].eq(place.row),
            ]

    def _write(self, m: Module) -> None:
        """Give each bank to one result, and write it."""
        core = self._config.sub_core
        places = list(self._mapping.locate)[core.collector.slots :]
        for place, result in zip(places, self.result, strict=True):
            m.d.comb += [place.warp.eq(result.payload.warp), place.register.eq(result.payload.register)]
        rows = Array(place.row for place in places)
        payloads = Array(result.payload.as_value() for result in self.result)
        served: list[Value] = []
        for number, (port, written) in enumerate(zip(self.write, self.written, strict=True)):
            offers = Signal(UNITS, name=f"offers_{number}")
            m.d.comb += offers.eq(Cat(result.valid & (place.bank == number)
                                      for result, place in zip(self.result, places, strict=True)))
            choice = first_from(m, offers, self.first, f"bank_{number}")
            served.append(choice.one_hot)
            payload = Signal(self.result[0].payload.shape(), name=f"written_{number}")
            row = Signal(core.row_width, name=f"row_{number}")
            m.d.comb += [payload.as_value().eq(payloads[choice.index]), row.eq(rows[choice.index]), port.valid.eq(choice.any)]
            m.d.comb += [getattr(port, name).eq(getattr(payload, name)) for name in ("warp", "seq", "register", "mask")]
            m.d.comb += [written.valid.eq(choice.any), written.warp.eq(payload.warp), written.register.eq(payload.register)]
            self._access(m, number, row)
            if self._probe:
                emit(m, self.events.write[number], choice.any, bank=number, row=row, warp=payload.warp, seq=payload.seq,
                     register=payload.register, mask=payload.mask)
        taken = Signal(UNITS)
        m.d.comb += taken.eq(reduce(or_, served))
        for unit, (result, place) in enumerate(zip(self.result, places, strict=True)):
            m.d.comb += result.ready.eq(taken[unit])
            if self._probe:
                emit(m, self.events.write_wait[unit], result.valid & ~taken[unit], unit=unit, bank=place.bank)

    def _access(self, m: Module, number: int, row: Value) -> None:
        """A bank's one access: the write, or else the read that the arbiter grants."""
        bank, port, read = self._storage.bank[number], self.write[number], self._arbiter.read[number]
        m.d.comb += [
            self._arbiter.written[number].eq(port.valid),
            bank.write.eq(port.valid), bank.read.eq(read.valid), bank.row.eq(Mux(port.valid, row, read.row)),
            bank.mask.eq(port.mask), bank.value.eq(port.value),
        ]

    def _deliver(self, m: Module) -> None:
        """The crossbar: a register of bank and slot numbers per collector, and a choice of the banks' data."""
        contents = Array(bank.data for bank in self._storage.bank)
        for number, (grant, delivery) in enumerate(zip(self._arbiter.grant, self.deliver, strict=True)):
            source = Signal.like(grant.bank, name=f"source_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            m.d.comb += delivery.value.eq(contents[source])
