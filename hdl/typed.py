"""Types of Amaranth objects that its stubs leave open: records, interfaces, tables.

Nothing here exists in the circuit. A component declares its ports in its class body by these names, and
`wiring.Component` makes the signals themselves from the signature that the constructor passes on.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, cast

from amaranth.hdl import Signal, Value
from amaranth.lib import data, memory, wiring

#: A value with named fields: a view of the bits that a `StructLayout` divides.
Record: TypeAlias = "data.View[data.StructLayout]"
#: Memories of numbers, of records, and of arrays.
Numbers: TypeAlias = "memory.Memory[int, Value]"
Records: TypeAlias = "memory.Memory[data.StructLayout, Record]"
Arrays: TypeAlias = "memory.Memory[data.ArrayLayout, data.View[data.ArrayLayout]]"


class Interface(Protocol):
    """Interface object that a signature makes: a signal, a list or an interface for each member."""

    @property
    def signature(self) -> wiring.Signature:
        """The signature that made it, or that signature flipped."""


def record(layout: data.Layout, *, name: str | None = None, **options: Any) -> Record:
    """Make a signal of a layout: `Signal(layout)`, whose class is a view and not `Signal`.

    Parameters
    ----------
    layout : fields of the record.
    name : name of the signal; that of the variable it is assigned to, if None.
    options : as `Signal` takes them: `init`, `reset_less`, `attrs`.
    """
    return cast("Record", Signal(layout, name=name, src_loc_at=1, **options))


def starting_at(member: wiring.Member, value: int) -> wiring.Member:
    """Port with an initial value. The stubs leave out the argument of `wiring.Flow` that gives one."""
    port: Any = wiring.Member
    made: wiring.Member = port(member.flow, member.shape, init=value)
    return made
