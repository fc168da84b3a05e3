"""Asynchronous access to `lib.memory` memories: tables that are looked up within a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib.memory import Memory


def read_at(m: Module, memory: Memory, address: Any) -> Any:
    """What stands at `address`, in the same cycle."""
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(address)
    return port.data


def write_at(m: Module, memory: Memory, address: Any, value: Any, enable: Value) -> None:
    """Write `value` at `address` where `enable`, to be seen from the next cycle on."""
    port = memory.write_port()
    m.d.comb += [port.addr.eq(address), port.data.eq(value), port.en.eq(enable)]
