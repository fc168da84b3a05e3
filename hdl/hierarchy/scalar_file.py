"""The flat hierarchy with a scalar bank beside the others, which serves one register per cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE, Scalar
from warpbank.hdl.collector.metadata import WithMetadata
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.main.arbiter import ScalarArbiter
from warpbank.hdl.storage.compressor import BYTES
from warpbank.hdl.storage.decompress_moves import Stored
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.storage.scalar_rf import ScalarRf


class ScalarFile(Flat):
    """Grants, conflicts and banks as in `Flat`, and a scalar bank that all operands and results with equal
    lanes go through. G-Scalar, section 4.1: "only one bank for scalar values".

    A result is compared for a cycle, in a stage that every bank has; then it is written into its bank, which
    is not read in that cycle, or into the scalar bank. Where several ask for the scalar bank, one is written,
    in rotating order, and the others wait in their stages, which take no other result until then. Writes go
    before reads there, too. An operand is asked for where a bit per register says that it is.

    Parameters
    ----------
    config : the machine; `bank_latency` 100.
    mapping, storage, arbiter, tags, evicts, probe : as in `Flat`; collectors that have more than one uop
        each, or evict, are refused. The `events` of the storage come with those of `Flat`.

    Members
    -------
    as in `Flat`, and
    operand : Out(Noted) per collector. What is known of what `deliver` delivers in this cycle.
    stored : Out(Stored) per bank. A result is in its bank or in the scalar bank from the next cycle on.

    Latency: as `Flat`; a result is written a cycle later, or more.

    Raises
    ------
    ValueError : collectors that it cannot serve.
    """

    notes = True
    parts = 1

    def __init__(
        self,
        config: SmConfig,
        mapping: wiring.Component,
        storage: ScalarRf,
        arbiter: ScalarArbiter,
        tags: int = 1,
        evicts: bool = False,
        probe: bool = False,
    ) -> None:
        if tags > 1 or evicts:
            raise ValueError(
                "A register file with a scalar bank serves collectors with one uop each that evict nothing."
            )
        super().__init__(config, mapping, storage, arbiter, tags, evicts, probe)

    def _reporters(self) -> list[wiring.Component]:
        return [self._arbiter, self._storage]

    def _more_members(self) -> dict[str, Any]:
        core = self._config.sub_core
        return {
            "operand": Out(WithMetadata(1)).array(core.collectors),
            "stored": Out(Stored(self._config)).array(core.banks),
        }

    @property
    def executes(self) -> frozenset[Scalar]:
        """Kinds of scalar execution."""
        return frozenset(self._storage.executes)

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        scalar, read = self._storage.scalar, self._arbiter.read[-1]
        m.d.comb += [
            self._arbiter.written[-1].eq(scalar.written),
            scalar.read.eq(read.valid),
            scalar.place.eq(read.row),
        ]
        return m

    def _request(self, m: Module) -> None:
        """Send a uop's requests to the arbiter: to the scalar bank for what is there."""
        super()._request(m)
        request = self._arbiter.request
        for slot, where in enumerate(self._storage.where):
            place = self._mapping.locate[slot]
            m.d.comb += [where.bank.eq(place.bank), where.row.eq(place.row)]
            with m.If(where.scalar):
                m.d.comb += [
                    request.banks[slot].eq(self._config.sub_core.banks),
                    request.rows[slot].eq(Cat(place.bank, place.row)),
                ]

    def _free(self, number: int) -> Value:
        return ~self._storage.bank[number].held

    def _tell(self, m: Module, number: int, result: Value, payload: data.View) -> None:
        """The scoreboard hears of a write when its stage is done."""
        written, stored, bank = self.written[number], self.stored[number], self._storage.bank[number]
        warp = Signal.like(written.warp, name=f"warp_{number}")
        register = Signal.like(written.register, name=f"register_{number}")
        with m.If(result):
            m.d.sync += [warp.eq(payload.warp), register.eq(payload.register)]
        m.d.comb += [
            written.valid.eq(bank.stored),
            written.warp.eq(warp),
            written.register.eq(register),
            stored.valid.eq(bank.stored),
            stored.warp.eq(warp),
            stored.register.eq(register),
            stored.compressed.eq(bank.scalar),
        ]

    def _access(self, m: Module, number: int, row: Value, back: Value, payload: data.View) -> None:
        """A write enters the bank's stage; the read that the arbiter grants goes to the bank."""
        bank, port, read = self._storage.bank[number], self.write[number], self._arbiter.read[number]
        m.d.comb += [
            self._arbiter.written[number].eq(bank.written),
            bank.write.eq(port.valid),
            bank.row.eq(row),
            bank.mask.eq(port.mask),
            bank.value.eq(port.value),
            bank.part.eq(payload.part),
            bank.moved.eq(payload.seq[MOVE.bit_length() - 1]),
            bank.read.eq(read.valid),
            bank.read_row.eq(read.row),
        ]

    def _deliver(self, m: Module) -> None:
        """The crossbar, with one more input that goes to all lanes."""
        banks = self._config.sub_core.banks
        known = metadata_layout(1).const({"full": 1, "enc": [(1 << BYTES) - 1]})
        contents = Array(
            [
                *(bank.data for bank in self._storage.bank),
                self._storage.scalar.data.replicate(self._config.lanes),
            ]
        )
        for number, (grant, delivery, operand) in enumerate(
            zip(self._arbiter.grant, self.deliver, self.operand, strict=True)
        ):
            source, scalar = Signal.like(grant.bank, name=f"source_{number}"), Signal(name=f"scalar_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            m.d.comb += [
                scalar.eq(source == banks),
                delivery.value.eq(contents[source]),
                operand.valid.eq(delivery.valid),
                operand.note.as_value().eq(Mux(scalar, known.as_value(), 0)),
            ]
