"""Pareto fronts: which points no other dominates, in which order the others follow, and which is the knee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """Aim of an exploration: a number of every point that is to be large or small.

    Parameters
    ----------
    name : as an option and in JSON.
    title, unit : as people read them.
    larger : whether more is better.
    digits : behind the point, in tables.
    """

    name: str
    title: str
    unit: str
    larger: bool = False
    digits: int = 3

    def cost(self, value: float) -> float:
        """Value as a cost: less is better."""
        return -value if self.larger else value


#: Costs of a point, one for each aim.
Costs = tuple[float, ...]


def no_worse(one: Costs, other: Costs) -> bool:
    """Whether `one` is at least as good in every aim."""
    return all(a <= b for a, b in zip(one, other, strict=True))


def dominates(one: Costs, other: Costs) -> bool:
    """Whether `one` is at least as good in every aim and better in one."""
    return one != other and no_worse(one, other)


def front(costs: Mapping[str, Costs]) -> list[str]:
    """Names of the points that no other dominates, in the order given. Points of equal costs stand side by
    side."""
    return [name for name, own in costs.items() if not any(dominates(other, own) for other in costs.values())]


def ranks(costs: Mapping[str, Costs]) -> dict[str, int]:
    """Rank of every point: 0 on the front, 1 on the front of what is left without it, and so on."""
    left, found, rank = dict(costs), {}, 0
    while left:
        for name in front(left):
            found[name] = rank
        left = {name: own for name, own in left.items() if name not in found}
        rank += 1
    return found


def crowding(costs: Mapping[str, Costs]) -> dict[str, float]:
    """Crowding distance of every point of a front: how far its neighbours in each aim lie apart, as a share
    of the front's range, over all aims. The ends of an aim have an infinite one."""
    found = dict.fromkeys(costs, 0.0)
    for place in range(len(next(iter(costs.values()), ()))):
        order = sorted(costs, key=lambda name: costs[name][place])
        low, high = costs[order[0]][place], costs[order[-1]][place]
        found[order[0]] = found[order[-1]] = math.inf
        for before, name, after in zip(order, order[1:], order[2:], strict=False):
            if high > low:
                found[name] += (costs[after][place] - costs[before][place]) / (high - low)
    return found


def best(costs: Mapping[str, Costs], count: int) -> list[str]:
    """Best points: rank by rank, of the last rank those that stand most apart, in the order given."""
    layers: dict[int, list[str]] = {}
    for name, rank in ranks(costs).items():
        layers.setdefault(rank, []).append(name)
    kept: list[str] = []
    for rank in sorted(layers):
        layer = layers[rank]
        if len(kept) + len(layer) > count:
            apart = crowding({name: costs[name] for name in layer})
            layer = sorted(layer, key=lambda name: -apart[name])[: count - len(kept)]
        kept += layer
        if len(kept) >= count:
            break
    chosen = set(kept)
    return [name for name in costs if name in chosen]


def knee(costs: Mapping[str, Costs]) -> str:
    """Knee of a front: the point nearest to the best values of all aims, each aim measured in the front's
    range of it. Raises ValueError for an empty front."""
    columns = list(zip(*costs.values(), strict=True))
    lows = [min(column) for column in columns]
    spans = [max(column) - low or 1.0 for column, low in zip(columns, lows, strict=True)]

    def distance(name: str) -> float:
        return math.hypot(
            *((value - low) / span for value, low, span in zip(costs[name], lows, spans, strict=True))
        )

    return min(costs, key=distance)
