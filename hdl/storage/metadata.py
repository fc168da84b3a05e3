"""Encoding metadata: what is noted of a register beside the banks that compress it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.layouts import NO_METADATA, Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.poison import POISON, stale
from warpbank.hdl.main.ports import BankPortInterface, FreedInterface, StoragePorts
from warpbank.hdl.probe import Events, EventsInterface
from warpbank.hdl.storage.compressor import BYTES
from warpbank.hdl.typed import Record


def metadata_layout(parts: int) -> data.StructLayout:
    """A row of the base and encoding array. G-Scalar, sections 3.2, 4.2 and 4.3.

    Fields
    ------
    divergent : D: the last write was of some lanes; nothing is compressed, and `enc` and `full` are about
        these lanes.
    enc : per part, encoding bits.
    full : FS: all lanes of the last write were equal.
    base : per part, the shared bytes; with D, the first holds the lanes of the last write.

    Of no part (plain banks) there is nothing to be known: no bit.
    """
    if not parts:
        return NO_METADATA
    return data.StructLayout(
        {
            "divergent": 1,
            "enc": data.ArrayLayout(BYTES, parts),
            "full": 1,
            "base": data.ArrayLayout(32, parts),
        }
    )


class MetadataWriter(wiring.Component):
    """Metadata writer: what is to be noted of a value, whoever keeps it, which a storage with `told` leaves
    to others.

    Parameters
    ----------
    config : the machine: lanes.
    parts : of a register, as they are compressed.

    Members
    -------
    enable : In(1). Take what follows.
    value, mask : In. A result, and the lanes that it has.
    part : In(1). These are other lanes than the warp was launched with.
    note : Out(metadata_layout).

    Latency: one cycle; `note` holds until the next value is taken.
    """

    enable: Signal
    value: Signal
    mask: Signal
    part: Signal
    note: Record

    def __init__(self, config: SmConfig, parts: int) -> None:
        self._config, self._parts = config, parts
        super().__init__(
            {
                "enable": In(1),
                "value": In(config.value_width),
                "mask": In(config.lanes),
                "part": In(1),
                "note": Out(metadata_layout(parts)),
            }
        )


class CompressedBanks(wiring.Component, ABC):
    """Banks with metadata for every row: what storages that compress are made from.

    Parameters
    ----------
    config : the machine: banks, rows, lanes.
    probe : generate `events` (array_read, array_write).
    poison : registers that can be released in a cycle, if a row that has not been written since its release
        is to read as `POISON`, and later each byte of it that has not been written since; its metadata stay.
    told : who writes a register also says what its metadata are, a cycle later.
    parts : of a register, each compressed by itself.

    Members
    -------
    those of `warpbank.hdl.main.ports.StoragePorts`.

    Latency: a read in t finds its metadata in t + 1, when the arrays are read, and their content in t + 2,
    when it is decompressed; `data` and `metadata` are there in t + 3. A write in t is compressed, written in
    t + 1 (`stored`), and there for a read in t + 2 or later; its row must not be read in t + 1, unless
    `told`.

    Raises
    ------
    TypeError : no configuration.
    """

    bank: list[BankPortInterface]
    freed: list[FreedInterface]
    events: EventsInterface

    #: The metadata are read first, and what is read is decompressed; a result is compressed first.
    read_delay, write_delay, waits = 2, 1, False

    def __init__(
        self, config: SmConfig, probe: bool = False, poison: int = 0, told: bool = False, parts: int = 1
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(
                f"{type(self).__name__} needs the machine's configuration, an SmConfig, not {config!r}."
            )
        self._config, self.parts = config, parts
        self._probe, self._told = probe, told
        banks = config.sub_core.banks
        members = dict(StoragePorts(config, metadata_layout(parts), poison).members)
        if probe:
            members["events"] = Out(Events(config, {"array_read": banks, "array_write": banks}))
        super().__init__(members)

    def arbiter(self, collection: Collection, shared: bool, probe: bool) -> Arbiter:
        """A queue of reads per bank. `shared`: a cache uses the collectors' ports, too."""
        return Arbiter(self._config, collection.entries, collection.tags, probe, shared=shared)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, bank in enumerate(self.bank):
            m.d.comb += bank.written.eq(bank.write)
            self._bank(m, number)
        return m

    @property
    @abstractmethod
    def zeros(self) -> int:
        """The metadata of a register of zeros."""

    @abstractmethod
    def noter(self) -> MetadataWriter:
        """A unit that finds the metadata which these banks would."""

    @abstractmethod
    def _bank(self, m: Module, number: int) -> None:
        """One bank."""

    def _ports(self, memory: Memory) -> tuple[ReadPort, WritePort]:
        """Ports of the array of metadata. If it is written from outside, it may be read right after."""
        put = memory.write_port()
        return memory.read_port(transparent_for=(put,) if self._told else ()), put

    def _found(
        self, m: Module, number: int, row: Value, reads: Value, writes: Value, written: Value, content: Value
    ) -> tuple[Value, Value]:
        """Content that counts as found, a cycle after `row` was read or written in the arrays, and whether it
        is one that was never compressed, whatever its metadata say. `content`: of the arrays; `written`:
        per byte of a register, whether it is."""
        if not self.freed:
            return content, Const(0)
        count = len(written)
        old = stale(m, number, self._config.sub_core.rows, self.freed, row, reads, Cat(written, writes))
        pattern = Const(POISON, 32).replicate(count // 4)
        found = Cat(
            Mux(old[byte], pattern.word_select(byte, 8), content.word_select(byte, 8))
            for byte in range(count)
        )
        return found, old[count]
