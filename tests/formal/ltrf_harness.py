"""What is claimed of the register file cache, and an invariant from which it follows at any depth.

Around the cache: warps that start, are activated, stall and end; PREFETCHes of any sets that fit; uops that
read and write registers of their interval as a scoreboard lets them; results in any order. One register of
one warp, chosen once, is followed: its newest value in program order, of which one bit is carried.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any
from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import assume_no_reset
from tests.formal.test_allocation import opened as opened_allocation
from tests.formal.test_allocation import queue_invariant
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import CacheConfig, SmConfig
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.mover import Stage
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.interfaces import Collection
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.storage.banks import Banks

#: Registers of a warp, of an interval; warps, and those that may be active. Others would differ in their
#: number only.
REGISTERS, ENTRIES, WARPS, ROWS, BANKS = 4, 2, 3, 2, 2
#: Rows of each bank that a warp's registers take.
PER_WARP = REGISTERS // BANKS


class Few(CacheConfig):
    """The cache's sizes without their lower bounds."""

    def __post_init__(self) -> None:
        pass


def machine(latency: int = 150, crossing: int = 1) -> SmConfig:
    """One lane, and banks whose accesses take `latency` percent of a cycle."""
    config = with_overrides(
        preset("tiny"),
        [
            "lanes=1",
            f"sub_core.warps={WARPS}",
            f"sub_core.active_warps={ROWS}",
            f"sub_core.banks={BANKS}",
            "sub_core.rows=8",
            "sub_core.collectors=1",
            f"sub_core.bank_latency={latency}",
        ],
    )
    return replace(config, sub_core=replace(config.sub_core, cache=Few(registers=ENTRIES, crossing=crossing)))


class Placed(Direct):
    """The mapping of a launch that has begun: warps have `PER_WARP` rows of each bank."""

    def _home(self, warp: Value, register: Value) -> tuple[Value, Value]:
        return register + warp, warp * PER_WARP + (register >> 1)


class OpenedBanks(Banks):
    """`contents`: the rows of every bank."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        memories: list[Any] = [m.submodules[f"bank_{number}"] for number in range(BANKS)]
        self.contents = [[read_at(m, memory, row) for row in range(WARPS * PER_WARP)] for memory in memories]
        return m


def opened_blocks(blocks: type[WarpControlBlocks]) -> type[WarpControlBlocks]:
    """Control blocks of `REGISTERS` registers, with the rows of their memories as signals."""

    class Opened(blocks):  # type: ignore[misc, valid-type]
        registers_per_warp = REGISTERS

        def elaborate(self, platform: object) -> Module:
            with mock.patch(
                "warpbank.hdl.hierarchy.wcb.AddressAllocation", opened_allocation(AddressAllocation)
            ):
                m = super().elaborate(platform)
            self.tables = [
                [read_at(m, self._table, row * REGISTERS + register) for register in range(REGISTERS)]
                for row in range(ROWS)
            ]
            saved = [read_at(m, self._saved, warp) for warp in range(WARPS)]
            self.saved = [(vectors[:REGISTERS], vectors[REGISTERS:]) for vectors in saved]
            return m

    return Opened


def opened(unit: type[Ltrf]) -> type[Ltrf]:
    """The cache with the rows of its banks as signals."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            self.contents = [[read_at(m, cache, row) for row in range(ROWS)] for cache in self._caches]
            return m

    return Opened


def any_of(values: list[Value]) -> Value:
    """One of them is true."""
    return reduce(or_, values)


