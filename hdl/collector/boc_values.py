"""Values in a bypassing operand collector, and the results that are on their way into one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import BOC_READS, BOC_RESULTS, SmConfig, bits
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.interfaces import DeliveryInterface, WriteBackInterface
from warpbank.hdl.round_robin import encode
from warpbank.hdl.typed import Numbers


class Late:
    """Results of a sub-core that wait until they are written into their collectors, two at most.

    A result is written in the cycle after it was taken, so that to find its entry and to write it need not
    fit into one. It waits longer while operands arrive at its collector, whose memory has one write port.

    Parameters
    ----------
    config : the machine.
    warps : collectors.
    entries : of each collector.

    Attributes
    ----------
    full : no result can be taken in this cycle; from registers.
    first : the result that is written next.
    goes : it is written in this cycle.
    slots : places of the queue, the next one first.
    """

    def __init__(self, m: Module, config: SmConfig, warps: int, entries: int) -> None:
        self._entries = entries
        self.slots = [Waiting(config, warps, entries, str(place)) for place in range(BOC_RESULTS)]
        self.first, second = self.slots
        self.full = second.valid
        self.goes = Signal(name="late_goes")
        self._came = [Signal(entries, name=f"late_came_{warp}") for warp in range(warps)]

    def take(
        self,
        m: Module,
        entries: Sequence[Value],
        write: WriteBackInterface,
        busy: Sequence[DeliveryInterface],
    ) -> None:
        """Take a result.

        Parameters
        ----------
        entries : per collector, the mask of the entry that it is for.
        write : the result.
        busy : operands that arrive.
        """
        first, second = self.slots
        blocked = (first.warp & Cat([delivery.valid for delivery in busy])).any()
        m.d.comb += self.goes.eq(first.valid & ~blocked)
        m.d.comb += [
            came.eq(Mux(write.valid, entry, 0)) for came, entry in zip(self._came, entries, strict=True)
        ]
        stays = first.valid & ~self.goes
        m.d.sync += [
            first.valid.eq(stays | second.valid | write.valid),
            second.valid.eq(stays & (second.valid | write.valid)),
        ]
        into_first, into_second = write.valid & ~stays, write.valid & stays
        with m.If(self.goes & second.valid):
            first.copy(m, second)
        with m.Elif(into_first):
            first.load(m, entries, write)
        with m.If(into_second):
            second.load(m, entries, write)

    def waits(self, warp: int) -> Value:
        """Mask of a collector's entries for which a result waits in the next cycle."""
        first, second = self.slots
        return (
            Mux(first.valid & ~self.goes & first.warp[warp], first.entry, 0)
            | Mux(second.valid & second.warp[warp], second.entry, 0)
            | self._came[warp]
        )

    def written(self, m: Module, warp: int) -> Signal:
        """Mask of the entry of a collector that is written in this cycle, if no other result waits for it."""
        first, second = self.slots
        mask = Signal(self._entries, name=f"written_{warp}")
        again = Mux(second.valid & second.warp[warp], second.entry, 0)
        m.d.comb += mask.eq(Mux(self.goes & first.warp[warp], first.entry, 0) & ~again)
        return mask


class Waiting:
    """Result that waits to be written.

    Parameters
    ----------
    config : the machine.
    warps, entries : collectors, and entries of each.
    name : of the signals.

    Attributes
    ----------
    valid : there is one.
    warp : mask: its collector.
    entry, place : its entry, as a mask and as a number.
    lanes, value : what is written.
    """

    def __init__(self, config: SmConfig, warps: int, entries: int, name: str) -> None:
        self.valid = Signal(name=f"late_{name}")
        self.warp = Signal(warps, name=f"late_warp_{name}", reset_less=True)
        self.entry = Signal(entries, name=f"late_entry_{name}", reset_less=True)
        self.place = Signal(bits(entries), name=f"late_place_{name}", reset_less=True)
        self.lanes = Signal(config.lanes, name=f"late_lanes_{name}", reset_less=True)
        self.value = Signal(config.value_width, name=f"late_value_{name}", reset_less=True)

    def copy(self, m: Module, other: Waiting) -> None:
        """Take what stands in another place."""
        m.d.sync += [
            getattr(self, name).eq(getattr(other, name))
            for name in ("warp", "entry", "place", "lanes", "value")
        ]

    def load(self, m: Module, entries: Sequence[Value], write: WriteBackInterface) -> None:
        """Take a result for the entry that the masks `entries` name, one per collector."""
        entry = reduce(or_, entries)
        m.d.sync += [
            self.warp.eq(Cat([mask.any() for mask in entries])),
            self.entry.eq(entry),
            self.place.eq(encode(entry)),
            self.lanes.eq(write.mask),
            self.value.eq(write.value),
        ]


class Values:
    """Value memory of one collector: `BOC_READS` read ports, and one write port, operands before results.

    Parameters
    ----------
    config : the machine.
    entries : values.
    name : of the memory.

    Attributes
    ----------
    places : number of the entry that each port reads, to be driven.
    values : what they read.
    """

    def __init__(self, m: Module, config: SmConfig, entries: int, name: str) -> None:
        self.memory: Numbers = Memory(shape=config.value_width, depth=entries, init=[])
        m.submodules[f"slots_{name}"] = self.memory
        self._lanes, self._lane = config.lanes, config.value_width // config.lanes
        self.places = [Signal(bits(entries), name=f"read_{name}_{port}") for port in range(BOC_READS)]
        self.values = [read_at(m, self.memory, place) for place in self.places]

    def write(
        self, m: Module, place: Value, operand: DeliveryInterface, result: Waiting, goes: Value
    ) -> None:
        """Write an operand that arrives, or else the result, if it `goes`."""
        port = self.memory.write_port(granularity=self._lane)
        every = (1 << self._lanes) - 1
        m.d.comb += [
            port.addr.eq(Mux(operand.valid, place, result.place)),
            port.data.eq(Mux(operand.valid, operand.value, result.value)),
            port.en.eq(Mux(operand.valid, every, Mux(goes, result.lanes, 0))),
        ]

    def at(self, m: Module, place: Value) -> Value:
        """Value of the entry number `place`, on a port of its own, for a testbench."""
        return read_at(m, self.memory, place)
