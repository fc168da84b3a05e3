"""Availability flags: which physical registers are free, and which of them are taken next."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.round_robin import chosen, encode, first_from, pick
from warpbank.hdl.typed import Interface

#: How a free register is chosen: the lowest one, or one that lies a sub-array further each time.
POLICIES = ("consolidate", "wear_level")


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
    all banks. `consolidate` takes the lowest free number: registers gather in few sub-arrays. `wear_level`
    remembers the register taken last and looks from the one at the distance of a sub-array on, wrapping
    around: sub-arrays wear out evenly.

    A search looks at words of flags first, then into the word that it found. Four of them, one behind the
    other, find the registers of a wide result.

    Parameters
    ----------
    registers : physical registers.
    policy : one of `POLICIES`.
    distance : registers of a sub-array, over all banks.

    Members
    -------
    launch, reserved : In. A launch begins: the first `reserved` registers are not for renaming, all others
        are free.
    choice : Out, 4 numbers. The registers that are taken next; combinational from registers.
    free : Out. How many are free.
    take : In. So many of `choice`, from the first on, are taken in this cycle; at most `free`.
    give : In(Given) per bank of the renaming table.
    taken : Out(registers). The flags.

    What is taken or given in a cycle counts from the next one on.

    Raises
    ------
    TypeError : a number that is none, or below 1.
    ValueError : the policy is unknown.
    """

    launch: Signal
    reserved: Signal
    choice: list[Signal]
    free: Signal
    take: Signal
    give: list[GivenInterface]
    taken: Signal

    def __init__(self, registers: int, policy: str, distance: int) -> None:
        for name, number in (("registers", registers), ("distance", distance)):
            if type(number) is not int or number < 1:
                raise TypeError(f"Availability needs a number of {name} of at least 1, not {number!r}.")
        if policy not in POLICIES:
            raise ValueError(f"Availability knows the policies {', '.join(POLICIES)}, not {policy!r}.")
        self._registers = registers
        self._distance = distance % registers if policy == "wear_level" else 0
        self._rotates = policy == "wear_level"
        width = bits(registers)
        super().__init__(
            {
                "launch": In(1),
                "reserved": In(bits(registers + 1)),
                "choice": Out(width).array(MAX_DESTINATIONS),
                "free": Out(bits(registers + 1)),
                "take": In(bits(MAX_DESTINATIONS + 1)),
                "give": In(Given(registers)).array(TABLE_BANKS),
                "taken": Out(registers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, width = self._registers, bits(self._registers)
        taken = Signal(count)
        vacant = Signal(bits(count + 1), init=count)
        pointer = Signal(width)
        m.d.comb += [self.taken.eq(taken), self.free.eq(vacant)]

        left: Value = Signal(count, name="left")
        m.d.comb += left.eq(~taken)
        position: Value = pointer
        takes: list[Value] = []
        for number, choice in enumerate(self.choice):
            found, rest = (Signal(count, name=f"{name}_{number}") for name in ("found", "left"))
            index, one = self._search(m, left, position, number)
            m.d.comb += [choice.eq(index), found.eq(one), rest.eq(left & ~found)]
            takes.append(Mux(self.take > number, found, 0))
            left = rest
            if self._rotates:
                behind = Signal(width, name=f"behind_{number}")
                further = choice + self._distance
                m.d.comb += behind.eq(Mux(further >= count, further - count, further))
                position = behind
                with m.If(self.take == number + 1):
                    m.d.sync += pointer.eq(behind)

        given = Signal(count)
        m.d.comb += given.eq(reduce(or_, (Mux(give.valid, 1 << give.number, 0) for give in self.give)))
        m.d.sync += taken.eq(taken & ~given | reduce(or_, takes))
        m.d.sync += vacant.eq(vacant - self.take + sum(give.valid for give in self.give))
        with m.If(self.launch):
            m.d.sync += [taken.eq((1 << self.reserved) - 1), vacant.eq(count - self.reserved), pointer.eq(0)]
        return m

    def _search(self, m: Module, flags: Value, position: Value, number: int) -> tuple[Value, Value]:
        """The first set bit of `flags` at or after `position`, wrapping around: its number, and a mask of it
        alone."""
        count, width = self._registers, bits(self._registers)
        low = width // 2  # address within a word
        size = 1 << low
        words = [Signal(size, name=f"word_{number}_{place}") for place in range(-(-count // size))]
        m.d.comb += [word.eq(flags[place * size : (place + 1) * size]) for place, word in enumerate(words)]
        some = Signal(len(words), name=f"some_{number}")
        m.d.comb += some.eq(Cat(word.any() for word in words))
        if not self._rotates:
            word = chosen(m, some, f"word_of_{number}").one_hot
            bit = chosen(m, pick(word, words), f"bit_of_{number}").one_hot
        else:  # The rest of the pointer's own word, then the other words, then the beginning of its own.
            here = position[low:] if low < width else position[:0]
            head = Signal(size, name=f"head_{number}")
            m.d.comb += head.eq(Array(words)[here] & (((1 << size) - 1) << position[:low]))
            following = Mux(here == len(words) - 1, 0, here + 1)[: max(1, bits(len(words)))]
            other = first_from(m, some, following, f"word_of_{number}").one_hot
            word = Signal(len(words), name=f"from_{number}")
            m.d.comb += word.eq(Mux(head.any(), 1 << here, other))
            bit = chosen(m, Mux(head.any(), head, pick(other, words)), f"bit_of_{number}").one_hot
        return Cat(encode(bit)[:low], encode(word)), Cat(Mux(one, bit, 0) for one in word)[:count]
