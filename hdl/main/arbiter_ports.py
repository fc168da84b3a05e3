"""Ports of the bank arbiter: the requests that it is given, its grants, the reads of its banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.layouts import tag_fields
from warpbank.hdl.typed import Interface, Record


@dataclass(frozen=True)
class Shape:
    """Bits of a bank's and of a row's number, and how many banks there are: of the main register file, or of
    a cache."""

    banks: int
    bank_width: int
    row_width: int

    @staticmethod
    def of(config: SmConfig, cache: bool) -> Shape:
        """Shape of the banks of the main register file, or of the cache."""
        core = config.sub_core
        if cache:
            return Shape(core.cache.registers, bits(core.cache.registers), bits(core.active_warps))
        return Shape(core.banks, core.bank_width, core.row_width)

    @staticmethod
    def with_scalar(config: SmConfig) -> Shape:
        """Of the main register file and a scalar bank, whose rows are numbered by row and bank of their
        registers."""
        core = config.sub_core
        return Shape(core.banks + 1, bits(core.banks + 1), core.row_width + core.bank_width)


class Requests(wiring.Signature):
    """The read requests of one uop (seen from who makes them): a bank and a row for each of its source slots.

    Members
    -------
    valid : Out(1). Requests are made in this cycle.
    collector : Out. For whom.
    tag : Out, if `tags` > 1. For which of the collector's uops.
    slots : Out. Source slots that are requested.
    banks, rows : Out, per slot.
    """

    def __init__(self, config: SmConfig, tags: int = 1, shape: Shape | None = None) -> None:
        core, shape = config.sub_core, shape or Shape.of(config, False)
        super().__init__(
            {
                **{name: Out(width) for name, width in tag_fields(tags).items()},
                "valid": Out(1),
                "collector": Out(core.collector_width),
                "slots": Out(core.collector.slots),
                "banks": Out(data.ArrayLayout(shape.bank_width, core.collector.slots)),
                "rows": Out(data.ArrayLayout(shape.row_width, core.collector.slots)),
            }
        )


class RequestsInterface(Interface, Protocol):
    """Interface object of the signature `Requests`."""

    tag: Signal
    valid: Signal
    collector: Signal
    slots: Signal
    banks: Record
    rows: Record


class Lookups(wiring.Signature):
    """The read requests of one uop whose operands have just been looked up (seen from who makes them): a bank
    and a row for each look-up, which may be for any of its source slots.

    Members
    -------
    valid : Out(1). Requests are made in this cycle.
    collector : Out. For whom.
    tag : Out, if `tags` > 1. For which of the collector's uops.
    slots : Out, per look-up. The source slot that it is for, one-hot; 0: it asks for nothing.
    banks : Out, per look-up. One-hot.
    rows : Out, per look-up.
    """

    def __init__(self, config: SmConfig, tags: int, shape: Shape, lookups: int) -> None:
        core = config.sub_core
        super().__init__(
            {
                **{name: Out(width) for name, width in tag_fields(tags).items()},
                "valid": Out(1),
                "collector": Out(core.collector_width),
                "slots": Out(data.ArrayLayout(core.collector.slots, lookups)),
                "banks": Out(data.ArrayLayout(shape.banks, lookups)),
                "rows": Out(data.ArrayLayout(shape.row_width, lookups)),
            }
        )


class LookupsInterface(Interface, Protocol):
    """Interface object of the signature `Lookups`."""

    tag: Signal
    valid: Signal
    collector: Signal
    slots: Record
    banks: Record
    rows: Record


class Grant(wiring.Signature):
    """Grant at a collector's port (seen from the arbiter): which bank serves it, and for which slot (and
    which uop)."""

    def __init__(self, config: SmConfig, tags: int, shape: Shape) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "bank": Out(shape.bank_width),
                "slot": Out(config.sub_core.slot_width),
                **{name: Out(width) for name, width in tag_fields(tags).items()},
            }
        )


class GrantInterface(Interface, Protocol):
    """Interface object of the signature `Grant`."""

    valid: Signal
    bank: Signal
    slot: Signal
    tag: Signal


class BankRead(wiring.Signature):
    """Read of a bank (seen from the arbiter): its row."""

    def __init__(self, shape: Shape) -> None:
        super().__init__({"valid": Out(1), "row": Out(shape.row_width)})


class BankReadInterface(Interface, Protocol):
    """Interface object of the signature `BankRead`."""

    valid: Signal
    row: Signal
