"""Storage of G-Scalar: registers compressed byte by byte, and what was found out about each beside them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Scalar
from warpbank.hdl.probe import emit
from warpbank.hdl.storage.arrays import BYTE_LANES, WORD_LANES, count, groups
from warpbank.hdl.storage.compressor import BYTES, Compressor
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.hdl.storage.metadata import CompressedBanks, MetadataWriter, metadata_layout
from warpbank.hdl.typed import Record, record


class GScalar(CompressedBanks):
    """Banks whose arrays hold bytes of one position, and an array of notes. G-Scalar, sections 3.2 and 3.3,
    figures 3 and 4.

    A byte that a register's lanes share is not written into the banks, and not read. Divergent writes are not
    compressed. A bank is a memory `bank_<number>_byte_<byte>_part_<part>` per byte of a lane and part of the
    lanes, written with an enable per byte, and one memory `notes_<number>`.

    Parameters
    ----------
    config, probe, poison, told, parts : as in `CompressedBanks`. With two parts, each half of a register is
        compressed by itself. G-Scalar, section 4.3.

    Members
    -------
    those of `warpbank.hdl.main.ports.StoragePorts`.

    Latency: as in `CompressedBanks`.

    Raises
    ------
    TypeError : no configuration.
    ValueError : the lanes cannot be cut into the parts that are compressed.
    """

    #: Kinds of scalar execution that follow from its notes.
    executes = frozenset(Scalar)

    def __init__(
        self, config: SmConfig, probe: bool = False, poison: int = 0, told: bool = False, parts: int = 1
    ) -> None:
        super().__init__(config, probe, poison, told, parts)
        banks = range(config.sub_core.banks)
        self._compressors = [Compressor(config, self.parts) for _ in banks]
        self._decompressors = [Decompressor(config, self.parts) for _ in banks]

    @property
    def zeros(self) -> int:
        """The note of a register of zeros: a scalar."""
        note: dict[int | str, Any] = {
            "divergent": 0,
            "enc": [-1] * self.parts,
            "full": 1,
            "base": [0] * self.parts,
        }
        return Const.cast(metadata_layout(self.parts).const(note)).value

    def noter(self) -> MetadataWriter:
        """A unit that finds the metadata which these banks would."""
        return GScalarNoter(self._config, self.parts)

    def _bank(self, m: Module, number: int) -> None:
        bank, compressor, decompressor = (
            self.bank[number],
            self._compressors[number],
            self._decompressors[number],
        )
        m.submodules[f"compressor_{number}"] = compressor
        m.submodules[f"decompressor_{number}"] = decompressor
        notes = m.submodules[f"notes_{number}"] = Memory(
            shape=metadata_layout(self.parts), depth=self._config.sub_core.rows, init=[]
        )
        look, put = self._ports(notes)

        # The cycle of the request.
        m.d.comb += [
            look.addr.eq(bank.row),
            look.en.eq(bank.read),
            compressor.enable.eq(bank.write),
            compressor.value.eq(bank.value),
            compressor.mask.eq(bank.mask),
        ]
        reads, writes, part, moved = (
            Signal(name=f"{name}_{number}") for name in ("reads", "writes", "part", "moved")
        )
        row = Signal.like(bank.row, name=f"row_{number}")
        m.d.sync += [
            reads.eq(bank.read),
            writes.eq(bank.write),
            row.eq(bank.row),
            part.eq(bank.part),
            moved.eq(bank.moved),
        ]

        # The next one: arrays and notes.
        note = record(metadata_layout(self.parts), name=f"written_{number}")
        if self._told:
            m.d.comb += note.eq(bank.given)
        else:
            write_note(m, note, compressor, part, moved)
        m.d.comb += [put.addr.eq(row), put.data.eq(note), put.en.eq(writes)]
        found = look.data
        kept_in, kept_out = self._kept(m, found, f"found_{number}"), self._kept(m, note, f"noted_{number}")
        m.d.comb += [bank.stored.eq(writes), bank.compressed.eq(kept_out.any())]
        contents, written = self._arrays(m, number, row, reads, writes, kept_in, kept_out)

        # And the one after: decompression.
        arrives, kept, known = (
            Signal(name=f"arrives_{number}"),
            Signal.like(kept_in, name=f"kept_{number}"),
            Signal.like(note, name=f"known_{number}", reset_less=True),
        )
        m.d.sync += arrives.eq(reads)
        with m.If(reads):
            m.d.sync += [kept.eq(kept_in), known.eq(found)]
        contents, plain = self._found(m, number, row, reads, writes, written, contents)
        m.d.comb += [
            decompressor.enable.eq(arrives),
            decompressor.data.eq(contents),
            bank.data.eq(decompressor.value),
        ]
        for index in range(self.parts):
            m.d.comb += [
                decompressor.enc[index].eq(Mux(plain, 0, kept.word_select(index, BYTES))),
                decompressor.base[index].eq(known.base[index]),
            ]
        with m.If(arrives):
            m.d.sync += bank.metadata.eq(known)
        if self._probe:
            self._events(m, number, reads, writes, found, note, kept_in, kept_out)

    def _kept(self, m: Module, note: Record, name: str) -> Signal:
        """The bytes of every part that are not in the banks. With D the encoding bits say nothing about
        that."""
        kept = Signal(BYTES * self.parts, name=f"kept_{name}")
        m.d.comb += kept.eq(Mux(note.divergent, 0, note.enc.as_value()))
        return kept

    def _arrays(
        self, m: Module, number: int, row: Value, reads: Value, writes: Value, kept_in: Value, kept_out: Value
    ) -> tuple[Value, Value]:
        """The memories of a bank. Returns what they read, in lanes again: the crossbar's reordering, which is
        only wires; and per byte of a register, whether it is written."""
        lanes = self._config.lanes
        size = lanes // self.parts
        compressor = self._compressors[number]
        bytes_read: list[list[Value]] = [[] for _ in range(lanes)]
        bytes_written: list[list[Value]] = [[] for _ in range(lanes)]
        for part in range(self.parts):
            inside = range(part * size, (part + 1) * size)
            for byte in range(BYTES):
                place = part * BYTES + byte
                memory = m.submodules[f"bank_{number}_byte_{byte}_part_{part}"] = Memory(
                    shape=8 * size, depth=self._config.sub_core.rows, init=[]
                )
                read, write = memory.read_port(), memory.write_port(granularity=8)
                m.d.comb += [
                    read.addr.eq(row),
                    read.en.eq(reads & ~kept_in[place]),
                    write.addr.eq(row),
                    write.data.eq(
                        Cat(
                            compressor.data[32 * lane + 8 * byte : 32 * lane + 8 * byte + 8]
                            for lane in inside
                        )
                    ),
                    write.en.eq(
                        Mux(writes & ~kept_out[place], compressor.active[part * size : part * size + size], 0)
                    ),
                ]
                for at, lane in enumerate(inside):
                    bytes_read[lane].append(read.data[8 * at : 8 * at + 8])
                    bytes_written[lane].append(write.en[at])
        return Cat(*(Cat(*found) for found in bytes_read)), Cat(*(Cat(*enables) for enables in bytes_written))

    def _events(
        self,
        m: Module,
        number: int,
        reads: Value,
        writes: Value,
        found: Record,
        note: Record,
        kept_in: Value,
        kept_out: Value,
    ) -> None:
        active = self._compressors[number].active
        everyone = Signal(self._config.lanes, name=f"everyone_{number}")
        m.d.comb += everyone.eq(self._config.lane_mask)
        for event, valid, seen, kept, mask in (
            (self.events.array_read[number], reads, found, kept_in, everyone),
            (self.events.array_write[number], writes, note, kept_out, active),
        ):
            emit(
                m,
                event,
                valid,
                bank=number,
                divergent=seen.divergent,
                enc=seen.enc.as_value(),
                arrays=self._activated(kept, mask),
                plain=count(groups(mask, WORD_LANES)),
            )

    def _activated(self, kept: Value, mask: Value) -> Value:
        """Arrays of bytes that are in the banks with a lane of `mask`."""
        size = self._config.lanes // self.parts
        return count(
            [
                group & ~kept[part * BYTES + byte]
                for part in range(self.parts)
                for byte in range(BYTES)
                for group in groups(mask[part * size : part * size + size], BYTE_LANES)
            ]
        )


def write_note(m: Module, note: Record, compressor: Compressor, part: Value, moved: Value) -> None:
    """Metadata of the value that the compressor has taken last."""
    m.d.comb += [note.divergent.eq(part & ~moved), note.full.eq(compressor.full & ~moved)]
    for index in range(len(compressor.base)):
        base = (
            compressor.base[index]
            if index
            else Mux(note.divergent, compressor.active, compressor.base[index])
        )
        m.d.comb += [note.base[index].eq(base), note.enc[index].eq(Mux(moved, 0, compressor.enc[index]))]


class GScalarNoter(MetadataWriter):
    """The notes of `GScalar`."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compressor = compressor = Compressor(self._config, self._parts)
        part = Signal()
        with m.If(self.enable):
            m.d.sync += part.eq(self.part)
        m.d.comb += [
            compressor.enable.eq(self.enable),
            compressor.value.eq(self.value),
            compressor.mask.eq(self.mask),
        ]
        write_note(m, self.note, compressor, part, Const(0))
        return m