class Harness(Elaboratable):
    """Claims: banks and rows are neither given twice nor lost; where the followed register is valid the cache
    holds its newest value, and wherever else it is alive that is in the main register file or on its way; an
    operand of an issued uop is in the cache until it has been read.

    Parameters
    ----------
    unit, blocks : the RTL.
    inductive : assert the invariant, too.
    liveness : LTRF+.
    """

    def __init__(
        self,
        unit: type[Ltrf] = Ltrf,
        blocks: type[WarpControlBlocks] = WarpControlBlocks,
        inductive: bool = True,
        liveness: bool = False,
        latency: int = 150,
        crossing: int = 1,
    ) -> None:
        self.config = config = machine(latency, crossing)
        self.inductive, self.liveness = inductive, liveness
        self.storage = OpenedBanks(config)
        collection = Collection(1)
        mapping = Placed(config, collection, collection.writers + 1, 0)
        main = MainRegisterFile(config, mapping, self.storage, collection, **unit.main_needs)
        with mock.patch("warpbank.hdl.hierarchy.ltrf.WarpControlBlocks", opened_blocks(blocks)):
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
        self.issue, self.issuer = self._any(1, "issue"), self._any(warps, "issuer")
        self.reads, self.last, self.write = (
            self._any(REGISTERS, name) for name in ("reads", "last", "write")
        )
        self.offers, self.masks, self.values = (
            self._any(2, "offers"),
            self._any(2, "masks"),
            self._any(2, "values"),
        )
        self.other_warp, self.other_register = (
            self._any(warps, "other_warp"),
            self._any(registers, "other_register"),
        )
        self.first, self.was_read = self._any(range(7), "first"), self._any(1, "was_read")

    def _any(self, shape: Any, name: str) -> Signal:
        """A signal of any value in any cycle."""
        self.free.append(Signal(shape, name=name))
        return self.free[-1]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = Fragment.get(self.unit, platform)  # here, so that its inner signals exist
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
            self._mover_invariant(m)
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
            unit.prefetching.eq(self.issuer),
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
        """What issues: a PREFETCH, or a uop."""
        unit, uop = self.unit, self.unit.issue.payload.uop
        may_issue = unit.may_issue & self.active & ~self.deactivate
        m.d.comb += [
            unit.issue.valid.eq(self.issue),
            unit.issue.payload.warp.eq(self.issuer),
            Assume(~(self.issue & self.prefetch)),
            Assume(~(self.issue | self.prefetch) | self.bit(may_issue, self.issuer)),
            Assume(~self.prefetch | (self.bit(self.quiet, self.issuer) & (sum(self.working) <= ENTRIES))),
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
        """Unit 0 has results of the followed register, unit 1 any others."""
        unit = self.unit
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
            Assume(self.other_warp < WARPS),
            Assume(~same),
            Assume(~self.offers[0] | (self.pending & ~self.reading)),
        ]
        taken = self.offers[0] & unit.result[0].ready
        writes = taken & self.masks[0]
        m.d.sync += self.pending.eq(self.pending & ~taken | self.writes_it)
        over = self.bit(self.ended, self.warp) | self.bit(self.start, self.warp)
        with m.If(writes):
            m.d.sync += self.newest.eq(self.values[0])
        m.d.sync += self.defined.eq(
            ~over & self.bit(self.live, self.warp) & (self.defined & ~self.ends_it | writes)
        )

    # --- Claims.

    def _claims(self, m: Module) -> None:
        blocks, unit = self.blocks, self.unit
        for row in range(ROWS):
            # Rows: no two of one warp. Banks: as many as registers, each register one of its own.
            m.d.comb += [
                Assert(~(self.held[row] & self.held[other]) | (blocks._owner[row] != blocks._owner[other]))
                for other in range(row)
            ]
            bank_unit, placed, table = blocks._units[row], blocks._placed[row], blocks.tables[row]
            m.d.comb += [
                Assert(sum(placed) == sum(bank_unit.occupied)),
                Assert(self.held[row] | ~placed.any()),
            ]
            for register in range(REGISTERS):
                m.d.comb += Assert(~placed[register] | bank_unit.occupied.bit_select(table[register], 1))
                m.d.comb += [
                    Assert(~(placed[register] & placed[other]) | (table[register] != table[other]))
                    for other in range(register)
                ]
        # The followed register.
        carries = [
            ~mover.idle & (mover.move.warp == self.warp) & (mover.move.register == self.register)
            for mover in unit._movers
        ]
        self.carried = Signal(name="carried")
        m.d.comb += self.carried.eq(any_of(carries))
        valid = []
        for row, (placed, table) in enumerate(zip(blocks._placed, blocks.tables, strict=True)):
            here = Signal(name=f"valid_{row}")
            m.d.comb += here.eq(
                self._in_row(row, self.warp) & placed.bit_select(self.register, 1) & ~self.carried
            )
            value = Array(contents[row] for contents in unit.contents)[Array(table)[self.register]]
            m.d.comb += Assert(~(here & (self.defined | self.reading)) | (value[0] == self.newest))
            valid.append(here)
        m.d.comb += Assert(~self.reading | any_of(valid))
        bank = (self.register + self.warp)[0]
        content = Array(
            Array(rows)[self.warp * PER_WARP + (self.register >> 1)] for rows in self.storage.contents
        )[bank]
        self.in_main = content[0] == self.newest
        m.d.comb += Assert(~(self.defined & ~self.carried & ~any_of(valid)) | self.in_main)
        # While it is carried the carrier has it.
        self.carries = carries

    def _accessing(self) -> list[Signal]:
        """Cycles that each bank's access still takes, where it takes more than one."""
        timing = self.unit._main._timing
        return [] if timing is None else timing._left

    # --- The invariant.

    def _allocation_invariant(self, m: Module) -> None:
        blocks = self.blocks
        for unit in (blocks._offsets, *blocks._units):
            m.d.comb += [Assert(wanted) for wanted in queue_invariant(unit)]
        for warp in range(WARPS):
            staying = any_of([self.staying[row] & (blocks._owner[row] == warp) for row in range(ROWS)])
            m.d.comb += Assert(self.active[warp] == staying)
            m.d.comb += Assert(sum(blocks.saved[warp][0]) <= ENTRIES)
        m.d.comb += [
            Assert((self.active & ~self.live) == 0),
            Assert((blocks._fresh & self.active) == 0),
            Assert((blocks._fresh & ~self.live) == 0),
        ]
        for row in range(ROWS):
            held, owner = self.held[row], blocks._owner[row]
            m.d.comb += [Assert(~held | (owner < WARPS)), Assert(held | ~blocks._leaving[row])]
            m.d.comb += [Assert(~held | (sum(blocks._working[row]) <= ENTRIES))]

    def _mover_invariant(self, m: Module) -> None:
        """What a mover carries is of a warp in the cache, of its bank; on its way in it has its place
        there."""
        blocks, unit, core = self.blocks, self.unit, self.config.sub_core
        most = -(-core.bank_latency // 100)
        if unit._main._timing is not None:
            m.d.comb += Assert(unit._main._timing._reading == 0)  # no collector reads
        for number, mover in enumerate(unit._movers):
            move, busy, stage = mover.move, ~mover.idle, mover._stage
            shipping = (stage == Stage.SHIP_IN) | (stage == Stage.SHIP_OUT)
            limit = Mux(stage == Stage.SHIP_IN, core.cache.crossing + most - 1, core.cache.crossing)
            register = move.register
            m.d.comb += [
                Assert(stage.as_value() <= Stage.STORE.value),
                *(Assert(left < most) for left in self._accessing()[number : number + 1]),
                Assert(~shipping | ((mover._left >= 1) & (mover._left <= limit))),
                Assert(
                    ~busy
                    | (
                        (move.warp < WARPS)
                        & (register < REGISTERS)
                        & (move.entry < ENTRIES)
                        & (move.offset < ROWS)
                    )
                ),
                Assert(~busy | ((register + move.warp)[0] == number)),
                Assert(~busy | (move.row == move.warp * PER_WARP + (register >> 1))),
                Assert(~mover._fresh | ((stage == Stage.SHIP_OUT) & (mover._left == core.cache.crossing))),
            ]
            at = move.offset
            held, owner = Array(self.held)[at], Array(blocks._owner)[at]
            leaving = blocks._leaving.bit_select(at, 1)
            placed, alive = Array(blocks._placed)[at], Array(blocks._alive)[at]
            placed_here = placed.bit_select(register, 1)
            table = [Array(tables[other] for tables in blocks.tables)[at] for other in range(REGISTERS)]
            m.d.comb += [
                Assert(~busy | (held & (owner == move.warp))),
                Assert(~mover.inbound | placed_here | (leaving & ~alive.bit_select(register, 1))),
                Assert(~(mover.inbound & placed_here) | (Array(table)[register] == move.entry)),
                Assert(~(busy & ~mover.inbound) | ~placed_here),
                Assert(~(busy & ~leaving) | alive.bit_select(register, 1)),
            ]
            m.d.comb += [
                Assert(~(mover.inbound & placed[other] & (register != other)) | (table[other] != move.entry))
                for other in range(REGISTERS)
            ]
            # The value of the followed register on its way.
            mine = self.carries[number] & self.defined
            read = (stage == Stage.SHIP_IN) | (stage == Stage.FILL)
            m.d.comb += [
                Assert(~(mine & (stage == Stage.FETCH)) | self.in_main),
                Assert(~(mine & read) | (self.storage.bank[number].data[0] == self.newest)),
                Assert(~(mine & ~mover.inbound & mover._fresh) | (mover.value[0] == self.newest)),
                Assert(~(mine & ~mover.inbound & ~mover._fresh) | (mover.carried[0] == self.newest)),
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
        alive = [bits.bit_select(self.register, 1) for bits in blocks._alive]
        saved = Array(vectors[1] for vectors in blocks.saved)[self.warp].bit_select(self.register, 1)
        m.d.comb += [
            Assert(~self.defined | live),
            Assert(~(fresh & self.defined)),
            Assert(~(needed & ~any_of(here)) | saved),
            Assert(~(fresh & (self.pending | self.reading))),
        ]
        m.d.comb += [Assert(~(row & needed) | bit) for row, bit in zip(here, alive, strict=True)]
        m.d.comb += [
            Assert(~(row & self.reading) | working.bit_select(self.register, 1))
            for row, working in zip(staying, blocks._working, strict=True)
        ]


class Drains(Harness):
    """With nothing new, a rank falls in every cycle until every warp in the cache is complete and those that
    leave are gone.

    Nothing new: no warp comes or goes, none prefetches, no result is offered, and all operands have been
    read. Rank: what has to happen yet. A register that has to leave or come counts more than its way can; a
    mover the cycles that it needs; a bank those that its access still takes; a row that is left 1.
    """

    def _claims(self, m: Module) -> None:
        super()._claims(m)
        blocks, unit, core = self.blocks, self.unit, self.config.sub_core
        crossing, most = core.cache.crossing, -(-core.bank_latency // 100)
        fetch = crossing + 2 * most
        work = fetch + 1
        terms: list[Value] = list(self._accessing())
        for mover in unit._movers:
            left = mover._left
            weights = {
                Stage.IDLE: 0,
                Stage.FETCH: fetch,
                Stage.SHIP_IN: left + 1,
                Stage.FILL: 1,
                Stage.SHIP_OUT: left + most,
                Stage.STORE: most,
            }
            terms.append(Array(weights[stage] for stage in Stage)[mover._stage.as_value()])
        for row in range(ROWS):
            leaving, placed = blocks._leaving[row], blocks._placed[row]
            moves = placed ^ Mux(leaving, 0, blocks._working[row])
            terms.append(Mux(self.held[row], sum(moves) * work + leaving, 0))
        self.rank, before, falls = Signal(10), Signal(10), Signal(name="falls")
        nothing_new = (
            ~(self.activate | self.deactivate.any() | self.prefetch | self.offers.any()) & self.quiet.all()
        )
        m.d.comb += self.rank.eq(sum(terms))
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
