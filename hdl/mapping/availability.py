"""Availability flags: which physical registers are free, and which of them are taken next."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.round_robin import decode, encode, first_from, lowest, pick
from warpbank.hdl.typed import Interface

#: How a free register is chosen: the lowest one, or one that lies a sub-array further each time.
POLICIES = ("consolidate", "wear_level")
#: Free registers that are chosen ahead of their allocation.
AHEAD = 8


class Given(wiring.Signature):
    """A physical register that is given back (seen from who gives it)."""

    def __init__(self, registers: int) -> None:
        super().__init__({"valid": Out(1), "number": Out(bits(registers))})


class GivenInterface(Interface, Protocol):
    """Interface object of the signature `Given`."""

    valid: Signal
    number: Signal


class Availability(wiring.Component):
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

    What is taken comes late in a cycle, and moves nothing but the queue. What is given back stands in a
    register first, and so do the bounds of the flags of a launch.

    Parameters
    ----------
    registers : physical registers.
    policy : one of `POLICIES`.
    distance : registers of a sub-array, over all banks.
    late : count what is taken and given back a cycle later.

    Members
    -------
    launch, reserved : In. A launch begins: the first `reserved` registers are not for renaming, all others
        are free.
    choice : Out, 4 numbers. The registers that are taken next; from registers.
    ready : Out(4). Those of `choice` that there are, the first one lowest; from registers.
    free : Out. How many are free; if `late`, without what was taken or given back in the cycle before.
    take : In. So many of `choice`, from the first on, are taken in this cycle; at most as many as are ready.
    give : In(Given) per bank of the renaming table.

    What is taken in a cycle counts from the next one on. A register given back is among the flags two cycles
    later, and can be taken three cycles after that at the earliest; the first one of a launch four cycles
    after `launch`.

    Raises
    ------
    TypeError : a number that is none, or below 1.
    ValueError : the policy is unknown.
    """

    #: Registers in the queue. The proofs make it smaller.
    ahead = AHEAD

    launch: Signal
    reserved: Signal
    choice: list[Signal]
    ready: Signal
    free: Signal
    take: Signal
    give: list[GivenInterface]

    def __init__(self, registers: int, policy: str, distance: int, late: bool = False) -> None:
        for name, number in (("registers", registers), ("distance", distance)):
            if type(number) is not int or number < 1:
                raise TypeError(f"Availability needs a number of {name} of at least 1, not {number!r}.")
        if policy not in POLICIES:
            raise ValueError(f"Availability knows the policies {', '.join(POLICIES)}, not {policy!r}.")
        self._registers = registers
        self._late = late
        self._rotates = policy == "wear_level"
        width = bits(registers)
        self._low = width // 2  # address within a word
        self._size = 1 << self._low  # flags of a word
        self._words = -(-registers // self._size)
        #: Words from one search to the next: a sub-array, rounded up.
        self._step = max(1, -(-distance // self._size)) % self._words
        super().__init__(
            {
                "launch": In(1),
                "reserved": In(bits(registers + 1)),
                "choice": Out(width).array(MAX_DESTINATIONS),
                "ready": Out(MAX_DESTINATIONS),
                "free": Out(bits(registers + 1)),
                "take": In(bits(MAX_DESTINATIONS + 1)),
                "give": In(Given(registers)).array(TABLE_BANKS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flags = [Signal(self._size, name=f"flags_{word}") for word in range(self._words)]
        word, found = Signal(self._words), Signal(self._size)  # one-hot; its free registers
        self._flags = flags
        bit, accepted = self._choose(m, word, found)
        back = self._give(m)
        self._count(m)

        beginning, first = self._bounds(m)
        for place, (mask, begin) in enumerate(zip(flags, first, strict=True)):
            chosen, given = (Signal(self._size, name=f"{name}_{place}") for name in ("chosen", "given"))
            m.d.comb += [
                chosen.eq(Mux(word[place] & accepted, bit, 0)),
                given.eq(reduce(or_, (Mux(port[place], low, 0) for port, low in back))),
            ]
            m.d.sync += mask.eq(Mux(beginning, begin, (mask | given) & ~chosen))
        self._some = some = Signal(self._words)
        self._search(m, some, flags, word, found, accepted, bit)
        m.d.sync += some.eq(
            Mux(beginning, Cat(begin.any() for begin in first), Cat(mask.any() for mask in flags))
        )
        with m.If(self.launch):
            m.d.sync += [some.eq(0), found.eq(0)]
        return m

    def _bounds(self, m: Module) -> tuple[Value, list[Value]]:
        """The flags of a launch: whether they are there in this cycle, and what they are."""
        ones = (1 << self._size) - 1
        beginning, part = Signal(init=1), Signal(self._size, init=ones)
        full, bound = Signal(self._words), Signal(self._words, init=1)
        upper = self.reserved[self._low :]
        m.d.sync += beginning.eq(self.launch)
        with m.If(self.launch):
            m.d.sync += [
                part.eq(ones << self.reserved[: self._low]),
                full.eq(Cat(upper > word for word in range(self._words))),
                bound.eq(Cat(upper == word for word in range(self._words))),
            ]
        self._beginning, self._full, self._bound, self._part = beginning, full, bound, part
        there = [min(self._size, self._registers - word * self._size) for word in range(self._words)]
        return beginning, [
            Mux(full[word], 0, Mux(bound[word], part, ones))[:count] for word, count in enumerate(there)
        ]

    def _choose(self, m: Module, word: Signal, found: Signal) -> tuple[Value, Value]:
        """The queue, and the register of a word that goes into it: its place in the word, one-hot; whether
        one does. Who is given up for it goes back to the flags."""
        width, ahead = bits(self._registers), range(self.ahead)
        there = Signal(self.ahead)
        queue = [Signal(width, name=f"ahead_{place}", reset_less=True) for place in ahead]
        self._there, self._queue, self._word, self._found = there, queue, word, found
        bit, number, accepted = Signal(self._size, name="bit"), Signal(width), Signal()
        if self._rotates:
            start = Signal(self._low)  # place of what was chosen last
            m.d.comb += bit.eq(first_from(m, found, start, "first").one_hot)
            with m.If(accepted):
                m.d.sync += start.eq(number[: self._low])
            with m.If(self.launch):
                m.d.sync += start.eq(0)
        else:
            m.d.comb += bit.eq(lowest(found))
        upper = Signal(width - self._low)
        m.d.comb += [upper.eq(encode(word)), number.eq(Cat(encode(bit)[: self._low], upper))]
        full = there[-1]
        higher, given_up = Signal(self.ahead), Signal(self.ahead)
        if not self._rotates:
            m.d.comb += higher.eq(Cat(full & (entry[self._low :] > upper) for entry in queue))
        m.d.comb += [
            given_up.eq(Cat(higher[place] & ~higher[place + 1 :].any() for place in ahead)),
            accepted.eq(found.any() & (~full | higher.any())),
        ]

        # What is taken moves the others up. One that is taken is not given up: there is room behind.
        stays, free = Signal(self.ahead), ~there & Cat(1, there[:-1])
        m.d.comb += stays.eq(Cat(self.take <= place for place in ahead))
        enters = [accepted & (free[place] | given_up[place] & stays[place]) for place in ahead]
        behind = accepted & (given_up & ~stays).any()
        entries: list[Value] = [Mux(enters[place], number, queue[place]) for place in ahead] + [number]
        valid = [there[place] | enters[place] for place in ahead] + [behind]
        for place, entry in enumerate(queue):
            m.d.sync += entry.eq(_at(entries[place:], self.take))
        m.d.sync += there.eq(Mux(self.launch, 0, Cat(_at(valid[place:], self.take) for place in ahead)))
        self._returned = accepted & (given_up & stays).any(), pick(given_up, queue)
        self._given_up, self._stays = given_up, stays
        m.d.comb += [
            self.ready.eq(there),
            *(choice.eq(entry) for choice, entry in zip(self.choice, queue, strict=False)),
        ]
        return bit, accepted

    def _give(self, m: Module) -> list[tuple[Value, Value]]:
        """What goes back to the flags: per register its word, and its place there, one-hot."""
        back: list[tuple[Value, Value]] = []
        ports = [(give.valid, give.number) for give in self.give] + [self._returned]
        self._back: list[tuple[Value, Value]] = []
        for place, (valid, number) in enumerate(ports):
            given = Signal(name=f"given_{place}")
            kept = Signal(bits(self._registers), name=f"number_{place}", reset_less=True)
            self._back.append((given, kept))
            m.d.sync += [given.eq(valid & ~self.launch), kept.eq(number)]
            word = decode(m, kept[self._low :], given, self._words, f"to_{place}")
            back.append((word, decode(m, kept[: self._low], Const(1), self._size, f"place_{place}")))
        return back

    def _count(self, m: Module) -> None:
        """The number of free registers."""
        vacant = Signal(bits(self._registers + 1), init=self._registers)
        m.d.comb += self.free.eq(vacant)
        taken: Value = self.take
        given: Value = Cat(give.valid for give in self.give)
        if self._late:
            were_taken, were_given = Signal.like(taken), Signal(len(self.give))
            m.d.sync += [were_taken.eq(taken), were_given.eq(given)]
            taken, given = were_taken, were_given
        m.d.sync += vacant.eq(vacant - taken + sum(given))
        with m.If(self.launch):
            m.d.sync += vacant.eq(self._registers - self.reserved)

    def _search(
        self,
        m: Module,
        some: Value,
        flags: list[Signal],
        word: Signal,
        found: Signal,
        accepted: Value,
        bit: Value,
    ) -> None:
        """Read the first word with a free register, without one that is chosen in this cycle."""
        first = Signal(self._words, name="first_word")
        read, again = Signal(self._size), Signal()
        m.d.comb += [read.eq(pick(first, flags)), again.eq(accepted & (first & word).any())]
        m.d.sync += word.eq(first)
        if not self._rotates:
            m.d.comb += first.eq(lowest(some))
            m.d.sync += found.eq(read & ~Mux(again, bit, 0))
            return
        pointer = Signal(bits(self._words))
        m.d.comb += first.eq(first_from(m, some, pointer, "word").one_hot)
        m.d.sync += found.eq(Mux(accepted, 0, read))
        with m.If(accepted):
            m.d.sync += pointer.eq(encode(word.rotate_left(self._step)))
        with m.If(self.launch):
            m.d.sync += pointer.eq(0)


def _at(values: list[Value], place: Value) -> Value:
    """Value at a place, of the first ones that a result can have; 0 behind the last."""
    found: Value = Const(0)
    for number in reversed(range(min(len(values), MAX_DESTINATIONS + 1))):
        found = Mux(place == number, values[number], found)
    return found
