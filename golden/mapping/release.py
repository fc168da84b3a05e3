"""Release: registers that the compiler has declared dead give their physical registers back."""

from __future__ import annotations

from warpbank.golden.mapping.table import TABLE_BANKS


class Release:
    """Release unit: which registers are dying, and which of them a cycle releases. Renaming, 4.3 and 6.1.

    A register is dying from the cycle after the issue of the uop that declares it dead: a flagged read (pir)
    or a pbr. It is released when no read and no write of it is pending. One warp is served per cycle, by
    rotating priority among those with a dying register that is not still to be written; of it, one register
    per bank of the renaming table, the lowest such one, if no uop still has to read it and it is not on its
    way to or from a cache. A uop that issues
    with a dying register as its destination takes the register over: it keeps its physical register, and dies
    no more.

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
        self._touched: list[int] = []  # warps of the three, in this cycle
        self._reads: list[tuple[int, int]] = []
        self._writes: list[tuple[int, int]] = []
        self._issued: list[tuple[int, tuple[int, ...], int]] = []
        self.choice: tuple[int, int] | None = (
            None  # warp and mask of registers that are released in this cycle, if nobody saves
        )

    def launch(self) -> None:
        """A launch begins: no register has a physical one; nothing is read, written or moved."""
        self.dying = [0] * self._warps
        self.moving = [0] * self._warps
        self.ended = 0
        self.choice = None

    @property
    def busy(self) -> bool:
        """A register might be released in the next cycle."""
        return self.choice is not None

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
        return [(warp, register) for register in range(registers.bit_length()) if registers >> register & 1]

    def edge(self, mapped: list[int]) -> None:
        """The clock edge; `mapped`: the registers that have a physical one from now on."""
        for warp, mask in self._writes:
            self._writing[warp] &= ~mask
        for warp, register in self._reads:
            readers = self._readers[warp]
            readers[register] -= 1
            if not readers[register]:
                del readers[register]
        for warp, sources, writes in self._issued:
            self._writing[warp] |= writes
            readers = self._readers[warp]
            for register in sources:
                readers[register] = readers.get(register, 0) + 1
        for warp in self._touched:
            self.dying[warp] = (self.dying[warp] | self._marks[warp]) & ~self._saved[warp] & ~self._gone[warp]
            self._marks[warp] = self._saved[warp] = self._gone[warp] = 0
            if self.ended >> warp & 1 and not mapped[warp]:
                self.ended &= ~(1 << warp)
        self._touched.clear()
        self._reads.clear()
        self._writes.clear()
        self._issued.clear()
        if self.choice is not None:
            self._pointer = (self.choice[0] + 1) % self._warps
        self._choose()

    def _choose(self) -> None:
        """Registers that are released in the next cycle."""
        self.choice = None
        for ahead in range(self._warps):
            warp = (self._pointer + ahead) % self._warps
            waiting = self.dying[warp] & ~self._writing[warp]
            if waiting:
                self.choice = warp, self._free(warp, waiting)
                break

    def _free(self, warp: int, waiting: int) -> int:
        """Of the registers that could be released, the lowest of each bank, unless somebody needs it."""
        chosen = 0
        for bank in range(TABLE_BANKS):
            register = first_in_bank(waiting, bank)
            if register is not None and not self._in_use(warp, register):
                chosen |= 1 << register
        return chosen

    def _in_use(self, warp: int, register: int) -> bool:
        """Test whether anybody but its writer still needs the physical register of a dying one."""
        return register in self._readers[warp] or bool(self.moving[warp] >> register & 1)


def first_in_bank(mask: int, bank: int) -> int | None:
    """The lowest register of `mask` that is in a bank of the table."""
    mine = mask & _BANK_MASKS[bank]
    return (mine & -mine).bit_length() - 1 if mine else None


_BANK_MASKS = [
    sum(1 << register for register in range(bank, 256, TABLE_BANKS)) for bank in range(TABLE_BANKS)
]
