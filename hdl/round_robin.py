"""Round-robin choice over bit masks: the first set bit at or after a pointer, wrapping around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from warpbank.arch.parameters import bits


@dataclass(frozen=True)
class Choice:
    """Bit that was chosen: `one_hot`, `index` (both 0 if the mask was), `any`, and the pointer behind it,
    `after`; the mask of the places from there on if such a mask was given."""

    one_hot: Signal
    index: Signal
    any: Value
    after: Value


def first_from(m: Module, mask: Value, pointer: Value, name: str = "choice") -> Choice:
    """Choose the first set bit of `mask` at or after bit `pointer`, wrapping around.

    It is a thermometer mask and two x & -x.

    Combinational. `name` names the signals.
    """
    width = len(mask)
    at_or_after = Signal(width, name=f"{name}_at_or_after")
    m.d.comb += at_or_after.eq(mask & ((2**width - 1) << pointer))
    seen = Signal(width, name=f"{name}_seen")
    m.d.comb += seen.eq(Mux(at_or_after.any(), at_or_after, mask))
    return chosen(m, seen, name)


def first_reached(m: Module, mask: Signal, reached: Value, name: str = "choice") -> Choice:
    """Choose the first set bit of a wide `mask` from the places that are `reached` on, wrapping around.

    The choice is that of `first_from`, for a register that holds the places from the pointer on, `reached`,
    and not the pointer; `after` of the choice is such a mask, too. The bit is looked for among all places
    and among those reached at once, with the little delay of `behind`.

    Combinational. `name` names the signals.
    """
    width = len(mask)
    later = Signal(width, name=f"{name}_later")
    m.d.comb += later.eq(mask & reached)
    behind_later, behind_all = behind(m, later, f"{name}_behind_later"), behind(m, mask, f"{name}_behind_all")
    any_later = later.any()
    one_hot, index = Signal(width, name=f"{name}_one_hot"), Signal(bits(width), name=f"{name}_index")
    m.d.comb += [
        one_hot.eq(Mux(any_later, later & ~behind_later, mask & ~behind_all)),
        index.eq(encode(one_hot)),
    ]
    rest = Mux(any_later, behind_later, behind_all)
    return Choice(one_hot, index, mask.any(), rest | one_hot[-1].replicate(width))


def chosen(m: Module, mask: Value, name: str = "choice") -> Choice:
    """Choose the lowest set bit of `mask`."""
    width = len(mask)
    one_hot = Signal(width, name=f"{name}_one_hot")
    m.d.comb += one_hot.eq(mask & (~mask + 1))
    index = Signal(bits(width), name=f"{name}_index")
    m.d.comb += index.eq(encode(one_hot))
    return Choice(one_hot, index, mask.any(), after(index, width))


def soonest(
    m: Module, mask: Value, pointer: Value, name: str = "choice", reached: Signal | None = None
) -> Choice:
    """Choose the first set bit of a narrow `mask` at or after `pointer`, with little delay.

    The choice is that of `first_from`, but each set bit looks for others before it, all at once.

    Its gates grow with the square of the width; which bits are before which follows from the pointer alone:
    from `reached`, the places from the pointer on, where a register has them.
    """
    width = len(mask)
    if reached is None:
        reached = Signal(width, name=f"{name}_reached")
        m.d.comb += reached.eq(Cat(pointer <= place for place in range(width)))

    one_hot, index = Signal(width, name=f"{name}_one_hot"), Signal(bits(width), name=f"{name}_index")
    m.d.comb += [
        one_hot.eq(
            Cat(
                mask[place]
                & ~Cat(
                    mask[other] & before(reached, other, place) for other in range(width) if other != place
                ).any()
                for place in range(width)
            )
        ),
        index.eq(encode(one_hot)),
    ]
    return Choice(one_hot, index, mask.any(), after(index, width))


def before(reached: Value, other: int, place: int) -> Value:
    """Whether bit `other` comes before bit `place` in rotating order: `reached` has the places from the
    pointer on."""
    return reached[other] | ~reached[place] if other < place else reached[other] & ~reached[place]


def lowest(mask: Value) -> Value:
    """Lowest set bit alone, found by each bit for itself."""
    return Cat(mask[place] & ~mask[:place].any() for place in range(len(mask)))


def behind(m: Module, mask: Value, name: str = "behind") -> Signal:
    """Mask of the places behind the lowest set bit of `mask`; 0 for 0.

    Each bit hears of the others in as many steps as the width has bits: little delay, and fewer gates than in
    `lowest` where `mask` is wide.
    """
    width = len(mask)
    seen, step = mask, 1
    while step < width:
        wider = Signal(width, name=f"{name}_{step}")
        m.d.comb += wider.eq(seen | seen[:-step] << step)
        seen, step = wider, 2 * step
    found = Signal(width, name=name)
    m.d.comb += found.eq(seen << 1)
    return found


def lowest_by_groups(m: Module, mask: Signal, name: str, group: int = 8) -> Value:
    """Lowest set bit alone of a wide mask: a bit looks for others in its group, a group for those before it.

    `name` names the signal that it adds.
    """
    groups = [mask[first : first + group] for first in range(0, len(mask), group)]
    some = Signal(len(groups), name=f"{name}_groups")
    m.d.comb += some.eq(Cat(each.any() for each in groups))
    return Cat(
        lowest(each) & (~some[:number].any()).replicate(len(each)) for number, each in enumerate(groups)
    )


def first_number(mask: Value) -> Value:
    """Number of the lowest set bit, found half by half: a small and shallow way to an address.

    It is any number for 0.
    """

    def found(mask: Value) -> tuple[Value, Value]:
        if len(mask) == 1:
            return mask, Const(0, 0)
        half = 1 << (len(mask) - 1).bit_length() - 1
        (low, first), (high, second) = found(mask[:half]), found(mask[half:])
        return low | high, Cat(Mux(low, first, second)[: half.bit_length() - 1], ~low)

    return found(mask)[1][: bits(len(mask))]


def of_lowest(mask: Value, flags: Value) -> Value:
    """Bit of `flags` at the place of the lowest set bit of a mask, found half by half.

    It is any value for a mask of 0.
    """
    if len(mask) == 1:
        return flags
    half = 1 << (len(mask) - 1).bit_length() - 1
    low, high = of_lowest(mask[:half], flags[:half]), of_lowest(mask[half:], flags[half:])
    return Mux(mask[:half].any(), low, high)


def after(index: Value, count: int) -> Value:
    """Index behind `index`, modulo `count`."""
    if count == 1:
        return index
    return Mux(index == count - 1, 0, index + 1) if count & (count - 1) else (index + 1)[: bits(count)]


def encode(one_hot: Value) -> Value:
    """Number of the only set bit; 0 for 0."""
    width = len(one_hot)
    places = [sum(1 << bit for bit in range(width) if bit >> place & 1) for place in range(bits(width))]
    return Cat(*((one_hot & place).any() for place in places))


def decode(m: Module, index: Value, valid: Value, count: int, name: str) -> Signal:
    """Mask of `count` bits with bit `index` set if `valid`."""
    mask = Signal(count, name=name)
    m.d.comb += mask.eq(valid << index)
    return mask


def pick(one_hot: Value, choices: Sequence[Value]) -> Value:
    """Choice that `one_hot` picks; 0 if it is 0."""
    return reduce(or_, (Mux(one, choice, 0) for one, choice in zip(one_hot, choices, strict=True)))


def pick_at_once(one_hot: Value, choices: Sequence[Value]) -> Value:
    """Choice that `one_hot` picks, as `pick`, each bit by one wide OR: for a `one_hot` that comes late."""
    return Cat(
        Cat(one & choice[bit] for one, choice in zip(one_hot, choices, strict=True)).any()
        for bit in range(len(choices[0]))
    )
