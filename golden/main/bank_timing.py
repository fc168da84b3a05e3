"""Bank timing: the cycles that accesses to a slow bank take."""

from __future__ import annotations


class FractionalLatency:
    """Cycles of each access to a bank whose latency need not be a whole number: the fraction is met on
    average.

    What an access falls short of its latency is owed and added to the next one: at 280 percent accesses take
    2, 3, 3, 3, 3 cycles and so on.

    Parameters
    ----------
    percent : latency of an access in hundredths of a cycle.
    """

    def __init__(self, percent: int) -> None:
        self._percent = percent
        self._owed = 0

    def access(self) -> int:
        """Cycles of the access that begins."""
        cycles, self._owed = divmod(self._owed + self._percent, 100)
        return cycles


class BankTiming:
    """Banks whose accesses take longer than a cycle.

    A write is done in the cycle in which it is taken and keeps its bank busy for the rest of its time. A read
    is begun when its bank is free, and can be granted in the last cycle of its time, or later.

    Parameters
    ----------
    banks : number of banks.
    percent : latency of an access in hundredths of a cycle.
    """

    def __init__(self, banks: int, percent: int) -> None:
        self._paces = [FractionalLatency(percent) for _ in range(banks)]
        self._left = [0] * banks  # cycles that an access still takes after this one
        self._reading = 0  # banks that have begun a read
        self.busy = 0  # banks that take no write

    def step(self, written: int, waiting: int) -> int:
        """A cycle: masks of the banks written, and of those with reads. Returns those that cannot grant
        theirs yet."""
        opening = 0
        for bank, pace in enumerate(self._paces):
            bit = 1 << bank
            if self._left[bank]:
                self._left[bank] -= 1
                opening |= bit
            elif written & bit:
                self._left[bank] = pace.access() - 1
            elif waiting & bit and not self._reading & bit:
                self._reading |= bit
                cycles = pace.access()
                if cycles > 1:
                    self._left[bank] = cycles - 2
                    opening |= bit
        return opening

    def access(self, bank: int) -> int:
        """A bank that is neither written nor among those that `step` returned begins an access, and is done
        with it. Returns its cycles."""
        cycles = self._paces[bank].access()
        self._left[bank] = cycles - 1
        return cycles

    def granted(self, banks: int) -> None:
        """The reads of these banks are granted in this cycle."""
        self._reading &= ~banks

    def edge(self) -> None:
        """The end of a cycle."""
        self.busy = self._reading | sum(1 << bank for bank, left in enumerate(self._left) if left)
