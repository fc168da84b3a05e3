"""Cache tags and miss-status holding registers."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits, power_of_two
from warpbank.hdl.typed import Arrays, Numbers, Record, Records, record

#: Bits of a memory line's number: a 64-bit byte address without the 7 bits inside a line of 128 bytes.
LINE_WIDTH = 57


class Tags(wiring.Component):
    """Set-associative tag array with true LRU replacement.

    Tags stay in their way; beside them a second, narrow memory keeps for each set its ways from the most to
    the least recently used (invalid ways last) and which are valid. So a hit writes only the order, and the
    way to replace is simply the last one. One operation per cycle on `line`: `touch`, `insert` or `remove`.

    Parameters
    ----------
    sets : sets; the low bits of a line's number are its set.
    ways : lines of a set.
    ahead : registered read: the set must be announced one cycle before (`next_line`). Otherwise the arrays
        are read combinationally (LUT memory, flops).
    clearable : `clear` invalidates everything in one cycle, for one flop per set.

    Members
    -------
    line : In(57). Line that is looked up in this cycle.
    hit : Out(1). The line is there.
    touch : In(1). A hit becomes the most recently used. At most one of `touch`, `insert` and `remove` is 1.
    insert : In(1). Put the absent line in place of the least recently used.
    remove : In(1). Invalidate the line if it is there.
    next_line : In(57), if `ahead`. Line of the next cycle.
    next_valid : In(1), if `ahead`. `next_line` counts; without it the set of this cycle stays.
    clear : In(1), if `clearable`. Invalidate every line.

    Latency: `hit` in the same cycle; an operation counts from the next cycle on.

    Raises
    ------
    ValueError : sets not a power of two, ways below 1.
    """

    line: Signal
    hit: Signal
    touch: Signal
    insert: Signal
    remove: Signal
    clear: Signal
    next_line: Signal
    next_valid: Signal

    def __init__(self, sets: int, ways: int, *, ahead: bool = False, clearable: bool = False) -> None:
        if sets < 1:
            raise ValueError(f"Tags.sets must be at least 1, not {sets}.")
        power_of_two("Tags.sets", sets)
        if ways < 1:
            raise ValueError(f"Tags.ways must be at least 1, not {ways}.")
        self._sets = sets
        self._ways = ways
        self._ahead = ahead
        self._clearable = clearable
        members: dict[str, wiring.Member] = {
            "line": In(LINE_WIDTH),
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
        sets, ways = self._sets, self._ways
        set_bits = sets.bit_length() - 1
        tag_width = LINE_WIDTH - set_bits
        use_shape = data.StructLayout({"order": data.ArrayLayout(bits(ways), ways), "valid": ways})
        unused: dict[int | str, int | list[int]] = {"order": list(range(ways)), "valid": 0}

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
        m.d.comb += self.hit.eq(match.any())

        # Position in the order of the way concerned: that of the hit, or the last one.
        at = Signal(ways)
        with m.If(self.insert):
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
        m.d.comb += [
            uses_write.addr.eq(place),
            uses_write.data.eq(after),
            uses_write.en.eq(self.insert | (self.remove & self.hit) | (self.touch & self.hit & ~at[0])),
            tags_write.addr.eq(place),
            tags_write.data.eq(Cat(tag for _ in range(ways))),
            tags_write.en.eq(Mux(self.insert, 1 << way, 0)),
        ]
        return m


class Mshrs(wiring.Component):
    """Miss-status holding registers: missing lines, and the uops that wait for each.

    A uop in flight is known by its slot. The slots of a line are kept in the order in which they came.

    Parameters
    ----------
    entries : lines that may be missing at a time.
    merges : slots that may wait for one line.
    slots : uops in flight.

    Members
    -------
    line : In(57). Line that is looked up.
    pending : Out(1). The line is on its way.
    can_merge : Out(1). One more slot may wait for the line, if it is pending.
    full : Out(1). No further line may miss.
    entry : Out(bits(entries)). Entry of the pending line, or the one that it would get.
    wait : In(1). `slot` waits for `line`.
    slot : In(bits(slots)). Uop in flight that waits.
    fill : In(1). The line of `fill_entry` is here, and the entry is free again. Not in the cycle of a `wait`.
    fill_entry : In(bits(entries)). Entry of the line that is here.
    fill_line : Out(57). Number of that line.
    waiters : Out(slot per merge). Slots that waited for that line.
    waiting : Out(bits(merges + 1)). How many slots waited for that line.

    Latency: all outputs in the same cycle; `wait` and `fill` count from the next cycle on.

    Raises
    ------
    ValueError : a size below 1.
    """

    line: Signal
    pending: Signal
    can_merge: Signal
    full: Signal
    entry: Signal
    wait: Signal
    slot: Signal
    fill: Signal
    fill_entry: Signal
    fill_line: Signal
    waiters: Record
    waiting: Signal

    def __init__(self, entries: int, merges: int, slots: int) -> None:
        for name, value in (("entries", entries), ("merges", merges), ("slots", slots)):
            if value < 1:
                raise ValueError(f"Mshrs.{name} must be at least 1, not {value}.")
        self._entries = entries
        self._merges = merges
        self._slot_width = bits(slots)
        super().__init__(
            {
                "line": In(LINE_WIDTH),
                "pending": Out(1),
                "can_merge": Out(1),
                "full": Out(1),
                "entry": Out(bits(entries)),
                "wait": In(1),
                "slot": In(bits(slots)),
                "fill": In(1),
                "fill_entry": In(bits(entries)),
                "fill_line": Out(LINE_WIDTH),
                "waiters": Out(data.ArrayLayout(bits(slots), merges)),
                "waiting": Out(range(merges + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, merges = self._entries, self._merges
        depth = max(2, count)
        valid = Signal(count)
        lines = Array(
            Signal(LINE_WIDTH, name=f"line{entry}", reset_less=True) for entry in range(count)
        )  # the CAM
        # The same numbers again as a memory, so that a fill does not need a multiplexer of all entries.
        numbers: Numbers = memory.Memory(shape=LINE_WIDTH, depth=depth, init=[])
        m.submodules.numbers = numbers
        lists: Arrays = memory.Memory(shape=data.ArrayLayout(self._slot_width, merges), depth=depth, init=[])
        m.submodules.lists = lists
        counts: Numbers = memory.Memory(shape=bits(merges + 1), depth=depth, init=[])
        m.submodules.counts = counts
        numbers_read, numbers_write = numbers.read_port(domain="comb"), numbers.write_port()
        lists_read, lists_write = lists.read_port(domain="comb"), lists.write_port(granularity=1)
        counts_read, counts_write = counts.read_port(domain="comb"), counts.write_port()

        match = Signal(count)
        free = Signal(count)  # one bit: the first free entry
        chosen = Signal(count)
        m.d.comb += [match[entry].eq(valid[entry] & (lines[entry] == self.line)) for entry in range(count)]
        m.d.comb += [
            self.pending.eq(match.any()),
            self.full.eq(valid.all()),
            free.eq(~valid & (valid + 1)),
            chosen.eq(Mux(self.pending, match, free)),
            self.can_merge.eq(self.waiting < merges),
        ]
        for bit in range(bits(count)):
            m.d.comb += self.entry[bit].eq(
                Cat(chosen[entry] for entry in range(count) if entry >> bit & 1).any()
            )

        m.d.comb += [
            numbers_read.addr.eq(self.fill_entry),
            self.fill_line.eq(numbers_read.data),
            lists_read.addr.eq(self.fill_entry),
            self.waiters.eq(lists_read.data),
            counts_read.addr.eq(Mux(self.fill, self.fill_entry, self.entry)),
            self.waiting.eq(counts_read.data),
        ]
        position = Signal(range(merges + 1))
        m.d.comb += [
            position.eq(Mux(self.pending, self.waiting, 0)),
            numbers_write.addr.eq(self.entry),
            numbers_write.data.eq(self.line),
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
