"""RTL of the zero-register storage."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.probe import EventsInterface, emit
from warpbank.hdl.storage.arrays import WORD_LANES, count, groups
from warpbank.hdl.storage.banks import Banks


class ZeroRegistersRtl(Banks):
    """Plain banks in RTL with a bit per row that tells that all lanes are zero: a memory `zeros_<number>`
    beside each bank, looked up in the cycle of the access.

    Ports and latency are those of `Banks`.
    """

    events: EventsInterface

    def _reported(self) -> dict[str, int]:
        """Accesses of every bank's arrays."""
        return {"array_read": self._config.sub_core.banks, "array_write": self._config.sub_core.banks}

    def _memory(self, m: Module, number: int) -> Value:
        """A bank and its bits. Returns what was read last."""
        config, bank = self._config, self.bank[number]
        rows, width = config.sub_core.rows, config.value_width
        memory = m.submodules[f"bank_{number}"] = Memory(shape=width, depth=rows, init=[])
        zeros = m.submodules[f"zeros_{number}"] = Memory(shape=1, depth=rows, init=[])
        read, write = memory.read_port(), memory.write_port(granularity=32)
        before, zero, found = (Signal(name=f"{name}_{number}") for name in ("before", "zero", "found"))
        value, lanes = Signal(width, name=f"value_{number}"), Signal(config.lanes, name=f"lanes_{number}")
        m.d.comb += [
            before.eq(read_at(m, zeros, bank.row)),
            value.eq(bank.value & Cat(lane.replicate(32) for lane in bank.mask)),
            zero.eq(~value.any() & (before | bank.mask.all())),
            lanes.eq(Mux(zero, 0, Mux(before, -1, bank.mask))),
            read.addr.eq(bank.row),
            read.en.eq(bank.read & ~before),
            write.addr.eq(bank.row),
            write.data.eq(value),
            write.en.eq(Mux(bank.write, lanes, 0)),
        ]
        write_at(m, zeros, bank.row, zero, bank.write)
        with m.If(bank.read):
            m.d.sync += found.eq(before)
        if self._probe:
            every = -(-config.lanes // WORD_LANES)
            for event, valid, none, arrays, plain in (
                (self.events.array_read[number], bank.read, before, Mux(before, 0, every), every),
                (
                    self.events.array_write[number],
                    bank.write,
                    zero,
                    count(groups(lanes, WORD_LANES)),
                    count(groups(bank.mask, WORD_LANES)),
                ),
            ):
                code = none.replicate(4)
                emit(m, event, valid, bank=number, divergent=0, enc=code, arrays=arrays, plain=plain)
        return Mux(found, 0, read.data)
