"""The warp control blocks: where the active warps' registers are, which they need, and which are alive (LTRF,
figure 7)."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.places import Places
from warpbank.hdl.interfaces import AlwaysInterface, issue_stream
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.round_robin import chosen, encode, first_number, lowest_by_groups, of_lowest, pick, soonest
from warpbank.hdl.typed import Interface, Numbers


class Find(wiring.Signature):
    """Look-up of a register's place (seen from who asks). Combinational, from registers.

    Members
    -------
    warp, register : Out.
    placed : In(1). It has a place in the cache.
    entry, offset : In. Which, if so: bank and row.
    bank : In(banks of the cache). `entry`, one-hot, known before it.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "placed": In(1),
                "entry": In(bits(core.cache.registers)),
                "bank": In(core.cache.registers),
                "offset": In(bits(core.active_warps)),
            }
        )


class FindInterface(Interface, Protocol):
    """Interface object of the signature `Find`."""

    warp: Signal
    register: Signal
    placed: Signal
    entry: Signal
    bank: Signal
    offset: Signal


class Setting(wiring.Signature):
    """Register that sets off: it has been chosen, and its place is found in this cycle (seen from the warp
    control blocks).

    Members
    -------
    valid : Out(1). There is one. From registers, as `live` and `register`.
    live : Out(1). Its content is wanted.
    register : Out.
    entry : Out. Its bank of the cache; that which it gets, if it comes.
    goes : In(1). It goes on in this cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "live": Out(1),
                "register": Out(REGISTER_WIDTH),
                "entry": Out(bits(config.sub_core.cache.registers)),
                "goes": In(1),
            }
        )


class SettingInterface(Interface, Protocol):
    """Interface object of the signature `Setting`."""

    valid: Signal
    live: Signal
    register: Signal
    entry: Signal
    goes: Signal


class WarpControlBlocks(wiring.Component):
    """Warp control blocks: the state of the warps and their registers, and which registers move next. LTRF,
    sections 4.1 and 4.2.

    The working set and the liveness bits of the warps that are in the cache are registers, one set per row of
    the cache; those of the others wait in a memory, which is read in the cycle in which a warp gets its row,
    and written in the one behind that in which it loses it, before it can get another one. The register cache
    address tables are a memory per row and residue class of registers. A row has a set of places; one queue
    for all gives the rows to the warps. While a warp is not in the cache all its places would be unused, so
    that a set per row does for a set per warp.

    Registers set off in three stages here. Turn: a row with something to move, and whether its registers
    leave or come. Choice: of that row, up to `SubCoreConfig.transfers` registers, the lowest of each residue
    class of that many. Place: in the next cycles each goes on (`setting`), as soon as `goes` lets it; no
    others are chosen before all have gone.

    Parameters
    ----------
    config : the machine: cache, active warps.
    ports : registers that are looked for at a time.
    liveness : track which registers are alive (LTRF+); else all of them always are, until the warp ends.

    Members
    -------
    forget : In(1). Nothing that the cache holds, or that has been chosen, is wanted any more: all warps have
        ended.
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
    inbound, outbound : In(rows). Rows of which a register is on its way into the cache; is to leave and has
        not been read: apart from those of `setting`.
    setting : Out(Setting) per residue class. Registers that set off.
    leaves : Out(1). They leave the cache. From registers, as `warp` and `offset`.
    warp, offset : Out. Whose they are, and its row.
    back : In(places) per row. Places whose registers have left.
    freed : Out(1). Nothing is left of warp `freed_warp` in row `freed_offset`, which is free from the next
        cycle on.
    freed_warp, freed_offset : Out.
    """

    forget: Signal
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
    outbound: Signal
    setting: list[SettingInterface]
    leaves: Signal
    warp: Signal
    offset: Signal
    back: list[Signal]
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
                "forget": In(1),
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
                "outbound": In(self._rows),
                "setting": Out(Setting(config)).array(core.transfers),
                "leaves": Out(1),
                "warp": Out(warp),
                "offset": Out(offset),
                "back": In(core.cache.registers).array(self._rows),
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
            [Signal(registers, name=f"{name}_{row}", reset_less=name == "placed") for row in range(rows)]
            for name in ("placed", "working", "alive")
        )
        self._held = self._offsets.occupied
        classes = core.transfers
        #: The place of each register: of each residue class of them, in each row.
        self._tables: list[list[Numbers]] = [
            [
                Memory(shape=bits(core.cache.registers), depth=max(2, registers // classes), init=[])
                for _ in range(rows)
            ]
            for _ in range(classes)
        ]
        for number, tables in enumerate(self._tables):
            for row, table in enumerate(tables):
                m.submodules[f"table_{number}_{row}"] = table
        self._places = [Places(core.cache.registers, classes) for _ in range(rows)]
        for row, places in enumerate(self._places):
            m.submodules[f"places_{row}"] = places
        self._loading = Signal(rows)  # the row that was given in the cycle before
        self._take_turns(m)
        self._choose(m)
        self._find_places(m)
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

    def _take_turns(self, m: Module) -> None:
        """Find the row whose turn it is in the next cycle: its registers that leave, else those that come."""
        rows, registers = self._rows, self.registers_per_warp
        works, leaves = Signal(rows, name="with_work"), Signal(rows, name="with_leaving")
        self._leaves = leaves
        self._setting_row = Signal(rows, name="setting_row")  # the row of what sets off, if anything does
        coming, departing = Signal(rows, name="coming"), Signal(rows, name="departing")
        m.d.comb += [
            coming.eq(self.inbound | Mux(self.leaves, 0, self._setting_row)),
            departing.eq(self.outbound | Mux(self.leaves, self._setting_row, 0)),
        ]
        self._coming, self._departing = coming, departing
        for row, (placed, working) in enumerate(zip(self._placed, self._working, strict=True)):
            quiet, come = Signal(name=f"quiet_{row}"), Signal(name=f"come_{row}")
            out = Signal(registers, name=f"out_{row}")
            m.d.comb += [
                out.eq(placed & (self._leaving[row].replicate(registers) | ~working)),
                leaves[row].eq(out.any()),
                come.eq(~self._leaving[row] & (working & ~placed).any()),
                quiet.eq(self.quiet.bit_select(self._owner[row], 1)),
                works[row].eq(
                    self._held[row]
                    & ~self._loading[row]
                    & Mux(leaves[row], ~coming[row] & (~self._leaving[row] | quiet), come & ~departing[row])
                ),
            ]
        self._pointer = Signal(range(max(2, rows)), name="turn_pointer")  # row whose turn it is, or was last
        self._turn, self._turn_leaves = Signal(rows, name="turn"), Signal(name="turn_leaves")
        # The row whose turn it is: all its registers leave, some leave, or some come.
        self._all_leave, self._some_leave, self._some_come = (
            Signal(rows, name=f"turn_{name}") for name in ("all_leave", "some_leave", "some_come")
        )
        choice = soonest(m, works, self._pointer, "row")
        gone = self._leaving | Cat(self._of_row(self.deactivate, row) for row in range(rows))
        m.d.sync += [
            self._turn.eq(choice.one_hot),
            self._turn_leaves.eq((choice.one_hot & leaves).any()),
            self._all_leave.eq(choice.one_hot & leaves & gone),
            self._some_leave.eq(choice.one_hot & leaves & ~gone),
            self._some_come.eq(choice.one_hot & ~leaves & ~gone),
        ]
        with m.If(choice.any):
            m.d.sync += self._pointer.eq(choice.index)

    def _choose(self, m: Module) -> None:
        """Choose registers of the row whose turn it is."""
        registers, classes = self.registers_per_warp, len(self.setting)
        alive, movable = (Signal(registers, name=f"{name}_in_turn") for name in ("alive", "movable"))
        wants = []
        for row, (placed, working) in enumerate(zip(self._placed, self._working, strict=True)):
            every, leave, come = (
                turn[row].replicate(registers)
                for turn in (self._all_leave, self._some_leave, self._some_come)
            )
            wants.append(placed & (every | leave & ~working) | come & working & ~placed)
        m.d.comb += [movable.eq(reduce(or_, wants)), alive.eq(pick(self._turn, self._alive))]
        self._takes = Signal(name="takes")
        self._chosen: list[Value] = []  # of each class, the register that is chosen, one-hot over all
        found: list[tuple[Value, Value, Value]] = []
        for number in range(classes):
            mine = Signal(len(movable[number::classes]), name=f"movable_{number}")
            first = Signal(len(mine), name=f"first_{number}")
            one_hot = Signal(registers, name=f"chosen_{number}")
            m.d.comb += [
                mine.eq(movable[number::classes]),
                first.eq(lowest_by_groups(m, mine, f"class_{number}")),
                one_hot.eq(
                    Cat(
                        first[place // classes] if place % classes == number else 0
                        for place in range(registers)
                    )
                ),
            ]
            self._chosen.append(one_hot)
            if self._config.sub_core.front_end.issue_stages:  # beside the choice, and not behind it
                found.append((mine.any(), first_number(mine), of_lowest(mine, alive[number::classes])))
            else:
                found.append((mine.any(), encode(first), (alive & one_hot).any()))
        valid = [Signal(name=f"setting_valid_{number}") for number in range(classes)]
        going = [each.goes for each in self.setting]
        m.d.comb += self._takes.eq(~Cat(v & ~g for v, g in zip(valid, going, strict=True)).any())
        leaves, offset, warp = Signal(name="leaves_now"), Signal.like(self.offset), Signal.like(self.warp)
        at = self._at = Signal(self._rows, name="at")  # `offset`, one-hot
        self._fills = Signal(self._rows, name="fills")  # the row, if its registers come
        with m.If(self._takes):
            m.d.sync += [
                leaves.eq(self._turn_leaves),
                offset.eq(self._pointer),
                at.eq(self._turn),
                self._fills.eq(self._turn & ~self._turn_leaves.replicate(self._rows)),
                warp.eq(pick(self._turn, self._owner)),
            ]
        m.d.comb += [
            self.leaves.eq(leaves),
            self.offset.eq(offset),
            self.warp.eq(warp),
            self._setting_row.eq(Mux(Cat(valid).any(), at, 0)),
        ]
        low = classes.bit_length() - 1
        for number, (setting, (there, place, live)) in enumerate(zip(self.setting, found, strict=True)):
            held, wanted = (
                Signal(REGISTER_WIDTH - low, name=f"setting_{number}"),
                Signal(name=f"setting_live_{number}"),
            )
            with m.If(self._takes):
                m.d.sync += [valid[number].eq(there), held.eq(place), wanted.eq(live)]
            with m.Elif(setting.goes):
                m.d.sync += valid[number].eq(0)
            with m.If(self.forget):
                m.d.sync += wanted.eq(0)
            m.d.comb += [
                setting.valid.eq(valid[number]),
                # The class is wired: so two of them are seen to be of different banks (direct mapping).
                setting.register.eq(Cat(Const(number, low), held)),
                setting.live.eq(wanted),
            ]

    def _find_places(self, m: Module) -> None:
        """The places of the registers that set off: looked up in the table, or given and entered there."""
        wants = Cat(setting.valid for setting in self.setting)
        given = Cat(setting.valid & setting.goes for setting in self.setting)
        for row, places in enumerate(self._places):
            m.d.comb += [
                places.wants.eq(wants),
                places.given.eq(Mux(self._fills[row], given, 0)),
                places.back.eq(self.back[row]),
            ]
        for number, (setting, tables) in enumerate(zip(self.setting, self._tables, strict=True)):
            address, goes = self._address(setting.register), setting.valid & setting.goes
            place = pick(self._at, [read_at(m, table, address) for table in tables])
            new = pick(self._fills, [places.place[number] for places in self._places])
            m.d.comb += setting.entry.eq(new | place & self.leaves.replicate(len(place)))
            for row, (table, places) in enumerate(zip(tables, self._places, strict=True)):
                write_at(m, table, address, places.place[number], goes & self._fills[row])

    def _address(self, register: Value) -> Value:
        """Location of a register in a table of its residue class."""
        low = len(self.setting).bit_length() - 1
        return register[low : bits(self.registers_per_warp)]

    # --- Warps that come and go.

    def _warps(self, m: Module) -> None:
        """Rows are given out and given back."""
        core, rows, offsets, registers = (
            self._config.sub_core,
            self._rows,
            self._offsets,
            self.registers_per_warp,
        )
        saving = self._saving = Signal(rows)  # the row that was given back in the cycle before
        here = self._mask(m, self._held | saving, "in_the_cache")
        complete, empty = Signal(rows, name="complete"), Signal(rows, name="empty")
        for row, (placed, working) in enumerate(zip(self._placed, self._working, strict=True)):
            m.d.comb += [
                complete[row].eq(
                    self._held[row]
                    & ~(self._leaving[row] | self._loading[row] | self._coming[row])
                    & (placed == working)
                ),
                empty[row].eq(self._held[row] & self._leaving[row] & ~placed.any() & ~self._departing[row]),
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
        # Of the row that was given back everything is as it was, whoever gets it.
        m.d.sync += saving.eq(choice.one_hot)
        vectors = Cat(pick(saving, self._working), pick(saving, self._alive))
        write_at(m, saved, pick(saving, self._owner), vectors, saving.any())
        fresh = self._fresh = Signal(core.warps)
        m.d.sync += fresh.eq((fresh | self.start) & ~Mux(self.activate, 1 << self.activated, 0))
        new = self._new = Signal(name="is_new")
        m.d.sync += [
            new.eq((fresh | self.start).bit_select(self.activated, 1)),
            self._loading.eq(Mux(self.activate, 1 << self._offsets.head, 0)),
        ]
        if core.front_end.issue_stages:  # who becomes active comes late: it is looked up in the next cycle
            read, number = saved.read_port(domain="comb"), Signal(core.warp_width, reset_less=True)
            m.d.sync += number.eq(self.activated)
            m.d.comb += read.addr.eq(number)
        else:
            read = saved.read_port()
            m.d.comb += [read.en.eq(self.activate), read.addr.eq(self.activated)]
        self._loads = read
        found, every = Value.cast(read.data), 0 if self._liveness else -1
        self._back = [Mux(new, 0, found[:registers]), Mux(new, every, found[registers:])]

    def _row(self, m: Module, row: int) -> None:
        """The registers of one row."""
        placed, working, alive, owner = (
            self._placed[row],
            self._working[row],
            self._alive[row],
            self._owner[row],
        )
        mine, comes = Signal(name=f"moves_{row}"), Signal(name=f"comes_{row}")
        moved = Signal(len(placed), name=f"moved_{row}")
        m.d.comb += [
            mine.eq(self._takes & self._turn[row]),
            comes.eq(self.activate & (self._offsets.head == row)),
            moved.eq(Mux(mine, reduce(or_, self._chosen), 0)),
        ]
        # A row that nobody has may hold anything after a reset.
        m.d.sync += placed.eq((placed & ~comes.replicate(len(placed))) ^ moved)
        with m.If(self.prefetch & self._is(row, self.prefetching)):
            m.d.sync += working.eq(self.registers)
        if self._liveness:
            with m.If(self.issue.valid & self._is(row, self.issue.payload.warp)):
                m.d.sync += alive.eq(alive & ~self._last | self._written)
        gone, over = (self._of_row(mask, row) for mask in (self.deactivate, self.ended))
        with m.If(self._loading[row]):
            m.d.sync += [working.eq(self._back[0]), alive.eq(self._back[1])]
        with m.If(gone):
            m.d.sync += self._leaving[row].eq(1)
            with m.If(over):
                m.d.sync += alive.eq(0)
        with m.If(self.forget):
            m.d.sync += alive.eq(0)
        with m.If(self._freed[row]):
            m.d.sync += self._leaving[row].eq(0)
        with m.If(comes):
            m.d.sync += owner.eq(self.activated)

    def _of_row(self, warps: Value, row: int) -> Value:
        """Whether a mask of warps has the one that a row belongs to."""
        return warps.bit_select(self._owner[row], 1) & self._held[row]

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
        """Answer the questions for places. Which row a warp has is known as late as what a row's table says;
        so every row answers, down to the bank of the cache, before one is taken."""
        low = len(self.setting).bit_length() - 1
        for number, find in enumerate(self.find):
            rows = Signal(self._rows, name=f"rows_{number}")
            m.d.comb += rows.eq(Cat(self._is(row, find.warp) for row in range(self._rows)))
            address, places, banks = self._address(find.register), [], []
            for row in range(self._rows):
                found = [read_at(m, tables[row], address) for tables in self._tables]
                place = Signal.like(find.entry, name=f"place_{number}_{row}")
                bank = Signal.like(find.bank, name=f"bank_{number}_{row}")
                m.d.comb += [
                    place.eq(Array(found)[find.register[:low]] if low else found[0]),
                    bank.eq(1 << place),
                ]
                places.append(place)
                banks.append(bank)
            placed = Cat(placed.bit_select(find.register, 1) for placed in self._placed)  # in every row
            m.d.comb += [
                find.placed.eq((rows & placed).any()),
                find.entry.eq(pick(rows, places)),
                find.bank.eq(pick(rows, banks)),
                find.offset.eq(encode(rows)),
            ]
