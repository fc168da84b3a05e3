"""The storage of one bypassing operand collector, and the unit that gives uops their entries."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig, bits
from arch.uop import MAX_DESTINATIONS, MAX_SOURCES

from ..priority import chosen, encode
from ..seams import REGISTER_WIDTH

#: Bits of an age; the largest stands for older ones, too.
AGE_WIDTH = 4


class Entries:
    """What is known of a collector's entries: masks over them, register numbers, and counters as bit planes.

    Parameters
    ----------
    count : entries.
    window : uops of the window, IW.
    name : of the signals.

    Attributes
    ----------
    valid, filled, reserved, dirty, keep : as in `golden.collector.window.Entry`.
    registers : which register each entry is for.
    idle, age : plane k holds bit k of all entries' counters. An idle count of `window` - 1 stands for more, too.
    """

    def __init__(self, count: int, window: int, name: str) -> None:
        self.window = window
        self.valid, self.reserved, self.dirty = (Signal(count, name=f"{mask}_{name}") for mask in ("valid", "reserved", "dirty"))
        self.filled, self.keep = (Signal(count, name=f"{mask}_{name}", reset_less=True) for mask in ("filled", "keep"))
        self.registers = [Signal(REGISTER_WIDTH, name=f"register_{name}_{entry}", reset_less=True) for entry in range(count)]
        self.idle = [Signal(count, name=f"idle_{name}_{bit}", reset_less=True) for bit in range(bits(window))]
        self.age = [Signal(count, name=f"age_{name}_{bit}", reset_less=True) for bit in range(AGE_WIDTH)]

    @property
    def passed(self) -> Value:
        """No later uop has the entry in its window."""
        last = self.window - 1
        return reduce(lambda found, one: found & one,
                      (plane if last >> bit & 1 else ~plane for bit, plane in enumerate(self.idle)))

    @property
    def owed(self) -> Value:
        """The banks must get the value."""
        return self.dirty & self.keep

    def named(self, register: Value) -> Value:
        """Entries with this register number, whatever they hold."""
        return Cat(number == register for number in self.registers)


def counted(planes: list[Signal], which: Value) -> list[Value]:
    """The counters' planes after those of the mask `which` have gone up by one."""
    result: list[Value] = []
    carry = which
    for plane in planes:
        result.append(plane ^ carry)
        carry = plane & carry
    return result


