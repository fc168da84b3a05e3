"""Cache tags and miss-status holding registers."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits, power_of_two
from warpbank.arch.uop import LINE_WIDTH
from warpbank.hdl.typed import Arrays, Numbers, Record, Records, record


class Tags(wiring.Component):
    """Set-associative tag array with true LRU replacement.

    Tags stay in their way; beside them a second, narrow memory keeps for each set its ways from the most to
    the least recently used (invalid ways last) and which are valid. So a hit writes only the order, and the
    way to replace is simply the last one. One operation per cycle on `line`: `touch`, `insert` or `remove`.

    A line of several sectors has a valid bit for each, beside the way's.

    Parameters
    ----------
    sets : sets; the low bits of a line's number are its set.
    ways : lines of a set.
    sectors : sectors of a line.
    ahead : registered read: the set must be announced one cycle before (`next_line`). Otherwise the arrays
        are read combinationally (LUT memory, flops).
    clearable : `clear` invalidates everything in one cycle, for one flop per set.

    Members
    -------
    line : In(57). Line that is looked up in this cycle.
    sectors : In(sectors). Sectors of the line that are looked up or inserted.
    missing : Out(sectors). Those of them that are not there.
    hit : Out(1). All of them are there.
    touch : In(1). A hit becomes the most recently used. At most one of `touch`, `insert` and `remove` is 1.
    insert : In(1). Put the missing sectors there, those of an absent line in place of the least recently
        used.
    remove : In(1). Invalidate the line, all of its sectors, if it is there.
    next_line : In(57), if `ahead`. Line of the next cycle.
    next_valid : In(1), if `ahead`. `next_line` counts; without it the set of this cycle stays.
    clear : In(1), if `clearable`. Invalidate every line.

    Latency: `hit` in the same cycle; an operation counts from the next cycle on.

    Raises
    ------
    ValueError : sets not a power of two, ways or sectors below 1.
    """

    line: Signal
    sectors: Signal
    missing: Signal
    hit: Signal
    touch: Signal
    insert: Signal
    remove: Signal
    clear: Signal
    next_line: Signal
    next_valid: Signal

    def __init__(
        self, sets: int, ways: int, sectors: int = 1, *, ahead: bool = False, clearable: bool = False
    ) -> None:
        if sets < 1:
            raise ValueError(f"Tags.sets must be at least 1, not {sets}.")
        power_of_two("Tags.sets", sets)
        if ways < 1:
            raise ValueError(f"Tags.ways must be at least 1, not {ways}.")
        if sectors < 1:
            raise ValueError(f"Tags.sectors must be at least 1, not {sectors}.")
        self._sets = sets
        self._ways = ways
        self._sectors = sectors
        self._ahead = ahead
        self._clearable = clearable
        members: dict[str, wiring.Member] = {
            "line": In(LINE_WIDTH),
            "sectors": In(sectors),
            "missing": Out(sectors),
            "hit": Out(1),
            "touch": In(1),
            "insert": In(1),
            "remove": In(1),
        }
        if ahead:
            members |= {"next_line": In(LINE_WIDTH), "next_valid": In(1)}
        if clearable:
            members["clear"] = In(1)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sets, ways, sectors = self._sets, self._ways, self._sectors
        set_bits = sets.bit_length() - 1
        tag_width = LINE_WIDTH - set_bits
        fields: dict[str, Any] = {"order": data.ArrayLayout(bits(ways), ways), "valid": ways}
        unused: dict[int | str, int | list[int]] = {"order": list(range(ways)), "valid": 0}
        if sectors > 1:
            fields["there"] = data.ArrayLayout(sectors, ways)
            unused["there"] = [0] * ways
        use_shape = data.StructLayout(fields)

        depth = max(2, sets)  # no zero-width addresses
        tags: Arrays = memory.Memory(shape=data.ArrayLayout(unsigned(tag_width), ways), depth=depth, init=[])
        m.submodules.tags = tags
        uses: Records = memory.Memory(shape=use_shape, depth=depth, init=[unused] * depth)
        m.submodules.uses = uses
        tags_write = tags.write_port(granularity=1)
        uses_write = uses.write_port()
        place = Signal(range(depth))
        tag = Signal(tag_width)
        m.d.comb += [place.eq(self.line[:set_bits]), tag.eq(self.line[set_bits:])]
        if self._ahead:
            tags_read = tags.read_port(transparent_for=[tags_write])
            uses_read = uses.read_port(transparent_for=[uses_write])
            for port in (tags_read, uses_read):
                m.d.comb += [port.addr.eq(self.next_line[:set_bits]), port.en.eq(self.next_valid)]
        else:
            tags_read = tags.read_port(domain="comb")
            uses_read = uses.read_port(domain="comb")
            m.d.comb += [tags_read.addr.eq(place), uses_read.addr.eq(place)]

        use = record(use_shape)
        m.d.comb += use.eq(uses_read.data)
        if self._clearable:
            used = Signal(sets)  # sets written since the last clear; the others hold what `unused` says
            with m.If(~used.bit_select(place, 1)):
                m.d.comb += use.eq(use_shape.const(unused))
            with m.If(self.clear):
                m.d.sync += used.eq(0)
            with m.Elif(uses_write.en):
                m.d.sync += used.eq(used | (1 << place))

        match = Signal(ways)
        m.d.comb += [match[way].eq(use.valid[way] & (tags_read.data[way] == tag)) for way in range(ways)]
        known = Signal()  # the line is there, or some sectors of it
        there = Signal(sectors)
        m.d.comb += known.eq(match.any())
        if sectors > 1:
            for way_ in range(ways):
                with m.If(match[way_]):
                    m.d.comb += there.eq(use.there[way_])
        else:
            m.d.comb += there.eq(known)
        m.d.comb += [self.missing.eq(self.sectors & ~there), self.hit.eq(~self.missing.any())]

        # Position in the order of the way concerned: that of the hit, or the last one.
        at = Signal(ways)
        with m.If(self.insert & (~known if sectors > 1 else 1)):
            m.d.comb += at[-1].eq(1)
        with m.Else():
            m.d.comb += [at[place_].eq(match.bit_select(use.order[place_], 1)) for place_ in range(ways)]
        way = Signal(range(ways))
        for position in range(ways):
            with m.If(at[position]):
                m.d.comb += way.eq(use.order[position])

        after = record(use_shape)
        m.d.comb += after.eq(use)
        with m.If(self.remove):
            for position in range(ways - 1):
                with m.If(at[: position + 1].any()):
                    m.d.comb += after.order[position].eq(use.order[position + 1])
            m.d.comb += [after.order[ways - 1].eq(way), after.valid.eq(use.valid & ~match)]
        with m.Else():
            for position in range(1, ways):
                with m.If(at[position:].any()):
                    m.d.comb += after.order[position].eq(use.order[position - 1])
            m.d.comb += after.order[0].eq(way)
            with m.If(self.insert):
                m.d.comb += after.valid.eq(use.valid | (1 << way))
                if sectors > 1:
                    m.d.comb += after.there[way].eq(there | self.sectors)
        m.d.comb += [
            uses_write.addr.eq(place),
            uses_write.data.eq(after),
            uses_write.en.eq(self.insert | (self.remove & known) | (self.touch & self.hit & ~at[0])),
            tags_write.addr.eq(place),
            tags_write.data.eq(Cat(tag for _ in range(ways))),
            tags_write.en.eq(Mux(self.insert, 1 << way, 0)),
        ]
        return m


class Mshrs(wiring.Component):
    """Miss-status holding registers: requests for missing sectors, and the uops that wait for each.

    Several requests for sectors of one line may be on their way, but none for the same sector. A uop in
    flight is known by its slot. The slots of a request are kept in the order in which they came.

    Parameters
    ----------
    entries : requests that may be on their way at a time.
    merges : slots that may wait for one request.
    slots : uops in flight.
    sectors : sectors of a line.

    Members
    -------
    line : In(57). Line that is looked up.
    sectors : In(sectors). Sectors of the line that are looked up.
    pending : Out(1). A request on its way brings the lowest of these sectors.
    can_merge : Out(1). One more slot may wait for that request.
    full : Out(1). No further request may be on its way.
    entry : Out(bits(entries)). Entry of that request, or the one that a new request would get.
    asks : Out(sectors). Sectors that a new request asks for: those that no other request brings.
    left : Out(sectors). Sectors that neither the pending request nor, without one, the new one brings.
    wait : In(1). `slot` waits for the pending request, or for a new one.
    slot : In(bits(slots)). Uop in flight that waits.
    fill : In(1). The request of `fill_entry` is answered, and the entry is free again. Not in the cycle of a
        `wait`.
    fill_entry : In(bits(entries)). Entry of that request.
    fill_line : Out(57). Number of its line.
    fill_sectors : Out(sectors). Its sectors.
    waiters : Out(slot per merge). Slots that waited for it.
    waiting : Out(bits(merges + 1)). How many slots waited for it.

    Latency: all outputs in the same cycle; `wait` and `fill` count from the next cycle on.

    Raises
    ------
    ValueError : a size below 1.
    """

    line: Signal
    sectors: Signal
    pending: Signal
    can_merge: Signal
    full: Signal
    entry: Signal
    asks: Signal
    left: Signal
    wait: Signal
    slot: Signal
    fill: Signal
    fill_entry: Signal
    fill_line: Signal
    fill_sectors: Signal
    waiters: Record
    waiting: Signal

    def __init__(self, entries: int, merges: int, slots: int, sectors: int = 1) -> None:
        sizes = (("entries", entries), ("merges", merges), ("slots", slots), ("sectors", sectors))
        for name, value in sizes:
            if value < 1:
                raise ValueError(f"Mshrs.{name} must be at least 1, not {value}.")
        self._entries = entries
        self._merges = merges
        self._sectors = sectors
        self._slot_width = bits(slots)
        super().__init__(
            {
                "line": In(LINE_WIDTH),
                "sectors": In(sectors),
                "pending": Out(1),
                "can_merge": Out(1),
                "full": Out(1),
                "entry": Out(bits(entries)),
                "asks": Out(sectors),
                "left": Out(sectors),
                "wait": In(1),
                "slot": In(bits(slots)),
                "fill": In(1),
                "fill_entry": In(bits(entries)),
                "fill_line": Out(LINE_WIDTH),
                "fill_sectors": Out(sectors),
                "waiters": Out(data.ArrayLayout(bits(slots), merges)),
                "waiting": Out(range(merges + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, merges, sectors = self._entries, self._merges, self._sectors
        depth = max(2, count)
        valid = Signal(count)
        lines = Array(
            Signal(LINE_WIDTH, name=f"line{entry}", reset_less=True) for entry in range(count)
        )  # the CAM
        # What was asked for again as a memory, so that a fill does not need a multiplexer of all entries.
        width = LINE_WIDTH + (sectors if sectors > 1 else 0)
        numbers: Numbers = memory.Memory(shape=width, depth=depth, init=[])
        m.submodules.numbers = numbers
        lists: Arrays = memory.Memory(shape=data.ArrayLayout(self._slot_width, merges), depth=depth, init=[])
        m.submodules.lists = lists
        counts: Numbers = memory.Memory(shape=bits(merges + 1), depth=depth, init=[])
        m.submodules.counts = counts
        numbers_read, numbers_write = numbers.read_port(domain="comb"), numbers.write_port()
        lists_read, lists_write = lists.read_port(domain="comb"), lists.write_port(granularity=1)
        counts_read, counts_write = counts.read_port(domain="comb"), counts.write_port()

        match = Signal(count)  # entries of the line
        free = Signal(count)  # one bit: the first free entry
        chosen = Signal(count)
        m.d.comb += [match[entry].eq(valid[entry] & (lines[entry] == self.line)) for entry in range(count)]
        brings = Signal(count)  # at most one bit: the entry that brings the lowest sector
        if sectors > 1:
            asked = [Signal(sectors, name=f"asked{entry}", reset_less=True) for entry in range(count)]
            with m.If(self.wait & ~self.pending & ~self.fill):
                for entry in range(count):
                    with m.If(free[entry]):
                        m.d.sync += asked[entry].eq(self.asks)
            lowest, coming, brought = Signal(sectors), Signal(sectors), Signal(sectors)
            m.d.comb += [
                lowest.eq(self.sectors & -self.sectors),
                coming.eq(reduce(or_, (Mux(match[entry], asked[entry], 0) for entry in range(count)))),
                brings.eq(Cat(match[entry] & (asked[entry] & lowest).any() for entry in range(count))),
                brought.eq(reduce(or_, (Mux(brings[entry], asked[entry], 0) for entry in range(count)))),
                self.asks.eq(self.sectors & ~coming),
                self.left.eq(self.sectors & Mux(self.pending, ~brought, coming)),
            ]
        else:
            m.d.comb += [brings.eq(match), self.asks.eq(1)]
        m.d.comb += [
            self.pending.eq(brings.any()),
            self.full.eq(valid.all()),
            free.eq(~valid & (valid + 1)),
            chosen.eq(Mux(self.pending, brings, free)),
            self.can_merge.eq(self.waiting < merges),
        ]
        for bit in range(bits(count)):
            m.d.comb += self.entry[bit].eq(
                Cat(chosen[entry] for entry in range(count) if entry >> bit & 1).any()
            )

        m.d.comb += [
            numbers_read.addr.eq(self.fill_entry),
            self.fill_line.eq(numbers_read.data[:LINE_WIDTH]),
            self.fill_sectors.eq(numbers_read.data[LINE_WIDTH:] if sectors > 1 else 1),
            lists_read.addr.eq(self.fill_entry),
            self.waiters.eq(lists_read.data),
            counts_read.addr.eq(Mux(self.fill, self.fill_entry, self.entry)),
            self.waiting.eq(counts_read.data),
        ]
        position = Signal(range(merges + 1))
        m.d.comb += [
            position.eq(Mux(self.pending, self.waiting, 0)),
            numbers_write.addr.eq(self.entry),
            numbers_write.data.eq(Cat(self.line, self.asks)),
            numbers_write.en.eq(self.wait & ~self.pending),
            lists_write.addr.eq(self.entry),
            lists_write.data.eq(Cat(self.slot for _ in range(merges))),
            lists_write.en.eq(Mux(self.wait, 1 << position, 0)),
            counts_write.addr.eq(self.entry),
            counts_write.data.eq(position + 1),
            counts_write.en.eq(self.wait),
        ]
        with m.If(self.fill):
            m.d.sync += valid.eq(valid & ~(1 << self.fill_entry))
        with m.Elif(self.wait & ~self.pending):
            m.d.sync += valid.eq(valid | free)
            for entry in range(count):
                with m.If(free[entry]):
                    m.d.sync += lines[entry].eq(self.line)
        return m
