"""LTRF over a main register file that compresses: notes go with the values, into the cache and out of it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.uop import Scalar
from warpbank.hdl.collector.metadata import WithMetadata
from warpbank.hdl.front_end.scoreboard import Owed
from warpbank.hdl.hierarchy.compressed import READ_DELAY
from warpbank.hdl.hierarchy.ltrf import Ltrf, LtrfPlus
from warpbank.hdl.hierarchy.mover import Mover
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.storage.metadata import metadata_layout


class CompressedLtrf(Ltrf):
    """LTRF's register cache over compressed banks. G-Scalar, sections 3.2 and 4, on LTRF, section 4; neither
    paper has it.

    See `warpbank.golden.hierarchy.compressed_ltrf.CompressedLtrf`. Each writer has a unit that notes what it
    writes, and each bank of the cache a memory of notes, which is written a cycle after the bank.

    Parameters
    ----------
    config, mapping, storage, entries, tags, evicts, probe : as in `Ltrf`; the storage is `told` its notes,
        and its `events` come with those of `Ltrf`.

    Members
    -------
    as in `Ltrf`, and
    operand : Out(Noted) per collector. The note of what `deliver` delivers in this cycle.
    owed : Out(Owed). Asks about the register that has left the cache in the cycle before.

    Latency: as in `Ltrf`; a register that is fetched comes `READ_DELAY` cycles later.
    """

    notes = True

    @property
    def parts(self) -> int:
        """Parts of a register that are compressed by themselves."""
        return int(self._storage.parts)

    @property
    def executes(self) -> frozenset[Scalar]:
        """Kinds of scalar execution that follow from the storage's notes."""
        return frozenset(self._storage.executes)

    def _more_members(self) -> dict[str, Any]:
        config = self._config
        return {
            **super()._more_members(),
            "operand": Out(WithMetadata(self.parts)).array(config.sub_core.collectors),
            "owed": Out(Owed(config)),
        }

    def _reporters(self) -> list[wiring.Component]:
        return [*super()._reporters(), self._storage]

    def _mover(self) -> Mover:
        return Mover(self._config, READ_DELAY, metadata_layout(self.parts).size)

    # --- Results.

    def _find_results(self, m: Module) -> None:
        """Each writer's value is noted; a value that a collector evicts to the main register file is kept as
        it is."""
        super()._find_results(m)
        values, masks = self._payloads()
        notes: list[Value] = []
        for number, (writer, place) in enumerate(zip(self._all, self._to_cache, strict=True)):
            noter = m.submodules[f"noter_{number}"] = type(self._storage).noter(self._config)
            m.d.comb += [
                noter.enable.eq(writer.valid),
                noter.value.eq(values[number]),
                noter.mask.eq(masks[number]),
            ]
            if number < UNITS:
                m.d.comb += noter.part.eq(writer.payload.part)
                notes.append(noter.note.as_value())
            else:
                cached = Signal(name="evicted_to_cache")
                m.d.sync += cached.eq(place)
                notes.append(Mux(cached, noter.note.as_value(), 0))
        self._noted = Array(notes)  # of the previous cycle's values

    def _write_cache(self, m: Module) -> None:
        """A bank's note follows a cycle after its value: of a result, or of the register that arrived."""
        super()._write_cache(m)
        size = metadata_layout(self.parts).size
        arrived = Signal(size, name="arrived_note")
        m.d.sync += arrived.eq(
            Array(bank.note.as_value() for bank in self._storage.bank)[self._fill_choice.index]
        )
        offsets = Array(find.offset for find in self._finds)
        self._note_memories = []
        for number, choice in enumerate(self._cache_choices):
            memory = m.submodules[f"cache_notes_{number}"] = Memory(
                shape=size, depth=max(2, self._config.sub_core.active_warps), init=[]
            )
            written, index = (
                Signal(name=f"noting_{number}"),
                Signal.like(choice.index, name=f"noted_writer_{number}"),
            )
            fills, offset = (
                Signal(name=f"noting_fill_{number}"),
                Signal.like(self._filled.offset, name=f"noted_row_{number}"),
            )
            filled = self._fills & (self._filled.entry == number)
            m.d.sync += [
                written.eq(self._written[number]),
                index.eq(choice.index),
                fills.eq(filled),
                offset.eq(Mux(filled, self._filled.offset, offsets[choice.index])),
            ]
            port = memory.write_port()
            m.d.comb += [
                port.en.eq(written),
                port.addr.eq(offset),
                port.data.eq(Mux(fills, arrived, self._noted[index])),
            ]
            self._note_memories.append((memory, port))

    # --- Operands, and what is moved.

    def _read_cache(self, m: Module) -> None:
        """Notes come with values."""
        super()._read_cache(m)
        blocks, arbiter = self._blocks, self._arbiter
        contents = []
        for number, ((memory, write), grant) in enumerate(
            zip(self._note_memories, arbiter.read, strict=True)
        ):
            port = memory.read_port(transparent_for=(write,))
            leaves = self._leaving[number]
            m.d.comb += [
                port.en.eq(grant.valid | leaves),
                port.addr.eq(Mux(leaves, blocks.offset, grant.row)),
            ]
            contents.append(port.data)
        notes = Array(contents)
        for number, (grant, operand) in enumerate(zip(arbiter.grant, self.operand, strict=True)):
            source = Signal.like(grant.bank, name=f"noted_source_{number}")
            m.d.sync += [operand.valid.eq(grant.valid), source.eq(grant.bank)]
            m.d.comb += operand.note.as_value().eq(notes[source])
        left = Signal.like(blocks.entry, name="noted_entry_left")
        m.d.sync += [
            left.eq(blocks.entry),
            self.owed.warp.eq(blocks.warp),
            self.owed.register.eq(blocks.moved),
        ]
        m.d.comb += [mover.note.eq(Mux(self.owed.pending, 0, notes[left])) for mover in self._movers]

    def _main(self, m: Module) -> None:
        """A bank hears what to note of what was written: of a result, or of the register that was taken
        out."""
        super()._main(m)
        for number, (bank, mover, choice) in enumerate(
            zip(self._storage.bank, self._movers, self._bank_choices, strict=True)
        ):
            result, index = (
                Signal(name=f"told_result_{number}"),
                Signal.like(choice.index, name=f"told_writer_{number}"),
            )
            m.d.sync += [result.eq(choice.any), index.eq(choice.index)]
            m.d.comb += bank.given.as_value().eq(Mux(result, self._noted[index], mover.known))


class CompressedLtrfPlus(CompressedLtrf, LtrfPlus):
    """LTRF+ over compressed banks: dead registers are not moved."""
