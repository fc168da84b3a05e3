"""The warp control blocks: where the active warps' registers are, which they need, and which are alive (LTRF,
figure 7)."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.hierarchy.places import Places
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import TraceUop


class WarpControlBlock:
    """One warp's part. LTRF, sections 4.1 and 4.2.

    Parameters
    ----------
    warp : its number.
    liveness : track which registers are alive (LTRF+); else all of them always are, until the warp ends.

    Attributes
    ----------
    offset : warp-offset address, the warp's row in all banks of the cache; None while the warp is not in the
        cache.
    table : register cache address table: the bank of each register that has a place.
    placed : mask of the registers that the cache holds or that have been chosen to come.
    coming : mask of the registers that have been chosen to come and are not there yet.
    departing : mask of the registers that have been chosen to leave and still have their place.
    storing : mask of the registers that have been chosen to leave and are not in the main register file yet.
    working : working-set bit-vector of the interval that the warp is in.
    live : liveness bit-vector.
    new : the warp in this slot has not been active yet; the vectors are those of the one before.
    loading : the warp has been given its row in the cycle before, and its vectors come from their memory.
    leaving : the warp has been deactivated and its registers leave.
    places : the places of its row. While the warp is not in the cache it has none, so a unit per row does for
        a unit per warp.
    """

    __slots__ = (
        "_liveness",
        "coming",
        "departing",
        "leaving",
        "live",
        "loading",
        "new",
        "offset",
        "placed",
        "places",
        "storing",
        "table",
        "warp",
        "working",
    )

    def __init__(self, warp: int, liveness: bool) -> None:
        self.warp, self._liveness = warp, liveness
        self.offset: int | None = None
        self.table: dict[int, int] = {}
        self.placed = self.coming = self.departing = self.storing = self.working = 0
        self.leaving = self.loading = False
        self.live = 0
        self.new = True

    def activate(self, offset: int, places: Places) -> None:
        """The warp gets a row; its vectors are there a cycle later. A new one is in no interval, and nothing
        of it is alive."""
        self.offset, self.places, self.loading = offset, places, True
        if self.new:
            self.working, self.live = 0, 0 if self._liveness else -1
            self.new = False

    def end(self) -> None:
        """The warp has issued its last uop: nothing of it is wanted any more."""
        self.live = 0

    def access(self, read_last: int, written: int) -> None:
        """A uop issues: registers whose last read it is, and registers it writes."""
        if self._liveness:
            self.live = self.live & ~read_last | written

    @property
    def target(self) -> int:
        """Target set: the registers of the warp that the cache shall hold."""
        return 0 if self.leaving else self.working

    @property
    def valid(self) -> int:
        """Registers that the cache holds."""
        return self.placed & ~self.coming

    @property
    def moving(self) -> int:
        """Registers on their way between cache and main register file."""
        return self.coming | self.storing

    @property
    def out(self) -> int:
        """Registers that may be chosen to leave: none while others come."""
        return 0 if self.coming else self.placed & ~self.target

    @property
    def into(self) -> int:
        """Registers that may be chosen to come: none before those that leave have been read out, so that
        there is a place for each."""
        return 0 if self.departing or self.placed & ~self.target else self.target & ~self.placed

    @property
    def complete(self) -> bool:
        """The cache holds what the warp's interval needs, and nothing else of it."""
        return (
            self.offset is not None
            and not (self.leaving or self.loading or self.coming)
            and self.placed == self.working
        )

    @property
    def empty(self) -> bool:
        """The warp leaves, and the last of its registers has been read out of the cache."""
        return self.leaving and not self.placed and not self.departing


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


