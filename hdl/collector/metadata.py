"""Encoding metadata of the values that a collector keeps, where the storage compresses registers."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import DeliveryInterface
from warpbank.hdl.storage.metadata import metadata_layout


def kept_metadata_layout(parts: int) -> data.StructLayout:
    """Encoding metadata of a value in a collector, if it is `known`."""
    return data.StructLayout({"known": 1, "note": metadata_layout(parts)})


def metadata_ports(config: SmConfig, parts: int) -> dict[str, wiring.Member]:
    """Ports of collectors that keep metadata: of the operands offered for dispatch. Without parts there is
    none."""
    core = config.sub_core
    layout = kept_metadata_layout(parts)
    return {"kept": Out(layout).array(core.collectors if parts else 0, core.collector.slots)}


def keep_metadata(
    m: Module,
    parts: int,
    name: str,
    count: int,
    operand: DeliveryInterface,
    place: Value,
    forgotten: Value,
    wanted: list[Value],
) -> list[Value]:
    """Keep encoding metadata beside each value of a collector, from its operand until a result replaces it.

    Parameters
    ----------
    parts : parts of a register that are compressed by themselves.
    name : of the memory and signals.
    count : values.
    operand : `warpbank.hdl.interfaces.Delivery`, an operand that arrives.
    place : place of the value that it is for.
    forgotten : mask of the values that are replaced or changed in this cycle.
    wanted : places whose metadata is looked up.

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
