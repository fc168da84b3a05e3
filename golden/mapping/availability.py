"""Availability flags: which physical registers are free, and which of them are taken next."""

from __future__ import annotations

from typing import Final

from warpbank.arch.parameters import bits
from warpbank.golden.round_robin import first_from

#: How a free register is chosen: the lowest one, or one that lies a sub-array further each time.
POLICIES: Final = ("consolidate", "wear_level")
#: Free registers that are chosen ahead of their allocation.
AHEAD: Final = 8


class Availability:
    """A flag per physical register: taken or free. Renaming, sections 6.1 and 7.2.

    Register p stands in row p / banks of bank p mod banks, so that low numbers are the first sub-arrays of
    all banks. `consolidate` looks for the lowest free number: registers gather in few sub-arrays.
    `wear_level` looks for a register at the distance of a sub-array from the one chosen last, wrapping
    around: sub-arrays wear out evenly.

    Registers are chosen ahead, into a queue from whose head they are taken. One that waits there is free:
    it counts as that, and stays without power. A search reads the first word of flags with a free register,
    and chooses the first one in that word in the next cycle. Which words have one is known a cycle late. A
    register is chosen per cycle (`wear_level`: in every second one at most) while the queue has room. If a
    full queue holds a register of a higher word, `consolidate` exchanges the last such one: what is released
    in a low sub-array goes ahead of what would wake up a higher one.

    What is taken in a cycle counts from the next one on. A register given back is among the flags two
    cycles later.

    Parameters
    ----------
    registers : physical registers.
    policy : one of `POLICIES`.
    distance : registers of a sub-array, over all banks.
    """

    def __init__(self, registers: int, policy: str, distance: int) -> None:
        self._registers = registers
        self._size = 1 << bits(registers) // 2  # flags of a word
        self._rotates = policy == "wear_level"
        words = -(-registers // self._size)
        #: Words from one search to the next: a sub-array, rounded up.
        self._step = max(1, -(-distance // self._size)) % words if self._rotates else 0
        self._flags = [0] * words  # registers that are free and not chosen
        self.free = 0  # registers that nobody has
        self.ahead: list[int] = []  # chosen, the one that is taken first in front
        self.busy = False
        self.launch(0)

    def launch(self, reserved: int) -> None:
        """Begin a launch: the first `reserved` registers are not for renaming, all others are free. The flags
        are there in the second cycle from now."""
        self.free = self._registers - reserved
        self._reserved: int | None = reserved
        self._clear()
        self.ahead.clear()
        self._back: list[int] = []  # given back, and not yet among the flags
        self._given: list[int] = []  # in this cycle
        self._taken = 0  # in this cycle, from the front of the queue
        self._pointer = 0  # word from which the search goes on
        self._place = 0  # and place within a word
        self.busy = True

    def _clear(self) -> None:
        """No search is under way."""
        self._filled = 0  # words with a free register
        self._some = 0  # those of the cycle before
        self._word = self._found = 0  # word that is searched, and its free registers

    @property
    def ready(self) -> int:
        """Number of registers that could be taken in this cycle."""
        return len(self.ahead)

    @property
    def taken(self) -> int:
        """Mask of the registers that somebody has."""
        if self._reserved is not None:
            return (1 << self._reserved) - 1
        free = sum(flags << place * self._size for place, flags in enumerate(self._flags))
        for number in self.ahead + self._back:
            free |= 1 << number
        return (1 << self._registers) - 1 & ~free

    def take(self, count: int) -> list[int]:
        """Take registers, at most as many as are ready, once per cycle. Returns them in order."""
        self._taken = count
        return self.ahead[:count]

    def give(self, number: int) -> None:
        """Give a register back."""
        word, place = divmod(number, self._size)
        here = self._flags[word] >> place & 1 or number in self.ahead or number in self._back
        assert not here, f"physical register {number} is given back twice"
        self._given.append(number)

    def edge(self) -> None:
        """The clock edge."""
        if self._reserved is not None:
            self._fill(self._reserved)
            return
        before = self._word, self._found, self._some, self._pointer
        number = self._choose() if self._found else None
        self.free += len(self._given) - self._taken
        changed = number is not None or bool(self._given or self._taken or self._back)
        self._search(number)
        for returned in self._back:
            self._mark(returned, True)
        if number is not None:
            self._mark(number, False)
        del self.ahead[: self._taken]
        self._back, self._given, self._taken = self._given, [], 0
        self.busy = changed or before != (self._word, self._found, self._some, self._pointer)

    def _fill(self, reserved: int) -> None:
        """All registers but the first ones are free."""
        self._reserved = None
        everyone = (1 << self._registers) - (1 << reserved)
        for place in range(len(self._flags)):
            self._flags[place] = everyone >> place * self._size & ((1 << self._size) - 1)
            self._filled |= bool(self._flags[place]) << place
        self._some = self._filled

    def _mark(self, number: int, free: bool) -> None:
        word, place = divmod(number, self._size)
        if free:
            self._flags[word] |= 1 << place
            self._filled |= 1 << word
        else:
            self._flags[word] &= ~(1 << place)
            if not self._flags[word]:
                self._filled &= ~(1 << word)

    def _choose(self) -> int | None:
        """Register that goes into the queue in this cycle, if one does."""
        word = self._word
        place = first_from(self._found, self._place)
        number = word * self._size + place
        if len(self.ahead) < AHEAD:
            self.ahead.append(number)
            if self._rotates:
                self._pointer, self._place = (word + self._step) % len(self._flags), place
            return number
        higher = [where for where, other in enumerate(self.ahead) if other // self._size > word]
        if self._rotates or not higher:
            return None
        if higher[-1] < self._taken:  # it is being taken: there is room behind the others
            self.ahead.append(number)
        else:
            self._given.append(self.ahead[higher[-1]])
            self.free -= 1  # given back, but free before
            self.ahead[higher[-1]] = number
        return number

    def _search(self, chosen: int | None) -> None:
        """Read the first word with a free register; `chosen`: what is no more."""
        self._found = 0
        if self._some and (chosen is None or not self._rotates):
            self._word = first_from(self._some, self._pointer)
            self._found = self._flags[self._word]
            if chosen is not None and chosen // self._size == self._word:
                self._found &= ~(1 << chosen % self._size)
        self._some = self._filled
