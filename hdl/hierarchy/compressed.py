"""The flat hierarchy over a storage that compresses: three more cycles, notes beside the values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.uop import MOVE, Scalar
from warpbank.hdl.collector.metadata import WithMetadata
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.storage.decompress_moves import Stored

#: Cycles by which an operand comes later than from plain banks: its note is read first, and what is read is
#: decompressed.
READ_DELAY = 2


class Compressed(Flat):
    """Grants, conflicts and banks as in `Flat`. G-Scalar, sections 3.2 and 5.1.

    A result is compressed before it is written, so that the scoreboard hears of it one cycle later; an
    operand comes `READ_DELAY` cycles later. Throughput is the same.

    Parameters
    ----------
    config, mapping, storage, arbiter, tags, evicts, probe : as in `Flat`. The `events` of the storage come
        with those of `Flat`.

    Members
    -------
    as in `Flat`, and
    operand : Out(Noted) per collector. The note of what `deliver` delivers in this cycle.
    stored : Out(Stored) per bank. What was written in the cycle before is in its bank from the next cycle on.
    plain : In(1), if `evicts`. A value that a collector evicts in this cycle is not to be compressed.

    Latency: an operand granted in t is delivered in t + 3.
    """

    notes = True

    def _reporters(self) -> list[wiring.Component]:
        return [self._arbiter, self._storage]

    def _more_members(self) -> dict[str, Any]:
        core = self._config.sub_core
        return {
            "operand": Out(WithMetadata(self.parts)).array(core.collectors),
            "stored": Out(Stored(self._config)).array(core.banks),
            **({"plain": In(1)} if self._writers > UNITS else {}),
        }

    @property
    def parts(self) -> int:
        """Parts of a register that are compressed by themselves."""
        return int(self._storage.parts)

    @property
    def executes(self) -> frozenset[Scalar]:
        """Kinds of scalar execution that follow from the storage's notes."""
        return frozenset(self._storage.executes)

    def _tell(self, m: Module, number: int, result: Value, payload: data.View) -> None:
        """The scoreboard hears of a write when its value is compressed."""
        written = self.written[number]
        m.d.sync += [
            written.valid.eq(result),
            written.warp.eq(payload.warp),
            written.register.eq(payload.register),
        ]

    def _access(self, m: Module, number: int, row: Value, back: Value, payload: data.View) -> None:
        """The bank also hears which lanes are written, and whether they are moved."""
        super()._access(m, number, row, back, payload)
        bank, stored = self._storage.bank[number], self.stored[number]
        m.d.comb += [
            bank.part.eq(payload.part),
            bank.moved.eq(payload.seq[MOVE.bit_length() - 1]),
            stored.compressed.eq(bank.compressed),
        ]
        m.d.sync += [
            stored.valid.eq(self.write[number].valid | back),
            stored.warp.eq(payload.warp),
            stored.register.eq(payload.register),
        ]
        if self._writers > UNITS:
            evicted = self.evicted.payload
            with m.If(back):
                m.d.comb += [bank.part.eq(0), bank.moved.eq(self.plain)]
                m.d.sync += [stored.warp.eq(evicted.warp), stored.register.eq(evicted.register)]

    def _deliver(self, m: Module) -> None:
        """The crossbar, `READ_DELAY` cycles later: numbers of bank and slot go through registers beside the
        banks' pipelines."""
        contents = Array(bank.data for bank in self._storage.bank)
        notes = Array(bank.note.as_value() for bank in self._storage.bank)
        for number, (grant, delivery, operand) in enumerate(
            zip(self._arbiter.grant, self.deliver, self.operand, strict=True)
        ):
            names = ("valid", "slot", "source", *(("tag",) if self._tags > 1 else ()))
            signals = [grant.valid, grant.slot, grant.bank, *([grant.tag] if self._tags > 1 else [])]
            for stage in range(1 + READ_DELAY):
                ahead = signals
                signals = [
                    Signal.like(signal, name=f"{name}_{number}_{stage}", init=0)
                    for name, signal in zip(names, ahead, strict=True)
                ]
                m.d.sync += [signal.eq(before) for signal, before in zip(signals, ahead, strict=True)]
            valid, slot, source, *tag = signals
            if tag:
                m.d.comb += delivery.tag.eq(tag[0])
            m.d.comb += [
                delivery.valid.eq(valid),
                delivery.slot.eq(slot),
                delivery.value.eq(self._content(number, delivery, contents[source])),
                operand.valid.eq(valid),
                operand.note.as_value().eq(self._noted(number, delivery, notes[source])),
            ]

    def _noted(self, number: int, delivery: Any, note: Value) -> Value:
        """What is known of a delivery to collector `number`, given the bank's note."""
        return note
