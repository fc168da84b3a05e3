"""Mutants: a component inside another one with the same ports, some of whose inputs or outputs are changed on
the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring

#: (value, ports) -> what is there instead; `ports`: the ports of the inner component.
Change = Callable[[Any, Any], Any]


def wrapped(inner: Any, **changes: Change) -> Any:
    """A component like `inner`; `changes`: name of an input or output (or of all ports of an interface) ->
    its change."""

    class Wrapped(wiring.Component):
        def __init__(self) -> None:
            super().__init__(inner.signature)

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.submodules.inner = inner
            pairs = zip(inner.signature.flatten(self), inner.signature.flatten(inner), strict=True)
            for (path, member, outer), (_, _, there) in pairs:
                source, sink = (
                    (Value.cast(outer), there) if member.flow is wiring.In else (Value.cast(there), outer)
                )
                if not isinstance(Value.cast(sink), Const):  # `ready` of a stream that is always taken
                    m.d.comb += sink.eq(changes[path[0]](source, inner) if path[0] in changes else source)
            return m

    return Wrapped()
