"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.hierarchy.engine import Engine, Transfer
from warpbank.golden.hierarchy.places import Places
from warpbank.golden.hierarchy.wcb import WarpControlBlock
from warpbank.golden.interfaces import Arrival, Hierarchy
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

#: Registers of a warp whose place in the cache is looked up in a cycle.
LOOKUPS: Final = 2
#: Destinations of a result, beside the banks of the cache: the main register file; none, since its register
#: moves; not known, since nobody has looked.
_MAIN: Final = -1
_MOVES: Final = -2
_UNKNOWN: Final = -3
#: What the collectors evict is a writer behind the units.
_EVICTED: Final = len(Unit)


class Chosen:
    """A register that has been chosen to set off, and whose place is found next.

    Parameters
    ----------
    register : which.
    live : its content is wanted.
    plain : a result of it is still to come, in the cycle before it gets its place.
    """

    __slots__ = ("live", "plain", "register")

    def __init__(self, register: int, live: bool, plain: bool) -> None:
        self.register, self.live, self.plain = register, live, plain


class Ltrf(Hierarchy):
    """Hierarchy with a register file cache over the main register file. LTRF, section 4.

    An active warp has a row of the cache, one register in each bank. With a PREFETCH it names the registers
    of the interval that it enters; it issues nothing more until the cache holds these and no others of it. A
    warp that is deactivated loses its row once what was in it has left, and gets its working set again when
    it is activated.

    Registers set off in four stages. Turn: a row with something to move, those that leave before those that
    come; it keeps its turn until it has nothing to choose, which is seen a cycle later. Choice: up to
    `SubCoreConfig.transfers` registers of the row whose turn it is, the lowest of each residue class of that
    many. Place: registers that leave are looked up in the table, those that come are given the lowest unused
    places; each goes into the queue of its main bank as soon as that has room, one per bank and cycle, and no
    others are chosen before all have gone. Then the engine carries them (`Engine`). Dead registers (LTRF+)
    are released and allocated without being carried.

    A register without content in the main register file, whose last read may have issued, has nothing to be
    carried either: it loses its place without that. When it comes, a mapping that gives homes as they are
    needed has zeros written into its place, in the cycle behind the one in which it is given it, if the
    engine does not use its bank of the cache then. It keeps its place in the cache when its home is released,
    since its interval may write it again. Its home is not released while it is carried.

    A result goes where its register is: into the cache if it is valid there, else into the main register
    file; while the register moves it waits, and while the engine uses its bank of the cache. Where it is is
    found in the cycle before the result is offered (`ResultStage`); a value that a collector evicts is looked
    up from the cycle on in which it is first offered, and not taken in that one. Where a register was chosen
    to set off in the cycle of the look-up its offer has its bank, and is not taken. A bank of the cache is
    written by then: the register leaves with what was written, which is written once more where it goes, and
    nobody reads a register of which a result is to come. One of the main register file is not written.
    Operands come from the cache only.

    With `cache.write_back` `dirty`, an extension of ours, a bit per place of the cache says whether the main
    register file lacks its value: it is set with a place that is not fetched, and by every write. A register
    whose bit is not set and of which no result is to come loses its place without being carried.

    The cache keeps values whole, each with its metadata, so that scalar execution is decided as without a
    cache (neither G-Scalar nor LTRF has it). A result is described when it comes, wherever it goes. A
    register that leaves takes its metadata along, which says how the main register file keeps it; one that is
    fetched is decompressed on its way. Operands take no longer with metadata: that of a result is there when
    its place has been looked up. No decompress moves are needed. Results on some lanes merge into what the
    cache holds. They go to the main register file only if their register has left the cache since they were
    issued; a register that leaves while a result of it is still to come is kept there as it is, and so is a
    value that a collector evicts to the main register file.

    Order within a cycle at a bank of the cache: the engine, results, operands. At a bank of the main register
    file: results, then the engine.

    Parameters
    ----------
    config : the machine: cache, main register file.
    main : the main register file.
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.
    probe : receives the events.
    liveness : keep a liveness bit-vector, so that dead registers are not moved (LTRF+; LTRF, section 3.2).
    """

    looks_ahead = True

    def __init__(
        self,
        config: SmConfig,
        main: MainRegisterFile,
        quiet: Callable[[int], bool],
        probe: Probe,
        liveness: bool = False,
    ) -> None:
        core = config.sub_core
        self._main, self._mapping, self._storage = main, main.mapping, main.storage
        self._quiet, self._probe = quiet, probe
        self._writes, self._allocates, self._releases = (
            probe.ports["cache_write"],
            probe.ports["cache_allocate"],
            probe.ports["cache_release"],
        )
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self.blocks = [WarpControlBlock(warp, liveness) for warp in range(core.warps)]
        self.offsets = AddressAllocation(self._rows)
        self._places = [Places(self._entries) for _ in range(self._rows)]
        self._owner: list[WarpControlBlock | None] = [None] * self._rows  # of each row of the cache
        self._outside = (1 << core.warps) - 1  # mask of the warps that have no row
        #: Masks of the rows with registers that may be chosen; with some that leave, and those of them whose
        #: warp has been deactivated; and that can be given to another warp.
        self._working = self._leaving = self._withdrawn = self._empty = 0
        self._moved = False  # a block has changed in this cycle
        self._tracks = core.cache.write_back == "dirty"
        #: Places of each row whose values the main register file lacks.
        self._dirty = [0] * self._rows
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        plain = main.storage.encode(blank, False)
        self._metadata: list[list[Metadata]] = [[plain] * self._rows for _ in range(self._entries)]
        self._arbiter = Arbiter(self._entries, probe, cache=True)
        #: Operands that one uop has asked for in this cycle: (collector, slot, tag, warp, register).
        self._asked: list[tuple[int, int, int, int, int]] = []
        #: Operands of uops with more than `LOOKUPS` that have not been looked up.
        self._more: list[list[tuple[int, int, int, int, int]]] = []
        self.arriving: list[Arrival] = []
        self.may_issue = 0
        self.landing = []
        self._engine = Engine(core, main, self._values, self._metadata, self._read_out, self._arrived, probe)
        #: Masks of the registers of each class, of which one may be chosen in a cycle.
        self._classes = [
            sum(1 << register for register in range(first, 256, core.transfers))
            for first in range(core.transfers)
        ]
        self._pointer = 0  # row whose turn it is, or was last
        self._turn, self._turn_out = False, False  # there is one, and its registers leave
        #: Warp that was given a row in the cycle before.
        self._loading: WarpControlBlock | None = None
        #: Warp that has lost its row in the cycle before: its vectors go to their memory.
        self._saving: WarpControlBlock | None = None
        #: What was chosen and has no place yet: of which row, whether it leaves, and which registers.
        self._chosen: list[Chosen] = []
        self._chosen_row = 0
        self._chosen_out = False
        self._full = 0  # main banks whose queues have no room for what was chosen; 0: perhaps none
        self._cache_written = 0  # banks of the cache that are used in this cycle
        #: Destinations that were found for each unit's result, and for what the collectors evict.
        self._found = [_UNKNOWN] * (_EVICTED + 1)
        self._evicted = _UNKNOWN  # what this cycle's look-up of an evicted value finds
        self._zeroed: list[tuple[int, int]] = []  # (bank, row) of the cache that are cleared in this cycle

    # --- Warps.

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """A launch begins. What is still on its way, of warps that have ended, is forgotten if its home is
        somebody else's from now on."""
        if self._mapping.launch(registers, exempt, slots):
            self._engine.forget()

    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""
        self._mapping.start(warp, rows)
        self.blocks[warp].new = True

    def _survey(self) -> None:
        """Find the warps whose registers are where they have to be, and the rows with something to do."""
        complete = working = leaving = withdrawn = empty = 0
        for row, block in enumerate(self._owner):
            if block is None:
                continue
            bit = 1 << row
            if block.complete:
                complete |= 1 << block.warp
            if block.empty:
                empty |= bit
            if not block.loading:
                if block.out:
                    working |= bit
                    leaving |= bit
                    if block.leaving:
                        withdrawn |= bit
                elif block.into:
                    working |= bit
        self.may_issue = complete
        self._working, self._leaving, self._withdrawn, self._empty = working, leaving, withdrawn, empty
        self._moved = False

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated: none if no row of the cache is free; not the one whose
        vectors are being saved."""
        if not self.offsets.unused:
            return 0
        return self._outside if self._saving is None else self._outside & ~(1 << self._saving.warp)

    def activate(self, warp: int) -> None:
        """The warp becomes active: it gets a row, and its working set comes in."""
        offset = self.offsets.allocate()
        block = self.blocks[warp]
        block.activate(offset, self._places[offset])
        self._owner[offset], self._loading = block, block
        self._outside &= ~(1 << warp)
        self._survey()

    def _load(self) -> None:
        """Read the vectors of a warp that has been given a row from their memory."""
        if self._loading is not None:
            self._loading.loading = False
            self._loading, self._moved = None, True

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more: its registers leave; nothing of one that has `ended` is wanted."""
        block = self.blocks[warp]
        block.leaving = True
        if ended:
            block.end()
        self._survey()

    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues, or the uop's extra bit is served."""
        self.blocks[uop.warp].working = uop.working_set
        self._survey()
        self._probe.emit("prefetch", uop.warp, uop.seq)

    def before(self, uop: TraceUop) -> TraceUop | None:
        """No lane can be lost: results on some lanes find their registers whole."""
        return None

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: the registers it reads for the last time and those it writes."""
        last = 0
        for slot, register in enumerate(uop.sources):
            if uop.dead >> slot & 1:
                last |= 1 << register
        self.blocks[uop.warp].access(last, ((1 << uop.count) - 1) << uop.destination)
        self._mapping.cached(uop)
        self._mapping.issue(uop)

    # --- Operands and results.

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._engine.busy or self._works_soon

    def next_cycle(self, soon: int) -> int:
        """The first cycle from `soon` on in which anything but beats that cross may happen here."""
        return soon if self._works_soon else self._engine.next_cycle(soon)

    @property
    def _works_soon(self) -> bool:
        """Something other than the engine's work happens in the next cycle."""
        if self._arbiter.pending or self.arriving or self._asked or self._more or self._main.busy:
            return True
        if self._turn or self._chosen or self._zeroed:
            return True
        if self._loading is not None or self._saving is not None:
            return True
        return self._empty != 0 or self._work() != 0

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface); its place is looked up from the next cycle on."""
        self._asked.append((collector, slot, tag, uop.warp, register))

    def begin(self) -> None:
        """A cycle begins in which the storage is busy."""
        self._main.begin()

    def find(self, uop: TraceUop, register: int) -> None:
        """Find where a result goes that may be offered in the next cycle."""
        self._found[uop.unit] = self._destination(uop.warp, register)

    def _destination(self, warp: int, register: int) -> int:
        """The bank of the cache that has a register, or where else its result goes."""
        block = self.blocks[warp]
        if block.moving >> register & 1:
            return _MOVES
        return block.table[register] if block.placed >> register & 1 else _MAIN

    def bank_of(self, writer: int, warp: int, register: int) -> int:
        """The bank that an offer asks for: of the cache, if its register was found there, else of the main
        register file."""
        found = self._found[writer]
        return found if found >= 0 else self._main.bank_of(warp, register)

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: it moves, or its bank has something else to do
        in this cycle."""
        found = self._found[uop.unit]
        if found == _MOVES:
            return False
        metadata = self._storage.describe(uop, value)
        if found >= 0:
            taken = self._write_cache(uop.warp, register, found, uop.lane_mask, value, metadata)
        else:
            taken = self._has_main(uop.warp, register) and self._main.write_described(
                uop, register, value, metadata
            )
        if taken:
            self.landing.append((uop.warp, 1 << register))
        return taken

    def keep(self, warp: int, mask: int) -> None:
        """Result registers are taken by a collector only."""
        self.landing.append((warp, mask))

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released; False: as in
        `write`, or it has not been looked up."""
        if self._main.drops(warp, register):
            return True
        found, self._evicted = self._found[_EVICTED], self._destination(warp, register)
        if found in (_UNKNOWN, _MOVES):
            return False
        if found >= 0:
            metadata = self._storage.encode(value, True)
            taken = self._write_cache(warp, register, found, self._every_lane, value, metadata)
        else:
            taken = self._has_main(warp, register) and self._main.put_back(warp, register, value)
        if taken:
            self._evicted = _UNKNOWN
        return taken

    def _has_main(self, warp: int, register: int) -> bool:
        """Whether the main register file may take a result: not if its register has just been chosen to come.
        Its bank is lost for this cycle, since it has been given away by then."""
        if not self.blocks[warp].moving >> register & 1:
            return True
        self._main.waste(warp, register)
        return False

    def _write_cache(
        self, warp: int, register: int, entry: int, mask: int, value: Value, metadata: Metadata
    ) -> bool:
        """Write some lanes of a register that was found in a bank of the cache; False: the bank is taken, or
        the register has just been chosen to leave, and takes along what was written."""
        if self._cache_written >> entry & 1:
            return False
        self._cache_written |= 1 << entry
        block = self.blocks[warp]
        offset = block.offset
        assert offset is not None
        values = self._values[entry]
        values[offset] = value if mask == self._every_lane else merge(values[offset], value, mask)
        self._metadata[entry][offset] = metadata
        if block.moving >> register & 1:
            return False
        self._dirty[offset] |= 1 << entry
        self._writes.emit(entry, offset, warp, register)
        return True

    # --- A cycle.

    def step(self) -> list[Arrival]:
        """One cycle, after its results; returns the operands granted in the previous cycle."""
        arrived = self.arriving
        if self._evicted != _UNKNOWN or self._found[_EVICTED] != _UNKNOWN:
            self._found[_EVICTED], self._evicted = self._evicted, _UNKNOWN
        empty = self._owner[_lowest(self._empty)] if self._empty else None
        turn, out = self._next_turn()
        choice = self._choice() if self._turn else None
        if self._arbiter.pending or arrived:
            self.arriving = [
                (collector, slot, tag, self._values[entry][offset], self._metadata[entry][offset])
                for entry, offset, collector, slot, tag in self._arbiter.step(self._cache_written)
            ]
        if self._zeroed:
            for entry, offset in self._zeroed:
                self._values[entry][offset] = self._main.zeros
                self._metadata[entry][offset] = self._main.zero_metadata
            self._zeroed = []
        self._engine.step()
        self._cache_written = self._engine.taken
        if self._chosen:
            self._find_places()
        if self._chosen:
            self._ask_again()
        elif choice is not None:
            self._choose(*choice)
        self._give_turn(turn, out)
        self._load()
        if self._asked or self._more:
            self._look_up()
        if empty is not None or self._saving is not None:
            self._save(empty)
        if self._moved:
            self._survey()
        return arrived

    # --- Registers that set off.

    def _work(self) -> int:
        """Mask of the rows with a register to choose: of a warp that is deactivated, once its operands have
        been read."""
        work, withdrawn = self._working, self._withdrawn
        while withdrawn:
            row = _lowest(withdrawn)
            withdrawn &= withdrawn - 1
            block = self._owner[row]
            if block is not None and not self._quiet(block.warp):
                work &= ~(1 << row)
        return work

    def _next_turn(self) -> tuple[int, bool]:
        """Find the row whose turn it is in the next cycle, and whether its registers leave; -1: nobody's."""
        work = self._work() if self._working else 0
        if not work:
            return -1, False
        row = first_from(work, self._pointer)
        return row, self._leaving >> row & 1 != 0

    def _give_turn(self, row: int, out: bool) -> None:
        """Give a row, or none, the turn from the next cycle on."""
        self._turn, self._turn_out = row >= 0, out
        if row >= 0:
            self._pointer = row

    def _choice(self) -> tuple[WarpControlBlock, int, int, int] | None:
        """The warp whose turn it is, and masks of its registers: those that may set off next, those that are
        alive, and those that results are still to come of."""
        block = self._owner[self._pointer]
        if block is None:
            return None
        movable = block.out if self._turn_out else block.into
        return (block, movable, block.live, self._main.pending(block.warp)) if movable else None

    def _choose(self, block: WarpControlBlock, movable: int, live: int, pending: int) -> None:
        """Choose the registers that set off: the lowest of each class. They are on their way from now on."""
        chosen: list[Chosen] = []
        mask = 0
        for registers in self._classes:
            bit = movable & registers
            if bit:
                bit &= -bit
                mask |= bit
                chosen.append(Chosen(bit.bit_length() - 1, live & bit != 0, pending & bit != 0))
        if self._turn_out:
            block.placed &= ~mask
            block.departing |= mask
            block.storing |= mask
        else:
            block.placed |= mask
            block.coming |= mask
        self._chosen, self._chosen_row, self._chosen_out = chosen, self._pointer, self._turn_out
        self._moved = True

    def _ask_again(self) -> None:
        """Registers that stay for want of room: a collector may have taken the result that was to come. No
        other can come meanwhile, since their warp issues nothing."""
        block = self._owner[self._chosen_row]
        assert block is not None
        pending = self._main.pending(block.warp)
        for each in self._chosen:
            if each.plain and not pending >> each.register & 1:
                each.plain, self._full = False, 0

    def _find_places(self) -> None:
        """Give the registers that come their places, or find those of the registers that leave, and queue
        them. Those whose bank has no room stay."""
        if self._full and not self._engine.room & self._full:
            return
        row, full = self._chosen_row, 0
        block, places = self._owner[row], self._places[row]
        assert block is not None
        warp, unused = block.warp, places.unused
        stay: list[Chosen] = []
        queued: list[int] = []
        for each in self._chosen:
            register = each.register
            if self._chosen_out:
                entry = block.table[register]
            else:
                assert unused, f"row {row} has no place for R{register} of warp {warp}"
                entry = _lowest(unused)
                unused &= ~(1 << entry)
            carried = each.live and not (self._chosen_out and self._clean(each, entry))
            home = self._mapping.content(warp, register) if carried else None
            if home is not None:
                bank, line = home
                if not self._engine.room >> bank & 1:
                    stay.append(each)
                    full |= 1 << bank
                    continue
                self._mapping.hold(warp, register)
                queued.append(register)
                self._engine.push(
                    bank, Transfer(self._chosen_out, warp, register, entry, row, line, each.plain)
                )
            elif not self._chosen_out and self._mapping.blanks and not self._zero(warp, register, entry, row):
                stay.append(each)
                continue
            if not self._chosen_out:
                places.give(entry)
                block.table[register] = entry
                self._dirty[row] = self._dirty[row] & ~(1 << entry) | (home is None) << entry
                self._allocates.emit(entry, row, warp, register)
                if home is None:
                    block.coming &= ~(1 << register)
                    self._moved = True
            elif home is None:
                block.storing &= ~(1 << register)
                self._vacate(warp, register, entry, row)
        if queued:
            self._mapping.moved(queued)
        self._chosen = stay
        self._full = 0 if self._mapping.blanks else full

    def _clean(self, each: Chosen, entry: int) -> bool:
        """Test of a register that leaves: the main register file has its value, and none is to come."""
        return self._tracks and not each.plain and not self._dirty[self._chosen_row] >> entry & 1

    def _zero(self, warp: int, register: int, entry: int, offset: int) -> bool:
        """Have zeros written in the next cycle; False: the engine uses that bank of the cache."""
        if self._cache_written >> entry & 1:
            return False
        self._cache_written |= 1 << entry
        self._zeroed.append((entry, offset))
        self._probe.emit("cache_zero", entry, offset, warp, register)
        return True

    def _vacate(self, warp: int, register: int, entry: int, offset: int) -> None:
        """A register that leaves loses its place."""
        self.blocks[warp].departing &= ~(1 << register)
        self._moved = True
        self._places[offset].take_back(entry)
        self._releases.emit(entry, offset, warp, register)

    def _read_out(self, transfer: Transfer) -> None:
        """The cache has read a register that leaves."""
        self._vacate(transfer.warp, transfer.register, transfer.entry, transfer.offset)

    def _arrived(self, transfer: Transfer) -> None:
        """A register is where it goes; what the crossbar brings is written into the cache in the next
        cycle."""
        bit = 1 << transfer.register
        block = self.blocks[transfer.warp]
        if transfer.out:
            block.storing &= ~bit
        else:
            block.coming &= ~bit
        self._moved = True
        self._mapping.let_go(transfer.warp, transfer.register)

    def _look_up(self) -> None:
        """Find two operands of the newest uop, and two of the oldest one that has more and is of another
        warp, whose table has no more ports; ask for them."""
        newest, self._asked = self._asked, []
        if self._more and not (newest and newest[0][3] == self._more[0][0][3]):
            oldest = self._more[0]
            for operand in oldest[:LOOKUPS]:
                self._arbiter.request_late(*self._place(operand))
            del oldest[:LOOKUPS]
            if not oldest:
                self._more.pop(0)
        for operand in newest[:LOOKUPS]:
            self._arbiter.request(*self._place(operand))
        if len(newest) > LOOKUPS:
            self._more.append(newest[LOOKUPS:])

    def _place(self, operand: tuple[int, int, int, int, int]) -> tuple[int, int, int, int, int]:
        """A request for an operand that the cache holds: (bank, row, collector, slot, tag)."""
        collector, slot, tag, warp, register = operand
        block = self.blocks[warp]
        assert block.valid >> register & 1, f"R{register} of warp {warp} is not in the cache"
        assert block.offset is not None
        return block.table[register], block.offset, collector, slot, tag

    def _save(self, block: WarpControlBlock | None) -> None:
        """Take the row of a warp, if there is one, whose vectors are saved in the next cycle."""
        self._saving = block
        if block is not None:
            self._release(block)

    def _release(self, block: WarpControlBlock) -> None:
        """All registers of a warp that leaves have left: its row is free."""
        assert block.offset is not None
        self.offsets.release(block.offset)
        self._owner[block.offset] = None
        self._outside |= 1 << block.warp
        self._probe.emit("row_free", block.warp, block.offset)
        block.offset, block.leaving = None, False
        self._moved = True

    def edge(self) -> None:
        """End a cycle in which the mapping is busy: its releases. The places of released registers in the
        cache are poisoned, too."""
        self._main.edge()
        for warp, register in self._mapping.dropped:
            block = self.blocks[warp]
            if block.valid >> register & 1:
                assert block.offset is not None
                entry = self._values[block.table[register]]
                entry[block.offset] = self._storage.poisoned(entry[block.offset])

    def contents(self) -> list[Shelf]:
        """Rows of the cache: the registers of the warp that has each, and those on their way."""
        return [
            Shelf(offset, f"row {offset}", self._entries, [] if block is None else self._kept(block, offset))
            for offset, block in enumerate(self._owner)
        ]

    def _kept(self, block: WarpControlBlock, offset: int) -> list[Kept]:
        """Registers of a warp in its row."""
        warp, placed = block.warp, block.placed
        if offset == self._chosen_row and not self._chosen_out:
            placed &= ~sum(1 << each.register for each in self._chosen)  # their places are still to be given
        kept: list[Kept] = []
        for register in range(placed.bit_length()):
            if not placed >> register & 1:
                continue
            entry, moving = block.table[register], bool(block.moving >> register & 1)
            notes = [f"bank {entry}"]
            if moving:
                notes.append("moving")
            if not block.live >> register & 1:
                notes.append("dead")
            value = None if moving else self._values[entry][offset]
            kept.append(Kept(warp, register, value, tuple(notes)))
        return kept


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
