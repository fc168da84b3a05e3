"""Encoding metadata: what is noted of a register beside the banks that compress it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.interfaces import BankPort
from warpbank.hdl.probe import Events
from warpbank.hdl.storage.compressor import BYTES


def metadata_layout(parts: int) -> data.StructLayout:
    """A row of the base and encoding array. G-Scalar, sections 3.2, 4.2 and 4.3.

    Fields
    ------
    divergent : D: the last write was of some lanes; nothing is compressed, and `enc` and `full` are about
        these lanes.
    enc : per part, encoding bits.
    full : FS: all lanes of the last write were equal.
    base : per part, the shared bytes; with D, the first holds the lanes of the last write.
    """
    return data.StructLayout(
        {
            "divergent": 1,
            "enc": data.ArrayLayout(BYTES, parts),
            "full": 1,
            "base": data.ArrayLayout(32, parts),
        }
    )


class MetadataPort(wiring.Signature):
    """Bank interface to one bank that compresses (seen from the hierarchy): a `BankPort`, and

    Members
    -------
    part : Out. What is written are other lanes than the warp was launched with: it is not compressed.
    moved : Out. It is moved, to be kept as it is.
    note : In, `metadata_layout`. What is known of `data`.
    compressed : In. What was written in the cycle before has bytes that are not in the bank.
    given : Out, `metadata_layout`, if `told`. What is known of what was written in the cycle before, instead
        of `part` and `moved`.
    """

    def __init__(self, config: SmConfig, parts: int, told: bool = False) -> None:
        members = dict(BankPort(config).members)
        if told:
            members["given"] = Out(metadata_layout(parts))
        super().__init__(
            {
                **members,
                "part": Out(1),
                "moved": Out(1),
                "note": In(metadata_layout(parts)),
                "compressed": In(1),
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
    note : Out(note_layout).

    Latency: one cycle; `note` holds until the next value is taken.
    """

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
    """Banks with a note for every row: what storages that compress are made from.

    Parameters
    ----------
    config : the machine: banks, rows, lanes.
    probe : generate `events` (array_read, array_write).
    told : who writes a register also says what is to be noted of it, a cycle later.

    Members
    -------
    bank : In(NotedPort) per bank.

    Latency: a read in t finds its note in t + 1, when the arrays are read, and their content in t + 2, when
    it is decompressed; `data` and `note` are there in t + 3. A write in t is compressed, written in t + 1,
    and there for a read in t + 2 or later; its row must not be read in t + 1, unless `told`.

    Raises
    ------
    TypeError : no configuration.
    """

    #: Parts of a register that are compressed by themselves.
    parts = 1

    def __init__(self, config: SmConfig, probe: bool = False, told: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(
                f"{type(self).__name__} needs the machine's configuration, an SmConfig, not {config!r}."
            )
        self._config = config
        self._probe, self._told = probe, told
        banks = config.sub_core.banks
        members = {"bank": In(MetadataPort(config, self.parts, told)).array(banks), **self._members()}
        if probe:
            members["events"] = Out(Events(config, {"array_read": banks, "array_write": banks}))
        super().__init__(members)

    def _members(self) -> dict[str, Any]:
        """What banks made from these have besides."""
        return {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number in range(self._config.sub_core.banks):
            self._bank(m, number)
        return m

    @property
    @abstractmethod
    def zeros(self) -> int:
        """The note of a register of zeros."""

    @classmethod
    @abstractmethod
    def noter(cls, config: SmConfig) -> MetadataWriter:
        """A unit that notes what these banks would."""

    @abstractmethod
    def _bank(self, m: Module, number: int) -> None:
        """One bank."""

    def _ports(self, memory: Memory) -> tuple[ReadPort, WritePort]:
        """Of the array of notes. One that is written from outside may be read right after a write."""
        put = memory.write_port()
        return memory.read_port(transparent_for=(put,) if self._told else ()), put

    def _found(
        self, m: Module, number: int, row: Value, reads: Value, writes: Value, written: Value, content: Value
    ) -> tuple[Value, Value]:
        """What counts as found, a cycle after `row` was read or written in the arrays: a content, and whether
        it is one that was never compressed, whatever its note says. `content`: of the arrays; `written`: per
        byte of a register, whether it is."""
        return content, Const(0)
