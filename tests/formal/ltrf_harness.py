"""What is claimed of the register file cache, and an invariant from which it follows at any depth.

Around the cache: warps that start, are activated, stall and end; PREFETCHes of any sets that fit; uops that
read and write registers of their interval as a scoreboard lets them; results in any order. One register of
one warp, chosen once, is followed: its newest value in program order, of which one bit is carried.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Mux, Signal, Value

from tests.formal.ltrf_machine import (
    ENTRIES,
    PER_WARP,
    REGISTERS,
    ROWS,
    WARPS,
    OpenedBanks,
    Placed,
    any_of,
    elaborated,
    machine,
    opened,
    opened_blocks,
    short_queues,
)
from tests.formal.prove import assume_no_reset
from tests.formal.test_allocation import queue_invariant
from warpbank.hdl.hierarchy.link import Link
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.register_file import MainRegisterFile


class Harness(Elaboratable):
    """Claims: banks and rows are neither given twice nor lost; where the followed register is valid the cache
    holds its newest value, and wherever else it is alive that is in the main register file or on its way; an
    operand of an issued uop is in the cache until it has been read.

    Parameters
    ----------
    unit, blocks : the RTL.
    inductive : assert the invariant, too.
    liveness : LTRF+.
    latency, crossing, link, write_back : of the machine, and its links.
    assumed : assume the claims and the invariant, which another proof has shown.
    """

    def __init__(
        self,
        unit: type[Ltrf] = Ltrf,
        blocks: type[WarpControlBlocks] = WarpControlBlocks,
        inductive: bool = True,
        liveness: bool = False,
        latency: int = 150,
        crossing: int = 1,
        link: type[Link] = Link,
        write_back: str = "all",
        assumed: bool = False,
    ) -> None:
        self.config = config = machine(latency, crossing, write_back)
        self.inductive, self.liveness = inductive, liveness
        self.claim = Assume if assumed else Assert
        self.storage = OpenedBanks(config)
        collection = Collection(1)
        with (
            short_queues(),
            mock.patch("warpbank.hdl.hierarchy.ltrf.WarpControlBlocks", opened_blocks(blocks)),
            mock.patch.object(unit.engine_class, "link_class", link),
        ):
            moved = unit.moved(config)
            mapping = Placed(config, collection, collection.writers + moved[0], 0, moved=moved)
            main = MainRegisterFile(config, mapping, self.storage, collection, **unit.main_needs, moved=moved)
            self.unit: Any = opened(unit)(config, main, collection, liveness)
        self.blocks: Any = self.unit._blocks
        self.free: list[Signal] = []
        warps, registers = range(WARPS), range(REGISTERS)
        self.warp, self.register = self._any(warps, "warp"), self._any(registers, "register")  # followed
        self.start, self.deactivate, self.ended = (
            self._any(WARPS, name) for name in ("start", "deactivate", "ended")
        )
        self.quiet = self._any(WARPS, "quiet")
        self.activate, self.activated = self._any(1, "activate"), self._any(warps, "activated")
        self.prefetch, self.working = self._any(1, "prefetch"), self._any(REGISTERS, "working")
        self.prefetching = self._any(warps, "prefetching")
        self.issue, self.issuer = self._any(1, "issue"), self._any(warps, "issuer")
        self.reads, self.last, self.write = (
            self._any(REGISTERS, name) for name in ("reads", "last", "write")
        )
        self.offers, self.masks, self.values = (
            self._any(2, "offers"),
            self._any(2, "masks"),
            self._any(2, "values"),
        )
        self.ask_warp, self.ask_register = self._any(warps, "ask_warp"), self._any(registers, "ask_register")
        self.other_warp, self.other_register = (
            Signal(warps, name="other_warp"),
            Signal(registers, name="other_register"),
        )
        self.first, self.was_read = self._any(range(7), "first"), self._any(1, "was_read")
        self.owed = self._any(len(self.unit.owed), "owed")

    def _any(self, shape: Any, name: str) -> Signal:
        """A signal of any value in any cycle."""
        self.free.append(Signal(shape, name=name))
        return self.free[-1]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.links: list[Any] = self.unit.engine.links
        self.ports: list[Any] = self.unit.engine.ports
        m.submodules.unit = elaborated(self.unit, platform)
        assume_no_reset(m)
        for chosen in (self.warp, self.register):
            before, seen = (
                Signal.like(chosen, name=f"{chosen.name}_before"),
                Signal(name=f"{chosen.name}_seen"),
            )
            m.d.sync += [before.eq(chosen), seen.eq(1)]
            m.d.comb += Assume(~seen | (before == chosen))
        m.d.comb += [Assume(self.warp < WARPS), Assume(self.first < 7)]
        self._name()
        self._warps(m)
        self._uops(m)
        self._results(m)
        self._claims(m)
        if self.inductive:
            self._allocation_invariant(m)
            self._engine_invariant(m)
            self._vector_invariant(m)
        return m

    def _name(self) -> None:
        """What the claims speak of."""
        blocks = self.blocks
        self.held = [blocks._held[row] for row in range(ROWS)]
        self.staying = [held & ~blocks._leaving[row] for row, held in enumerate(self.held)]
        self.live, self.active = (
            Signal(WARPS),
            Signal(WARPS),
        )  # not ended; activated, and not deactivated since
        self.defined, self.pending, self.reading = (
            Signal(name="defined"),
            Signal(name="pending"),
            Signal(name="reading"),
        )
        self.newest = Signal(name="newest")

    def bit(self, mask: Value, warp: Value) -> Value:
        """Of a mask over warps."""
        return mask.bit_select(warp, 1)

    def _in_row(self, row: int, warp: Value) -> Value:
        return self.held[row] & (self.blocks._owner[row] == warp)

    # --- What may happen.

    def _warps(self, m: Module) -> None:
        unit = self.unit
        m.d.comb += [
            unit.start.warps.eq(self.start),
            unit.start.rows.eq(PER_WARP),
            unit.activate.eq(self.activate),
            unit.activated.eq(self.activated),
            unit.deactivate.eq(self.deactivate),
            unit.ended.eq(self.ended),
            unit.quiet.eq(self.quiet),
            unit.prefetch.eq(self.prefetch),
            unit.prefetching.eq(self.prefetching),
            unit.working.eq(self.working),
        ]
        ready = unit.may_activate & self.live & ~self.active
        m.d.comb += [
            Assume(~self.activate | self.bit(ready, self.activated)),
            Assume((self.deactivate & ~self.active) == 0),
            Assume((self.ended & ~self.deactivate) == 0),
            Assume((self.start & (self.live | self.active)) == 0),
            Assume(~self.bit(self.start, self.warp) | ~(self.pending | self.reading)),
            Assume(~self.bit(self.quiet, self.warp) | ~self.reading),
        ]
        m.d.sync += [
            self.live.eq((self.live | self.start) & ~self.ended),
            self.active.eq((self.active | Mux(self.activate, 1 << self.activated, 0)) & ~self.deactivate),
        ]

    def _uops(self, m: Module) -> None:
        """What issues: a uop, and beside it the PREFETCH of another warp (`cache.prefetch` `bit`)."""
        unit, uop = self.unit, self.unit.issue.payload.uop
        may_issue = unit.may_issue & self.active & ~self.deactivate
        m.d.comb += [
            unit.issue.valid.eq(self.issue),
            unit.issue.payload.warp.eq(self.issuer),
            Assume(~(self.issue & self.prefetch) | (self.issuer != self.prefetching)),
            Assume(~self.issue | self.bit(may_issue, self.issuer)),
            Assume(~self.prefetch | self.bit(may_issue & self.quiet, self.prefetching)),
            Assume(~self.prefetch | (sum(self.working) <= ENTRIES)),
        ]
        # A source slot per register, and one destination.
        m.d.comb += [
            *(uop.sources[register].eq(register) for register in range(REGISTERS)),
            uop.source_valid.eq(self.reads),
            uop.dead.eq(self.last),
            uop.count.eq(self.write.any()),
            Assume(sum(self.write) <= 1),
            uop.destination.eq(sum(Mux(self.write[register], register, 0) for register in range(REGISTERS))),
        ]
        accessed = self.reads | self.write
        outside = [
            self._in_row(row, self.issuer) & (accessed & ~working).any()
            for row, working in enumerate(self.blocks._working)
        ]
        m.d.comb += Assume(~(self.issue & any_of(outside)))
        self.mine = self.issue & (self.issuer == self.warp)
        at = [mask.bit_select(self.register, 1) for mask in (self.reads, self.last, self.write)]
        m.d.comb += Assume(~(self.mine & at[0]) | (self.defined & ~self.pending))
        m.d.comb += Assume(~(self.mine & at[2]) | ~(self.pending | self.reading))
        self.reads_it, self.writes_it = self.mine & at[0], self.mine & at[2]
        self.ends_it = self.reads_it & at[1] & ~at[2]
        m.d.sync += self.reading.eq(self.reading & ~self.was_read | self.reads_it)

    def _results(self, m: Module) -> None:
        """Unit 0 has results of the followed register, unit 1 any others: what it looked for in the cycle
        before."""
        unit = self.unit
        asks = [(self.warp, self.register), (self.ask_warp, self.ask_register)]
        for ahead, (warp, register) in zip(unit.ahead, asks, strict=False):
            m.d.comb += [ahead.warp.eq(warp), ahead.register.eq(register)]
        m.d.sync += [self.other_warp.eq(self.ask_warp), self.other_register.eq(self.ask_register)]
        m.d.comb += unit.first.eq(self.first)
        places = [(self.warp, self.register), (self.other_warp, self.other_register)]
        for number, (warp, register) in enumerate(places):
            result = unit.result[number]
            m.d.comb += [
                result.valid.eq(self.offers[number]),
                result.payload.warp.eq(warp),
                result.payload.register.eq(register),
                result.payload.mask.eq(self.masks[number]),
                unit.keep[number].value.eq(self.values[number]),
            ]
        same = (self.other_warp == self.warp) & (self.other_register == self.register)
        m.d.comb += [
            Assume(self.ask_warp < WARPS),
            Assume(~(same & self.offers[1])),
            Assume(~self.offers[0] | (self.pending & ~self.reading)),
        ]
        for number, owed in enumerate(unit.owed):
            followed = (owed.warp == self.warp) & (owed.register == self.register)
            m.d.comb += owed.pending.eq(Mux(followed, self.pending, self.owed[number]))
        taken = self.offers[0] & unit.result[0].ready
        writes = taken & self.masks[0]
        # Written, and not taken: its register sets off with it, and what is offered until then is what was.
        early, again = Signal(name="early"), Signal(name="again")
        chosen = Cat(choice.one_hot[0] for choice, _ in unit._chosen).any()
        m.d.comb += [
            early.eq(self.offers[0] & self.masks[0] & chosen & ~taken),
            Assume(~(again & self.offers[0]) | self.masks[0] & (self.values[0] == self.newest)),
        ]
        m.d.sync += again.eq((again | early) & ~taken)
        m.d.sync += self.pending.eq(self.pending & ~taken | self.writes_it)
        over = self.bit(self.ended, self.warp) | self.bit(self.start, self.warp)
        with m.If(writes | early):
            m.d.sync += self.newest.eq(self.values[0])
        m.d.sync += self.defined.eq(
            ~over & self.bit(self.live, self.warp) & (self.defined & ~self.ends_it | writes)
        )

    # --- Claims.

    def _claims(self, m: Module) -> None:
        blocks = self.blocks
        self.holders: list[list[tuple[Value, Value]]] = []
        for row in range(ROWS):
            m.d.comb += [
                self.claim(
                    ~(self.held[row] & self.held[other]) | (blocks._owner[row] != blocks._owner[other])
                )
                for other in range(row)
            ]
            self._places_of(m, row)
        # The followed register.
        self.going = Signal(name="going")  # it leaves the cache, or will
        self.arriving = Signal(name="arriving")
        self.carried = Signal(name="carried")
        followed = [
            (self._mine(transfer), there)
            for link in self.links
            for transfer, there in zip(link.transfers, self._used(link), strict=True)
        ]
        transfers = [transfer for link in self.links for transfer in link.transfers]
        lanes = [
            setting.valid & (blocks.warp == self.warp) & (setting.register == self.register)
            for setting in blocks.setting
        ]
        self.lanes = lanes
        outs = [mine & there & each.out for (mine, there), each in zip(followed, transfers, strict=True)]
        ins = [mine & there & ~each.out for (mine, there), each in zip(followed, transfers, strict=True)]
        m.d.comb += [
            self.going.eq(any_of(outs) | blocks.leaves & any_of(lanes)),
            self.arriving.eq(any_of(ins) | ~blocks.leaves & any_of(lanes)),
            self.carried.eq(self.going | self.arriving),
        ]
        self.outs = outs
        valid = []
        for row, (placed, table) in enumerate(zip(blocks._placed, blocks.tables, strict=True)):
            here = Signal(name=f"valid_{row}")
            m.d.comb += here.eq(
                self._in_row(row, self.warp) & placed.bit_select(self.register, 1) & ~self.carried
            )
            value = self._content(Array(table)[self.register], row)
            m.d.comb += self.claim(~(here & (self.defined | self.reading)) | (value == self.newest))
            valid.append(here)
        self.valid = valid
        m.d.comb += self.claim(~self.reading | any_of(valid))
        has_place = any_of(
            [
                self._in_row(row, self.warp) & placed.bit_select(self.register, 1)
                for row, placed in enumerate(blocks._placed)
            ]
        )
        m.d.comb += self.claim(~(self.defined & self.going & has_place) | self.arriving)
        bank = (self.register + self.warp)[0]
        home = self.warp * PER_WARP + (self.register >> 1)
        self.in_main = self._stored(bank, home) == self.newest
        m.d.comb += self.claim(~(self.defined & ~self.carried & ~any_of(valid)) | self.in_main)
        for row, (dirty, here) in enumerate(zip(self.unit._dirty, valid, strict=False)):
            clean = ~dirty.bit_select(Array(blocks.tables[row])[self.register], 1)
            m.d.comb += self.claim(~(here & self.defined & clean) | self.in_main)

    def _mine(self, transfer: Any) -> Value:
        """Whether a transfer is of the followed register."""
        return (transfer.warp == self.warp) & (transfer.register == self.register)

    def _used(self, link: Any) -> list[Value]:
        """Places of a link that are in use: the queue, the register read ahead, the one that crosses."""
        return [*link._valid, link._full, link._busy]

    def _content(self, entry: Value, row: Any) -> Value:
        """Bit of a place of the cache, with what its bank is given in this cycle, or was in the cycle before,
        in which case it is written now."""
        found = []
        for bank, port in enumerate(self.ports):
            rows, write = Array(contents[0] for contents in self.unit.contents[bank]), self._cache_write(bank)
            fills = port.fills & (port._filled.offset == row)
            old = Mux(write.en[0] & (write.addr == row), write.data[0], rows[row])
            found.append(Mux(fills, port._word[0], old))
        return Array(found)[entry]

    def _cache_write(self, bank: int) -> Any:
        """Write port of a bank of the cache."""
        return self.unit._cache_ports[bank]

    def _stored(self, bank: Any, row: Value) -> Value:
        """Bit of a row of the main register file, with what its bank was given in the cycle before and writes
        now."""
        found = []
        for rows, port in zip(self.storage.contents, self.storage.bank, strict=True):
            writes = port.write & port.mask[0] & (port.row == row)
            found.append(Mux(writes, port.value[0], Array(rows)[row][0]))
        return Array(found)[bank]

    def _read(self, number: int) -> Value:
        """Bit that a bank of the main register file has read, or reads now, having been given out before."""
        port = self.storage.bank[number]
        return Mux(port.read, self._stored(number, port.row), port.data[0])

    def _unread(self, link: Any) -> list[Value]:
        """Places of a link whose register the cache has still to read."""
        crossing = self.config.sub_core.cache.crossing
        there = [*link._valid, 0, link._busy & (link._left == crossing + 1)]
        return [use & transfer.out for use, transfer in zip(there, link.transfers, strict=True)]

    def _places_of(self, m: Module, row: int) -> None:
        """Places of a row: each has one register, those that leave until they have been read."""
        blocks = self.blocks
        placed, table, occupied = blocks._placed[row], blocks.tables[row], blocks._places[row].occupied
        here = blocks.offset == row
        setting_off = Signal(REGISTERS, name=f"setting_off_{row}")
        m.d.comb += setting_off.eq(
            any_of([Mux(setting.valid & here, 1 << setting.register, 0) for setting in blocks.setting])
        )
        coming = Mux(blocks.leaves, 0, setting_off)
        #: Who has a place: which, and its entry.
        holders: list[tuple[Value, Value]] = [
            ((placed & ~coming)[register] | Mux(blocks.leaves, setting_off, 0)[register], table[register])
            for register in range(REGISTERS)
        ]
        for link in self.links:
            for unread, transfer in zip(self._unread(link), link.transfers, strict=True):
                holders.append((unread & (transfer.offset == row), transfer.entry))
        taken = [Mux(there, 1 << entry, 0)[:ENTRIES] for there, entry in holders]
        m.d.comb += [
            self.claim(any_of(taken) == occupied),
            self.claim(sum(there for there, _ in holders) == sum(occupied)),
            self.claim(self.held[row] | ~placed.any()),
        ]
        self.holders.append(holders)

    def _accessing(self) -> list[Signal]:
        """Cycles that each bank's access still takes, where it takes more than one."""
        timing = self.unit._main._timing
        return [] if timing is None else timing._left

    # --- The invariant.

    def _allocation_invariant(self, m: Module) -> None:
        blocks = self.blocks
        m.d.comb += [self.claim(wanted) for wanted in queue_invariant(blocks._offsets)]
        for warp in range(WARPS):
            staying = any_of([self.staying[row] & (blocks._owner[row] == warp) for row in range(ROWS)])
            m.d.comb += self.claim(self.active[warp] == staying)
            m.d.comb += self.claim(sum(blocks.saved[warp][0]) <= ENTRIES)
        m.d.comb += [
            self.claim((self.active & ~self.live) == 0),
            self.claim((blocks._fresh & self.active) == 0),
            self.claim((blocks._fresh & ~self.live) == 0),
        ]
        for row in range(ROWS):
            held, owner = self.held[row], blocks._owner[row]
            m.d.comb += [self.claim(~held | (owner < WARPS)), self.claim(held | ~blocks._leaving[row])]
            m.d.comb += [self.claim(~held | (sum(blocks.vectors[row][0][:REGISTERS]) <= ENTRIES))]
            self._loading_invariant(m, row)
            saving = blocks._saving[row]
            m.d.comb += [
                self.claim(~saving | ~held & (owner < WARPS) & (sum(blocks._working[row]) <= ENTRIES)),
                *(
                    self.claim(~(saving & self.held[other]) | (blocks._owner[other] != owner))
                    for other in range(ROWS)
                ),
            ]
        m.d.comb += [self.claim(sum(blocks._loading) <= 1), self.claim(sum(blocks._saving) <= 1)]

    def _loading_invariant(self, m: Module, row: int) -> None:
        """A row that has been given in the cycle before is empty, and the memory's vectors are its warp's."""
        blocks, loading = self.blocks, self.blocks._loading[row]
        saved = Array(Cat(vectors) for vectors in blocks.saved)[blocks._owner[row]]
        new = loading & blocks._new & (blocks._owner[row] == self.warp)
        m.d.comb += [
            self.claim(~loading | self.held[row] & ~blocks._leaving[row] & ~blocks._placed[row].any()),
            self.claim(~loading | (blocks.loaded == saved)),
            self.claim(~new | ~(self.defined | self.pending | self.reading)),
        ]

    def _turn_invariant(self, m: Module, row: int) -> None:
        """What the row whose turn it is has to choose may set off, as it might a cycle before."""
        blocks, turn = self.blocks, self.blocks._turn[row]
        placed, working, leaving = blocks._placed[row], blocks._working[row], blocks._leaving[row]
        out, into = placed & (leaving.replicate(REGISTERS) | ~working), working & ~placed
        mine = self._in_row(row, self.warp)
        comes = turn & ~blocks._turn_leaves & ~leaving & into.any()
        goes = turn & blocks._turn_leaves
        m.d.comb += [
            self.claim(blocks._all_leave[row] == (goes & leaving)),
            self.claim(blocks._some_leave[row] == (goes & ~leaving)),
            self.claim(blocks._some_come[row] == (turn & ~blocks._turn_leaves & ~leaving)),
            self.claim(~turn | (blocks._pointer == row) & self.held[row] & ~blocks._loading[row]),
            self.claim(~(goes & out.any()) | ~blocks._coming[row]),
            self.claim(~comes | ~(blocks._departing[row] | out.any())),
            self.claim(~(goes & mine) | ~self.reading),
            self.claim(~(mine & out.any() & ~leaving & ~blocks._loading[row]) | ~self.reading),
        ]

    def _engine_invariant(self, m: Module) -> None:
        """What is on its way is of a warp's row, of its bank, and has its value."""
        self._setting_invariant(m)
        if self.unit._main._timing is not None:
            m.d.comb += self.claim(self.unit._main._timing._reading == 0)  # no collector reads
        for number, link in enumerate(self.links):
            self._link_invariant(m, number, link)
            self._value_invariant(m, number, link)
        for number, port in enumerate(self.ports):
            self._port_invariant(m, number, port)
        for number, place in enumerate([(self.warp, self.register), (self.other_warp, self.other_register)]):
            self._found_invariant(m, number, *place)
        m.d.comb += self.claim(sum(self.blocks._turn) <= 1)
        for row in range(ROWS):
            self._turn_invariant(m, row)
            coming, departing = self.blocks._coming[row], self.blocks._departing[row]
            outside = (self.blocks._placed[row] & ~self.blocks._working[row]).any()
            m.d.comb += [
                self.claim(~(coming | departing) | self.held[row]),
                self.claim(~coming | ~(departing | outside)),
            ]

    def _setting_invariant(self, m: Module) -> None:
        """Registers that set off are of their class, and of the row's warp."""
        blocks, classes = self.blocks, len(self.blocks.setting)
        any_valid = any_of([setting.valid for setting in blocks.setting])
        at = blocks.offset
        placed = Array(blocks._placed)[at]
        m.d.comb += [
            self.claim(~any_valid | (at < ROWS) & (blocks._at == 1 << at)),
            self.claim(~any_valid | (blocks._fills == Mux(blocks.leaves, 0, blocks._at))),
            self.claim(~any_valid | Array(self.held)[at] & (Array(blocks._owner)[at] == blocks.warp)),
        ]
        for number, setting in enumerate(blocks.setting):
            register = setting.register
            m.d.comb += [
                self.claim(~setting.valid | (register < REGISTERS) & (register % classes == number)),
                self.claim(~setting.valid | (placed.bit_select(register, 1) == ~blocks.leaves)),
            ]
            mine = self.lanes[number] & self.defined
            table = Array(Array(tables)[register] for tables in blocks.tables)[at]
            m.d.comb += [
                self.claim(~mine | setting.live),
                self.claim(~(mine & blocks.leaves) | (self._content(table, at) == self.newest)),
                self.claim(~(mine & ~blocks.leaves) | self.going | self.in_main),
            ]
            for row, dirty in enumerate(self.unit._dirty):
                clean = (at == row) & ~dirty.bit_select(table, 1)
                m.d.comb += self.claim(~(mine & blocks.leaves & clean) | self.in_main)

    def _found_invariant(self, m: Module, number: int, warp: Value, register: Value) -> None:
        """Where a register was found in the cycle before it still is, or it has been chosen to set off
        since."""
        blocks, unit = self.blocks, self.unit
        here, there, place = unit._in_cache[number], unit._in_main[number], unit._places[number]
        lane = any_of(
            [
                setting.valid & (blocks.warp == warp) & (setting.register == register)
                for setting in blocks.setting
            ]
        )
        carried = any_of(
            [
                use & (transfer.warp == warp) & (transfer.register == register)
                for link in self.links
                for use, transfer in zip(self._used(link), link.transfers, strict=True)
            ]
        )
        places = []
        for row, (placed, table) in enumerate(zip(blocks._placed, blocks.tables, strict=True)):
            mine = self._in_row(row, warp)
            has = mine & placed.bit_select(register, 1)
            m.d.comb += self.claim(
                ~(here & (place.offset == row))
                | mine & (Array(table)[register] == place.entry) & (has | lane & blocks.leaves)
            )
            places.append(has)
        m.d.comb += [
            self.claim(~here | (place.offset < ROWS) & (place.entry < ENTRIES)),
            self.claim(~(here & there)),
            self.claim(~(here | there) | ~carried),
            self.claim(~(here & lane) | blocks.leaves),
            self.claim(~(there & lane) | ~blocks.leaves),
            self.claim(~there | ~any_of(places) | lane),
        ]

    def _link_invariant(self, m: Module, number: int, link: Any) -> None:
        core, bank = self.config.sub_core, self.storage.bank[number]
        crossing, most = core.cache.crossing, -(-core.bank_latency // 100)
        crosses, left = link._crossing, link._left
        m.d.comb += [
            self.claim(~bank.read | link._full & (bank.row == link._ahead_transfer.row) & ~bank.write),
            *(self.claim(left < most) for left in self._accessing()[number : number + 1]),
            *(self.claim(~late | early) for early, late in zip(link._valid, link._valid[1:], strict=False)),
            self.claim(~link._full | ~link._ahead_transfer.out),
            self.claim(link._ahead_left < most),
            self.claim(link._busy | (left == 0)),
            self.claim(left <= crossing + 1),
            self.claim(~(link._busy & ~crosses.out) | (left >= 1) & (left <= crossing)),
            self.claim(Cat(*link._void, link._crossing_void) == 0),
        ]
        places = list(zip(self._used(link), link.transfers, strict=True))
        for place, (there, transfer) in enumerate(places):
            warp, register, at = transfer.warp, transfer.register, transfer.offset
            placed, owner = Array(self.blocks._placed)[at], Array(self.blocks._owner)[at]
            table = Array(Array(tables)[register] for tables in self.blocks.tables)[at]
            unread = self._unread(link)[place]
            m.d.comb += [
                self.claim(
                    ~there
                    | (warp < WARPS) & (register < REGISTERS) & (transfer.entry < ENTRIES) & (at < ROWS)
                ),
                self.claim(~there | ((register + warp)[0] == number)),
                self.claim(~there | (transfer.row == warp * PER_WARP + (register >> 1))),
                self.claim(~(there & (~transfer.out | unread)) | Array(self.held)[at] & (owner == warp)),
                self.claim(~(there & ~transfer.out) | placed.bit_select(register, 1)),
                self.claim(~(there & ~transfer.out) | (table == transfer.entry)),
                self.claim(~unread | ~placed.bit_select(register, 1)),
            ]
            m.d.comb += [
                self.claim(
                    ~(there & ~transfer.out & lane.valid & ~self.blocks.leaves & (self.blocks.offset == at))
                    | (lane.register != register)
                )
                for lane in self.blocks.setting
            ]
            m.d.comb += [
                self.claim(
                    ~(there & use & ~transfer.out & ~other.out)
                    | (other.warp != warp)
                    | (other.register != register)
                )
                for use, other in places[:place]
            ]

    def _value_invariant(self, m: Module, number: int, link: Any) -> None:
        """The followed register has its value wherever it is on its way; a store goes before a fetch."""
        crossing, beat = self.config.sub_core.cache.crossing, len(link.sent)
        order = [
            (link._busy, link._crossing),
            (link._full, link._ahead_transfer),
            *zip(link._valid, link._heads, strict=True),
        ]
        mine = [there & self._mine(transfer) for there, transfer in order]
        store_behind: Value = self.blocks.leaves & any_of(self.lanes)
        for one, (_, transfer) in reversed(list(zip(mine, order, strict=True))):
            # None of the same register behind it: neither a second store nor a store behind its fetch.
            m.d.comb += self.claim(~(self.defined & one) | ~store_behind)
            store_behind = store_behind | one & transfer.out
        for there, (_, transfer) in zip(mine[2:], order[2:], strict=True):
            place = self._content(transfer.entry, transfer.offset)
            m.d.comb += [
                self.claim(~(self.defined & there & transfer.out) | (place == self.newest)),
                self.claim(~(self.defined & there & ~transfer.out) | self.going | self.in_main),
            ]
        crosses, left, port = link._crossing, link._left, self.ports
        read = Array(each.data[0] for each in port)[crosses.entry]
        cached = self._content(crosses.entry, crosses.offset)
        assembled = Array(
            Array(each._word.word_select(place, beat)[0] for place in range(crossing)) for each in port
        )[crosses.entry]
        sent = Array(link._word.word_select(place, beat)[0] for place in range(crossing))
        bit = Mux(
            crosses.out,
            Mux(left == crossing + 1, cached, Mux(left == crossing, read, sent[left])),
            Mux(left == crossing, self.storage.bank[number].data[0], assembled[left]),
        )
        m.d.comb += [
            self.claim(~(self.defined & mine[0]) | (bit == self.newest)),
            self.claim(~(self.defined & mine[1]) | (self._read(number) == self.newest)),
            # What is read ahead or comes has no store on its way.
            self.claim(~(self.defined & (mine[1] | mine[0] & ~crosses.out)) | ~self.going),
        ]
        if self.unit._dirty:  # what comes is clean when it is there
            m.d.comb += self.claim(~(self.defined & (mine[1] | mine[0] & ~crosses.out)) | self.in_main)

    def _port_invariant(self, m: Module, number: int, port: Any) -> None:
        """A port has the transfer of one link, and no other link has its bank; what it reads is not written,
        and what has come is not to leave. That it uses its bank is known in a register."""
        write, crossing = self._cache_write(number), self.config.sub_core.cache.crossing
        crosses = [link._busy & (link._left != 0) & (link._crossing.entry == number) for link in self.links]
        m.d.comb += [
            self.claim((port._left != 0) == any_of(crosses)),
            self.claim(sum(crosses) <= 1),
            self.claim(~port.fills | ~port.reads),
            self.claim(self.unit._used[number] == (port.fills | port.reads)),
            self.claim(port.reads == (port._transfer.out & (port._left == crossing + 1))),
            self.claim(~port.fills | (port._filled.offset < ROWS)),
            self.claim(~(port.reads & write.en[0]) | (write.addr != port.used.offset)),
        ]
        leaving = [
            unread & (transfer.entry == number) & (transfer.offset == port._filled.offset)
            for link in self.links
            for unread, transfer in zip(self._unread(link), link.transfers, strict=True)
        ]
        m.d.comb += self.claim(~(port.fills & any_of(leaving)))
        for bank, (here, link) in enumerate(zip(crosses, self.links, strict=True)):
            m.d.comb += [
                self.claim(~here | (port._left == link._left) & (port.source == bank)),
                self.claim(~here | (port._transfer.as_value() == link._crossing.as_value())),
            ]

    def _vector_invariant(self, m: Module) -> None:
        """The liveness bits know of a register with a value, or with one to come; what is being read
        stays."""
        blocks, live = self.blocks, self.bit(self.live, self.warp)
        fresh = self.bit(blocks._fresh, self.warp)
        needed = (
            live & (self.defined | self.pending) if self.liveness else live & ~fresh
        )  # else all are alive to the end
        here = [self._in_row(row, self.warp) for row in range(ROWS)]
        staying = [held & ~blocks._leaving[row] for row, held in enumerate(here)]
        alive = [vectors[1].bit_select(self.register, 1) for vectors in blocks.vectors]
        saved = Array(vectors[1] for vectors in blocks.saved)[self.warp].bit_select(self.register, 1)
        for row in range(ROWS):
            saving = blocks._saving[row] & (blocks._owner[row] == self.warp)
            saved = Mux(saving, blocks._alive[row].bit_select(self.register, 1), saved)
        m.d.comb += [
            self.claim(~self.defined | live),
            self.claim(~(fresh & self.defined)),
            self.claim(~(needed & ~any_of(here)) | saved),
            self.claim(~(fresh & (self.pending | self.reading))),
        ]
        m.d.comb += [self.claim(~(row & needed) | bit) for row, bit in zip(here, alive, strict=True)]
        m.d.comb += [
            self.claim(~(row & self.reading) | vectors[0].bit_select(self.register, 1))
            for row, vectors in zip(staying, blocks.vectors, strict=True)
        ]


class Drains(Harness):
    """With nothing new, a rank falls in every cycle until every warp in the cache is complete and those that
    leave are gone.

    Nothing new: no warp comes or goes, none prefetches, no result is offered, and all operands have been
    read. Rank: what has to happen yet. A register that has to leave or come counts more than its way can; one
    that sets off, waits or crosses the cycles that it needs at most; a bank those that its access still
    takes; a row that is left 1, one whose vectors come 1, a turn that is to be given 1.

    The claims and the invariant of `Harness` are assumed, which its own proof has shown of the same machine:
    the solver then looks at the rank alone.
    """

    def __init__(self, *parts: Any, **given: Any) -> None:
        super().__init__(*parts, **given, assumed=True)

    def _claims(self, m: Module) -> None:
        super()._claims(m)
        blocks, unit, core = self.blocks, self.unit, self.config.sub_core
        crossing, most = core.cache.crossing, -(-core.bank_latency // 100)
        fetch, store = crossing + 2 * most + 2, crossing + most + 3
        setting = max(fetch, store) + 1
        terms: list[Value] = list(self._accessing())
        for link in self.links:
            terms += [
                Mux(there, Mux(head.out, store, fetch), 0)
                for there, head in zip(link._valid, link._heads, strict=True)
            ]
            terms.append(Mux(link._full, link._ahead_left + crossing + 2, 0))
            terms.append(Mux(link._busy, link._left + 1 + Mux(link._crossing.out, most, 0), 0))
        terms += [port.fills for port in self.ports]
        terms += [Mux(each.valid, setting, 0) for each in blocks.setting]
        waits: list[Value] = []  # rows that have to move something
        serves: list[Value] = []  # the row whose turn it is has something to choose
        for row in range(ROWS):
            leaving, placed, loading = blocks._leaving[row], blocks._placed[row], blocks._loading[row]
            target = Mux(leaving, 0, blocks.vectors[row][0])[:REGISTERS]
            moves = placed ^ target
            terms.append(Mux(self.held[row], sum(moves) * (setting + 2) + leaving + loading, 0))
            waits.append(self.held[row] & moves.any())
            movable = Mux(blocks._turn_leaves, placed & ~target, target & ~placed)
            serves.append(blocks._turn[row] & movable.any())
        terms.append(any_of(waits) & ~any_of(serves))
        self.rank, before, falls = Signal(10, name="rank"), Signal(10), Signal(name="falls")
        self.nothing_new, self.before = Signal(name="nothing_new"), before
        nothing_new = (
            ~(self.activate | self.deactivate.any() | self.prefetch | self.offers.any()) & self.quiet.all()
        )
        m.d.comb += [self.rank.eq(sum(terms)), self.nothing_new.eq(nothing_new)]
        m.d.sync += [before.eq(self.rank), falls.eq(nothing_new & self.rank.any())]
        complete = [
            ~held | ~blocks._leaving[row] & self.bit(unit.may_issue, blocks._owner[row])
            for row, held in enumerate(self.held)
        ]
        m.d.comb += [
            Assert(~falls | (self.rank < before)),
            Assert(self.rank.any() | Cat(complete).all()),
            Assert(self.rank < 512),
        ]
