"""Values in a bypassing operand collector, and the result that is on its way into them."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import WriteBackInterface
from warpbank.hdl.round_robin import encode
from warpbank.hdl.typed import Numbers


class Values:
    """Value memory of one collector, with a port for operands and one for results.

    A result is written in two cycles, so that to find its entry and to write it need not fit into one: it
    goes into a register, and from there into its entry, lanes of its mask only. Whoever reads the entry in
    the cycle between takes those lanes from the register, so that a result stands in its entry from the next
    cycle on for all who ask.

    Parameters
    ----------
    config : the machine.
    entries : values.
    name : of the memory and signals.

    Attributes
    ----------
    late : a result is in the register.
    place : number of its entry.
    entry : mask of its entry, 0 if there is none.
    """

    def __init__(self, m: Module, config: SmConfig, entries: int, name: str) -> None:
        self._memory: Numbers = Memory(shape=config.value_width, depth=entries, init=[])
        m.submodules[f"slots_{name}"] = self._memory
        self._lane = config.value_width // config.lanes
        self.late = Signal(name=f"late_{name}")
        self.place = Signal(bits(entries), name=f"late_place_{name}", reset_less=True)
        self.entry = Signal(entries, name=f"late_entry_{name}")
        self._mask = Signal(config.lanes, name=f"late_lanes_{name}", reset_less=True)
        self._value = Signal(config.value_width, name=f"late_value_{name}", reset_less=True)

    def write_operand(self, m: Module, place: Value, value: Value, enable: Value) -> None:
        """Write an operand in the cycle in which it arrives."""
        write_at(m, self._memory, place, value, enable)

    def write_result(self, m: Module, entry: Value, write: WriteBackInterface) -> None:
        """Write the result `write` into the entry of the mask `entry`."""
        m.d.sync += [self.late.eq(write.valid), self.entry.eq(Mux(write.valid, entry, 0))]
        with m.If(write.valid):
            m.d.sync += [self.place.eq(encode(entry)), self._mask.eq(write.mask), self._value.eq(write.value)]
        port = self._memory.write_port(granularity=self._lane)
        m.d.comb += [
            port.addr.eq(self.place),
            port.data.eq(self._value),
            port.en.eq(Mux(self.late, self._mask, 0)),
        ]

    def at(self, m: Module, place: Value) -> Value:
        """Value of the entry number `place`."""
        return reduce(or_, self.parts(m, place, self.late & (self.place == place), Const(1)))

    def parts(self, m: Module, place: Value, fresh: Value, wanted: Value) -> tuple[Value, Value]:
        """Two parts of an entry's value, to be ored: what has been written, and what is on its way.

        Other lanes are 0; all lanes are 0 if the value is not `wanted`.

        Parameters
        ----------
        place : number of the entry.
        fresh : the register holds a result for that entry.
        wanted : the value is asked for.
        """
        old, new = Signal.like(self._mask), Signal.like(self._mask)
        m.d.comb += [
            new.eq(Mux(wanted & fresh, self._mask, 0)),
            old.eq(Mux(wanted, ~Mux(fresh, self._mask, 0), 0)),
        ]
        return read_at(m, self._memory, place) & self._whole(old), self._value & self._whole(new)

    def _whole(self, lanes: Signal) -> Value:
        """Mask of all bits of `lanes`."""
        return Cat(lane.replicate(self._lane) for lane in lanes)
