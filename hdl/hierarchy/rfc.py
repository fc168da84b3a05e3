"""RFC: a register file cache with tags that results are written into, without prefetch (the comparator of
LTRF)."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.hierarchy.result_cache import Offer, Operands, ResultCache
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.probe import emit
from warpbank.hdl.round_robin import first_from
from warpbank.hdl.typed import Record, record


def departing_layout(config: SmConfig) -> data.StructLayout:
    """A register that has left the cache and waits for its bank: which, and its row there."""
    core = config.sub_core
    return data.StructLayout({"warp": core.warp_width, "register": REGISTER_WIDTH, "row": core.row_width})


class Departing(wiring.Component):
    """The buffer of one bank of the main register file: a register that has left the cache.

    Parameters
    ----------
    config : the machine.

    Members
    -------
    take : In(1). `order` leaves the cache in this cycle; only if not `held`.
    order : In(departing_layout).
    value : In(value). What the cache has read: in the cycle after `take`.
    held : Out(1). A register waits, `waiting`. From registers.
    waiting : Out(departing_layout).
    carried : Out(value). Its value.
    drain : In(1). It is written into its bank.
    """

    take: Signal
    order: Record
    value: Signal
    held: Signal
    waiting: Record
    carried: Signal
    drain: Signal

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        layout, width = departing_layout(config), config.value_width
        super().__init__(
            {
                "take": In(1),
                "order": In(layout),
                "value": In(width),
                "held": Out(1),
                "waiting": Out(layout),
                "carried": Out(width),
                "drain": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fresh = Signal()  # the cache has read the value in the cycle before
        kept = Signal(self._config.value_width, reset_less=True)
        departing = record(departing_layout(self._config), reset_less=True)
        m.d.comb += [self.waiting.eq(departing), self.carried.eq(Mux(fresh, self.value, kept))]
        m.d.sync += fresh.eq(self.take)
        with m.If(fresh):
            m.d.sync += kept.eq(self.value)
        with m.If(self.take):
            m.d.sync += [self.held.eq(1), departing.eq(self.order)]
        with m.Elif(self.drain):
            m.d.sync += self.held.eq(0)
        return m


class Rfc(ResultCache):
    """A cache of the active warps' newest results. LTRF, section 2.3 and its reference 19.

    See `warpbank.golden.hierarchy.rfc.Rfc`. Parameters and members: those of
    `warpbank.hdl.hierarchy.result_cache.ResultCache`.

    Latency: an operand requested in t is looked for in t + 1, granted in t + 2 at the earliest, and delivered
    in the cycle after its grant. A register that leaves the cache in t can be written into its bank in t + 1.
    """

    def _more_events(self) -> dict[str, int]:
        return {"cache_allocate": self._entries, "cache_release": 1}

    def elaborate(self, platform: object) -> Module:
        self._tags = [TagRow(self._config) for _ in range(self._rows)]
        self._buffers = [Departing(self._config) for _ in range(self._banks)]
        m = super().elaborate(platform)
        for number, tags in enumerate(self._tags):
            m.submodules[f"tags_{number}"] = tags
        for number, buffer in enumerate(self._buffers):
            m.submodules[f"departing_{number}"] = self._build(buffer)
        self._enter(m)
        self._choose_leaver(m)
        self._drain(m)
        return m

    def _build(self, buffer: Departing) -> Elaboratable:
        """Buffer of a bank. A launch forgets what is still in it, of warps that have ended: its row may be
        somebody else's then."""
        return ResetInserter(self.launch)(buffer)

    # --- Operands.

    def _operands(self, m: Module) -> Operands:
        valid = Signal(name="looks")
        asked = record(self.read.payload.shape(), name="looked_for", reset_less=True)
        m.d.sync += [valid.eq(self.read.valid), asked.eq(self.read.payload)]
        row = self._row_of(m, asked.warp, "reader")
        for number, tags in enumerate(self._tags):
            m.d.comb += [
                tags.look.eq(valid & row[number]),
                tags.sources.eq(asked.sources),
                tags.source_valid.eq(asked.source_valid),
                tags.last.eq(asked.dead),
                tags.locked.eq(self._locks[number]),
                self._comes[number].eq(tags.matched),
            ]
        where: list[Value] = []
        hits = Signal(len(asked.source_valid), name="hits")
        for slot in range(len(asked.source_valid)):
            mask = Signal(self._entries, name=f"hit_{slot}")
            m.d.comb += [
                mask.eq(
                    reduce(
                        or_, (Mux(row[number], tags.hits[slot], 0) for number, tags in enumerate(self._tags))
                    )
                ),
                hits[slot].eq(mask.any()),
            ]
            where.append(self._number(m, mask, f"entry_of_{slot}"))
        return Operands(valid, asked, self._number(m, row, "row_read"), hits, where)

    # --- Results.

    def _offers(self, m: Module) -> list[Offer]:
        held = Array(buffer.held for buffer in self._buffers)
        lines = Array(buffer.waiting.row for buffer in self._buffers)
        found = []
        for unit, (result, bank) in enumerate(zip(self.result, self._main.bank_of, strict=True)):
            payload = result.payload
            row = self._row_of(m, payload.warp, f"unit_{unit}")
            hit, room = (Signal(self._entries, name=f"{name}_{unit}") for name in ("found", "room"))
            takes, waits = Signal(name=f"takes_{unit}"), Signal(name=f"waits_{unit}")
            m.d.comb += [tags.offered[unit].eq(payload.register) for tags in self._tags]
            m.d.comb += [
                hit.eq(
                    reduce(
                        or_, (Mux(row[number], tags.found[unit], 0) for number, tags in enumerate(self._tags))
                    )
                ),
                room.eq(
                    reduce(or_, (Mux(row[number], tags.unused, 0) for number, tags in enumerate(self._tags)))
                ),
                takes.eq((row & ~self._leaving).any() & ~payload.part),
                waits.eq(held[bank] & (lines[bank] == self._main.row_of[unit])),
            ]
            entry = self._number(m, Mux(hit.any(), hit, room), f"entry_for_{unit}")
            found.append(
                Offer(
                    result.valid & (hit.any() | takes & room.any()),
                    entry,
                    self._number(m, row, f"offset_{unit}"),
                    result.valid & ~hit.any() & ~takes & ~waits,
                )
            )
        return found

    def _enter(self, m: Module) -> None:
        """Tags of the results that are written."""
        for number, tags in enumerate(self._tags):
            m.d.comb += [
                tags.entered.eq(Cat(any_ & (offset == number) for any_, offset, _ in self._writes)),
                tags.clear.eq(self._freed[number]),
                self._empty[number].eq(Mux(self._over[number], self._quiet_rows[number], ~tags.valid.any())),
            ]
            m.d.comb += [
                tags.registers[entry].eq(payload.register)
                for entry, (_, _, payload) in enumerate(self._writes)
            ]
        if self._probe:
            valid = Array(tags.valid for tags in self._tags)
            for entry, (any_, offset, payload) in enumerate(self._writes):
                emit(
                    m,
                    self.events.cache_allocate[entry],
                    any_ & ~valid[offset][entry],
                    entry=entry,
                    offset=offset,
                    warp=payload.warp,
                    register=payload.register,
                )

    # --- Registers that leave.

    def _left(self) -> tuple[Value, Value]:
        self._departs = Signal(self._entries, name="departs")
        self._row_left = Signal(bits(self._rows), name="row_left")
        return self._departs, self._row_left

    def _choose_leaver(self, m: Module) -> None:
        """One register leaves, of the first row that has one to lose."""
        core, place = self._config.sub_core, self._main.moved[0]
        works = Signal(self._rows, name="with_work")
        m.d.comb += works.eq(
            Cat(
                self._held[row] & ~self._over[row] & (self._leaving[row] | tags.valid.all()) & tags.ripe.any()
                for row, tags in enumerate(self._tags)
            )
        )
        pointer = Signal(bits(self._rows), name="row_pointer")
        choice = first_from(m, works, pointer, "row")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        warp, register = Signal(core.warp_width, name="leaver_warp"), Signal(REGISTER_WIDTH, name="leaver")
        ripe = Signal(self._entries, name="leaver_entry")
        live, taken, goes = Signal(name="leaver_live"), Signal(name="buffer_taken"), Signal(name="goes")
        m.d.comb += [
            warp.eq(Array(self._owner)[choice.index]),
            register.eq(Array(tags.leaver for tags in self._tags)[choice.index]),
            ripe.eq(Array(tags.ripe for tags in self._tags)[choice.index]),
            live.eq(Array(tags.live for tags in self._tags)[choice.index] & place.content),
            place.warp.eq(warp),
            place.register.eq(register),
            place.goes.eq(goes & live),
            taken.eq(Array(buffer.held for buffer in self._buffers)[place.bank]),
            goes.eq(choice.any & ~(ripe & self._written).any() & ~(live & taken)),
            self._departs.eq(Mux(goes & live, ripe, 0)),
            self._row_left.eq(choice.index),
        ]
        m.d.comb += [tags.drop.eq(goes & choice.one_hot[row]) for row, tags in enumerate(self._tags)]
        self._send(m, goes & live, ripe, warp, register)
        if self._probe:
            emit(
                m,
                self.events.cache_release[0],
                goes,
                entry=self._number(m, ripe, "left_entry"),
                offset=choice.index,
                warp=warp,
                register=register,
            )

    def _send(self, m: Module, leaves: Value, entry: Value, warp: Value, register: Value) -> None:
        """Put a leaving value into the buffer of its bank; the cache's answer comes in the cycle after."""
        place = self._main.moved[0]
        left, value = (
            Signal(self._entries, name="left_before"),
            Signal(self._config.value_width, name="left_value"),
        )
        m.d.sync += left.eq(entry)
        m.d.comb += value.eq(
            reduce(or_, (Mux(left[number], found, 0) for number, found in enumerate(self._contents)))
        )
        for number, buffer in enumerate(self._buffers):
            m.d.comb += [
                buffer.take.eq(leaves & (place.bank == number)),
                buffer.order.warp.eq(warp),
                buffer.order.register.eq(register),
                buffer.order.row.eq(place.row),
                buffer.value.eq(value),
            ]

    def _drain(self, m: Module) -> None:
        """Write a value that has left the cache into its bank when no result is written."""
        for buffer, access, moving in zip(self._buffers, self._main.access, self._main.moving, strict=True):
            waiting = buffer.waiting
            m.d.comb += [
                moving.valid.eq(buffer.held),
                moving.warp.eq(waiting.warp),
                moving.register.eq(waiting.register),
            ]
            m.d.comb += [
                access.write.eq(buffer.held),
                access.row.eq(waiting.row),
                access.value.eq(buffer.carried),
                access.warp.eq(waiting.warp),
                access.register.eq(waiting.register),
                buffer.drain.eq(access.granted),
            ]
