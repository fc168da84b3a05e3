"""Prefix counts: set bits of a mask by their number, the first, the second and so on, all at once.

Counts are one-hot and are joined in a tree, so that nothing waits for the bit before it.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Signal, Value

#: A count, one-hot: entry k says that it is k; the last entry stands for more, too.
Count = list[Value]


def at_least(m: Module, mask: Value, most: int, name: str = "at_least") -> list[Value]:
    """Whether at least k bits of `mask` are set, for each k up to `most`.

    `name` names the signals.
    """
    if len(mask) == 1:
        return [Const(1, 1), mask[0]]
    half = len(mask) // 2
    return together(
        m,
        at_least(m, mask[:half], most, f"{name}_l"),
        at_least(m, mask[half:], most, f"{name}_h"),
        most,
        name,
    )


def together(m: Module, one: list[Value], other: list[Value], most: int, name: str) -> list[Value]:
    """Whether at least k bits of two masks are set, for each k up to `most`, from `at_least` of each mask."""
    ways: list[list[Value]] = [[] for _ in range(min(len(one) + len(other) - 1, most + 1))]
    for left, a in enumerate(one):
        for right, b in enumerate(other):
            if left + right < len(ways):
                ways[left + right].append(a & b)
    total = Signal(len(ways), name=name)
    m.d.comb += total.eq(Cat(reduce(or_, way) for way in ways))
    return list(total)


def exactly(counts: list[Value]) -> list[Value]:
    """Whether exactly k bits are set, for each k, from `at_least`; the last stands for more, too."""
    return [more & ~most for more, most in zip(counts, [*counts[1:], Const(0, 1)], strict=True)]


def nth(m: Module, mask: Value, most: int, name: str = "nth") -> list[Signal]:
    """Mask, for each k below `most`, of the set bit of `mask` that has k set bits below it; 0 if there is
    none."""
    before, _ = below(m, mask, most, name)
    masks = [Signal(len(mask), name=f"{name}_{k}") for k in range(most)]
    m.d.comb += [
        one.eq(
            Cat(
                mask[bit] & counts[k] if k < len(counts) else Const(0, 1) for bit, counts in enumerate(before)
            )
        )
        for k, one in enumerate(masks)
    ]
    return masks


def below(m: Module, mask: Value, most: int, name: str) -> tuple[list[Count], Count]:
    """Count of the set bits below each bit of `mask`, and of all; counted to `most`."""
    if len(mask) == 1:
        return [[Const(1, 1)]], [~mask[0], mask[0]]
    half = len(mask) // 2
    low, few = below(m, mask[:half], most, f"{name}_l")
    high, more = below(m, mask[half:], most, f"{name}_h")
    return low + [
        _joined(m, few, one, most, f"{name}_{half + bit}") for bit, one in enumerate(high)
    ], _joined(m, few, more, most, f"{name}_all")


def _joined(m: Module, one: Count, other: Count, most: int, name: str) -> Count:
    """Sum of two counts."""
    ways: list[list[Value]] = [[] for _ in range(min(len(one) + len(other) - 1, most + 1))]
    for left, a in enumerate(one):
        for right, b in enumerate(other):
            ways[min(left + right, most)].append(a & b)
    total = Signal(len(ways), name=name)
    m.d.comb += total.eq(Cat(reduce(or_, way) for way in ways))
    return list(total)
