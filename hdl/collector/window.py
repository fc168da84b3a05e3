"""Entries of one bypassing operand collector, and the unit that gives them to uops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, TO_BANKS, TO_COLLECTOR
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.prefix_counts import at_least, exactly, nth
from warpbank.hdl.round_robin import encode

#: Bits of an age; the largest stands for older ones, too.
AGE_WIDTH = 4
#: Entries that a uop can take.
_TAKEN = MAX_SOURCES + MAX_DESTINATIONS


class Entries:
    """State of a collector's entries: masks over them, register numbers, and counters as bit planes.

    Parameters
    ----------
    count : entries.
    window : instruction window in uops (`CollectorConfig.window`).
    name : of the signals.

    Attributes
    ----------
    valid : entries that hold or expect a register.
    filled : entries whose value is there.
    reserved : entries that expect a result.
    dirty : entries whose value the banks do not have.
    keep : entries whose dirty value must be written back.
    registers : register that each entry is for.
    idle : plane k holds bit k of the counters of uops since the last access. A count of `window` - 1 stands
        for more, too.
    age : plane k holds bit k of the counters of uops since the entry was taken.
    """

    def __init__(self, count: int, window: int, name: str) -> None:
        self.window = window
        self.valid, self.reserved, self.dirty = (
            Signal(count, name=f"{mask}_{name}") for mask in ("valid", "reserved", "dirty")
        )
        self.filled, self.keep = (
            Signal(count, name=f"{mask}_{name}", reset_less=True) for mask in ("filled", "keep")
        )
        self.registers = [
            Signal(REGISTER_WIDTH, name=f"register_{name}_{entry}", reset_less=True) for entry in range(count)
        ]
        self.idle = [Signal(count, name=f"idle_{name}_{bit}", reset_less=True) for bit in range(bits(window))]
        self.age = [Signal(count, name=f"age_{name}_{bit}", reset_less=True) for bit in range(AGE_WIDTH)]

    @property
    def passed(self) -> Value:
        """Mask of the entries that no later uop has in its window."""
        last = self.window - 1
        return reduce(
            lambda found, one: found & one,
            (plane if last >> bit & 1 else ~plane for bit, plane in enumerate(self.idle)),
        )

    @property
    def owed(self) -> Value:
        """Mask of the entries whose value the banks must get."""
        return self.dirty & self.keep

    def named(self, register: Value) -> Value:
        """Mask of the entries with this register number, whatever they hold."""
        return Cat(number == register for number in self.registers)


def counted(planes: list[Signal], which: Value) -> list[Value]:
    """Planes of the counters after those of the mask `which` have gone up by one."""
    result: list[Value] = []
    carry = which
    for plane in planes:
        result.append(plane ^ carry)
        carry = plane & carry
    return result


class Inserter(wiring.Component):
    """Forwarding logic of a bypassing operand collector: finds a uop's sources in the window.

    Sources that are not in the window and results get entries of it.

    All of it is combinational, on the state of the collector that the uop goes to. See
    `warpbank.golden.collector.window.Window.insert`. Entries go in the order of their numbers, to sources
    first. Which entry is the first, second ... free one is known from the state; it is joined with which
    source or result is the first, second ... that takes one, so that none waits for another.

    Parameters
    ----------
    config : the machine: window, entries.

    Members
    -------
    valid : In(entries). Entries that hold or expect a register.
    dirty : In(entries). Entries whose value the banks do not have.
    keep : In(entries). Entries whose dirty value must be written back.
    passed : In(entries). Entries that no later uop has in its window.
    pinned : In(entries). Entries that a uop in collection reads.
    claimed : In(entries). Entries for which a result arrives in this cycle.
    filled : In(entries). Entries whose value is there at the end of this cycle.
    registers : In(8) per entry. Register that each entry is for.
    age : In(entries) per bit. Bit planes of the ages.
    sources : In(8) per source slot. Source registers of the uop that issues.
    destination : In(8). First result register of the uop that issues.
    waiting_sources : In(8) per source slot. Source registers of the uop that waits. Both uops are compared
        with the entries, and only then one is taken.
    waiting_destination : In(8). First result register of the uop that waits.
    waits : In(1). The uop that waits is inserted, not the one that issues.
    source_valid : In(6). Source slots of the uop that is inserted.
    count : In(3). Registers that it writes.
    write_back : In(2). Its hint: bit 0 the collector, bit 1 the banks.
    full : In(1). It writes all lanes.
    still : In(1). It is no uop of the program: the window does not move.
    fits : Out(1). There are entries for all sources; else nothing is done but what `squeezed` says, and the
        masks mean nothing.
    found : Out(6). Source slots that are in the window.
    read : Out(6). Source slots that have to be read.
    complete : Out(1). All sources are in the window, and their values are there.
    places : Out(bits(entries)) per source slot. Number of the entry of each source.
    uses : Out(entries). Mask of the sources' entries.
    taken : Out(entries). Entries that are given to a register.
    expected : Out(entries). Entries that expect a result.
    touched : Out(entries). Entries that the uop accesses.
    invalid : Out(entries). Entries that hold nothing any more.
    clean : Out(entries). Entries that are not dirty any more.
    keep_set : Out(entries). Entries whose value must be written back.
    keep_clear : Out(entries). Entries whose value need not be written back.
    overwritten : Out(entries). Entries whose dirty values are overwritten.
    transient : Out(entries). Entries whose dirty values are dropped.
    dropped : Out(entries). Entries whose window has passed for good.
    squeezed : Out(entries). If the uop does not fit: the entry to be evicted before its time.
    numbers : Out(8) per entry. Register of each entry that is taken.
    """

    valid: Signal
    dirty: Signal
    keep: Signal
    passed: Signal
    pinned: Signal
    claimed: Signal
    filled: Signal
    registers: list[Signal]
    age: list[Signal]
    sources: list[Signal]
    destination: Signal
    waiting_sources: list[Signal]
    waiting_destination: Signal
    waits: Signal
    source_valid: Signal
    count: Signal
    write_back: Signal
    full: Signal
    still: Signal
    fits: Signal
    found: Signal
    read: Signal
    complete: Signal
    places: list[Signal]
    uses: Signal
    taken: Signal
    expected: Signal
    touched: Signal
    invalid: Signal
    clean: Signal
    keep_set: Signal
    keep_clear: Signal
    overwritten: Signal
    transient: Signal
    dropped: Signal
    squeezed: Signal
    numbers: list[Signal]

    def __init__(self, config: SmConfig) -> None:
        shape = config.sub_core.collector
        self._count = count = shape.window_entries
        masks = ("valid", "dirty", "keep", "passed", "pinned", "claimed", "filled")
        results = (
            "uses",
            "taken",
            "expected",
            "touched",
            "invalid",
            "clean",
            "keep_set",
            "keep_clear",
            "overwritten",
            "transient",
            "dropped",
            "squeezed",
        )
        super().__init__(
            {
                **{name: In(count) for name in masks},
                "registers": In(REGISTER_WIDTH).array(count),
                "age": In(count).array(AGE_WIDTH),
                "sources": In(REGISTER_WIDTH).array(MAX_SOURCES),
                "destination": In(REGISTER_WIDTH),
                "waiting_sources": In(REGISTER_WIDTH).array(MAX_SOURCES),
                "waiting_destination": In(REGISTER_WIDTH),
                "waits": In(1),
                "source_valid": In(MAX_SOURCES),
                "count": In(bits(MAX_DESTINATIONS + 1)),
                "write_back": In(2),
                "full": In(1),
                "still": In(1),
                "fits": Out(1),
                "found": Out(MAX_SOURCES),
                "read": Out(MAX_SOURCES),
                "complete": Out(1),
                "places": Out(bits(count)).array(MAX_SOURCES),
                **{name: Out(count) for name in results},
                "numbers": Out(REGISTER_WIDTH).array(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._owed, self._present, free = Signal(self._count), Signal(self._count), Signal(self._count)
        m.d.comb += [
            self._owed.eq(self.dirty & self.keep),
            self._present.eq(self.valid & (~self.passed | self.pinned | self._owed)),
            free.eq(~self.pinned & ~self._present),
        ]
        self._lines = nth(m, free, _TAKEN, "free")
        slots = self._sources(m, free)
        self._results(m, slots)
        self._squeeze(m, free)
        return m

    def _named(self, register: Value) -> Value:
        return Cat(number == register for number in self.registers)

    def _either(self, waiting: Value, issued: Value) -> Value:
        """Match that counts for the uop that is inserted. No `Mux`: a synthesizer would choose first, and
        compare once."""
        return (waiting & self.waits.replicate(len(waiting))) | (
            issued & (~self.waits).replicate(len(issued))
        )

    def _sources(self, m: Module, free: Value) -> list[Signal]:
        """Find the entries of the source slots. Returns for each k the slot, as a mask, that takes the free
        entry number k."""
        self._hits = [Signal(self._count, name=f"hit_{slot}") for slot in range(MAX_SOURCES)]
        for valid, hit, issued, waiting in zip(
            self.source_valid, self._hits, self.sources, self.waiting_sources, strict=True
        ):
            named = self._either(self._named(waiting), self._named(issued))
            m.d.comb += hit.eq(Mux(valid, named & self._present, 0))
        m.d.comb += [
            self.found.eq(Cat(hit.any() for hit in self._hits)),
            self.read.eq(self.source_valid & ~self.found),
        ]
        there = Cat((hit & self.filled).any() for hit in self._hits)
        m.d.comb += self.complete.eq((~self.source_valid | there).all())
        slots = nth(m, self.read, MAX_SOURCES, "missing")
        self._missing, room = (
            at_least(m, self.read, MAX_SOURCES, "missing"),
            at_least(m, free, MAX_SOURCES, "free_count"),
        )
        m.d.comb += self.fits.eq(_enough(self._missing, room))
        numbers = [encode(line) for line in self._lines]
        m.d.comb += [
            place.eq(encode(hit) | _or(Mux(slots[k][slot], numbers[k], 0) for k in range(slot + 1)))
            for slot, (place, hit) in enumerate(zip(self.places, self._hits, strict=True))
        ]
        self._fetched = Signal(self._count, name="fetched")  # entries given to sources
        m.d.comb += [
            self._fetched.eq(
                _or(Mux(more, line, 0) for more, line in zip(self._missing[1:], self._lines, strict=False))
            ),
            self.uses.eq(_or(self._hits) | self._fetched),
        ]
        return slots

    def _results(self, m: Module, slots: list[Signal]) -> None:
        """Entries of the result registers. A full result takes its register's entry or a free one if there is
        any. A partial one only joins a complete entry. Where none is expected, no older value may stay."""
        wanted, keep = (self.write_back[flag.bit_length() - 1] for flag in (TO_COLLECTOR, TO_BANKS))
        there, anew = Signal(MAX_DESTINATIONS), Signal(MAX_DESTINATIONS)
        inside = [Signal(self._count, name=f"inside_{place}") for place in range(MAX_DESTINATIONS)]
        same = [Signal(MAX_SOURCES, name=f"same_{place}") for place in range(MAX_DESTINATIONS)]
        issued, waiting = (
            [
                *_following(m, first, list(self.registers), f"{uop}_entry"),
                *_following(m, first, list(sources), f"{uop}_source"),
            ]
            for uop, first, sources in (
                ("issued", self.destination, self.sources),
                ("waiting", self.waiting_destination, self.waiting_sources),
            )
        )
        named = [self._either(one, other) for one, other in zip(waiting, issued, strict=True)]
        for place, (here, source) in enumerate(zip(inside, same, strict=True)):
            m.d.comb += [
                there[place].eq(place < self.count),
                here.eq(Mux(there[place], named[place] & self._present, 0)),
                source.eq(Mux(there[place], self.source_valid & named[MAX_DESTINATIONS + place], 0)),
                anew[place].eq(there[place] & self.full & wanted & ~here.any() & ~source.any()),
            ]
        into, own = Signal(self._count, name="into"), Signal(self._count, name="own")
        fresh = self._fresh(m, anew)
        m.d.comb += [
            own.eq(
                _or(
                    Mux((slot & _or(same)).any(), line, 0)
                    for slot, line in zip(slots, self._lines, strict=False)
                )
            ),
            into.eq(own | fresh),
            self.taken.eq(self._fetched | fresh),
        ]
        expected, invalid, clean, sets, clears, lost = [], [], [], [], [], []
        for place, here in enumerate(inside):
            old, stays = Signal(self._count, name=f"old_{place}"), Signal(name=f"stays_{place}")
            merges = ~self.full & old.any()
            m.d.comb += [old.eq(here & self.dirty), stays.eq(wanted | merges)]
            expected.append(Mux(stays, here, 0))
            invalid.append(Mux(stays, 0, here))
            clean.append(Mux(self.full, here, 0))
            lost.append(Mux(self.full, old, 0))
            sets.append(Mux(keep | (merges & ~wanted), here, 0))
            clears.append(Mux(keep | merges, 0, here))
        m.d.comb += [
            self.expected.eq(_or(expected) | Mux(wanted, into, 0)),
            self.invalid.eq(_or(invalid) | Mux(wanted, 0, into)),
            self.keep_set.eq(_or(sets) | Mux(keep, into, 0)),
            self.keep_clear.eq(_or(clears) | self.taken),
            self.touched.eq(self.uses | self.expected),
            self.clean.eq(_or(clean) | self.taken),
            self.dropped.eq(Mux(self.still, 0, self.valid & ~self._present & ~self.taken)),
            self.overwritten.eq(_or(lost)),
            self.transient.eq(self.valid & self.dirty & (self.taken | self.dropped)),
        ]
        sources = [
            Mux(self.waits, waiting, issued)
            for waiting, issued in zip(self.waiting_sources, self.sources, strict=True)
        ]
        missed = [_or(Mux(slot[at], source, 0) for at, source in enumerate(sources)) for slot in slots]
        for entry, number in enumerate(self.numbers):
            m.d.comb += number.eq(
                _or(
                    (
                        *(Mux(line[entry], one, 0) for line, one in zip(self._lines, missed, strict=False)),
                        *(
                            Mux(line[entry], one, 0)
                            for line, one in zip(self._next, self._written, strict=True)
                        ),
                    )
                )
            )

    def _fresh(self, m: Module, anew: Signal) -> Signal:
        """Entries given to results, `anew`: the free ones behind those of the sources."""
        order, missing = nth(m, anew, MAX_DESTINATIONS, "anew"), exactly(self._missing)
        self._next = [
            Signal(self._count, name=f"next_{k}") for k in range(MAX_DESTINATIONS)
        ]  # behind the sources' ones
        m.d.comb += [
            line.eq(_or(Mux(count, self._lines[k + before], 0) for before, count in enumerate(missing)))
            for k, line in enumerate(self._next)
        ]
        registers = [Signal(REGISTER_WIDTH, name=f"result_{place}") for place in range(MAX_DESTINATIONS)]
        first = self.waiting_destination, self.destination
        m.d.comb += [
            register.eq(self._either(*((one + place)[:REGISTER_WIDTH] for one in first)))
            for place, register in enumerate(registers)
        ]
        self._written = [
            _or(Mux(one[at], register, 0) for at, register in enumerate(registers)) for one in order
        ]
        fresh = Signal(self._count, name="fresh")
        m.d.comb += fresh.eq(
            _or(Mux(one.any(), line, 0) for one, line in zip(order, self._next, strict=True))
        )
        return fresh

    def _squeeze(self, m: Module, free: Value) -> None:
        """The oldest entry that may be evicted before its time, if those that leave anyway are too few.

        An entry that a source is found in does not leave: the source is counted as one that needs an entry
        instead.
        """
        leaving, inside = Signal(self._count), Signal(self._count)
        m.d.comb += [
            leaving.eq(self.valid & ~self.pinned & self._owed & self.passed),
            inside.eq(self.valid & ~self.pinned & ~_or(self._hits) & ~self.passed & ~self.claimed),
        ]
        short = Signal(MAX_SOURCES)
        m.d.comb += short.eq(self.source_valid & ~Cat((hit & ~leaving).any() for hit in self._hits))
        needed = at_least(m, short, MAX_SOURCES, "needed")
        room = at_least(m, free | leaving, MAX_SOURCES, "room")
        m.d.comb += self.squeezed.eq(
            Mux(
                self.fits | _enough(needed, room),
                0,
                Cat(inside[entry] & ~(inside & self._before(entry)).any() for entry in range(self._count)),
            )
        )

    def _before(self, entry: int) -> Value:
        """The entries that are squeezed out before this one: older ones, and of the same age those with lower
        numbers."""
        ages = [Cat(plane[number] for plane in self.age) for number in range(self._count)]
        return Cat(
            age >= ages[entry] if number < entry else (age > ages[entry] if number > entry else Const(0, 1))
            for number, age in enumerate(ages)
        )


def _following(m: Module, first: Signal, numbers: Sequence[Signal], name: str) -> list[Signal]:
    """Mask per place of a result, which of `numbers` is its register: the one at `first` or one behind it.

    Upper bits are compared with those of `first` and of the next group of registers, so that nothing is added
    before it is compared. `name` names the signals.
    """
    low = (MAX_DESTINATIONS - 1).bit_length()
    groups, size = range(1 << low), len(numbers)
    same, next_, starts = (
        Signal(size, name=f"same_{name}"),
        Signal(size, name=f"next_{name}"),
        Signal(1 << low),
    )
    ends = [Signal(size, name=f"{name}_{end}") for end in groups]
    m.d.comb += [
        same.eq(Cat(number[low:] == first[low:] for number in numbers)),
        starts.eq(Cat(first[:low] == start for start in groups)),
        next_.eq(Cat(_one_more(number[low:], first[low:]) for number in numbers)),
        *(mask.eq(Cat(number[:low] == end for number in numbers)) for end, mask in enumerate(ends)),
    ]
    places = [Signal(size, name=f"{name}_at_{place}") for place in range(MAX_DESTINATIONS)]
    m.d.comb += [
        there.eq(
            _or(
                Mux(
                    starts[start],
                    ends[(start + place) % (1 << low)] & (next_ if (start + place) >> low else same),
                    0,
                )
                for start in groups
            )
        )
        for place, there in enumerate(places)
    ]
    return places


def _one_more(more: Value, number: Value) -> Value:
    """Test whether `more` is `number` + 1, without waiting for a carry.

    It is where `more` + ~`number` is 0: where the sum of each two bits alone is the carry that the two below
    would have.
    """
    other = ~number
    return (more ^ other) == Cat(Const(0, 1), more | other)[: len(more)]


def _enough(needed: Sequence[Value], room: Sequence[Value]) -> Value:
    """Test whether there are as many as needed: both from `at_least`."""
    return ~_or(
        need & ~room[number] if number < len(room) else need for number, need in enumerate(needed) if number
    )


def _or(parts: Iterable[Value]) -> Value:
    return reduce(or_, parts)
