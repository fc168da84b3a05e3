"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.hierarchy.mover import Move, Mover, Stage
from warpbank.golden.hierarchy.wcb import WarpControlBlock
from warpbank.golden.interfaces import Mapping, Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.bank_timing import FractionalLatency
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge

#: Registers whose place in the cache is looked up in a cycle.
LOOKUPS = 2


class Ltrf:
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

    A result goes where its register is: into the cache if it is valid there, else into the main register
    file; while the register moves it waits. Operands come from the cache only.

    Order within a cycle at a bank of the cache: registers that come in, results, registers that leave,
    operands. At a bank of the main register file: results, then its mover.

    Parameters
    ----------
    config : the machine: cache, main register file.
    mapping, storage : the other rooms' units.
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.
    probe : receives the events.
    """

    #: Dead registers are moved like others.
    liveness = False
    #: Cycles by which a register that is fetched comes later than its bank delivers it.
    delay = 0
    follows = True
    moves = None
    dispatched: Callable[[TraceUop, int], bool] | None = None
    land = None

    def __init__(
        self, config: SmConfig, mapping: Mapping, storage: Storage, quiet: Callable[[int], bool], probe: Probe
    ) -> None:
        core = config.sub_core
        self._mapping, self._storage, self._quiet, self._probe = mapping, storage, quiet, probe
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self.blocks = [WarpControlBlock(self.liveness) for _ in range(core.warps)]
        self.offsets = AddressAllocation(self._rows)
        self._units = [AddressAllocation(self._entries) for _ in range(self._rows)]
        self._owner: list[int | None] = [None] * self._rows  # warp of each row of the cache
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        self._arbiter = Arbiter(self._entries, probe, cache=True)
        self._asked: list[
            tuple[int, int, int, int, int]
        ] = []  # (collector, slot, tag, warp, register), one uop's
        self._lookups: deque[list[tuple[int, int, int, int, int]]] = (
            deque()
        )  # uops asked for in earlier cycles
        self.arriving: list[tuple[int, int, int, Value]] = []
        self._movers = [Mover(core.cache.crossing) for _ in range(core.banks)]
        self._paces = [FractionalLatency(core.bank_latency) for _ in range(core.banks)]
        self._accessing = [0] * core.banks  # cycles that an access to a main bank still takes
        self._pointer = 0
        self._main_written = 0
        self._cache_written = 0
        self._filling = -1  # mover that writes the cache in this cycle
        self._fill_pointer = 0

    # --- Warps.

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers begin at `row`."""
        self._mapping.start(warp, row)
        self.blocks[warp].new = True

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose registers are where they have to be."""
        return sum(1 << warp for warp in self._owner if warp is not None and self.blocks[warp].complete)

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

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more: its registers leave; nothing of one that has `ended` is wanted."""
        block = self.blocks[warp]
        block.leaving = True
        if ended:
            block.end()

    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues."""
        self.blocks[uop.warp].working = uop.working_set
        self._probe.counters["cache.prefetches"] += 1
        if self._probe.sink is not None:
            self._probe.emit("prefetch", uop.warp, uop.seq)

    def issue(self, uop: TraceUop) -> None:
        """Any other uop issues: the registers it reads for the last time and those it writes."""
        last = sum(1 << register for slot, register in enumerate(uop.sources) if uop.dead >> slot & 1)
        self.blocks[uop.warp].access(last, ((1 << uop.count) - 1) << uop.destination)

    # --- Operands and results.

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        if self._arbiter.pending or self.arriving or self._asked or self._lookups or any(self._accessing):
            return True
        if any(mover.stage is not Stage.IDLE for mover in self._movers):
            return True
        return any(self._works(warp) or self.blocks[warp].empty for warp in self._owner if warp is not None)

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface); its place is looked up from the next cycle on."""
        self._asked.append((collector, slot, tag, warp, register))

    def bank_of(self, warp: int, register: int) -> int:
        """The bank a write goes to: of the cache, if the register is there, else of the main register
        file."""
        block = self.blocks[warp]
        return (
            block.table[register] if block.valid >> register & 1 else self._mapping.locate(warp, register)[0]
        )

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: it moves, or its bank has something else to do
        in this cycle."""
        block = self.blocks[uop.warp]
        if block.moving >> register & 1:
            return False
        if block.valid >> register & 1:
            return self._write_cache(uop.warp, register, uop.lane_mask, value)
        if not self._write_main(uop.warp, register, uop.lane_mask, value):
            return False
        if self._probe.sink is not None:
            bank, row = self._mapping.locate(uop.warp, register)
            self._probe.emit("write", bank, row, uop.warp, uop.seq, register, uop.lane_mask)
        return True

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts; False: as in `write`."""
        block = self.blocks[warp]
        if block.moving >> register & 1:
            return False
        if block.valid >> register & 1:
            return self._write_cache(warp, register, self._every_lane, value)
        if not self._write_main(warp, register, self._every_lane, value):
            return False
        self._count_write_back(warp, register)
        return True

    def _write_cache(self, warp: int, register: int, mask: int, value: Value) -> bool:
        """Write some lanes of a register that the cache holds; False: its bank is taken."""
        block = self.blocks[warp]
        entry, offset = block.table[register], block.offset
        assert offset is not None
        if self._cache_written >> entry & 1:
            return False
        self._cache_written |= 1 << entry
        self._values[entry][offset] = self._merged(self._values[entry][offset], value, mask)
        self._probe.counters["cache.writes"] += 1
        if self._probe.sink is not None:
            self._probe.emit("cache_write", entry, offset, warp, register)
        return True

    def _merged(self, before: Value, value: Value, mask: int) -> Value:
        """What the cache holds after a write of the lanes of `mask`."""
        return value if mask == self._every_lane else merge(before, value, mask)

    def _write_main(self, warp: int, register: int, mask: int, value: Value) -> bool:
        """Write some lanes of a register in the main register file; False: its bank is taken."""
        bank, row = self._mapping.locate(warp, register)
        if self._main_written >> bank & 1 or self._accessing[bank]:
            return False
        self._main_written |= 1 << bank
        self._store(bank, row, mask, value)
        return True

    def _fetch(self, bank: int, row: int) -> Value:
        """Read a register in the main register file."""
        self._probe.counters["rf.reads"] += 1
        return self._storage.read(bank, row)

    def _store(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Write some lanes of a register in the main register file."""
        self._probe.counters["rf.writes"] += 1
        self._storage.write(bank, row, mask, value)

    def _count_write_back(self, warp: int, register: int) -> None:
        self._probe.counters["rf.write_backs"] += 1
        if self._probe.sink is not None:
            bank, row = self._mapping.locate(warp, register)
            self._probe.emit("write_back", bank, row, warp, register)

    # --- A cycle.

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle, after its results; returns the operands granted in the previous cycle as (collector,
        slot, tag, value)."""
        arrived = self.arriving
        under_way = [number for number, mover in enumerate(self._movers) if mover.stage is not Stage.IDLE]
        empty = next((warp for warp in self._owner if warp is not None and self.blocks[warp].empty), None)
        self._set_off()
        values = self._values
        self.arriving = [
            (collector, slot, tag, values[entry][offset])
            for entry, offset, collector, slot, tag in self._arbiter.step(self._cache_written)
        ]
        self._main_banks(under_way)
        self._look_up()
        if empty is not None:
            self._release(empty)
        self._main_written = 0
        self._choose_fill()
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

    def _home(self, warp: int, block: WarpControlBlock, register: int) -> tuple[int, int] | None:
        """(bank, row) of the main register file that a register is moved to and from; None: it is dead."""
        return self._mapping.locate(warp, register) if block.live >> register & 1 else None

    def _leave(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        """A register leaves the cache, if it can in this cycle."""
        entry = block.table[register]
        home = self._home(warp, block, register)
        if home is not None:
            bank, row = home
            if self._movers[bank].stage is not Stage.IDLE or self._cache_written >> entry & 1:
                return
            self._cache_written |= 1 << entry
            self._movers[bank].store(
                self._outbound(Move(warp, register, entry, offset, row, self._values[entry][offset]))
            )
            block.moving |= 1 << register
        block.placed &= ~(1 << register)
        block.unused.release(entry)
        if self._probe.sink is not None:
            self._probe.emit("cache_release", entry, offset, warp, register)

    def _outbound(self, move: Move) -> Move:
        """A register that leaves the cache with its value."""
        return move

    def _come(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        """A register comes into the cache, if it can set off in this cycle."""
        home = self._home(warp, block, register)
        if home is not None and self._movers[home[0]].stage is not Stage.IDLE:
            return
        entry = block.table[register] = block.unused.allocate()
        if home is not None:
            bank, row = home
            self._movers[bank].fetch(Move(warp, register, entry, offset, row))
            block.moving |= 1 << register
        block.placed |= 1 << register
        self._probe.counters["cache.allocations"] += 1
        if self._probe.sink is not None:
            self._probe.emit("cache_allocate", entry, offset, warp, register)

    def _main_banks(self, under_way: list[int]) -> None:
        """The main register file's accesses, and the registers that were on their way when the cycle
        began."""
        for bank, written in enumerate(self._accessing):
            if written:
                self._accessing[bank] -= 1
            elif self._main_written >> bank & 1:
                self._accessing[bank] = self._paces[bank].access() - 1
            elif bank in under_way and self._movers[bank].stage in (Stage.FETCH, Stage.STORE):
                self._access(bank)
                under_way.remove(bank)
        for number in under_way:
            mover = self._movers[number]
            if mover.stage in (Stage.SHIP_IN, Stage.SHIP_OUT):
                mover.step()
            elif number == self._filling:
                self._fill(mover)

    def _access(self, bank: int) -> None:
        """A mover's access to its bank."""
        mover, probe = self._movers[bank], self._probe
        move = mover.move
        assert move is not None
        cycles = self._paces[bank].access()
        self._accessing[bank] = cycles - 1
        if mover.stage is Stage.FETCH:
            assert not self.blocks[move.warp].complete, (
                f"R{move.register} of warp {move.warp} is fetched inside an interval"
            )
            mover.fetched(self._fetch(bank, move.row), cycles + self.delay)
            probe.counters["cache.fetches"] += 1
            if probe.sink is not None:
                probe.emit("fetch", bank, move.row, move.warp, move.register)
        else:
            assert move.value is not None
            self._store(bank, move.row, self._every_lane, move.value)
            self._count_write_back(move.warp, move.register)
            self.blocks[move.warp].moving &= ~(1 << move.register)
            mover.done()

    def _fill(self, mover: Mover) -> None:
        """A register arrives in the cache."""
        move = mover.move
        assert move is not None
        assert move.value is not None
        self._values[move.entry][move.offset] = move.value
        block = self.blocks[move.warp]
        block.moving &= ~(1 << move.register)
        mover.done()
        self._probe.counters["cache.fills"] += 1
        if self._probe.sink is not None:
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
        if self._probe.sink is not None:
            self._probe.emit("row_free", warp, block.offset)
        block.offset, block.leaving = None, False


class LtrfPlus(Ltrf):
    """LTRF+: LTRF with a liveness bit-vector, so that dead registers are not moved. LTRF, section 3.2."""

    liveness = True


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