class Inserter(wiring.Component):
    """The forwarding logic: finds a uop's sources in its collector's window, gives entries to the others and to its results.

    All of it is combinational, on the state of the collector that the uop goes to. See `golden.collector.window.Window.insert`.

    Parameters
    ----------
    config : the machine: window, entries.

    Members
    -------
    valid, dirty, keep, passed, pinned, claimed : In(entries). The collector's state; `pinned`: read by a uop in collection;
        `claimed`: a result arrives in this cycle.
    registers : In(8) per entry. Which register each is for.
    age : In(entries) per bit. Bit planes of the ages.
    sources, source_valid, destination, count, write_back, full : In. The uop, as in `uop_layout`; `full`: it writes all lanes.
    still : In(1). It is no uop of the program: the window does not move.
    fits : Out(1). There are entries for all sources; else nothing is done but what `squeezed` says.
    found, read : Out(6). Source slots that are in the window; those that have to be read.
    places : Out per source slot. Their entries.
    uses, taken, expected, touched : Out(entries). Entries of the sources; those given anew; those that expect a result; all that
        the uop accesses.
    invalid, clean, keep_set, keep_clear : Out(entries). Those that hold nothing any more; are not dirty any more; must, need not
        be written back.
    numbers : Out per entry. Register numbers of those given anew.
    overwritten, transient, reserved : Out. Counts of dirty values overwritten, of dirty values dropped, of results expected.
    dropped : Out(entries). Those whose window has passed for good.
    squeezed : Out(entries). If the uop does not fit: the entry to be evicted before its time.
    """

    def __init__(self, config: SmConfig) -> None:
        shape = config.sub_core.collector
        self._count = count = shape.window_entries
        masks = ("valid", "dirty", "keep", "passed", "pinned", "claimed")
        results = ("uses", "taken", "expected", "touched", "invalid", "clean", "keep_set", "keep_clear", "dropped", "squeezed")
        super().__init__({
            **{name: In(count) for name in masks},
            "registers": In(REGISTER_WIDTH).array(count), "age": In(count).array(AGE_WIDTH),
            "sources": In(REGISTER_WIDTH).array(MAX_SOURCES), "source_valid": In(MAX_SOURCES), "destination": In(REGISTER_WIDTH),
            "count": In(bits(MAX_DESTINATIONS + 1)), "write_back": In(2), "full": In(1), "still": In(1),
            "fits": Out(1), "found": Out(MAX_SOURCES), "read": Out(MAX_SOURCES),
            "places": Out(bits(count)).array(MAX_SOURCES),
            **{name: Out(count) for name in results},
            "numbers": Out(REGISTER_WIDTH).array(count),
            **{name: Out(bits(count + MAX_DESTINATIONS + 1)) for name in ("overwritten", "transient", "reserved")},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._owed, self._present = Signal(self._count), Signal(self._count)
        m.d.comb += [
            self._owed.eq(self.dirty & self.keep), self._present.eq(self.valid & (~self.passed | self.pinned | self._owed)),
        ]
        free, lines = self._sources(m)
        self._results(m, free, lines)
        self._squeeze(m)
        return m

    def _named(self, register: Value) -> Value:
        return Cat(number == register for number in self.registers)

    def _sources(self, m: Module) -> tuple[Value, list[Signal]]:
        """Entries of the source slots. Returns the entries that are still free, and per slot the one given anew."""
        hits = [Signal(self._count, name=f"hit_{slot}") for slot in range(MAX_SOURCES)]
        for slot, hit in enumerate(hits):
            m.d.comb += hit.eq(Mux(self.source_valid[slot], self._named(self.sources[slot]) & self._present, 0))
        self._hits = Signal(self._count)
        free = Signal(self._count)
        m.d.comb += [
            self._hits.eq(reduce(or_, hits)), self.found.eq(Cat(hit.any() for hit in hits)),
            self.read.eq(self.source_valid & ~self.found),
            free.eq(~self.pinned & ~self._hits & (~self.valid | (self.passed & ~self._owed))),
        ]
        width = bits(max(self._count, MAX_SOURCES) + 1)
        self._missing, self._free = Signal(width), Signal(width)
        m.d.comb += [self._missing.eq(sum(self.read)), self._free.eq(sum(free)), self.fits.eq(self._free >= self._missing)]
        left: Value = free
        lines = []
        for slot, hit in enumerate(hits):
            first = chosen(m, left, f"line_{slot}")
            line = Signal(self._count, name=f"given_{slot}")
            m.d.comb += [line.eq(Mux(self.read[slot], first.one_hot, 0)), self.places[slot].eq(encode(hit | line))]
            rest = Signal(self._count, name=f"left_{slot}")
            m.d.comb += rest.eq(left & ~line)
            left = rest
            lines.append(line)
        m.d.comb += self.uses.eq(self._hits | reduce(or_, lines))
        return left, lines

    def _results(self, m: Module, free: Value, lines: list[Signal]) -> None:
        """Entries of the result registers. A full result takes its register's entry or a free one if there is any. A partial one
        only joins a complete entry. Where none is expected, no older value may stay."""
        wanted, keep = self.write_back[0], self.write_back[1]
        given: Value = reduce(or_, lines)
        dirty = self.dirty & ~given
        news, expected, invalid, clean, sets, clears, lost = [], [], [], [], [], [], []
        left = free
        for place in range(MAX_DESTINATIONS):
            register, there = Signal(REGISTER_WIDTH, name=f"result_{place}"), Signal(name=f"there_{place}")
            m.d.comb += [register.eq(self.destination + place), there.eq(place < self.count)]
            at, old, new = (Signal(self._count, name=f"{name}_{place}") for name in ("at", "old", "new"))
            own = [Mux(self.sources[slot] == register, line, 0) for slot, line in enumerate(lines)]
            m.d.comb += at.eq(Mux(there, (self._named(register) & self._present) | reduce(or_, own), 0))
            m.d.comb += old.eq(at & dirty)
            first = chosen(m, left, f"new_line_{place}")
            m.d.comb += new.eq(Mux(there & self.full & wanted & ~at.any(), first.one_hot, 0))
            rest = Signal(self._count, name=f"rest_{place}")
            m.d.comb += rest.eq(left & ~new)
            left = rest
            stays = Signal(name=f"stays_{place}")
            m.d.comb += stays.eq(wanted | (~self.full & old.any()))
            news.append(new)
            expected.append(new | Mux(stays, at, 0))
            invalid.append(Mux(stays, 0, at))
            clean.append(Mux(self.full, at, 0))
            lost.append(Mux(self.full, old, 0))
            merges = ~self.full & old.any()
            sets.append(Mux(keep | (merges & ~wanted), at | new, 0))
            clears.append(Mux(keep | merges, 0, at | new))
        fresh = Signal(self._count)
        m.d.comb += [
            fresh.eq(reduce(or_, news)), self.taken.eq(given | fresh), self.expected.eq(reduce(or_, expected)),
            self.touched.eq(self.uses | self.expected), self.invalid.eq(reduce(or_, invalid)),
            self.clean.eq(self.taken | reduce(or_, clean)), self.keep_set.eq(reduce(or_, sets)),
            self.keep_clear.eq(given | reduce(or_, clears)),
            self.dropped.eq(Mux(self.still, 0, self.valid & ~self._present & ~self.taken)),
            self.overwritten.eq(sum(reduce(or_, lost))), self.reserved.eq(sum(self.expected)),
            self.transient.eq(sum(self.valid & self.dirty & (self.taken | self.dropped))),
        ]
        for entry, number in enumerate(self.numbers):
            parts = [Mux(line[entry], self.sources[slot], 0) for slot, line in enumerate(lines)]
            parts += [Mux(new[entry], (self.destination + place)[:REGISTER_WIDTH], 0) for place, new in enumerate(news)]
            m.d.comb += number.eq(reduce(or_, parts))

    def _squeeze(self, m: Module) -> None:
        """The oldest entry that may be evicted before its time, if those that leave anyway are too few."""
        movable, inside = Signal(self._count), Signal(self._count)
        m.d.comb += movable.eq(self.valid & ~self.pinned & ~self._hits)
        m.d.comb += inside.eq(movable & ~self.passed & ~self.claimed)
        leaving = sum(movable & self._owed & self.passed)
        oldest: Value = inside
        for plane in reversed(self.age):
            older = Signal(self._count, name="older")
            m.d.comb += older.eq(oldest & plane)
            kept = Signal(self._count, name="oldest")
            m.d.comb += kept.eq(Mux(older.any(), older, oldest))
            oldest = kept
        choice = chosen(m, oldest, "squeezed")
        enough = self._free + leaving >= self._missing
        m.d.comb += self.squeezed.eq(Mux(self.fits | enough, Const(0, self._count), choice.one_hot))
