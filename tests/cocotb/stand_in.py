"""Amaranth's simulator, played by cocotb: a bench written for the one drives exported Verilog through the
other.

The benches of tests/hdl compare a component with its golden twin through three calls: `set`, `get` and
`tick`. `Simulator` here offers the same three on the Verilog that cocotb has loaded, so every unit has one
scenario and two simulators. The component that a bench makes is never elaborated: it only tells which port
has which name.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator
from enum import Enum
from pathlib import Path
from typing import Any

import cocotb
from amaranth.hdl import Const, Value
from amaranth.hdl._ast import Concat, Signal, Slice
from amaranth.lib import data, enum
from amaranth.lib.wiring import In
from cocotb._bridge import resume
from cocotb.triggers import Timer

from tests.cocotb.functional import Coverage


@resume
async def _wait() -> None:
    """Time passes: what was written is there, and all that follows from it combinationally."""
    await Timer(1, "step")


class _Tick:
    """What `await ctx.tick()` waits for."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Context:
    """`set`, `get` and `tick` on the loaded Verilog."""

    def __init__(self, component: Any) -> None:
        self._handles = {}
        for name in ("clk", "rst"):
            if hasattr(cocotb.top, name):
                getattr(cocotb.top, name).value = 0
        for path, member, port in component.signature.flatten(component):
            signal = Value.cast(port)
            if isinstance(signal, Signal):
                handle = self._handles[id(signal)] = getattr(
                    cocotb.top, "__".join(str(part) for part in path), None
                )
                if member.flow is In and handle is not None:
                    handle.value = 0
        self._written: dict[int, int] = {}
        self._settled = False

    def set(self, port: Any, value: Any) -> None:
        """Set an input, or some bits of one."""
        target = Value.cast(port)
        if isinstance(value, Enum):
            value = value.value
        shape = port.shape() if hasattr(port, "shape") else None
        if isinstance(shape, data.Layout) and not isinstance(value, (int, Value)):
            value = value.as_bits() if isinstance(value, data.Const) else shape.const(value).as_bits()
        number = int(value) & ((1 << len(target)) - 1)
        start, signal = 0, target
        while isinstance(signal, Slice):
            start, signal = start + signal.start, signal.value
        whole = self._written.get(id(signal), 0)
        mask = ((1 << len(target)) - 1) << start
        whole = whole & ~mask | number << start
        if self._written.get(id(signal)) != whole:
            self._written[id(signal)] = whole
            handle = self._handles[id(signal)]
            if handle is not None:  # Yosys drops a port of no bits
                handle.value = whole
            self._settled = False

    def get(self, port: Any) -> Any:
        """Read a port, or part of one."""
        if not self._settled:
            _wait()
            self._settled = True
        number = self._bits(Value.cast(port))
        shape = port.shape()
        if isinstance(shape, data.Layout):
            return shape.from_bits(number)
        if isinstance(shape, enum.EnumType):
            return shape(number)
        return number

    def _bits(self, value: Value) -> int:
        if isinstance(value, Signal):
            handle = self._handles[id(value)]
            if handle is None:  # Yosys drops a port of no bits
                return 0
            return int(handle.value.to_unsigned()) if len(value) > 1 or len(handle) > 1 else int(handle.value)
        if isinstance(value, Slice):
            return self._bits(value.value) >> value.start & ((1 << len(value)) - 1)
        if isinstance(value, Const):
            return value.value
        if isinstance(value, Concat):
            number, at = 0, 0
            for part in value.parts:
                number |= self._bits(part) << at
                at += len(part)
            return number
        raise TypeError(f"a bench may read ports and parts of them, not {value!r}")

    def tick(self) -> _Tick:
        """The next clock edge."""
        return _Tick()

    def edge(self) -> None:
        """Give the clock edge that a bench waits for."""
        _wait()
        cocotb.top.clk.value = 1
        _wait()
        cocotb.top.clk.value = 0
        self._settled = False


class Simulator:
    """In the place of `amaranth.sim.Simulator`, within a thread of `cocotb.bridge`."""

    def __init__(self, component: Any) -> None:
        self._context = Context(component)
        folder = os.environ.get("WARPBANK_COVERAGE")  # where to write what the bench reached
        self._written = Path(folder) / f"{cocotb.top._name}-{os.getpid()}.yml" if folder else None
        self._coverage = Coverage(cocotb.top._name, component, self._context.get) if folder else None
        self._bench: Callable[[Any], Awaitable[None]] | None = None

    def add_clock(self, period: float) -> None:
        """There is one clock, `clk`, and a bench's `tick` gives its edges."""

    def add_testbench(self, bench: Callable[[Any], Awaitable[None]]) -> None:
        """The coroutine to run."""
        self._bench = bench

    def run(self) -> None:
        """Run the bench to its end. Everything begins as the declarations in the Verilog say; reset is not
        given."""
        assert self._bench is not None
        for _ in self._bench(self._context).__await__():
            if self._coverage is not None:
                self._coverage.sample()
            self._context.edge()
        if self._coverage is not None and self._written is not None:
            self._coverage.write(self._written)
