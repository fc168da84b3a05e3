"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.hierarchy.engine import Engine, Transfer
from warpbank.golden.hierarchy.lookups import Operand, OperandLookups
from warpbank.golden.hierarchy.wcb import Chosen, WarpControlBlock, WarpControlBlocks
from warpbank.golden.interfaces import Arrival, Hierarchy
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

#: Destinations of a result, beside the banks of the cache: the main register file; none, since its register
#: moves; not known, since nobody has looked.
_MAIN: Final = -1
_MOVES: Final = -2
_UNKNOWN: Final = -3
#: What the collectors evict is a writer behind the units.
_EVICTED: Final = len(Unit)


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
        main.be_late()
        core = config.sub_core
        self._main, self._mapping, self._storage = main, main.mapping, main.storage
        self._probe = probe
        self._writes, self._allocates, self._releases = (
            probe.ports["cache_write"],
            probe.ports["cache_allocate"],
            probe.ports["cache_release"],
        )
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self.blocks = WarpControlBlocks(
            core.warps, self._rows, self._entries, core.transfers, liveness, quiet
        )
        self._tracks = core.cache.write_back == "dirty"
        #: Places of each row whose values the main register file lacks.
        self._dirty = [0] * self._rows
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        plain = main.storage.encode(blank, False)
        self._metadata: list[list[Metadata]] = [[plain] * self._rows for _ in range(self._entries)]
        self._arbiter = Arbiter(self._entries, probe, cache=True)
        self._lookups = OperandLookups()
        self.arriving: list[Arrival] = []
        self.may_issue = 0
        self.landing = []
        self._engine = Engine(core, main, self._values, self._metadata, self._read_out, self._arrived, probe)
        self._full = 0  # main banks whose queues have no room for what was chosen; 0: perhaps none
        self._cache_written = 0  # banks of the cache that are used in this cycle
        #: Destinations that were found for each unit's result, and for what the collectors evict.
        self._found = [_UNKNOWN] * (_EVICTED + 1)
        self._evicted = _UNKNOWN  # what this cycle's look-up of an evicted value finds
        self._zeroed: list[tuple[int, int]] = []  # (bank, row) of the cache that are cleared in this cycle

    # --- Warps.

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins, and all warps have ended. Where homes are somebody else's from now on, what is
        still on its way is forgotten, and what the cache holds is not carried."""
        if self._mapping.launch(registers, exempt, slots, kept):
            self.blocks.forget()
            self._engine.forget()
            self._full = 0

    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""
        self._mapping.start(warp, rows)
        self.blocks.start(warp)

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated."""
        return self.blocks.may_activate

    def activate(self, warp: int) -> None:
        """The warp becomes active: it gets a row, and its working set comes in."""
        self.blocks.activate(warp)
        self.may_issue = self.blocks.may_issue

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more: its registers leave; nothing of one that has `ended` is wanted."""
        self.blocks.deactivate(warp, ended)
        self.may_issue = self.blocks.may_issue

    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues, or the uop's extra bit is served."""
        self.blocks.prefetch(uop)
        self.may_issue = self.blocks.may_issue
        self._probe.emit("prefetch", uop.warp, uop.seq)

    def before(self, uop: TraceUop) -> TraceUop | None:
        """No lane can be lost: results on some lanes find their registers whole."""
        return None

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: the registers it reads for the last time and those it writes."""
        self.blocks.issue(uop)
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
        if self._arbiter.pending or self.arriving or self._lookups.pending or self._main.busy:
            return True
        return bool(self._zeroed) or self.blocks.busy

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface); its place is looked up from the next cycle on."""
        self._lookups.ask((collector, slot, tag, uop.warp, register))

    def begin(self) -> None:
        """A cycle begins in which the storage is busy."""
        self._main.begin()

    def find(self, uop: TraceUop, register: int) -> None:
        """Find where a result goes that may be offered in the next cycle."""
        self._found[uop.unit] = self._destination(uop.warp, register)

    def _destination(self, warp: int, register: int) -> int:
        """The bank of the cache that has a register, or where else its result goes."""
        block = self.blocks.warps[warp]
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
        if not self.blocks.warps[warp].moving >> register & 1:
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
        block = self.blocks.warps[warp]
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
        blocks = self.blocks
        empty = blocks.first_empty()
        turn, out = blocks.next_turn()
        choice = blocks.choice()
        pending = self._main.pending(choice[0].warp) if choice is not None else 0
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
        if blocks.chosen:
            self._find_places()
        if blocks.chosen:
            self._ask_again()
        elif choice is not None:
            blocks.choose(*choice, pending)
        blocks.give_turn(turn, out)
        blocks.load()
        if self._lookups.pending:
            self._look_up()
        if empty is not None or blocks.saving:
            row = blocks.save(empty)
            if empty is not None:
                self._probe.emit("row_free", empty.warp, row)
        if blocks.changed:
            blocks.survey()
            self.may_issue = blocks.may_issue
        return arrived

    # --- Registers that set off.

    def _ask_again(self) -> None:
        """Registers that stay for want of room: a collector may have taken the result that was to come. No
        other can come meanwhile, since their warp issues nothing."""
        block = self.blocks.rows[self.blocks.row]
        assert block is not None
        pending = self._main.pending(block.warp)
        for each in self.blocks.chosen:
            if each.plain and not pending >> each.register & 1:
                each.plain, self._full = False, 0

    def _find_places(self) -> None:
        """Give the registers that come their places, or find those of the registers that leave, and queue
        them. Those whose bank has no room stay."""
        if self._full and not self._engine.room & self._full:
            return
        blocks = self.blocks
        row, leaves, full = blocks.row, blocks.out, 0
        block, places = blocks.rows[row], blocks.places[row]
        assert block is not None
        warp, unused = block.warp, places.unused
        stay: list[Chosen] = []
        queued: list[int] = []
        for each in blocks.chosen:
            register = each.register
            if leaves:
                entry = block.table[register]
            else:
                assert unused, f"row {row} has no place for R{register} of warp {warp}"
                entry = _lowest(unused)
                unused &= ~(1 << entry)
            carried = each.live and not (leaves and self._clean(each, entry))
            home = self._mapping.content(warp, register) if carried else None
            if home is not None:
                bank, line = home
                if not self._engine.room >> bank & 1:
                    stay.append(each)
                    full |= 1 << bank
                    continue
                self._mapping.hold(warp, register)
                queued.append(register)
                self._engine.push(bank, Transfer(leaves, warp, register, entry, row, line, each.plain))
            elif not leaves and self._mapping.blanks and not self._zero(warp, register, entry, row):
                stay.append(each)
                continue
            if not leaves:
                places.give(entry)
                block.table[register] = entry
                self._dirty[row] = self._dirty[row] & ~(1 << entry) | (home is None) << entry
                self._allocates.emit(entry, row, warp, register)
                if home is None:
                    block.coming &= ~(1 << register)
                    blocks.changed = True
            elif home is None:
                block.storing &= ~(1 << register)
                self._vacate(warp, register, entry, row)
        if queued:
            self._mapping.moved(queued)
        blocks.chosen = stay
        self._full = 0 if self._mapping.blanks else full

    def _clean(self, each: Chosen, entry: int) -> bool:
        """Test of a register that leaves: the main register file has its value, and none is to come."""
        return self._tracks and not each.plain and not self._dirty[self.blocks.row] >> entry & 1

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
        self.blocks.warps[warp].departing &= ~(1 << register)
        self.blocks.changed = True
        self.blocks.places[offset].take_back(entry)
        self._releases.emit(entry, offset, warp, register)

    def _read_out(self, transfer: Transfer) -> None:
        """The cache has read a register that leaves."""
        self._vacate(transfer.warp, transfer.register, transfer.entry, transfer.offset)

    def _arrived(self, transfer: Transfer) -> None:
        """A register is where it goes; what the crossbar brings is written into the cache in the next
        cycle."""
        bit = 1 << transfer.register
        block = self.blocks.warps[transfer.warp]
        if transfer.out:
            block.storing &= ~bit
        else:
            block.coming &= ~bit
        self.blocks.changed = True
        self._mapping.let_go(transfer.warp, transfer.register)

    def _look_up(self) -> None:
        """Ask for the operands that are looked up in this cycle."""
        newest, oldest = self._lookups.step()
        for operand in oldest:
            self._arbiter.request_late(*self._place(operand))
        for operand in newest:
            self._arbiter.request(*self._place(operand))

    def _place(self, operand: Operand) -> tuple[int, int, int, int, int]:
        """A request for an operand that the cache holds: (bank, row, collector, slot, tag)."""
        collector, slot, tag, warp, register = operand
        block = self.blocks.warps[warp]
        assert block.valid >> register & 1, f"R{register} of warp {warp} is not in the cache"
        assert block.offset is not None
        return block.table[register], block.offset, collector, slot, tag

    def edge(self) -> None:
        """End a cycle in which the mapping is busy: its releases. The places of released registers in the
        cache are poisoned, too."""
        self._main.edge()
        for warp, register in self._mapping.dropped:
            block = self.blocks.warps[warp]
            if block.valid >> register & 1:
                assert block.offset is not None
                entry = self._values[block.table[register]]
                entry[block.offset] = self._storage.poisoned(entry[block.offset])

    def contents(self) -> list[Shelf]:
        """Rows of the cache: the registers of the warp that has each, and those on their way."""
        return [
            Shelf(offset, f"row {offset}", self._entries, [] if block is None else self._kept(block, offset))
            for offset, block in enumerate(self.blocks.rows)
        ]

    def _kept(self, block: WarpControlBlock, offset: int) -> list[Kept]:
        """Registers of a warp in its row."""
        warp, placed = block.warp, block.placed
        chosen = self.blocks
        if offset == chosen.row and not chosen.out:
            placed &= ~sum(1 << each.register for each in chosen.chosen)  # their places are still to be given
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
