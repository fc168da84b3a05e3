"""What is known of the values that a collector keeps, where the storage knows anything of its registers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.storage.metadata import metadata_layout


def kept_metadata_layout(parts: int) -> data.StructLayout:
    """The note of a value in a collector (`warpbank.hdl.storage.gscalar.metadata_layout`), if it is
    `known`."""
    return data.StructLayout({"known": 1, "note": metadata_layout(parts)})


def metadata_ports(config: SmConfig, parts: int) -> dict[str, Any]:
    """The port of collectors that keep metadata of values: those of what is offered for dispatch. Without
    parts there is none."""
    core = config.sub_core
    layout = kept_metadata_layout(parts)
    return {"kept": Out(layout).array(core.collectors if parts else 0, core.collector.slots)}


def keep_metadata(
    m: Module,
    parts: int,
    name: str,
    count: int,
    operand: Any,
    place: Value,
    forgotten: Value,
    wanted: list[Value],
) -> list[Value]:
    """A note beside each value of a collector: that of the operand which has arrived there, until a result is
    written into it.

    Parameters
    ----------
    parts : of a register, as they are compressed.
    name : of the memory and signals.
    count : values.
    operand, place : `warpbank.hdl.interfaces.Delivery`, an operand that arrives, and where.
    forgotten : mask of the values that are replaced or changed in this cycle.
    wanted : places of which the notes are looked up.

    Returns a `kept_metadata_layout` for each of `wanted`.
    """
    known = Signal(count, name=f"known_{name}")
    layout = metadata_layout(parts)
    notes = m.submodules[f"notes_{name}"] = Memory(shape=layout.size, depth=count, init=[])
    write_at(m, notes, place, operand.metadata.as_value(), operand.valid)
    for entry in range(count):
        with m.If(operand.valid & (place == entry)):
            m.d.sync += known[entry].eq(1)
        with m.Elif(forgotten[entry]):
            m.d.sync += known[entry].eq(0)
    return [Cat(known.bit_select(number, 1), read_at(m, notes, number)) for number in wanted]
