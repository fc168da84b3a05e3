"""Release: registers that the compiler has declared dead give their physical registers back."""

from __future__ import annotations

from typing import Final

from warpbank.golden.mapping.table import TABLE_BANKS
from warpbank.golden.round_robin import first_from


class Release:
    """Release unit: which registers are dying, and which of them a cycle releases. Renaming, 4.3 and 6.1.

    A register is dying from the cycle after the issue of the uop that declares it dead: a flagged read (pir)
    or a pbr. It is released when no read and no write of it is pending. One warp is served per cycle, by
    rotating priority; of it, one register per bank of the renaming table, the lowest that is dying and not
    still to be written, if no uop still has to read it and it is not on its way to or from a cache. A uop
    that issues with a dying register as its destination takes the register over: it keeps its physical
    register, and dies no more.

    A warp that is served passes five stages, one per cycle, and is in one of them at a time:

    0. choose: among the warps that had something to release in the cycle before and are in no stage;
    1. read: the registers of the warp that are dying and not to be written;
    2. find: the lowest of each bank;
    3. compare: those that a uop in collection has still to read, or that issues in this cycle to read them,
       and those that are on their way, are not released this time;
    4. release.

    What a uop that issues takes over leaves the stages 1 to 4. No other write of a register can begin behind
    stage 1, and nothing dying sets off on a new way. A warp can be chosen again in the cycle after its
    stage 4.

    All registers of a warp that has drained are dying; until they are all released no other warp may issue in
    its slot.

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self.dying = [0] * warps
        self.moving = [0] * warps  # per warp, mask of the registers that are on their way
        self.ended = 0  # slots whose last warp has drained and still has registers
        self._writing = [0] * warps
        self._readers: list[dict[int, int]] = [{} for _ in range(warps)]
        self._pointer = 0
        self._marks = [0] * warps
        self._saved = [0] * warps
        self._gone = [0] * warps
        self._touched: list[int] = []  # warps of the three, in this cycle, and of what was written
        self._reads: list[tuple[int, int]] = []
        self._writes: list[tuple[int, int]] = []
        self._issued: list[tuple[int, tuple[int, ...], int]] = []
        self._waiting = 0  # warps with a dying register that is not to be written
        self._clear()

    def _clear(self) -> None:
        """Empty the stages."""
        self._some = 0  # warps that can be chosen
        # The stages: a warp and some of its registers.
        self._flying = 0  # warps in the stages 2 to 4
        self._served: int | None = None
        self._read: tuple[int, int] | None = None
        self._found: tuple[int, int] | None = None
        self.choice: tuple[int, int] | None = (
            None  # warp and mask of registers that are released in this cycle, if nobody saves
        )

    def launch(self) -> None:
        """A launch begins: no register has a physical one; nothing is read, written or moved."""
        self.dying = [0] * self._warps
        self.moving = [0] * self._warps
        self.ended = self._waiting = 0
        self._clear()

    @property
    def busy(self) -> bool:
        """Whether a register waits to be released, or a warp is in a stage."""
        return self._waiting != 0 or self._some != 0 or self._served is not None or self._flying != 0

    def issue(self, warp: int, sources: tuple[int, ...], writes: int, dead: int) -> None:
        """A uop issues: what it reads, the mask of registers it writes, and that of the registers which have
        a physical register and which it declares dead."""
        self._issued.append((warp, sources, writes))
        self._marks[warp] |= dead
        self._saved[warp] |= writes
        self._touched.append(warp)

    def read(self, warp: int, register: int) -> None:
        """An operand was read."""
        self._reads.append((warp, register))

    def written(self, warp: int, mask: int) -> None:
        """Registers were written."""
        self._writes.append((warp, mask))
        self._touched.append(warp)

    def end(self, warp: int, mapped: int) -> None:
        """The warp has drained; `mapped`: its registers that have a physical one."""
        self._marks[warp] |= mapped
        self._touched.append(warp)
        self.ended |= 1 << warp

    def released(self) -> list[tuple[int, int]]:
        """(warp, register) of all that is released in this cycle; called after what issues in it is known."""
        if self.choice is None:
            return []
        warp, registers = self.choice
        registers &= ~self._saved[warp]
        self._gone[warp] = registers
        self._touched.append(warp)
        found = []
        while registers:
            found.append((warp, (registers & -registers).bit_length() - 1))
            registers &= registers - 1
        return found

    def edge(self, mapped: list[int]) -> None:
        """The clock edge; `mapped`: the registers that have a physical one from now on."""
        self._count_reads()
        self._advance()
        for warp, mask in self._writes:
            self._writing[warp] &= ~mask
        for warp, _, writes in self._issued:
            self._writing[warp] |= writes
        for warp in self._touched:
            self.dying[warp] = (self.dying[warp] | self._marks[warp]) & ~self._saved[warp] & ~self._gone[warp]
            self._marks[warp] = self._saved[warp] = self._gone[warp] = 0
            if self.ended >> warp & 1 and not mapped[warp]:
                self.ended &= ~(1 << warp)
        for warp in self._touched:
            here = 1 << warp
            waits = self.dying[warp] & ~self._writing[warp]
            self._waiting = self._waiting | here if waits else self._waiting & ~here
        self._touched.clear()
        self._reads.clear()
        self._writes.clear()
        self._issued.clear()

    def _count_reads(self) -> None:
        """Count the reads that end in this cycle, and those that are pending from the next one on."""
        for warp, register in self._reads:
            readers = self._readers[warp]
            readers[register] -= 1
            if not readers[register]:
                del readers[register]
        for warp, sources, _ in self._issued:
            readers = self._readers[warp]
            for register in sources:
                readers[register] = readers.get(register, 0) + 1

    def _advance(self) -> None:
        """Move every warp to its next stage, as the masks of this cycle say."""
        some = self._waiting
        if self.choice is not None:
            warp, registers = self.choice
            if not self.dying[warp] & ~self._writing[warp] & ~registers:
                some &= ~(1 << warp)
            self._flying &= ~(1 << warp)
        self.choice = self._compare() if self._found is not None else None
        self._found = self._find() if self._read is not None else None
        self._read = None
        if self._served is not None:
            warp = self._served
            self._read = warp, self.dying[warp] & ~self._writing[warp] & ~self._saved[warp]
            self._flying |= 1 << warp
            self._served = None
        if self._some:
            warp = first_from(self._some, self._pointer)
            self._served, self._pointer = warp, (warp + 1) % self._warps
            some &= ~(1 << warp)
        self._some = some & ~self._flying

    def _find(self) -> tuple[int, int]:
        """Find the lowest of the registers of each bank (stage 2), unless it is in use in the next cycle, in
        which they are compared."""
        assert self._read is not None
        warp, registers = self._read
        found = 0
        for mine in _BANK_MASKS:
            lowest = registers & mine
            lowest &= -lowest
            if lowest and not self._in_use(warp, lowest.bit_length() - 1):
                found |= lowest
        return warp, found & ~self._saved[warp]

    def _in_use(self, warp: int, register: int) -> bool:
        """Test whether anybody but its writer still needs the physical register of a dying one."""
        return register in self._readers[warp] or self.moving[warp] >> register & 1 != 0

    def _compare(self) -> tuple[int, int]:
        """Drop what the uop that issues reads or takes over from the registers that were found (stage 3)."""
        assert self._found is not None
        warp, registers = self._found
        registers &= ~self._saved[warp]
        for issuer, sources, _ in self._issued:
            if issuer == warp:
                for register in sources:
                    registers &= ~(1 << register)
        return warp, registers


#: Mask of the registers of each bank of the table.
_BANK_MASKS: Final = [
    sum(1 << register for register in range(bank, 256, TABLE_BANKS)) for bank in range(TABLE_BANKS)
]
