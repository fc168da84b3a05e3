"""Places of a row of the register file cache: which are unused, and which are given next (LTRF, figure 8)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.round_robin import encode, pick


class Places(wiring.Component):
    """The set of a row's banks that no register has. LTRF, section 4.2.

    Parameters
    ----------
    count : places; all of them are unused at first.
    registers : registers that may be given a place in a cycle.

    Members
    -------
    wants : In(registers). Registers that want a place.
    place : Out, per register. The place that it gets, if it wants one: the lowest unused ones, in the
        registers' order.
    given : In(registers). Registers that take theirs; some of those that want one and find one unused.
    back : In(count). Mask of the occupied places that are given back.
    occupied : Out(count). Places that registers have. From registers.

    Latency: a place given back in cycle t can be given in t + 1.

    No register waits for the choice of one before it: each place counts the unused ones below it, each
    register those before it that want one, and it gets the place whose number is equal.

    Raises
    ------
    TypeError : `count` or `registers` is no positive number.
    """

    wants: Signal
    place: list[Signal]
    given: Signal
    back: Signal
    occupied: Signal

    def __init__(self, count: int, registers: int) -> None:
        for name, number in (("places", count), ("registers", registers)):
            if type(number) is not int or number < 1:
                raise TypeError(f"Places needs a number of {name} of at least 1, not {number!r}.")
        self._count, self._registers = count, registers
        super().__init__(
            {
                "wants": In(registers),
                "place": Out(bits(count)).array(registers),
                "given": In(registers),
                "back": In(count),
                "occupied": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, registers = self._count, self._registers
        occupied, taken = Signal(count), Signal(count)
        unused = [~self.occupied[place] for place in range(count)]
        below, _ = _counted([_Count([there]) for there in unused], registers)
        turns: list[Value] = []  # the lowest unused place, the one above it, and so on, one-hot
        for number in range(registers):
            turns.append(Signal(count, name=f"unused_{number}"))
            m.d.comb += turns[-1].eq(
                Cat(there & _exactly(found, number) for there, found in zip(unused, below, strict=True))
            )
        numbers = [encode(turn) for turn in turns]
        before, _ = _counted([_Count([self.wants[register]]) for register in range(registers)], registers)
        gone = []
        for register, (place, wanting) in enumerate(zip(self.place, before, strict=True)):
            mine = Cat(_exactly(wanting, number) for number in range(register + 1))
            m.d.comb += place.eq(pick(mine, numbers[: register + 1]))
            given = mine & self.given[register].replicate(register + 1)
            gone.append(pick(given, turns[: register + 1]))
        for mask in gone[1:]:
            gone[0] = gone[0] | mask
        m.d.comb += [taken.eq(gone[0]), self.occupied.eq(occupied)]
        m.d.sync += occupied.eq((occupied | taken) & ~self.back)
        return m


#: A number in unary: whether it is at least 1, at least 2, and so on.
_Count = list[Value]


def _counted(bits: list[_Count], most: int) -> tuple[list[_Count], _Count]:
    """How many bits are set below each, and in all; counted to `most`, half by half."""
    if len(bits) == 1:
        return [[]], bits[0]
    half = len(bits) // 2
    (low, total), (high, rest) = _counted(bits[:half], most), _counted(bits[half:], most)
    return [*low, *(_plus(total, each, most) for each in high)], _plus(total, rest, most)


def _plus(first: _Count, second: _Count, most: int) -> _Count:
    """Sum of two numbers, at most `most`."""
    both = min(most, len(first) + len(second))
    left, right = [Const(1, 1), *first], [Const(1, 1), *second]
    return [
        Cat(
            left[part] & right[number - part]
            for part in range(number + 1)
            if part < len(left) and number - part < len(right)
        ).any()
        for number in range(1, both + 1)
    ]


def _exactly(count: _Count, number: int) -> Value:
    """Whether a number is this one."""
    reached = count[number - 1] if 0 < number <= len(count) else Const(number == 0, 1)
    return reached & ~count[number] if number < len(count) else reached
