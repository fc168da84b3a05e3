"""Decompress moves: what must run before some lanes of a compressed register are written."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, MOVE, TO_BANKS, TO_COLLECTOR, Unit
from warpbank.hdl.front_end.instruction_buffer import Hazards, HazardsInterface
from warpbank.hdl.layouts import REGISTER_WIDTH, uop_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode, lowest, pick
from warpbank.hdl.typed import Interface, Record

#: Registers of a warp, and the lower bits of a register's number among those that a uop may write at once.
REGISTERS = 1 << REGISTER_WIDTH
LOW = (MAX_DESTINATIONS - 1).bit_length()


class Stored(wiring.Signature):
    """A register was written into a bank (seen from the hierarchy), and whether some of its bytes are not
    there."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "warp": Out(config.sub_core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "compressed": Out(1),
            }
        )


class StoredInterface(Interface, Protocol):
    """Interface object of the signature `Stored`."""

    valid: Signal
    warp: Signal
    register: Signal
    compressed: Signal


class DecompressMoves(wiring.Component):
    """Decompress moves: which registers of every warp are compressed, and what moves follow. G-Scalar, 3.3.

    A compressed register has lanes in the base value, so that writing some of its lanes into the banks would
    lose the others. A uop that is about to do so lets a move go first, which reads all lanes and writes them
    back as they are; the scoreboard makes the uop wait. A uop whose destinations hold nothing that any lane
    still needs goes at once.

    The table has a bit per register, in flip-flops. Every warp's first uop is looked up before it is known
    which warp issues, which then takes four bits. On a machine with an issue stage the table is read in the
    cycle before, as it will be. Whether a register is stored compressed in this cycle is known last.

    Parameters
    ----------
    config : the machine.
    banks : in which registers are compressed; 0: nothing needs a move, and nothing is built for any.
    probe : generate `events` (move).
    renames : registers change their banks, so that any port may tell of any register; False: a register is
        in the bank (register + warp) mod banks, and only that port's bits can be its.

    Members
    -------
    stored : In(Stored) per bank.
    first : In(Hazards) per warp. Registers that the warp's first uop writes, none if it needs no collector.
        With an issue stage they have stood there since the cycle before, at least, when the warp issues.
    partial : In(warps). Warps whose first uop writes some lanes of registers whose others are still needed.
    missing : In(4) per warp. Destinations of the first uop that are nowhere, so that nothing of them can be
        lost.
    warp : In. The warp that issues.
    uop : In(uop_layout). Its first uop, without hazards.
    issues : In(1). It issues in this cycle.
    goes : Out(uop_layout). What issues, if it `issues`: the uop, or a move of the first of its destinations
        that needs one.
    writes : Out(4). Which of the uop's destinations, from the first one on, are written by what issues.
    inserts : Out(1). It is a move; the uop stays where it is.

    Latency: none; what was stored in cycle t counts in t. From t + 1 on a register counts as not compressed
    that is moved in t, or that the uop of t writes first of all: what is known of one that was nowhere is of
    a value that was released, and a collector or cache may keep the new one, so that no write tells.

    Raises
    ------
    TypeError : no configuration.
    """

    stored: list[StoredInterface]
    first: list[HazardsInterface]
    partial: Signal
    missing: list[Signal]
    warp: Signal
    uop: Record
    issues: Signal
    goes: Record
    writes: Signal
    inserts: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, banks: int, probe: bool = False, renames: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Moves needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        self._renames = renames
        self._staged = config.sub_core.front_end.issue_stages > 0
        core = config.sub_core
        members = {
            "stored": In(Stored(config)).array(banks),
            "first": In(Hazards()).array(core.warps if banks else 0),
            "partial": In(core.warps if banks else 0),
            "missing": In(MAX_DESTINATIONS).array(core.warps if banks else 0),
            "warp": In(core.warp_width),
            "uop": In(uop_layout(config)),
            "issues": In(1),
            "goes": Out(uop_layout(config)),
            "writes": Out(MAX_DESTINATIONS),
            "inserts": Out(1),
        }
        if probe and banks:
            members["events"] = Out(Events(config, {"move": 1}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        uop, goes = self.uop, self.goes
        if not self.stored:
            m.d.comb += [goes.eq(uop), self.writes.eq(_first(uop.count))]
            return m
        # What is no longer compressed is entered in the table one cycle late, so that its choice and the
        # table's decoders need not fit into one; until then it stands here: a bit and a row for each column.
        cleared = Signal(MAX_DESTINATIONS, name="cleared")
        cleared_warp = Signal.like(self.warp, name="cleared_warp", reset_less=True)
        cleared_rows = [
            Signal(REGISTER_WIDTH - LOW, name=f"cleared_row_{column}", reset_less=True)
            for column in range(MAX_DESTINATIONS)
        ]
        # Modules of their own: a simulator settles the last steps without those before them.
        table, look, bypass = Module(), Module(), Module()
        m.submodules.table, m.submodules.look, m.submodules.bypass = table, look, bypass
        rows = self._table(table, cleared, cleared_warp, cleared_rows)
        looked = [self._looked(look, warp, masks) for warp, masks in enumerate(rows)]
        at = decode(m, self.warp, Const(1), len(rows), "at")
        register, needed = Signal(REGISTER_WIDTH), Signal()
        writes, move = (Signal(MAX_DESTINATIONS, name=name) for name in ("writes_of_uop", "move"))
        missing = Array(self.missing)[self.warp]
        first = Hazards().create(path=("first_of_warp",))
        for name in first.signature.members:
            values = [Value.cast(getattr(each, name)) for each in self.first]
            m.d.comb += Value.cast(getattr(first, name)).eq(pick(at, values))
        late: Value = Const(0, MAX_DESTINATIONS)
        if not self._staged:  # else no warp issues in the cycle after its own: nothing of it is to be cleared
            held = _rows(m, first.destination, "held")
            late = Cat(
                bit & (cleared_warp == self.warp) & (row == place)
                for bit, row, place in zip(cleared, cleared_rows, held, strict=True)
            )
        found = self._chosen(bypass, first, missing, pick(at, looked), late)
        m.d.comb += [move.eq(found), needed.eq(found.any() & (at & self.partial).any())]
        # Whether the uop issues is known last: what goes does not wait for that.
        m.d.comb += [
            writes.eq(_first(uop.count)),
            register.eq(pick(move, [uop.destination + number for number in range(MAX_DESTINATIONS)])),
            self.inserts.eq(needed & self.issues),
            self.writes.eq(Mux(needed, move, writes)),
            goes.eq(uop),
        ]
        # Without renaming no register is nowhere.
        begins = writes & missing if self._renames else Const(0, MAX_DESTINATIONS)
        ends = _turned(Mux(needed, move, begins), uop.destination[:LOW])
        m.d.sync += [
            cleared.eq(Mux(self.issues, ends, 0)),
            cleared_warp.eq(self.warp),
            *(
                row.eq(place)
                for row, place in zip(cleared_rows, _rows(m, uop.destination, "uop"), strict=True)
            ),
        ]
        with m.If(needed):
            m.d.comb += [
                goes.eq(0),
                goes.seq.eq(uop.seq | MOVE),
                goes.pc.eq(uop.pc),
                goes.unit.eq(Unit.ALU),
                goes.sources[0].eq(register),
                goes.source_valid.eq(1),
                goes.destination.eq(register),
                goes.count.eq(1),
                goes.mask.eq(self._config.lane_mask),
                goes.collects.eq(uop.collects),  # 1: no other uop needs a move
                goes.write_back.eq(TO_COLLECTOR | TO_BANKS),
            ]
        if self._probe:
            emit(m, self.events.move[0], self.inserts, warp=self.warp, seq=goes.seq, register=register)
        return m

    def _looked(self, m: Module, warp: int, rows: tuple[Signal, Signal]) -> Signal:
        """Table entries of the registers that a warp's first uop writes, each in its column (`_rows`), in the
        cycle in which it may issue. `rows`: the warp's mask in this cycle and in the next one."""
        row, coming = rows
        looked = Signal(MAX_DESTINATIONS, name=f"looked_{warp}", reset_less=True)
        domain = m.d.sync if self._staged else m.d.comb
        first = self.first[warp].destination
        domain += looked.eq(_look(m, coming if self._staged else row, first, str(warp)))
        return looked

    def _chosen(
        self, m: Module, first: HazardsInterface, missing: Value, looked: Value, late: Value
    ) -> Signal:
        """Mask of the first register that the uop of `warp` writes and that is compressed.

        Parameters
        ----------
        first : its registers.
        missing : those that are nowhere.
        looked : what the table says of them, in their columns.
        late : columns of what is still to be cleared in the table.
        """
        known, chosen = (Signal(MAX_DESTINATIONS, name=name) for name in ("known", "chosen"))
        old = _turned(looked & ~late, first.destination[:LOW], back=True)
        for number in range(MAX_DESTINATIONS):
            place = first.registers[MAX_SOURCES + number]
            new = [port.valid & (port.warp == self.warp) & (port.register == place) for port in self.stored]
            compressed = [hit & stored.compressed for hit, stored in zip(new, self.stored, strict=True)]
            m.d.comb += known[number].eq(Cat(compressed).any() | old[number] & ~Cat(new).any())
        m.d.comb += chosen.eq(lowest(known & _first(first.count) & ~missing))
        return chosen

    def _table(
        self, m: Module, cleared: Value, cleared_warp: Value, cleared_rows: list[Signal]
    ) -> list[tuple[Signal, Signal]]:
        """Compressed registers of every warp, a mask each, and those of the next cycle, without the one in a
        row of each column that is `cleared`. A register that is stored in the cycle after its move is as it
        was stored."""
        warps, banks = self._config.sub_core.warps, len(self.stored)
        shift = 0 if self._renames else banks.bit_length() - 1
        lines = [decode(m, p.warp, p.valid, warps, f"line_{n}") for n, p in enumerate(self.stored)]
        columns = [
            decode(m, p.register >> shift, Const(1), REGISTERS >> shift, f"column_{n}")
            for n, p in enumerate(self.stored)
        ]
        line = decode(m, cleared_warp, cleared.any(), warps, "cleared_line")
        found = [
            decode(m, row, bit, REGISTERS >> LOW, f"cleared_in_{number}")
            for number, (row, bit) in enumerate(zip(cleared_rows, cleared, strict=True))
        ]
        column = Signal(REGISTERS, name="cleared_column")
        m.d.comb += column.eq(Cat(found[r % MAX_DESTINATIONS][r >> LOW] for r in range(REGISTERS)))
        rows = []
        for warp in range(warps):
            row = Signal(REGISTERS, name=f"compressed_{warp}", reset_less=True)
            coming = Signal(REGISTERS, name=f"coming_{warp}")
            hit, set_ = (Signal(REGISTERS, name=f"{name}_{warp}") for name in ("hit", "set"))
            here, packed = (
                [Signal(REGISTERS >> shift, name=f"{name}_{warp}_{n}") for n in range(banks)]
                for name in ("here", "packed")
            )
            for n, stored in enumerate(self.stored):
                m.d.comb += [
                    here[n].eq(Mux(lines[n][warp], columns[n], 0)),
                    packed[n].eq(Mux(stored.compressed, here[n], 0)),
                ]
            for mask, parts in ((hit, here), (set_, packed)):
                m.d.comb += mask.eq(
                    reduce(or_, parts)
                    if self._renames
                    else Cat(parts[(r + warp) % banks][r >> shift] for r in range(REGISTERS))
                )
            m.d.comb += coming.eq(set_ | row & ~hit & ~Mux(line[warp], column, 0))
            m.d.sync += row.eq(coming)
            rows.append((row, coming))
        return rows


def _look(m: Module, row: Value, first: Value, name: str) -> Value:
    """Bits of the registers from `first` on, as many as a uop may write, each in its column (`_places`).

    The number is decoded before it is counted up, which turns its masks by one and waits for no carry.
    """
    low, group = first[:LOW], first[LOW:]
    half = len(group) // 2
    inner = decode(m, group[:half], Const(1), 1 << half, f"inner_{name}")
    outer = decode(m, group[half:], Const(1), 1 << len(group) - half, f"outer_{name}")
    next_inner = inner.rotate_left(1)
    next_outer = Mux(inner[-1], outer.rotate_left(1), outer)
    found = []
    for column in range(MAX_DESTINATIONS):
        behind, within, above = (
            Signal(size, name=f"{kind}_{name}_{column}")
            for kind, size in (("behind", 1), ("within", len(inner)), ("above", len(outer)))
        )
        m.d.comb += [
            behind.eq(low > column),
            within.eq(Mux(behind, next_inner, inner)),
            above.eq(Mux(behind, next_outer, outer)),
        ]
        bits = Cat(row[column::MAX_DESTINATIONS])
        parts = [(bits.word_select(number, len(inner)) & within).any() for number in range(len(outer))]
        found.append((Cat(parts) & above).any())
    return Cat(found)


def _first(count: Value) -> Value:
    """Mask of as many of a uop's destinations as it has."""
    return Cat(number < count for number in range(MAX_DESTINATIONS))


def _turned(mask: Value, begin: Value, back: bool = False) -> Value:
    """Mask of a uop's destinations, the first one lowest, by the lower bits of their numbers (`_rows`), or
    `back`."""
    turn = mask.rotate_right if back else mask.rotate_left
    return Array(turn(start) for start in range(MAX_DESTINATIONS))[begin]


def _rows(m: Module, first: Value, name: str) -> list[Value]:
    """Upper bits of the numbers of the registers from `first` on, as many as a uop may write, by their lower
    bits; register 0 follows the last one.

    So each stands in a column of its own, in the row of `first` or in the next one, and nothing is added to
    lower bits.
    """
    low, row = first[:LOW], first[LOW:]
    following = Signal(len(row), name=f"row_after_{name}")
    m.d.comb += following.eq(row + 1)
    return [Mux(low > column, following, row) for column in range(MAX_DESTINATIONS)]
