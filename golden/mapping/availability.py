"""Availability flags: which physical registers are free, and which of them are taken next."""

from __future__ import annotations

from warpbank.golden.round_robin import first_from

#: How a free register is chosen: the lowest one, or one that lies a sub-array further each time.
POLICIES = ("consolidate", "wear_level")


class Availability:
    """A flag per physical register: taken or free. Renaming, sections 6.1 and 7.2.

    Register p stands in row p / banks of bank p mod banks, so that low numbers are the first sub-arrays of
    all banks. `consolidate` takes the lowest free number: registers gather in few sub-arrays. `wear_level`
    remembers the register taken last and looks from the one at the distance of a sub-array on, wrapping
    around: sub-arrays wear out evenly.

    What is taken or given in a cycle counts from the next one on: a register given back can be taken in the
    cycle after.

    Parameters
    ----------
    registers : physical registers.
    policy : one of `POLICIES`.
    distance : registers of a sub-array, over all banks.
    """

    def __init__(self, registers: int, policy: str, distance: int) -> None:
        self._registers = registers
        self._distance = distance if policy == "wear_level" else 0
        self._pointer = 0
        self._everyone = (1 << registers) - 1
        self._take = self._give = 0
        self._next = 0  # pointer after this cycle
        self.taken = 0

    def launch(self, reserved: int) -> None:
        """A launch begins: the first `reserved` registers are not for renaming, all others are free."""
        self.taken = (1 << reserved) - 1
        self._take = self._give = self._pointer = self._next = 0

    @property
    def free(self) -> int:
        """Number of free registers."""
        return self._registers - self.taken.bit_count()

    def take(self, count: int) -> list[int]:
        """Take registers, at most as many as are free, once per cycle. Returns them in order."""
        free = self._everyone & ~self.taken
        pointer = self._pointer
        found = []
        for _ in range(count):
            number = first_from(free, pointer)
            free &= ~(1 << number)
            found.append(number)
            self._take |= 1 << number
            if self._distance:
                pointer = (number + self._distance) % self._registers
        self._next = pointer
        return found

    def give(self, number: int) -> None:
        """Give a register back."""
        assert self.taken >> number & 1, f"physical register {number} is given back twice"
        self._give |= 1 << number

    def edge(self) -> None:
        """The clock edge."""
        self.taken = self.taken & ~self._give | self._take
        self._take = self._give = 0
        self._pointer = self._next
