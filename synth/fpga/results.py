"""Result buffers of the demonstrator's units until the register file takes them, in the order in which their
uops leave."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.typed import Numbers


class Computed(wiring.Component):
    """FIFO of what a unit with a constant latency has computed: its uops leave in the order in which they
    entered.

    Parameters
    ----------
    width : bits of a uop's results.
    depth : uops between dispatch and last write.

    Members
    -------
    push, data : In(1), In(width). Results of the next uop, also of one that has none.
    leave : In(1). The oldest uop has been written.
    head : Out(width). Results of the oldest uop.

    Latency: what is pushed in t is at the head in t + 1 at the earliest. There is no test for an empty or a
    full queue: the pipelines know.
    """

    push: Signal
    data: Signal
    leave: Signal
    head: Signal

    def __init__(self, width: int, depth: int) -> None:
        self._depth = 1 << bits(depth)
        super().__init__({"push": In(1), "data": In(width), "leave": In(1), "head": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queue: Numbers = Memory(shape=len(self.data), depth=self._depth, init=[])
        m.submodules.queue = queue
        into, out_of = Signal(range(self._depth)), Signal(range(self._depth))
        write_at(m, queue, into, self.data, self.push)
        m.d.comb += self.head.eq(read_at(m, queue, out_of))
        m.d.sync += [into.eq(into + self.push), out_of.eq(out_of + self.leave)]
        return m


class Given(wiring.Component):
    """FIFO of what loads give: row numbers, and the row of the oldest one, read from a block RAM a cycle
    ahead.

    Parameters
    ----------
    rows : the ROM's content.
    width : bits of a row.
    depth : uops that may have returned and wait to be written.

    Members
    -------
    arrive, row : In(1), In. A uop returns, which gives this row.
    leave : In(1). The oldest one has been written.
    head : Out(width). The row of the oldest one.
    other_row, other : In, Out(width). A row for somebody else, a cycle later.

    Latency: what arrives in t is at the head in t + 1 at the earliest. There is no test for an empty or a
    full queue.
    """

    arrive: Signal
    row: Signal
    leave: Signal
    head: Signal
    other_row: Signal
    other: Signal

    def __init__(self, rows: tuple[int, ...], width: int, depth: int) -> None:
        self._rows = rows or (0,)
        self._depth = 1 << bits(depth + 1)  # never full, so that equal places mean empty
        row = bits(len(self._rows))
        super().__init__(
            {
                "arrive": In(1),
                "row": In(row),
                "leave": In(1),
                "head": Out(width),
                "other_row": In(row),
                "other": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queue: Numbers = Memory(shape=len(self.row), depth=self._depth, init=[])
        m.submodules.queue = queue
        m.submodules.rom = rom = block_rom(len(self.head), self._rows)
        into, out_of, after = (Signal(range(self._depth), name=name) for name in ("into", "out_of", "after"))
        write_at(m, queue, into, self.row, self.arrive)
        m.d.comb += after.eq(out_of + self.leave)
        m.d.sync += [into.eq(into + self.arrive), out_of.eq(after)]
        m.d.comb += [
            self.head.eq(read_next(m, rom, Mux(after == into, self.row, read_at(m, queue, after)))),
            self.other.eq(read_next(m, rom, self.other_row)),
        ]
        return m


def block_rom(width: int, rows: tuple[int, ...]) -> Numbers:
    """ROM in block RAMs."""
    return Memory(
        shape=width,
        depth=max(2, len(rows)),
        init=list(rows),
        attrs={"rom_style": "block", "ram_style": "block"},
    )


def read_next(m: Module, memory: Numbers, address: Value) -> Value:
    """Word that stands at `address`, in the next cycle."""
    port = memory.read_port(domain="sync")
    m.d.comb += [port.addr.eq(address), port.en.eq(1)]
    return port.data
