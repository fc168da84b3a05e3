"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.hierarchy.mover import Move, Mover, Stage
from warpbank.golden.hierarchy.wcb import WarpControlBlock
from warpbank.golden.interfaces import Arrival, Hierarchy, Home
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

#: Registers whose place in the cache is looked up in a cycle.
LOOKUPS = 2


class Ltrf(Hierarchy):
    """Hierarchy with a register file cache over the main register file. LTRF, section 4.

    An active warp has a row of the cache, one register in each bank. With a PREFETCH it names the registers
    of the interval that it enters; it issues nothing more until the cache holds these and no others of it. A
    warp that is deactivated loses its row once what was in it has left, and gets its working set again when
    it is activated.

    One register per cycle sets off, of a warp chosen by rotating priority among those with something to move:
    first those that leave, then those that come, in ascending order. It needs the mover of its main bank; a
    register that leaves also needs its bank of the cache, one that comes a bank that is free. A warp whose
    turn comes to nothing waits for the next one. Dead registers (LTRF+) are released and allocated without
    being moved.

    A register without content in the main register file, whose last read may have issued, has nothing to be
    moved either: it leaves the cache without that. When it comes, a mapping that gives homes as they are
    needed has zeros written into its place, in the cycle in which it is given it, if its bank of the cache is
    free then. It keeps its place in the cache when its home is released, since its interval may write it
    again. Its home is not released while it is moved.

    A result goes where its register is: into the cache if it is valid there, else into the main register
    file; while the register moves it waits. Operands come from the cache only.

    The cache keeps values whole, each with its metadata, so that scalar execution is decided as without a
    cache (neither G-Scalar nor LTRF has it). A result is described when it comes, wherever it goes. A
    register that leaves takes its metadata along, which says how the main register file keeps it; one that is
    fetched is decompressed on its way. Operands take no longer with metadata: that of a result is there when
    its place has been looked up. No decompress moves are needed. Results on some lanes merge into what the
    cache holds. They go to the main register file only if their register has left the cache since they were
    issued; a register that leaves while a result of it is still to come is kept there as it is, and so is a
    value that a collector evicts to the main register file.

    Order within a cycle at a bank of the cache: registers that come in, results, registers that leave,
    operands. At a bank of the main register file: results, then its mover.

    Parameters
    ----------
    config : the machine: cache, main register file.
    main : the main register file.
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.
    probe : receives the events.
    liveness : keep a liveness bit-vector, so that dead registers are not moved (LTRF+; LTRF, section 3.2).
    """

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
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self.blocks = [WarpControlBlock(liveness) for _ in range(core.warps)]
        self.offsets = AddressAllocation(self._rows)
        self._units = [AddressAllocation(self._entries) for _ in range(self._rows)]
        self._owner: list[int | None] = [None] * self._rows  # warp of each row of the cache
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        plain = main.storage.encode(blank, False)
        self._metadata: list[list[Metadata]] = [[plain] * self._rows for _ in range(self._entries)]
        self._arbiter = Arbiter(self._entries, probe, cache=True)
        #: Operands that one uop has asked for in this cycle: (collector, slot, tag, warp, register).
        self._asked: list[tuple[int, int, int, int, int]] = []
        #: Operands of the uops that asked in earlier cycles.
        self._lookups: deque[list[tuple[int, int, int, int, int]]] = deque()
        self.arriving: list[Arrival] = []
        self.may_issue = 0
        self.landing = []
        self._movers = [Mover(core.cache.crossing) for _ in range(core.banks)]
        self._pointer = 0
        self._cache_written = 0
        self._filling = -1  # mover that writes the cache in this cycle
        self._fill_pointer = 0

    # --- Warps.

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """A launch begins. What is still on its way, of warps that have ended, is forgotten if its home is
        somebody else's from now on."""
        if self._mapping.launch(registers, exempt, slots):
            for mover in self._movers:
                mover.done()
            for block in self.blocks:
                block.moving = 0

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers begin at `row`."""
        self._mapping.start(warp, row)
        self.blocks[warp].new = True

    def _complete(self) -> None:
        """Find the warps whose registers are where they have to be."""
        self.may_issue = sum(
            1 << warp for warp in self._owner if warp is not None and self.blocks[warp].complete
        )

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated: none if no row of the cache is free."""
        if not self.offsets.unused:
            return 0
        return sum(1 << warp for warp, block in enumerate(self.blocks) if block.offset is None)

    def activate(self, warp: int) -> None:
        """The warp becomes active: it gets a row, and its working set comes in."""
        offset = self.offsets.allocate()
        self.blocks[warp].activate(offset, self._units[offset])
        self._owner[offset] = warp
        self._complete()

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more: its registers leave; nothing of one that has `ended` is wanted."""
        block = self.blocks[warp]
        block.leaving = True
        if ended:
            block.end()
        self._complete()

    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues."""
        self.blocks[uop.warp].working = uop.working_set
        self._complete()
        self._probe.emit("prefetch", uop.warp, uop.seq)

    def before(self, uop: TraceUop) -> TraceUop | None:
        """No lane can be lost: results on some lanes find their registers whole."""
        return None

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: the registers it reads for the last time and those it writes."""
        last = sum(1 << register for slot, register in enumerate(uop.sources) if uop.dead >> slot & 1)
        self.blocks[uop.warp].access(last, ((1 << uop.count) - 1) << uop.destination)
        self._mapping.cached(uop)
        self._mapping.issue(uop)

    # --- Operands and results.

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        if self._arbiter.pending or self.arriving or self._asked or self._lookups or self._main.busy:
            return True
        if any(mover.stage is not Stage.IDLE for mover in self._movers):
            return True
        return any(self._works(warp) or self.blocks[warp].empty for warp in self._owner if warp is not None)

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface); its place is looked up from the next cycle on."""
        self._asked.append((collector, slot, tag, warp, register))

    def begin(self) -> None:
        """A cycle begins in which the storage is busy."""
        self._main.begin()

    def bank_of(self, warp: int, register: int) -> int:
        """The bank a write goes to: of the cache, if the register is there, else of the main register
        file."""
        block = self.blocks[warp]
        if block.valid >> register & 1:
            return block.table[register]
        return self._main.bank_of(warp, register)

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: it moves, or its bank has something else to do
        in this cycle."""
        block = self.blocks[uop.warp]
        if block.moving >> register & 1:
            return False
        metadata = self._storage.describe(uop, value)
        if block.valid >> register & 1:
            taken = self._write_cache(uop.warp, register, uop.lane_mask, value, metadata)
        else:
            taken = self._main.write_described(uop, register, value, metadata)
        if taken:
            self.landing.append((uop.warp, 1 << register))
        return taken

    def keep(self, warp: int, mask: int) -> None:
        """Result registers are taken by a collector only."""
        self.landing.append((warp, mask))

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released; False: as in
        `write`."""
        if self._main.drops(warp, register):
            return True
        block = self.blocks[warp]
        if block.moving >> register & 1:
            return False
        if block.valid >> register & 1:
            metadata = self._storage.encode(value, True)
            return self._write_cache(warp, register, self._every_lane, value, metadata)
        return self._main.put_back(warp, register, value)

    def _write_cache(self, warp: int, register: int, mask: int, value: Value, metadata: Metadata) -> bool:
        """Write some lanes of a register that the cache holds; False: its bank is taken."""
        block = self.blocks[warp]
        entry, offset = block.table[register], block.offset
        assert offset is not None
        if self._cache_written >> entry & 1:
            return False
        self._cache_written |= 1 << entry
        values = self._values[entry]
        values[offset] = value if mask == self._every_lane else merge(values[offset], value, mask)
        self._metadata[entry][offset] = metadata
        self._probe.emit("cache_write", entry, offset, warp, register)
        return True

    # --- A cycle.

    def step(self) -> list[Arrival]:
        """One cycle, after its results; returns the operands granted in the previous cycle."""
        arrived = self.arriving
        under_way = [number for number, mover in enumerate(self._movers) if mover.stage is not Stage.IDLE]
        empty = next((warp for warp in self._owner if warp is not None and self.blocks[warp].empty), None)
        self._set_off()
        values, metadata = self._values, self._metadata
        self.arriving = [
            (collector, slot, tag, values[entry][offset], metadata[entry][offset])
            for entry, offset, collector, slot, tag in self._arbiter.step(self._cache_written)
        ]
        self._main_banks(under_way)
        self._look_up()
        if empty is not None:
            self._release(empty)
        self._choose_fill()
        self._complete()
        return arrived

    def _set_off(self) -> None:
        """Let one register set off: of the first warp, in rotating order, that has something to move."""
        work = sum(1 << row for row, warp in enumerate(self._owner) if warp is not None and self._works(warp))
        if not work:
            return
        row = first_from(work, self._pointer)
        self._pointer = (row + 1) % self._rows
        warp = self._owner[row]
        assert warp is not None
        block = self.blocks[warp]
        if block.out:
            self._leave(warp, block, row, _lowest(block.out))
        else:
            self._come(warp, block, row, _lowest(block.into))

    def _works(self, warp: int) -> bool:
        block = self.blocks[warp]
        if block.out:
            return not block.leaving or self._quiet(warp)
        return block.into != 0 and bool(block.unused.unused)

    def _home(self, warp: int, block: WarpControlBlock, register: int) -> Home | None:
        """(bank, row) of the main register file that a register is moved to and from; None: it is dead, or
        has no content there."""
        return self._mapping.content(warp, register) if block.live >> register & 1 else None

    def _leave(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        """A register leaves the cache, if it can in this cycle."""
        entry = block.table[register]
        home = self._home(warp, block, register)
        if home is not None:
            bank, row = home
            if self._movers[bank].stage is not Stage.IDLE or self._cache_written >> entry & 1:
                return
            self._cache_written |= 1 << entry
            value, metadata = self._values[entry][offset], self._metadata[entry][offset]
            if self._main.pending(warp) >> register & 1:
                metadata = self._storage.encode(value, False)
            self._movers[bank].store(Move(warp, register, entry, offset, row, value, metadata))
            self._set_out(block, warp, register)
        block.placed &= ~(1 << register)
        block.unused.release(entry)
        self._probe.emit("cache_release", entry, offset, warp, register)

    def _come(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        """A register comes into the cache, if it can set off in this cycle."""
        home = self._home(warp, block, register)
        if home is not None and self._movers[home[0]].stage is not Stage.IDLE:
            return
        if home is None and self._mapping.blanks and not self._blank(warp, block, offset, register):
            return
        entry = block.table[register] = block.unused.allocate()
        if home is not None:
            bank, row = home
            self._movers[bank].fetch(Move(warp, register, entry, offset, row))
            self._set_out(block, warp, register)
        block.placed |= 1 << register
        self._probe.emit("cache_allocate", entry, offset, warp, register)

    def _blank(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> bool:
        """Write zeros into the place that a register is about to get; False: its bank is taken."""
        entry = block.unused.unused[0]
        if self._cache_written >> entry & 1:
            return False
        self._cache_written |= 1 << entry
        self._values[entry][offset] = self._main.zeros
        self._metadata[entry][offset] = self._main.zero_metadata
        self._probe.emit("cache_zero", entry, offset, warp, register)
        return True

    def _set_out(self, block: WarpControlBlock, warp: int, register: int) -> None:
        """A register is on its way."""
        block.moving |= 1 << register
        self._mapping.hold(warp, register)
        self._mapping.moved(register)

    def _arrive(self, mover: Mover, move: Move) -> None:
        """A register is where it goes."""
        self.blocks[move.warp].moving &= ~(1 << move.register)
        self._mapping.let_go(move.warp, move.register)
        mover.done()

    def _main_banks(self, under_way: list[int]) -> None:
        """The main register file's accesses, and the registers that were on their way when the cycle
        began."""
        closed = self._main.accesses()
        for number in under_way:
            mover = self._movers[number]
            if mover.stage in (Stage.FETCH, Stage.STORE):
                if not closed >> number & 1:
                    self._access(number)
            elif mover.stage in (Stage.SHIP_IN, Stage.SHIP_OUT):
                mover.step()
            elif number == self._filling:
                self._fill(mover)
        self._main.close()

    def _access(self, bank: int) -> None:
        """A mover's access to its bank."""
        mover = self._movers[bank]
        move = mover.move
        assert move is not None
        if mover.stage is Stage.FETCH:
            assert not self.blocks[move.warp].complete, (
                f"R{move.register} of warp {move.warp} is fetched inside an interval"
            )
            cycles, value, metadata = self._main.fetch(bank, move.row, move.warp, move.register)
            mover.fetched(value, metadata, cycles)
        else:
            assert move.value is not None
            self._main.store(bank, move.row, move.warp, move.register, move.value, move.metadata)
            self._arrive(mover, move)

    def _fill(self, mover: Mover) -> None:
        """A register arrives in the cache."""
        move = mover.move
        assert move is not None
        assert move.value is not None
        self._values[move.entry][move.offset] = move.value
        self._metadata[move.entry][move.offset] = move.metadata
        self._arrive(mover, move)
        self._probe.emit("cache_fill", move.entry, move.offset, move.warp, move.register)

    def _choose_fill(self) -> None:
        """The register that arrives in the next cycle: the narrow crossbar ends in one port, which writes
        before any result."""
        here = sum(1 << number for number, mover in enumerate(self._movers) if mover.stage is Stage.FILL)
        self._filling, self._cache_written = -1, 0
        if here:
            self._filling = first_from(here, self._fill_pointer)
            self._fill_pointer = (self._filling + 1) % len(self._movers)
            move = self._movers[self._filling].move
            assert move is not None
            self._cache_written = 1 << move.entry

    def _look_up(self) -> None:
        """Find two operands of the oldest uop, and ask for them."""
        if self._asked:
            self._lookups.append(self._asked)
            self._asked = []
        if self._lookups:
            oldest = self._lookups[0]
            for collector, slot, tag, warp, register in oldest[:LOOKUPS]:
                block = self.blocks[warp]
                assert block.valid >> register & 1, f"R{register} of warp {warp} is not in the cache"
                assert block.offset is not None
                self._arbiter.request(block.table[register], block.offset, collector, slot, tag)
            del oldest[:LOOKUPS]
            if not oldest:
                self._lookups.popleft()

    def _release(self, warp: int) -> None:
        """All registers of a warp that leaves have left: its row is free."""
        block = self.blocks[warp]
        assert block.offset is not None
        self.offsets.release(block.offset)
        self._owner[block.offset] = None
        self._probe.emit("row_free", warp, block.offset)
        block.offset, block.leaving = None, False

    def edge(self) -> None:
        """End a cycle in which the mapping is busy: its releases. The places of released registers in the
        cache are poisoned, too."""
        self._main.edge()
        for warp, register in self._mapping.dropped:
            block = self.blocks[warp]
            if block.placed >> register & 1:
                assert block.offset is not None
                entry = self._values[block.table[register]]
                entry[block.offset] = self._storage.poisoned(entry[block.offset])

    def contents(self) -> list[Shelf]:
        """Rows of the cache: the registers of the warp that has each, and those on their way."""
        return [
            Shelf(offset, f"row {offset}", self._entries, [] if warp is None else self._kept(warp, offset))
            for offset, warp in enumerate(self._owner)
        ]

    def _kept(self, warp: int, offset: int) -> list[Kept]:
        """Registers of a warp in its row."""
        block = self.blocks[warp]
        kept: list[Kept] = []
        for register in range(block.placed.bit_length()):
            if not block.placed >> register & 1:
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
