"""The warp control blocks: where the active warps' registers are, which they need, and which are alive (LTRF,
figure 7)."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.interfaces import REGISTER_WIDTH, AlwaysInterface, issue_stream
from warpbank.hdl.round_robin import chosen, first_from
from warpbank.hdl.typed import Interface


class Find(wiring.Signature):
    """Look-up of a register's place (seen from who asks). Combinational, from registers.

    Members
    -------
    warp, register : Out.
    placed : In(1). It has a place in the cache.
    entry, offset : In. Which, if so: bank and row.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "placed": In(1),
                "entry": In(bits(core.cache.registers)),
                "offset": In(bits(core.active_warps)),
            }
        )


class FindInterface(Interface, Protocol):
    """Interface object of the signature `Find`."""

    warp: Signal
    register: Signal
    placed: Signal
    entry: Signal
    offset: Signal


class WarpControlBlocks(wiring.Component):
    """Warp control blocks: the state of the warps and their registers, and which register moves next. LTRF,
    sections 4.1 and 4.2.

    The working set and the liveness bits of the warps that are in the cache are registers, one set per row of
    the cache; those of the others wait in a memory. The register cache address tables are one memory, a part
    of it per row. A row has an address allocation unit for the banks; one for all gives the rows to the
    warps. While a warp is not in the cache all its banks would be unused, so that a unit per row does for a
    unit per warp.

    Parameters
    ----------
    config : the machine: cache, active warps.
    ports : registers that are looked for at a time.
    liveness : track which registers are alive (LTRF+); else all of them always are, until the warp ends.

    Members
    -------
    start : In(warps). New warps: they are in no interval, and nothing of them is alive.
    activate : In(1). `activated` gets a row; only if `may_activate` has it.
    activated : In.
    deactivate, ended : In(warps). The registers of these warps leave; those of the second mask have issued
        their last uop.
    may_issue, may_activate : Out(warps). The cache holds what the warp's interval needs, and nothing else of
        it; the warp could be given a row. From registers.
    quiet : In(warps). All operands of the warp's issued uops have been read.
    issue : In(issue_stream). What it reads for the last time and writes (LTRF+).
    prefetch : In(1). Warp `prefetching` enters an interval with the working set `registers`.
    prefetching, registers : In.
    find : In(Find) per port.
    inbound, carried : In(rows). Rows of which a register is on its way into the cache; on its way at all.
    works : Out(1). A register could be moved: that of row `offset`, warp `warp`. From registers, as all that
        follow.
    leaves, live : Out(1). It leaves the cache; it has to be moved, not only to lose or be given its place.
    warp, moved, entry, offset : Out. Which register of which warp, and its place.
    goes : In(1). It sets off in this cycle.
    freed : Out(1). Nothing is left of warp `freed_warp` in row `freed_offset`, which is free from the next
        cycle on.
    freed_warp, freed_offset : Out.
    """

    start: Signal
    activate: Signal
    activated: Signal
    deactivate: Signal
    ended: Signal
    may_issue: Signal
    may_activate: Signal
    quiet: Signal
    issue: AlwaysInterface
    prefetch: Signal
    prefetching: Signal
    registers: Signal
    find: list[FindInterface]
    inbound: Signal
    carried: Signal
    works: Signal
    leaves: Signal
    live: Signal
    warp: Signal
    moved: Signal
    entry: Signal
    offset: Signal
    goes: Signal
    freed: Signal
    freed_warp: Signal
    freed_offset: Signal

    #: Of a warp. The proofs make it smaller.
    registers_per_warp = 1 << REGISTER_WIDTH

    def __init__(self, config: SmConfig, ports: int, liveness: bool) -> None:
        self._config, self._ports, self._liveness = config, ports, liveness
        core = config.sub_core
        self._rows = core.active_warps
        offset, warp = bits(self._rows), core.warp_width
        super().__init__(
            {
                "start": In(core.warps),
                "activate": In(1),
                "activated": In(warp),
                "deactivate": In(core.warps),
                "ended": In(core.warps),
                "may_issue": Out(core.warps),
                "may_activate": Out(core.warps),
                "quiet": In(core.warps),
                "issue": In(issue_stream(config)),
                "prefetch": In(1),
                "prefetching": In(warp),
                "registers": In(self.registers_per_warp),
                "find": In(Find(config)).array(ports),
                "inbound": In(self._rows),
                "carried": In(self._rows),
                "works": Out(1),
                "leaves": Out(1),
                "live": Out(1),
                "warp": Out(warp),
                "moved": Out(REGISTER_WIDTH),
                "entry": Out(bits(core.cache.registers)),
                "offset": Out(offset),
                "goes": In(1),
                "freed": Out(1),
                "freed_warp": Out(warp),
                "freed_offset": Out(offset),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core, rows, registers = self._config.sub_core, self._rows, self.registers_per_warp
        m.submodules.offsets = self._offsets = AddressAllocation(rows)
        self._owner = [Signal(core.warp_width, name=f"owner_{row}", reset_less=True) for row in range(rows)]
        self._leaving = Signal(rows)
        self._placed, self._working, self._alive = (
            [Signal(registers, name=f"{name}_{row}") for row in range(rows)]
            for name in ("placed", "working", "alive")
        )
        self._held = self._offsets.occupied
        self._table = m.submodules.table = Memory(
            shape=bits(core.cache.registers), depth=rows * registers, init=[]
        )
        self._units = [AddressAllocation(core.cache.registers) for _ in range(rows)]
        for row, unit in enumerate(self._units):
            m.submodules[f"banks_{row}"] = unit
        targets = [Mux(self._leaving[row], 0, working) for row, working in enumerate(self._working)]
        self._choose(m, targets)
        self._warps(m)
        if self._liveness:
            self._accessed(m)
        for row in range(rows):
            self._row(m, row)
        self._ask(m)
        return m

    def _is(self, row: int, warp: Value) -> Value:
        """The row is that of `warp`."""
        return self._held[row] & (self._owner[row] == warp)

    def _mask(self, m: Module, rows: Value, name: str) -> Signal:
        """The warps of these rows."""
        mask = Signal(self._config.sub_core.warps, name=name)
        value: Value = Mux(rows[0], 1 << self._owner[0], 0)
        for row in range(1, self._rows):
            value = value | Mux(rows[row], 1 << self._owner[row], 0)
        m.d.comb += mask.eq(value)
        return mask

    # --- What is moved.

    def _choose(self, m: Module, targets: list[Value]) -> None:
        """The row whose turn it is, and its first register: one that leaves, else one that comes."""
        rows, works, registers = self._rows, Signal(self._rows, name="with_work"), self.registers_per_warp
        out, into = (
            [Signal(registers, name=f"{name}_{row}") for row in range(rows)] for name in ("out", "into")
        )
        for row, (placed, target) in enumerate(zip(self._placed, targets, strict=True)):
            quiet = Signal(name=f"quiet_{row}")
            m.d.comb += [
                out[row].eq(placed & ~target),
                into[row].eq(target & ~placed),
                quiet.eq(self.quiet.bit_select(self._owner[row], 1)),
                works[row].eq(
                    self._held[row]
                    & Mux(
                        out[row].any(),
                        ~self._leaving[row] | quiet,
                        into[row].any() & self._units[row].available,
                    )
                ),
            ]
        pointer = Signal(range(rows), name="move_pointer")
        choice = first_from(m, works, pointer, "row")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        mask = Signal(registers, name="movable")
        row_out = Signal(registers, name="row_out")
        m.d.comb += [
            row_out.eq(Array(out)[choice.index]),
            mask.eq(Mux(self.leaves, row_out, Array(into)[choice.index])),
        ]
        register = chosen(m, mask, "moved")
        place = read_at(m, self._table, self._address(self.moved, choice.index))
        heads = Array(unit.head for unit in self._units)
        m.d.comb += [
            self.works.eq(choice.any),
            self.leaves.eq(row_out.any()),
            self.offset.eq(choice.index),
            self.warp.eq(Array(self._owner)[choice.index]),
            self.moved.eq(register.index),
            self.live.eq((Array(self._alive)[choice.index] & register.one_hot).any()),
            self.entry.eq(Mux(self.leaves, place, heads[choice.index])),
        ]
        self._moved = register.one_hot
        write_at(m, self._table, self._address(self.moved, self.offset), self.entry, self.goes & ~self.leaves)

    def _address(self, register: Value, row: Value) -> Value:
        """Where the register cache address table of a row has the register."""
        return Cat(register[: bits(self.registers_per_warp)], row if self._rows > 1 else 0)

    # --- Warps that come and go.

    def _warps(self, m: Module) -> None:
        """Rows are given out and given back."""
        core, rows, offsets, registers = (
            self._config.sub_core,
            self._rows,
            self._offsets,
            self.registers_per_warp,
        )
        here = self._mask(m, self._held, "in_the_cache")
        complete, empty = Signal(rows, name="complete"), Signal(rows, name="empty")
        for row, (placed, working) in enumerate(zip(self._placed, self._working, strict=True)):
            m.d.comb += [
                complete[row].eq(
                    self._held[row] & ~self._leaving[row] & (placed == working) & ~self.inbound[row]
                ),
                empty[row].eq(self._held[row] & self._leaving[row] & ~placed.any() & ~self.carried[row]),
            ]
        m.d.comb += [
            self.may_issue.eq(self._mask(m, complete, "complete_warps")),
            self.may_activate.eq(Mux(offsets.available, ~here, 0)),
        ]
        choice = chosen(m, empty, "freed_row")
        m.d.comb += [
            self.freed.eq(choice.any),
            self.freed_offset.eq(choice.index),
            self.freed_warp.eq(Array(self._owner)[choice.index]),
            offsets.allocate.eq(self.activate),
            offsets.release.eq(choice.any),
            offsets.address.eq(choice.index),
        ]
        self._freed = choice.one_hot
        # The vectors of the warps that are not in the cache; those of a new warp are empty.
        saved = self._saved = m.submodules.saved = Memory(
            shape=2 * registers, depth=max(2, core.warps), init=[]
        )
        vectors = Cat(Array(self._working)[choice.index], Array(self._alive)[choice.index])
        write_at(m, saved, self.freed_warp, vectors, choice.any)
        fresh = self._fresh = Signal(core.warps)
        m.d.sync += fresh.eq((fresh | self.start) & ~Mux(self.activate, 1 << self.activated, 0))
        new = Signal(name="is_new")
        m.d.comb += new.eq((fresh | self.start).bit_select(self.activated, 1))
        found = read_at(m, saved, self.activated)
        every = 0 if self._liveness else -1
        self._back = [Mux(new, 0, found[:registers]), Mux(new, every, found[registers:])]

    def _row(self, m: Module, row: int) -> None:
        """The registers of one row."""
        placed, working, alive, owner = (
            self._placed[row],
            self._working[row],
            self._alive[row],
            self._owner[row],
        )
        unit = self._units[row]
        mine, comes = Signal(name=f"moves_{row}"), Signal(name=f"comes_{row}")
        m.d.comb += [
            mine.eq(self.goes & (self.offset == row)),
            comes.eq(self.activate & (self._offsets.head == row)),
            unit.allocate.eq(mine & ~self.leaves),
            unit.release.eq(mine & self.leaves),
            unit.address.eq(self.entry),
        ]
        m.d.sync += placed.eq(
            placed & ~Mux(mine & self.leaves, self._moved, 0) | Mux(mine & ~self.leaves, self._moved, 0)
        )
        with m.If(self.prefetch & self._is(row, self.prefetching)):
            m.d.sync += working.eq(self.registers)
        if self._liveness:
            with m.If(self.issue.valid & self._is(row, self.issue.payload.warp)):
                m.d.sync += alive.eq(alive & ~self._last | self._written)
        gone, over = (mask.bit_select(owner, 1) & self._held[row] for mask in (self.deactivate, self.ended))
        with m.If(gone):
            m.d.sync += self._leaving[row].eq(1)
            with m.If(over):
                m.d.sync += alive.eq(0)
        with m.If(self._freed[row]):
            m.d.sync += self._leaving[row].eq(0)
        with m.If(comes):
            m.d.sync += [owner.eq(self.activated), working.eq(self._back[0]), alive.eq(self._back[1])]

    def _accessed(self, m: Module) -> None:
        """Registers that the issued uop reads for the last time, and those it writes."""
        uop = self.issue.payload.uop
        self._last, self._written = (
            Signal(self.registers_per_warp, name=name) for name in ("read_last", "written")
        )
        reads: Value = Mux(uop.dead[0] & uop.source_valid[0], 1 << uop.sources[0], 0)
        for slot in range(1, MAX_SOURCES):
            reads = reads | Mux(uop.dead[slot] & uop.source_valid[slot], 1 << uop.sources[slot], 0)
        writes: Value = Mux(uop.count > 0, 1 << uop.destination, 0)
        for place in range(1, MAX_DESTINATIONS):
            writes = writes | Mux(uop.count > place, 1 << (uop.destination + place)[:REGISTER_WIDTH], 0)
        m.d.comb += [self._last.eq(reads), self._written.eq(writes)]

    # --- Questions.

    def _ask(self, m: Module) -> None:
        for number, find in enumerate(self.find):
            rows = Signal(self._rows, name=f"rows_{number}")
            m.d.comb += rows.eq(Cat(self._is(row, find.warp) for row in range(self._rows)))
            row = chosen(m, rows, f"row_of_{number}")
            place = read_at(m, self._table, self._address(find.register, row.index))
            placed = Array(self._placed)[row.index]
            m.d.comb += [
                find.placed.eq(row.any & placed.bit_select(find.register, 1)),
                find.entry.eq(place),
                find.offset.eq(row.index),
            ]
