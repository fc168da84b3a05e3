"""What stands around operand collectors that keep values, for the proofs: issue under a scoreboard, banks,
units, results.

Any uops, in program order per warp; operands are read from the banks and delivered in any order, at any time;
units take and refuse as they like; results come in any order. One register of one warp, chosen once, is
followed: its content in the banks, and its newest value in program order. One bit of its lane 0 is carried:
where a wrong value could go a wrong bit goes in some run.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import assume_no_reset
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import CollectorConfig, SmConfig
from warpbank.arch.uop import Unit
from warpbank.hdl.interfaces import optional
from warpbank.hdl.layouts import UNITS

#: Registers of a warp and execution units that take part. The others would differ in their number only.
REGISTERS, BUSY_UNITS = 4, 2
#: These units: one that takes the oldest complete uop, and the one that takes uops in program order.
USED = (Unit.ALU, Unit.LSU)
LANES = 2


class Few(CollectorConfig):
    """A collector's sizes without their lower bounds: what a proof can hold."""

    def __post_init__(self) -> None:
        pass

    @property
    def window_entries(self) -> int:
        return int(self.boc_entries)


def machine(warps: int, collectors: int, stages: int = 0, **collector: Any) -> SmConfig:
    """Two lanes, so that there are partial writes; `stages`: between choice and issue; `collector`: of
    `Few`."""
    config = with_overrides(
        preset("tiny"),
        [
            f"sub_core.warps={warps}",
            f"sub_core.collectors={collectors}",
            f"lanes={LANES}",
            f"sub_core.front_end.issue_stages={stages}",
        ],
    )
    return replace(config, sub_core=replace(config.sub_core, collector=Few(**collector)))


