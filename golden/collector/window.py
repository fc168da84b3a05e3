"""Instruction window of a bypassing operand collector: the values that a warp's last uops touched."""

from __future__ import annotations

from typing import Final

from warpbank.arch.uop import MOVE, TO_BANKS, TO_COLLECTOR
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

#: Ages are counted up to here; of entries as old as that the one with the lowest number counts as the oldest.
OLDEST: Final = 15


class Entry:
    """Entry of the window: a register of the warp.

    Parameters
    ----------
    number : number of the entry.
    register, value, metadata : number of the register, and its content once it is `filled`.
    valid : the entry holds that register, or waits for it.
    reserved : a result is expected.
    dirty : the banks have an older value.
    keep : write the value back when the entry leaves; else the compiler says that nobody reads it afterwards.
    idle : uops of the warp since the last access (0: the youngest uop accessed it); `window` stands for more,
        too.
    age : uops collected since the entry was taken, the one that took it included, up to `OLDEST`.
    users : uops in collection that read it, and results that wait to be written into it.
    claimed : a result is taken for it in this cycle, if it is taken at all.
    """

    __slots__ = (
        "age",
        "claimed",
        "dirty",
        "filled",
        "idle",
        "keep",
        "metadata",
        "number",
        "register",
        "reserved",
        "users",
        "valid",
        "value",
        "waiting",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.register = 0
        self.value: Value | None = None
        self.metadata = EMPTY
        self.valid = self.filled = self.reserved = self.dirty = self.keep = self.claimed = False
        self.idle = self.age = self.users = 0
        self.waiting: list[Collected] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """State of the entry in words, for a drawing."""
        states = (
            ("reserved", self.reserved),
            ("dirty", self.dirty),
            ("transient", self.dirty and not self.keep),
            ("in use", self.users > 0),
        )
        return tuple(word for word, holds in states if holds)


class Collected:
    """Uop in collection: its sources' entries in slot order, the number of those not filled, whether it has
    been inserted, and whether a unit has chosen it."""

    __slots__ = ("chosen", "entries", "inserted", "missing", "tag", "uop")

    def __init__(self, uop: TraceUop, tag: int) -> None:
        self.uop = uop
        self.tag = tag
        self.entries: list[Entry] = []
        self.missing = 0
        self.inserted = False
        self.chosen = False

    @property
    def complete(self) -> bool:
        """Whether all operands have arrived."""
        return self.inserted and not self.missing


class Insertion:
    """Outcome of a uop's insertion: slots found in the window and slots to be read, result registers
    expected, and dirty values that went without a bank write, overwritten or of no further use."""

    __slots__ = ("found", "overwritten", "read", "reserved", "transient")

    def __init__(
        self, found: list[int], read: list[int], reserved: int, overwritten: int, transient: int
    ) -> None:
        self.found = found
        self.read = read
        self.reserved = reserved
        self.overwritten = overwritten
        self.transient = transient


class Window:
    """Instruction window of one bypassing operand collector. BOW, sections IV-A to IV-C; docs/bow.md says
    what was decided where the paper is silent.

    A value may be used up to `window` - 1 uops after its last access. It has left the window then: it is
    dropped, unless it is dirty and must be kept: then it stays (and is still found: the banks are behind)
    until a bank has taken it. An entry that a uop in collection reads does not leave.

    Parameters
    ----------
    entries : number of entries.
    window : instruction window in uops (`CollectorConfig.window`).
    write_through : results go to the banks as well, so nothing is ever dirty.
    every_lane : mask of all lanes; a result on fewer is partial.
    """

    def __init__(self, entries: int, window: int, write_through: bool, every_lane: int) -> None:
        self._window = window
        self._write_through = write_through
        self._every_lane = every_lane
        self.entries = [Entry(number) for number in range(entries)]

    def clear(self) -> None:
        """Drop all entries, since a new warp starts."""
        for entry in self.entries:
            entry.valid = entry.dirty = entry.reserved = False

    # --- States of an entry. All of them are functions of its registers.

    def _passed(self, entry: Entry) -> bool:
        """Return whether no later uop has the entry in its window."""
        return entry.idle >= self._window - 1

    def _owed(self, entry: Entry) -> bool:
        """Return whether the banks must get the value."""
        return entry.dirty and entry.keep

    def _present(self, entry: Entry) -> bool:
        """Return whether a uop that names the entry's register uses the entry."""
        return entry.valid and (not self._passed(entry) or entry.users > 0 or self._owed(entry))

    def leaving(self, besides: Entry | None = None) -> Entry | None:
        """Return the entry that is written back next: the first one, but for `besides`, that has left the
        window dirty."""
        for entry in self.entries:
            if entry is not besides and self.leaves(entry):
                return entry
        return None

    def leaves(self, entry: Entry) -> bool:
        """Return whether the entry has left the window dirty, and the banks must get its value."""
        return entry.valid and self._owed(entry) and self._passed(entry) and not entry.users

    @property
    def used(self) -> int:
        """Number of entries that hold or wait for a value."""
        used = 0
        for entry in self.entries:
            used += self._present(entry)
        return used

    def _find(self, register: int) -> Entry | None:
        for entry in self.entries:
            if entry.register == register and self._present(entry):
                return entry
        return None

    # --- Insertion of a uop, and the window's movement.

    def insert(self, collected: Collected) -> Insertion | Entry | None:
        """Give a uop its entries and move the window. If entries are short, change nothing and return the
        entry to be squeezed out next, or None if enough are on their way out."""
        uop = collected.uop
        hits = [self._find(register) for register in uop.sources]
        read = [slot for slot, hit in enumerate(hits) if hit is None]
        free = [
            entry
            for entry in self.entries
            if not entry.users
            and entry not in hits
            and (not entry.valid or (self._passed(entry) and not self._owed(entry)))
        ]
        if len(free) < len(read):
            return self._squeezed(hits, len(read) - len(free))
        touched = [hit for hit in hits if hit is not None]
        transient = 0
        for slot in read:
            entry = free.pop(0)
            transient += entry.valid and entry.dirty
            self._take(entry, uop.sources[slot])
            hits[slot] = entry
            touched.append(entry)
        collected.entries = [entry for entry in hits if entry is not None]
        for entry in collected.entries:
            entry.users += 1
            if not entry.filled:
                entry.waiting.append(collected)
                collected.missing += 1
        collected.inserted = True
        expected, reserved, overwritten, dropped = self._expect(uop, free)
        transient += dropped + self._move([*touched, *expected], collects=True, slides=not uop.seq & MOVE)
        found = [slot for slot in range(len(hits)) if slot not in read]
        return Insertion(found, read, reserved, overwritten, transient)

    def _take(self, entry: Entry, register: int) -> None:
        entry.register = register
        entry.valid = True
        entry.filled = entry.reserved = entry.dirty = entry.keep = False
        entry.age = 0

    def _squeezed(self, hits: list[Entry | None], short: int) -> Entry | None:
        """Return the oldest entry that may be evicted before its time, if those that leave anyway are too
        few."""
        movable = [entry for entry in self.entries if entry.valid and not entry.users and entry not in hits]
        if sum(self.leaves(entry) for entry in movable) >= short:
            return None
        inside = [entry for entry in movable if not self._passed(entry) and not entry.claimed]
        return max(inside, key=lambda entry: (entry.age, -entry.number), default=None)

    def squeeze(self, entry: Entry) -> None:
        """Evict an entry before its time: a clean one is gone, a dirty one is written back whatever the
        compiler said."""
        if entry.dirty:
            entry.idle = self._window
            entry.keep = True
        else:
            entry.valid = False

    def _expect(self, uop: TraceUop, free: list[Entry]) -> tuple[list[Entry], int, int, int]:
        """Prepare for the uop's results. Returns the entries that expect one, their number, and the dirty
        values that the uop overwrites or that go to make room.

        A full result takes its register's entry or a free one if there is any. A partial one only joins a
        complete entry: it cannot make one. Where none is expected, no older value may stay.
        """
        full = uop.lane_mask == self._every_lane
        wanted = bool(uop.write_back & TO_COLLECTOR)
        keep = bool(uop.write_back & TO_BANKS)
        expected: list[Entry] = []
        overwritten = transient = 0
        for register in range(uop.destination, uop.destination + uop.count):
            entry = self._find(register)
            if entry is None:
                if not full or not wanted or not free:
                    continue
                entry = free.pop(0)
                transient += entry.valid and entry.dirty
                self._take(entry, register)
                entry.keep = keep
            elif full:
                overwritten += entry.dirty
                entry.dirty = False
                entry.keep = keep
                if not wanted:
                    entry.valid = False
                    continue
            elif entry.dirty:
                entry.keep = entry.keep or keep or not wanted
            elif wanted:
                entry.keep = keep
            else:
                entry.valid = False
                continue
            entry.reserved = True
            expected.append(entry)
        return expected, len(expected), overwritten, transient

    def slide(self) -> int:
        """Move the window for a uop that needs no collector. Returns the number of dirty values that are
        dropped."""
        return self._move([], collects=False)

    def _move(self, touched: list[Entry], collects: bool, slides: bool = True) -> int:
        """Move the window by one uop that accessed the entries `touched`. A uop that the program does not
        have (`slides` is false) brings no other entry nearer to the end of its stay."""
        transient = 0
        for entry in self.entries:
            if not entry.valid:
                continue
            if entry in touched:
                entry.idle = 0
            elif slides:
                if not self._present(entry):
                    transient += entry.dirty
                    entry.valid = entry.dirty = False
                entry.idle = min(entry.idle + 1, self._window)
            if collects:
                entry.age = min(entry.age + 1, OLDEST)
        return transient

    # --- Values that arrive, and those that leave.

    def fill(self, entry: Entry, value: Value, metadata: Metadata = EMPTY) -> list[Collected]:
        """Take a value that a bank delivers. Returns the uops that waited for it."""
        entry.value, entry.metadata = value, metadata
        entry.filled = True
        waiting, entry.waiting = entry.waiting, []
        return waiting

    def expecting(self, register: int) -> Entry | None:
        """Return the entry that a result of the register goes into: the one reserved for it, if it has not
        left."""
        for entry in self.entries:
            if entry.register == register and entry.reserved and self._present(entry):
                return entry
        return None

    def expect_write(self, entry: Entry) -> None:
        """Note that a result is on its way into the entry, which it uses until it is written."""
        entry.reserved = entry.filled = False
        entry.users += 1
        entry.dirty = not self._write_through

    def write(self, entry: Entry, mask: int, value: Value, last: bool = True) -> list[Collected]:
        """Write a result into an entry; `last`: no other waits for it. Returns the uops that waited for
        it."""
        if mask != self._every_lane:
            assert entry.value is not None
            value = merge(entry.value, value, mask)
        if not last:
            entry.value = value
            return []
        return self.fill(entry, value)
