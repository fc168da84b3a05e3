"""Storage of Warped-Compression: registers packed by base-delta-immediate, what G-Scalar is compared with."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warpbank.arch.uop import Scalar
from warpbank.hdl.probe import emit
from warpbank.hdl.storage.arrays import WORD_LANES, count, groups
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor, Delta, arrays
from warpbank.hdl.storage.metadata import CompressedBanks, MetadataWriter, metadata_layout


class BdiBanks(CompressedBanks):
    """Banks whose arrays hold 16 neighbouring bytes of a register, packed or as it is, and how it is packed
    beside them.

    A packed register takes the first arrays only; the others are neither written nor read. Divergent writes
    are not packed. G-Scalar, sections 2.2, 3.3 and 5.3, on what its Fig. 12 calls W-C. A bank is a memory
    `bank_<number>_array_<array>` per four lanes, written with an enable per lane, and one memory
    `kinds_<number>`. A note is that of `GScalar` with a `Delta` for encoding bits and nothing else; nobody
    learns from it that a register is scalar.

    Parameters
    ----------
    config, probe, poison, told : as in `CompressedBanks`.

    Members
    -------
    those of `warpbank.hdl.main.ports.StoragePorts`.

    Latency: as in `CompressedBanks`.

    Raises
    ------
    TypeError : no configuration.
    """

    #: Nothing is executed by one lane.
    executes: frozenset[Scalar] = frozenset()

    @property
    def zeros(self) -> int:
        """The note of a register of zeros: a base."""
        note: dict[int | str, Any] = {"divergent": 0, "enc": [Delta.NONE.value], "full": 0, "base": [0]}
        return Const.cast(metadata_layout(self.parts).const(note)).value

    def noter(self) -> MetadataWriter:
        """A unit that finds the metadata which these banks would."""
        return BdiNoter(self._config, self.parts)

    def _bank(self, m: Module, number: int) -> None:
        bank = self.bank[number]
        compressor = m.submodules[f"compressor_{number}"] = BdiCompressor(self._config, self._told)
        decompressor = m.submodules[f"decompressor_{number}"] = BdiDecompressor(self._config)
        kinds = m.submodules[f"kinds_{number}"] = Memory(shape=2, depth=self._config.sub_core.rows, init=[])
        look, put = self._ports(kinds)

        # The cycle of the request.
        m.d.comb += [
            look.addr.eq(bank.row),
            look.en.eq(bank.read),
            compressor.enable.eq(bank.write),
            compressor.value.eq(bank.value),
            compressor.mask.eq(bank.mask),
            compressor.raw.eq(bank.part | bank.moved),
        ]
        reads, writes = (Signal(name=f"{name}_{number}") for name in ("reads", "writes"))
        row = Signal.like(bank.row, name=f"row_{number}")
        m.d.sync += [reads.eq(bank.read), writes.eq(bank.write), row.eq(bank.row)]

        # The next one: arrays and kinds.
        if self._told:
            m.d.comb += compressor.given.eq(bank.given.enc[0])
        kind = Signal(2, name=f"kind_{number}")
        m.d.comb += [
            kind.eq(compressor.kind),
            put.addr.eq(row),
            put.data.eq(kind),
            put.en.eq(writes),
            bank.stored.eq(writes),
            bank.compressed.eq(compressor.packs),
        ]
        needed_in, needed_out = (
            self._needed(m, look.data, f"in_{number}"),
            self._needed(m, kind, f"out_{number}"),
        )
        contents, written = self._arrays(m, number, row, reads, writes, needed_in, needed_out, compressor)

        # And the one after: decompression.
        arrives, known = Signal(name=f"arrives_{number}"), Signal(2, name=f"known_{number}", reset_less=True)
        m.d.sync += arrives.eq(reads)
        with m.If(reads):
            m.d.sync += known.eq(look.data)
        contents, plain = self._found(
            m, number, row, reads, writes, Cat(enable.replicate(4) for enable in written), contents
        )
        m.d.comb += [
            decompressor.enable.eq(arrives),
            decompressor.kind.eq(Mux(plain, Delta.RAW.value, known)),
            decompressor.packed.eq(contents),
            bank.data.eq(decompressor.value),
        ]
        with m.If(arrives):
            m.d.sync += bank.metadata.enc[0].eq(known)
        if self._probe:
            every, stored = count(Const(1) for _ in needed_in), count(groups(written, WORD_LANES))
            for event, valid, found, activated, there in (
                (self.events.array_read[number], reads, look.data, count(needed_in), every),
                (
                    self.events.array_write[number],
                    writes,
                    kind,
                    stored,
                    count(groups(compressor.active, WORD_LANES)),
                ),
            ):
                emit(m, event, valid, bank=number, divergent=0, enc=found, arrays=activated, plain=there)

    def _needed(self, m: Module, kind: Value, name: str) -> Signal:
        """The arrays that hold a register packed so."""
        lanes = self._config.lanes
        needed = Signal(arrays(Delta.RAW, lanes), name=f"needed_{name}")
        with m.Switch(kind):
            for each in Delta:
                with m.Case(each.value):
                    m.d.comb += needed.eq((1 << min(arrays(each, lanes), len(needed))) - 1)
        return needed

    def _arrays(
        self,
        m: Module,
        number: int,
        row: Value,
        reads: Value,
        writes: Value,
        needed_in: Value,
        needed_out: Value,
        compressor: BdiCompressor,
    ) -> tuple[Value, Value]:
        """The memories of a bank. Returns what they read, and per lane, whether it is written."""
        found, written = [], []
        for place, lanes in enumerate(groups_of(self._config.lanes)):
            inside = compressor.active[lanes.start : lanes.stop]
            memory = m.submodules[f"bank_{number}_array_{place}"] = Memory(
                shape=32 * len(lanes), depth=self._config.sub_core.rows, init=[]
            )
            read, write = memory.read_port(), memory.write_port(granularity=32)
            enable = Mux(compressor.kind == Delta.RAW, inside, needed_out[place].replicate(len(lanes)))
            m.d.comb += [
                read.addr.eq(row),
                read.en.eq(reads & needed_in[place]),
                write.addr.eq(row),
                write.data.eq(compressor.packed[32 * lanes.start : 32 * lanes.stop]),
                write.en.eq(Mux(writes, enable, 0)),
            ]
            found.append(read.data)
            written.append(write.en)
        return Cat(found), Cat(written)


class BdiNoter(MetadataWriter):
    """The notes of `BdiBanks`."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compressor = compressor = BdiCompressor(self._config)
        m.d.comb += [
            compressor.enable.eq(self.enable),
            compressor.value.eq(self.value),
            compressor.mask.eq(self.mask),
            compressor.raw.eq(self.part),
            self.note.enc[0].eq(compressor.kind),
        ]
        return m


def groups_of(lanes: int) -> list[range]:
    """The lanes that each array of a bank holds."""
    return [range(at, min(at + WORD_LANES, lanes)) for at in range(0, lanes, WORD_LANES)]