class Environment(Elaboratable):
    """The unit under proof among them.

    Parameters
    ----------
    unit : a `Boc` or a `Ccu`, of `config`.
    slots : source slots that uops use; results: registers that they write at most.
    hints : write-back hints are any; else every result goes to collector and banks.
    """

    def __init__(
        self, unit: Any, config: SmConfig, slots: int = 2, results: int = 1, hints: bool = False
    ) -> None:
        self.unit, self.config = unit, config
        core = config.sub_core
        self.slots, self.results, self.hints = slots, results, hints
        self.tags, self.entries = unit.tags(config), unit.entries(config)
        self.warps, self.collectors = core.warps, core.collectors
        self.free: list[Signal] = []
        numbers, units, warps, registers = (
            range(self.collectors),
            range(BUSY_UNITS),
            range(core.warps),
            range(REGISTERS),
        )
        self.warp, self.register = self._any(warps, "warp"), self._any(registers, "register")  # followed
        self.issue, self.slide, self.issuer = (
            self._any(1, "issue"),
            self._any(1, "slide"),
            self._any(warps, "issuer"),
        )
        self.sources = [self._any(registers, f"source_{slot}") for slot in range(slots)]
        self.source_valid = self._any(slots, "source_valid")
        self.kind, self.number = self._any(units, "kind"), self._any(1, "number")
        self.destination, self.count = (
            self._any(registers, "destination"),
            self._any(range(results + 1), "count"),
        )
        self.mask, self.write_back, self.near = (
            self._any(LANES, "mask"),
            self._any(2, "write_back"),
            self._any(slots + 1, "near"),
        )
        self.start, self.accepts = self._any(core.warps, "start"), self._any(BUSY_UNITS, "accepts")
        self.first = self._any(range(UNITS + 1), "first")
        self.grants = [self._any(1, f"grants_{number}") for number in numbers]
        self.granted_slot = [self._any(range(slots), f"granted_slot_{number}") for number in numbers]
        self.granted_tag = [self._any(range(self.tags), f"granted_tag_{number}") for number in numbers]
        self.other = [
            self._any(1, f"other_{number}") for number in numbers
        ]  # values of registers that are not followed
        self.offers, self.banked = self._any(BUSY_UNITS, "offers"), self._any(BUSY_UNITS, "banked")
        self.offer_warp = [self._any(warps, f"offer_warp_{unit}") for unit in units]
        self.offer_register = [self._any(registers, f"offer_register_{unit}") for unit in units]
        self.changes = self._any(BUSY_UNITS, "changes")
        self.next_warp = [self._any(warps, f"next_warp_{unit}") for unit in units]
        self.next_register = [self._any(registers, f"next_register_{unit}") for unit in units]
        self.offer_near, self.offer_value = (
            self._any(BUSY_UNITS, "offer_near"),
            self._any(BUSY_UNITS, "offer_value"),
        )
        self.evicts = self._any(1, "evicts")

    def _any(self, shape: Any, name: str) -> Signal:
        """A signal of any value in any cycle."""
        signal = Signal(shape, name=name)
        if len(signal):
            self.free.append(signal)
        return signal

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
        m.d.comb += Assume(self.warp < self.warps)
        self._state()
        self._issue(m)
        self._operands(m)
        self._results(m)
        self._follow(m)
        self._dispatch(m)
        self.claims(m)
        return m

    def claims(self, m: Module) -> None:
        """What else is to be shown."""

    def _state(self) -> None:
        """Of uops in collection, by their `entry`; of registers, by warp: to be written, and by a uop that
        was dispatched."""
        entries, warps = range(self.entries), range(self.warps)
        self.busy = Signal(self.entries)
        self.of_warp = [Signal(range(self.warps), name=f"of_warp_{entry}") for entry in entries]
        self.named = [
            [Signal(range(REGISTERS), name=f"named_{entry}_{slot}") for slot in range(self.slots)]
            for entry in entries
        ]
        self.names = [Signal(self.slots, name=f"names_{entry}") for entry in entries]
        self.seq = [Signal(name=f"number_{entry}") for entry in entries]
        self.lanes = [Signal(LANES, name=f"lanes_{entry}") for entry in entries]
        self.writes = [Signal(REGISTERS, name=f"writes_{entry}") for entry in entries]
        self.left = [Signal(self.slots, name=f"left_{entry}") for entry in entries]  # requested, not granted
        self.pending = [Signal(REGISTERS, name=f"pending_{warp}") for warp in warps]
        self.flying = [Signal(REGISTERS, name=f"flying_{warp}") for warp in warps]
        self.write_lanes = [
            [Signal(LANES, name=f"write_lanes_{warp}_{number}") for number in range(REGISTERS)]
            for warp in warps
        ]
        self.bank, self.newest, self.known = (
            Signal(init=1, name=name) for name in ("bank", "newest", "known")
        )

    # --- Issue.

    def _issue(self, m: Module) -> None:
        unit, payload = self.unit, self.unit.issue.payload
        uop = payload.uop
        hint = self.write_back if self.hints else Const(3, 2)
        m.d.comb += [
            unit.issue.valid.eq(self.issue),
            unit.slide.eq(self.slide),
            unit.start.eq(self.start),
            payload.warp.eq(self.issuer),
            *(uop.sources[slot].eq(source) for slot, source in enumerate(self.sources)),
            uop.source_valid.eq(self.source_valid),
            uop.unit.eq(Mux(self.kind, USED[1], USED[0])),
            uop.seq.eq(self.number),
            uop.mask.eq(self.mask),
            uop.destination.eq(self.destination),
            uop.count.eq(self.count),
            uop.write_back.eq(hint),
            uop.near.eq(Cat(self.near[: self.slots], Const(0, 6 - self.slots), self.near[self.slots])),
            uop.collects.eq(1),
            *(head.eq(uop) for heads in optional(unit, "heads") for head in heads),
        ]
        m.d.comb += [
            Assume(self.issuer < self.warps),
            Assume(self.count <= self.results),
            Assume(self.destination + self.count <= REGISTERS),
            Assume(~(self.issue & self.slide)),
        ]
        m.d.comb += Assume(~self.issue | unit.may_issue.bit_select(self.issuer, 1))
        m.d.comb += Assume(~self.slide | unit.may_slide.bit_select(self.issuer, 1))
        for slot, source in enumerate(self.sources):  # each register is named once
            for other in range(slot):
                both = self.source_valid[slot] & self.source_valid[other]
                m.d.comb += Assume(~both | (source != self.sources[other]))
        self.reads_now = reduce(
            or_,
            (
                Mux(self.source_valid[slot], 1 << source, 0)[:REGISTERS]
                for slot, source in enumerate(self.sources)
            ),
        )
        self.writes_now = (((1 << self.count) - 1) << self.destination)[:REGISTERS]
        unread: Value = Const(0, REGISTERS)
        for entry in range(self.entries):
            mine = self.busy[entry] & (self.of_warp[entry] == self.issuer)
            unread = unread | Mux(mine, self.sources_of(entry), 0)
        pending = Array(self.pending)[self.issuer]
        hazard = (pending & (self.reads_now | self.writes_now)).any() | (unread & self.writes_now).any()
        m.d.comb += Assume(~self.issue | ~hazard)
        for entry in range(self.entries):
            with m.If(self.issue & (unit.entry == entry)):
                m.d.comb += Assert(~self.busy[entry])
                m.d.sync += [
                    self.busy[entry].eq(1),
                    self.of_warp[entry].eq(self.issuer),
                    self.names[entry].eq(self.source_valid),
                    *(kept.eq(source) for kept, source in zip(self.named[entry], self.sources, strict=True)),
                    self.seq[entry].eq(self.number),
                    self.lanes[entry].eq(self.mask),
                    self.writes[entry].eq(self.writes_now),
                ]
        for warp in range(self.warps):  # a new warp comes when the one before is through
            idle = ~Cat(
                self.busy[entry] & (self.of_warp[entry] == warp) for entry in range(self.entries)
            ).any()
            idle &= ~self.pending[warp].any() & ~((self.issue | self.slide) & (self.issuer == warp))
            m.d.comb += Assume(~self.start[warp] | idle)

    def sources_of(self, entry: int) -> Value:
        """Mask of the registers that a uop in collection reads."""
        return reduce(
            or_,
            (
                Mux(self.names[entry][slot], 1 << number, 0)[:REGISTERS]
                for slot, number in enumerate(self.named[entry])
            ),
        )

    # --- Operands from the banks.

    def _operands(self, m: Module) -> None:
        unit, read = self.unit, self.unit.read
        tagged = self.tags > 1
        asks_for = read.payload.collector * self.tags + (read.payload.tag if tagged else 0)
        self.reads_bank: list[Value] = []
        for number in range(self.collectors):
            grant, slot, tag = self.grants[number], self.granted_slot[number], self.granted_tag[number]
            delivery = unit.deliver[number]
            mine = range(number * self.tags, (number + 1) * self.tags)
            at = Array(self.left[entry] for entry in mine)[tag]
            m.d.comb += [Assume(tag < self.tags), Assume(~grant | at.bit_select(slot, 1))]
            register = Array(Array(self.named[entry])[slot] for entry in mine)[tag]
            owner = Array(self.of_warp[entry] for entry in mine)[tag]
            followed = Signal(name=f"reads_bank_{number}")
            m.d.comb += followed.eq(grant & (owner == self.warp) & (register == self.register))
            self.reads_bank.append(followed)
            value = Signal(name=f"arriving_{number}")
            m.d.sync += [
                delivery.valid.eq(grant),
                delivery.slot.eq(slot),
                value.eq(Mux(followed, self.bank, self.other[number])),
            ]
            m.d.comb += delivery.value.eq(value)
            if tagged:
                m.d.sync += delivery.tag.eq(tag)
            for place, entry in enumerate(mine):
                asked = Mux(read.valid & (asks_for == entry), read.payload.source_valid[: self.slots], 0)
                granted = Mux(grant & (tag == place), 1 << slot, 0)[: self.slots]
                m.d.sync += self.left[entry].eq(self.left[entry] & ~granted | asked)
                m.d.comb += Assert(~(asked & self.left[entry]).any())  # nothing is asked for twice at a time

    # --- Results and write-back.

    def _results(self, m: Module) -> None:
        unit = self.unit
        m.d.comb += [unit.first.eq(self.first), Assume(self.first < UNITS)]
        takes: list[Value] = []
        self.to_bank: list[Value] = []  # results of the followed register that go to the banks
        self.taken_now: list[Value] = []
        for number in range(BUSY_UNITS):
            offer, warp, register = (
                unit.result[USED[number]],
                self.offer_warp[number],
                self.offer_register[number],
            )
            lanes = Array(Array(row)[register] for row in self.write_lanes)[warp]
            m.d.comb += [
                offer.valid.eq(self.offers[number]),
                offer.payload.warp.eq(warp),
                offer.payload.register.eq(register),
                offer.payload.mask.eq(lanes),
                offer.payload.near.eq(self.offer_near[number]),
                offer.taken.eq(offer.valid & (offer.absorbed | self.banked[number] & ~offer.barred)),
                unit.keep[USED[number]].value.eq(self.offer_value[number]),
                Assume(warp < self.warps),
                Assume(~offer.valid | Array(self.flying)[warp].bit_select(register, 1)),
            ]
            self._upcoming(m, number)
            for other in range(number):
                same = (warp == self.offer_warp[other]) & (register == self.offer_register[other])
                m.d.comb += Assume(~(same & self.offers[number] & self.offers[other]))
            taken = Signal(name=f"followed_taken_{number}")
            m.d.comb += taken.eq(offer.taken & (warp == self.warp) & (register == self.register))
            self.taken_now.append(taken)
            self.to_bank.append(taken & ~offer.absorbed)
            takes.append(Mux(offer.taken, 1 << Cat(register, warp if self.warps > 1 else Const(0, 0)), 0))
        self.taken = Signal(self.warps * REGISTERS)
        m.d.comb += self.taken.eq(reduce(or_, takes))

    def _upcoming(self, m: Module, number: int) -> None:
        """A unit offers what it offered, or what it has named. It names what comes when that changes: in the
        cycle in which what it offers is written, and while that is no result at all."""
        warp, register, changes = self.offer_warp[number], self.offer_register[number], self.changes[number]
        next_warp, next_register = self.next_warp[number], self.next_register[number]
        for upcoming in (ports[USED[number]] for ports in optional(self.unit, "upcoming")):
            named_warp = Signal.like(warp, name=f"named_warp_{number}")
            named_register = Signal.like(register, name=f"named_register_{number}")
            m.d.comb += [
                upcoming.changes.eq(changes),
                upcoming.warp.eq(next_warp),
                upcoming.register.eq(next_register),
                Assume(next_warp < self.warps),
                Assume((warp == named_warp) & (register == named_register)),
                Assume(changes | Array(self.flying)[warp].bit_select(register, 1)),
                Assume(changes | ~self.unit.result[USED[number]].taken),
            ]
            m.d.sync += [
                named_warp.eq(Mux(changes, next_warp, warp)),
                named_register.eq(Mux(changes, next_register, register)),
            ]

    def _follow(self, m: Module) -> None:
        """The followed register: its newest value, and what the banks hold."""
        unit = self.unit
        value, lanes = Signal(name="value"), Signal(LANES, name="lanes")
        any_taken, banked = Cat(self.taken_now).any(), Cat(self.to_bank).any()
        for number, taken in enumerate(self.taken_now):
            with m.If(taken):
                m.d.comb += [
                    value.eq(self.offer_value[number]),
                    lanes.eq(unit.result[USED[number]].payload.mask),
                ]
        with m.If(any_taken & lanes[0]):
            m.d.sync += [self.newest.eq(value), self.known.eq(1)]
        with m.If(banked & lanes[0]):
            m.d.sync += self.bank.eq(value)
        with m.If(self.start.bit_select(self.warp, 1)):
            m.d.sync += self.known.eq(0)
        written = banked
        if unit.evicted:
            payload = unit.evicted[0].payload
            mine = (payload.warp == self.warp) & (payload.register == self.register)
            m.d.comb += unit.evicted[0].ready.eq(self.evicts & ~(banked & mine))
            self.goes_back = Signal()
            m.d.comb += self.goes_back.eq(unit.evicted[0].valid & unit.evicted[0].ready & mine)
            with m.If(self.goes_back):
                m.d.sync += self.bank.eq(payload.value[0])
            written = written | self.goes_back
        m.d.comb += Assume(~(written & Cat(self.reads_bank).any()))  # a bank that is written is not read

    # --- Dispatch.

    def operand(self, number: int, entry: int, slot: int) -> tuple[Value, Value]:
        """When the collector `number` shows the operand of a slot of the uop `entry`, and the port on which
        it does: with the dispatch of the uop, all at once."""
        return self.gone[entry], self.unit.operands[number][slot]

    def _dispatch(self, m: Module) -> None:
        unit = self.unit
        m.d.comb += [unit.dispatch[used].ready.eq(self.accepts[number]) for number, used in enumerate(USED)]
        self.gone = Signal(self.entries)
        m.d.comb += self.gone.eq(Cat(done.slots.any() for done in unit.read_done))
        ports = [
            Cat(port.valid & port.ready & (port.payload.collector == number) for port in unit.dispatch)
            for number in range(self.collectors)
        ]
        flies: list[list[Value]] = [[] for _ in range(self.warps)]
        for entry in range(self.entries):
            number = entry // self.tags
            gone = self.gone[entry]
            with m.If(gone):
                m.d.sync += self.busy[entry].eq(0)
                m.d.comb += [
                    Assert(self.busy[entry]),
                    Assert(self.left[entry] == 0),
                    Assert(ports[number].any()),
                ]
                for port in (unit.dispatch[used] for used in USED):
                    here = port.valid & port.ready & (port.payload.collector == number)
                    m.d.comb += Assert(~here | (port.payload.result.seq == self.seq[entry]))
            for slot in range(self.slots):
                reads = self.names[entry][slot] & (self.named[entry][slot] == self.register)
                reads &= (self.of_warp[entry] == self.warp) & self.lanes[entry][0] & self.known
                shown, operand = self.operand(number, entry, slot)
                m.d.comb += Assert(~(shown & reads) | (operand[0] == self.newest))
            for warp in range(self.warps):
                flies[warp].append(Mux(gone & (self.of_warp[entry] == warp), self.writes[entry], 0))
        for warp in range(self.warps):
            taken = self.taken.word_select(warp, REGISTERS)
            issued = Mux(self.issue & (self.issuer == warp), self.writes_now, 0)
            m.d.sync += [
                self.pending[warp].eq(self.pending[warp] & ~taken | issued),
                self.flying[warp].eq(self.flying[warp] & ~taken | reduce(or_, flies[warp])),
            ]
            for register, lanes in enumerate(self.write_lanes[warp]):
                with m.If(issued[register]):
                    m.d.sync += lanes.eq(self.mask)
