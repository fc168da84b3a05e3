"""The flat hierarchy over a storage that compresses: three more cycles, notes beside the values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from arch.rooms import SmConfig
from arch.uop import MOVE, Scalar

from ..collector.arbiter import Arbiter
from ..execute.scalar import Noted
from ..storage.bdi_banks import BdiBanks
from ..storage.gscalar import GScalar
from ..storage.moves import Stored
from .flat import Flat

#: Cycles by which an operand comes later than from plain banks: its note is read first, and what is read is decompressed.
READ_DELAY = 2


class Compressed(Flat):
    """Grants, conflicts and banks as in `Flat`. G-Scalar, sections 3.2 and 5.1.

    A result is compressed before it is written, so that the scoreboard hears of it one cycle later; an operand comes `READ_DELAY`
    cycles later. Throughput is the same.

    Parameters
    ----------
    config, mapping, storage, arbiter, tags, evicts, probe : as in `Flat`; collectors that have more than one uop each, or evict,
        are refused. The `events` of the storage come with those of `Flat`.

    Members
    -------
    as in `Flat`, and
    operand : Out(Noted) per collector. The note of what `deliver` delivers in this cycle.
    stored : Out(Stored) per bank. A result is in its bank from the next cycle on.

    Latency: an operand granted in t is delivered in t + 3.

    Raises
    ------
    ValueError : collectors that it cannot serve.
    """

    notes = True

    def __init__(self, config: SmConfig, mapping: wiring.Component, storage: GScalar | BdiBanks, arbiter: Arbiter, tags: int = 1,
                 evicts: bool = False, probe: bool = False) -> None:
        if tags > 1 or evicts:
            raise ValueError("A register file that compresses serves collectors with one uop each that evict nothing.")
        super().__init__(config, mapping, storage, arbiter, tags, evicts, probe)

    def _reporters(self) -> list[wiring.Component]:
        return [self._arbiter, self._storage]

    def _more_members(self) -> dict[str, Any]:
        core = self._config.sub_core
        return {
            "operand": Out(Noted(self.parts)).array(core.collectors), "stored": Out(Stored(self._config)).array(core.banks),
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
        written, stored = self.written[number], self.stored[number]
        m.d.sync += [written.valid.eq(result), written.warp.eq(payload.warp), written.register.eq(payload.register)]
        m.d.comb += [
            stored.valid.eq(written.valid), stored.warp.eq(written.warp), stored.register.eq(written.register),
            stored.compressed.eq(self._storage.bank[number].compressed),
        ]

    def _access(self, m: Module, number: int, row: Value, back: Value, payload: data.View) -> None:
        """The bank also hears which lanes are written, and whether they are moved."""
        super()._access(m, number, row, back, payload)
        bank = self._storage.bank[number]
        m.d.comb += [bank.part.eq(payload.part), bank.moved.eq(payload.seq[MOVE.bit_length() - 1])]

    def _deliver(self, m: Module) -> None:
        """The crossbar, `READ_DELAY` cycles later: numbers of bank and slot go through registers beside the banks' pipelines."""
        contents = Array(bank.data for bank in self._storage.bank)
        notes = Array(bank.note.as_value() for bank in self._storage.bank)
        for number, (grant, delivery, operand) in enumerate(zip(self._arbiter.grant, self.deliver, self.operand, strict=True)):
            valid, slot, source = grant.valid, grant.slot, grant.bank
            for stage in range(1 + READ_DELAY):
                ahead = valid, slot, source
                valid, slot, source = (
                    Signal.like(signal, name=f"{name}_{number}_{stage}", init=0)
                    for name, signal in zip(("valid", "slot", "source"), ahead, strict=True)
                )
                m.d.sync += [valid.eq(ahead[0]), slot.eq(ahead[1]), source.eq(ahead[2])]
            m.d.comb += [
                delivery.valid.eq(valid), delivery.slot.eq(slot), delivery.value.eq(contents[source]),
                operand.valid.eq(valid), operand.note.as_value().eq(notes[source]),
            ]
