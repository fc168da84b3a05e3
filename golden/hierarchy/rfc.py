"""RFC: a register file cache with tags that results are written into, without prefetch (the comparator of
LTRF)."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.hierarchy.result_cache import ResultCache
from warpbank.golden.hierarchy.tags import TagRow
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class Departing:
    """A register that has left the cache and waits for its bank: warp, register, row of the bank, value."""

    __slots__ = ("register", "row", "value", "warp")

    def __init__(self, warp: int, register: int, row: int, value: Value) -> None:
        self.warp = warp
        self.register = register
        self.row = row
        self.value = value


class Rfc(ResultCache):
    """A cache of the active warps' newest results. LTRF, section 2.3 and its reference 19.

    Tags: the sources of a uop are compared with those of its warp's row in the cycle after it issued. What is
    not found is read from the main register file and not brought in: only results allocate, of all lanes that
    the warp has; others go where their register is. As soon as a row has no free entry, one leaves: the one
    that was allocated (`fifo`) or used (`lru`) least recently, and is not still to be read. It goes to the
    main register file by way of a buffer, one per bank, unless the compiler's word is that nobody reads it
    any more. So everything in the cache is newer than the banks: there is no dirty bit.

    One entry leaves in a cycle, of a row chosen by rotating priority; if it cannot, it is the next row's
    turn. All leave when their warp is deactivated. A warp that has ended writes nothing back, nor does a
    register without content in the main register file.

    A value that a collector evicts goes where its register is.
    """

    def __init__(
        self, config: SmConfig, main: MainRegisterFile, quiet: Callable[[int], bool], probe: Probe
    ) -> None:
        super().__init__(config, main, quiet, probe)
        self._renews = config.sub_core.cache.replacement == "lru"
        self.tags = [TagRow(self._entries) for _ in range(self._rows)]
        #: (collector, slot, tag, warp, register, read for the last time)
        self._asked: list[tuple[int, int, int, int, int, bool]] = []
        #: (collector, slot, warp, register, tag, bank of the cache)
        self._found: list[tuple[int, int, int, int, int, int | None]] = []
        self._entered: list[tuple[int, int, int]] = []  # (row, bank, register) of this cycle's results
        self._buffers: list[Departing | None] = [None] * config.sub_core.banks
        self._leaves: tuple[int, Departing] | None = None
        self._pointer = 0
        self._arrived: list[tuple[int, int]] = []  # registers whose buffer was emptied in the cycle before
        self._fresh: list[tuple[int, int]] = []  # results that the cache takes in this cycle

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return (
            super().busy
            or bool(self._asked)
            or any(self._buffers)
            or bool(self._arrived)
            or any(row.unused is None for row in self.tags)
        )

    def _forget(self) -> None:
        self._buffers = [None] * len(self._buffers)
        self._leaves = None

    def before(self, uop: TraceUop) -> TraceUop | None:
        """The move that must issue in the place of a uop: before one that may write some lanes of a bank. The
        tags are not asked whether the cache has the register, which might leave before the result comes."""
        return self._main.before(uop) if uop.part else None

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface); it is looked for in the next cycle. The uop says
        whether it reads its register for the last time."""
        self._asked.append((collector, slot, tag, uop.warp, register, bool(uop.dead >> slot & 1)))

    def _place(self, uop: TraceUop, register: int) -> tuple[int | None, bool] | None:
        offset = self._row_of[uop.warp]
        if offset is not None:
            row = self.tags[offset]
            entry = row.find(register)
            if entry is not None:
                return entry, False
            if not self._leaving[offset] and not uop.part:
                return None if row.unused is None else (row.unused, False)
        return None if self._departs(uop.warp, register) else (None, True)

    def _departs(self, warp: int, register: int) -> bool:
        """Whether an older value of the register waits for its bank."""
        home = self._mapping.home(warp, register)
        assert home is not None
        buffer = self._buffers[home[0]]
        return buffer is not None and buffer.row == home[1]

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released; False: it has to
        wait."""
        if self._main.drops(warp, register):
            return True
        offset = self._row_of[warp]
        entry = None if offset is None else self.tags[offset].find(register)
        if entry is None:
            return not self._departs(warp, register) and self._main.write_back(warp, register, value)
        if self._cache_written >> entry & 1:
            return False
        metadata = self._storage.encode(value, True)
        self._write_cache(warp, entry, register, self._every_lane, value, metadata)
        return True

    def _enters(self, offset: int, entry: int, register: int) -> None:
        self._entered.append((offset, entry, register))
        warp = self._owner[offset]
        assert warp is not None
        self._fresh.append((warp, register))

    def _empty(self, offset: int) -> bool:
        warp = self._owner[offset]
        assert warp is not None
        return self._quiet(warp) if self._over[offset] else not self.tags[offset].valid

    def _before_reads(self) -> None:
        for warp, register in self._arrived:
            self._mapping.let_go(warp, register)
        self._arrived.clear()
        self._look_up()
        self._evict()
        self._drain()

    def _look_up(self) -> None:
        """Find the operands that were requested in the cycle before. The warp of a uop that waited in its
        collector may have lost its row meanwhile."""
        for collector, slot, tag, warp, register, last in self._asked:
            offset = self._row_of[warp]
            entry = None if offset is None else self.tags[offset].find(register)
            self._found.append((collector, slot, warp, register, tag, entry))
            if offset is not None and entry is not None:
                row = self.tags[offset]
                self._locks[offset][entry] += 1
                if last:
                    row.live &= ~(1 << entry)
                if self._renews:
                    row.used |= 1 << entry
        self._asked.clear()

    def _evict(self) -> None:
        """Let one register leave, of the first row, in rotating order, that has one to lose."""
        ripe = [self._ripe(offset) for offset in range(self._rows)]
        work = sum(1 << offset for offset, entry in enumerate(ripe) if entry is not None)
        if not work:
            return
        offset = first_from(work, self._pointer)
        self._pointer = (offset + 1) % self._rows
        row, warp, entry = self.tags[offset], self._owner[offset], ripe[offset]
        assert warp is not None
        assert entry is not None
        if self._cache_written >> entry & 1:
            return
        register = row.registers[entry]
        assert register is not None
        home = self._mapping.content(warp, register) if row.live >> entry & 1 else None
        if home is not None:
            bank, line = home
            if self._buffers[bank] is not None:
                return
            self._left = 1 << entry
            self._mapping.hold(warp, register)
            self._mapping.moved([register])
            self._leaves = bank, Departing(warp, register, line, self._values[entry][offset])
        row.registers[entry] = None
        self._probe.emit("cache_release", entry, offset, warp, register)

    def _ripe(self, offset: int) -> int | None:
        """The entry of a row that has to leave next."""
        row = self.tags[offset]
        if self._over[offset] or not (self._leaving[offset] or row.unused is None):
            return None
        locks = self._locks[offset]
        return next(
            (entry for entry in row.order if row.registers[entry] is not None and not locks[entry]), None
        )

    def _drain(self) -> None:
        """Registers that have left go into their banks, where no result does. One whose next result comes in
        this cycle is kept as it is: at the clock edge that was still pending."""
        for bank, buffer in enumerate(self._buffers):
            if buffer is None or self._main.taken >> bank & 1:
                continue
            whose = (buffer.warp, buffer.register)
            self._main.drain(bank, buffer.row, *whose, buffer.value, whose not in self._fresh)
            self._arrived.append(whose)
            self._buffers[bank] = None

    def _close(self) -> None:
        for offset, entry, register in self._entered:
            row = self.tags[offset]
            new = row.registers[entry] is None
            row.live |= 1 << entry
            if new or self._renews:
                row.used |= 1 << entry
            if new:
                row.registers[entry] = register
                self._allocated(offset, entry, register)
        self._entered.clear()
        self._fresh.clear()
        for row in self.tags:
            row.edge()
        if self._leaves is not None:
            bank, left = self._leaves
            self._buffers[bank], self._leaves = left, None
        for found in self._found:
            self._request(*found)
        self._found.clear()

    def _allocated(self, offset: int, entry: int, register: int) -> None:
        """Report an allocation."""
        warp = self._owner[offset]
        assert warp is not None
        self._probe.emit("cache_allocate", entry, offset, warp, register)

    def _release(self, offset: int) -> None:
        self.tags[offset].clear()
        super()._release(offset)

    def _poison(self, warp: int, register: int) -> None:
        offset = self._row_of[warp]
        entry = None if offset is None else self.tags[offset].find(register)
        if offset is not None and entry is not None:
            self._values[entry][offset] = self._storage.poisoned(self._values[entry][offset])

    def contents(self) -> list[Shelf]:
        """Rows of the cache: the registers that the tags name."""
        shelves: list[Shelf] = []
        for offset, row in enumerate(self.tags):
            warp = self._owner[offset]
            kept = [
                Kept(
                    warp,
                    register,
                    self._values[entry][offset],
                    (f"bank {entry}", *(() if row.live >> entry & 1 else ("dead",))),
                )
                for entry, register in enumerate(row.registers)
                if register is not None and warp is not None
            ]
            shelves.append(Shelf(offset, f"row {offset}", self._entries, kept))
        return shelves
