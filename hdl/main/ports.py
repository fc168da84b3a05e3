"""Interfaces of the main register file, in signals: inside it, locations of registers, bank ports, storages;
above it, what a cache reads, writes and moves."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.layouts import NO_METADATA, REGISTER_WIDTH
from warpbank.hdl.typed import Interface, Record


class Location(wiring.Signature):
    """Bank interface to the mapping: look-up of the place of a register.

    Seen from the hierarchy. Combinational.

    Members
    -------
    warp : Out(bits(warps)). Warp of the register.
    register : Out(8). Register that is looked up.
    bank : In(bits(banks)). Bank in which it lies.
    row : In(bits(rows)). Row of that bank.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "bank": In(core.bank_width),
                "row": In(core.row_width),
            }
        )


class LocationInterface(Interface, Protocol):
    """Interface object of the signature `Location`."""

    warp: Signal
    register: Signal
    bank: Signal
    row: Signal


class BankPort(wiring.Signature):
    """Bank interface to one bank of a storage.

    Seen from the main register file. A storage leaves alone what does not concern it.

    Members
    -------
    row : Out. Row that is written, or else read.
    read_row : Out. Row that is read.
    read : Out. Read it; `data` and `metadata` are there `read_delay` + 1 cycles later.
    write : Out. Write the lanes of `mask` of `value`; only if not `held`.
    mask, value : Out.
    part : Out. What is written are other lanes than the warp was launched with.
    moved : Out. What is written is to be kept as it is.
    given : Out(metadata), of a storage that is `told`. Metadata of what was written in the cycle before.
    data, metadata : In. What the last read found; held until the next one.
    held : In. The bank takes no write.
    written : In. The bank's arrays are written in this cycle, and must not be read. May depend on `write`.
    stored : In. A write is done: it is there from the next cycle on.
    compressed : In, with `stored`. Some of its bytes are not in the bank.
    """

    def __init__(
        self, config: SmConfig, metadata: data.StructLayout = NO_METADATA, read_row: int | None = None
    ) -> None:
        row_width = config.sub_core.row_width
        super().__init__(
            {
                "row": Out(row_width),
                "read_row": Out(row_width if read_row is None else read_row),
                "read": Out(1),
                "write": Out(1),
                "mask": Out(config.lanes),
                "value": Out(config.value_width),
                "part": Out(1),
                "moved": Out(1),
                "given": Out(metadata),
                "data": In(config.value_width),
                "metadata": In(metadata),
                "held": In(1),
                "written": In(1),
                "stored": In(1),
                "compressed": In(1),
            }
        )


class BankPortInterface(Interface, Protocol):
    """Interface object of the signature `BankPort`."""

    row: Signal
    read_row: Signal
    read: Signal
    write: Signal
    mask: Signal
    value: Signal
    part: Signal
    moved: Signal
    given: Record
    data: Signal
    metadata: Record
    held: Signal
    written: Signal
    stored: Signal
    compressed: Signal


class Freed(wiring.Signature):
    """A physical register is released (seen from the mapping)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"valid": Out(1), "bank": Out(core.bank_width), "row": Out(core.row_width)})


class FreedInterface(Interface, Protocol):
    """Interface object of the signature `Freed`."""

    valid: Signal
    bank: Signal
    row: Signal


class Whereabouts(wiring.Signature):
    """Whether the register of a row is in the scalar bank (seen from who asks). Combinational."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"bank": Out(core.bank_width), "row": Out(core.row_width), "scalar": In(1)})


class WhereaboutsInterface(Interface, Protocol):
    """Interface object of the signature `Whereabouts`."""

    bank: Signal
    row: Signal
    scalar: Signal


class StoragePorts(wiring.Signature):
    """Ports of a storage (seen from it).

    Parameters
    ----------
    config : the machine.
    metadata : what the storage knows of a register.
    poison : registers that can be released in a cycle, if what was released reads as a pattern.
    scalar : there is a bank for scalar values behind the others, which is written through them.

    Members
    -------
    bank : In(BankPort) per bank that can be read.
    where : In(Whereabouts) per source slot, if `scalar`.
    freed : In(Freed) per register that can be released.
    """

    def __init__(
        self,
        config: SmConfig,
        metadata: data.StructLayout = NO_METADATA,
        poison: int = 0,
        scalar: bool = False,
    ) -> None:
        core = config.sub_core
        port = BankPort(config, metadata, core.row_width + core.bank_width if scalar else None)
        super().__init__(
            {
                "bank": In(port).array(core.banks + scalar),
                "where": In(Whereabouts(config)).array(core.collector.slots * scalar),
                "freed": In(Freed(config)).array(poison),
            }
        )


class StorageInterface(Interface, Protocol):
    """Interface object of the signature `StoragePorts`."""

    bank: list[BankPortInterface]
    where: list[WhereaboutsInterface]
    freed: list[FreedInterface]


class Access(wiring.Signature):
    """Access of a cache to a bank (seen from the cache).

    Members
    -------
    read, write : Out(1). It wants to read row `row`; to write `value` into it, all lanes.
    row, value : Out.
    warp, register : Out. Whose it is.
    granted : In(1). It does so in this cycle: no result is written. `value` is there in the next cycle, too.
    cycles : In. How many the access takes, or would take.
    data, metadata : In. What was read last, `read_delay` + 1 cycles later, and at least 2 if only the cache
        reads; held until the next access.
    """

    def __init__(self, config: SmConfig, metadata: data.StructLayout) -> None:
        core = config.sub_core
        super().__init__(
            {
                "read": Out(1),
                "write": Out(1),
                "row": Out(core.row_width),
                "value": Out(config.value_width),
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "granted": In(1),
                "cycles": In(bits(core.bank_latency // 100 + 2)),
                "data": In(config.value_width),
                "metadata": In(metadata),
            }
        )


class AccessInterface(Interface, Protocol):
    """Interface object of the signature `Access`."""

    read: Signal
    write: Signal
    row: Signal
    value: Signal
    warp: Signal
    register: Signal
    granted: Signal
    cycles: Signal
    data: Signal
    metadata: Record


class Moved(wiring.Signature):
    """Look-up of the register that a cache is about to move (seen from the cache). Combinational.

    Members
    -------
    warp, register : Out. Which.
    goes : Out(1). It sets off.
    bank, row : In. Where it is.
    content : In(1). It is somewhere, and what it holds is still wanted.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "goes": Out(1),
                "bank": In(core.bank_width),
                "row": In(core.row_width),
                "content": In(1),
            }
        )


class MovedInterface(Interface, Protocol):
    """Interface object of the signature `Moved`."""

    warp: Signal
    register: Signal
    goes: Signal
    bank: Signal
    row: Signal
    content: Signal