class WarpControlBlocks:
    """The control blocks of all warps: which rows of the cache they have, and whose registers set off. LTRF,
    figure 7.

    Registers set off in turns. A row with something to move gets its turn, those whose registers leave before
    those whose registers come; it keeps its turn until it has nothing to choose, which is seen a cycle later.
    In each cycle of its turn the lowest register of each residue class is chosen.

    Parameters
    ----------
    warps : of the sub-core.
    rows : of the cache.
    entries : banks of the cache.
    transfers : registers that are chosen in a cycle, at most, and residue classes.
    liveness : track which registers are alive (LTRF+).
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.

    Attributes
    ----------
    warps : the block of each warp.
    rows : the block that has each row of the cache; None: nobody.
    places : the places of each row.
    may_issue : mask of the warps whose registers are where they have to be.
    chosen, row, out : registers that have been chosen and have no place yet, their row, whether they leave.
    changed : a block has changed in this cycle.
    turn : a row has its turn.
    """

    def __init__(
        self,
        warps: int,
        rows: int,
        entries: int,
        transfers: int,
        liveness: bool,
        quiet: Callable[[int], bool],
    ) -> None:
        self._quiet = quiet
        self.warps = [WarpControlBlock(warp, liveness) for warp in range(warps)]
        self._offsets = AddressAllocation(rows)
        self.places = [Places(entries) for _ in range(rows)]
        self.rows: list[WarpControlBlock | None] = [None] * rows
        self._outside = (1 << warps) - 1  # mask of the warps that have no row
        #: Masks of the rows with registers that may be chosen; with some that leave, and those of them whose
        #: warp has been deactivated; and that can be given to another warp.
        self._working = self._leaving = self._withdrawn = self._empty = 0
        self.may_issue = 0
        self.changed = False
        #: Masks of the registers of each class, of which one may be chosen in a cycle.
        self._classes = [
            sum(1 << register for register in range(first, 256, transfers)) for first in range(transfers)
        ]
        self._pointer = 0  # row whose turn it is, or was last
        self.turn, self._turn_out = False, False
        self.chosen: list[Chosen] = []
        self.row, self.out = 0, False
        #: Block that was given a row in the cycle before.
        self._loading: WarpControlBlock | None = None
        #: Block that has lost its row in the cycle before: its vectors go to their memory.
        self._saving: WarpControlBlock | None = None

    # --- Warps.

    def survey(self) -> None:
        """Find the warps whose registers are where they have to be, and the rows with something to do."""
        complete = working = leaving = withdrawn = empty = 0
        for row, block in enumerate(self.rows):
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
        self.changed = False

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated: none if no row of the cache is free; not the one whose
        vectors are being saved."""
        if not self._offsets.unused:
            return 0
        return self._outside if self._saving is None else self._outside & ~(1 << self._saving.warp)

    def activate(self, warp: int) -> None:
        """The warp becomes active: it gets a row, and its working set comes in."""
        offset = self._offsets.allocate()
        block = self.warps[warp]
        block.activate(offset, self.places[offset])
        self.rows[offset], self._loading = block, block
        self._outside &= ~(1 << warp)
        self.survey()

    def load(self) -> None:
        """Read the vectors of a warp that has been given a row from their memory."""
        if self._loading is not None:
            self._loading.loading = False
            self._loading, self.changed = None, True

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more: its registers leave; nothing of one that has `ended` is wanted."""
        block = self.warps[warp]
        block.leaving = True
        if ended:
            block.end()
        self.survey()

    def start(self, warp: int) -> None:
        """A warp of a launch starts in a slot."""
        self.warps[warp].new = True

    def forget(self) -> None:
        """Nothing that the cache holds, or that has been chosen, is wanted any more: all warps have ended."""
        for block in (*self.rows, self._saving):
            if block is not None:
                block.end()
        for each in self.chosen:
            each.live = False

    def prefetch(self, uop: TraceUop) -> None:
        """The warp enters an interval, with the working set that the uop names."""
        self.warps[uop.warp].working = uop.working_set
        self.survey()

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: the registers it reads for the last time and those it writes."""
        last = 0
        for slot, register in enumerate(uop.sources):
            if uop.dead >> slot & 1:
                last |= 1 << register
        self.warps[uop.warp].access(last, ((1 << uop.count) - 1) << uop.destination)

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        if self.turn or self.chosen or self._loading is not None or self._saving is not None:
            return True
        return self._empty != 0 or self._work() != 0

    def first_empty(self) -> WarpControlBlock | None:
        """The first block of which all registers have left."""
        return self.rows[_lowest(self._empty)] if self._empty else None

    def save(self, block: WarpControlBlock | None) -> int:
        """Take the row of a block, if there is one, whose vectors are saved in the next cycle. Returns the
        row; -1: none."""
        self._saving = block
        if block is None:
            return -1
        offset = block.offset
        assert offset is not None
        self._offsets.release(offset)
        self.rows[offset] = None
        self._outside |= 1 << block.warp
        block.offset, block.leaving = None, False
        self.changed = True
        return offset

    @property
    def saving(self) -> bool:
        """Vectors are being saved in this cycle."""
        return self._saving is not None

    # --- Registers that set off.

    def _work(self) -> int:
        """Mask of the rows with a register to choose: of a warp that is deactivated, once its operands have
        been read."""
        work, withdrawn = self._working, self._withdrawn
        while withdrawn:
            row = _lowest(withdrawn)
            withdrawn &= withdrawn - 1
            block = self.rows[row]
            if block is not None and not self._quiet(block.warp):
                work &= ~(1 << row)
        return work

    def next_turn(self) -> tuple[int, bool]:
        """Find the row whose turn it is in the next cycle, and whether its registers leave; -1: nobody's."""
        work = self._work() if self._working else 0
        if not work:
            return -1, False
        row = first_from(work, self._pointer)
        return row, self._leaving >> row & 1 != 0

    def give_turn(self, row: int, out: bool) -> None:
        """Give a row, or none, the turn from the next cycle on."""
        self.turn, self._turn_out = row >= 0, out
        if row >= 0:
            self._pointer = row

    def choice(self) -> tuple[WarpControlBlock, int, int] | None:
        """The block whose turn it is, and masks of its registers: those that may set off next, and those that
        are alive. None where there is no turn, or nothing to choose."""
        block = self.rows[self._pointer] if self.turn else None
        if block is None:
            return None
        movable = block.out if self._turn_out else block.into
        return (block, movable, block.live) if movable else None

    def choose(self, block: WarpControlBlock, movable: int, live: int, pending: int) -> None:
        """Choose the registers that set off: the lowest of each class. They are on their way from now on.
        `pending`: those that results are still to come of."""
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
        self.chosen, self.row, self.out = chosen, self._pointer, self._turn_out
        self.changed = True


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
