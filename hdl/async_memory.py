"""Asynchronous access to `lib.memory` memories: tables that are looked up within a cycle."""

from __future__ import annotations

from typing import Any, TypeVar

from amaranth.hdl import Module, Value, ValueCastable, ValueLike
from amaranth.lib.memory import Memory

#: What a row of a memory is: a number or a record.
_Row = TypeVar("_Row", bound=Value | ValueCastable)


def read_at(m: Module, memory: Memory[Any, _Row], address: ValueLike) -> _Row:
    """Row of `memory` at `address`, in the same cycle."""
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(address)
    return port.data


def write_at(m: Module, memory: Memory, address: ValueLike, value: ValueLike, enable: ValueLike) -> None:
    """Write `value` at `address` of `memory` where `enable`, to be seen from the next cycle on."""
    port = memory.write_port()
    m.d.comb += [port.addr.eq(address), Value.cast(port.data).eq(value), port.en.eq(enable)]
