"""Colouring of the conflict graph: smallest degree last, optimistic, with aligned groups.

Groups leave the graph one by one, the least constrained first; when none is sure to find a place, the one
cheapest to spill for its degree goes. They are given places in the reverse order. A set of places is an
integer too: the places forbidden to a group are the union over its words of what their neighbours hold,
shifted by the word's offset.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from warpbank.program.allocation.interference import Interference
from warpbank.program.isa import VIRTUAL
from warpbank.program.liveness import members


@dataclass
class Colouring:
    """Result of a colouring: places found (base word -> register), how many registers they take, and the
    groups that found none."""

    used: int = 0
    places: dict[int, int] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)
    stuck: list[int] = field(default_factory=list)  # unspillable, and nothing around them can be spilled


def aligned(width: int, limit: int) -> int:
    """Places where a group of this width may start."""
    return sum(1 << i for i in range(0, limit - width + 1, width))


class Colourer:
    """One attempt to colour a conflict graph with `limit` registers; groups in `first` are served before all
    others."""

    def __init__(self, graph: Interference, limit: int, first: list[int]) -> None:
        self.graph = graph
        self.limit = limit
        self.first = first
        self.starts = {w: aligned(w, limit) for w in (1, 2, 4)}
        self.result = Colouring()
        self.friends: dict[int, list[tuple[int, int]]] = {}
        for _, a, b in graph.moves:
            self.friends.setdefault(graph.base[a], []).append((a, b))
            self.friends.setdefault(graph.base[b], []).append((b, a))
        fixed = graph.work.fixed
        self.cost = {b: float("inf") if b + VIRTUAL in fixed else c for b, c in graph.costs.items()}

    def run(self) -> Colouring:
        """Colour the graph; the result names the groups that found no place."""
        places = self.result.places
        served = [b for b in self.first if b in self.graph.widths]
        served.sort(key=lambda b: (-self.graph.widths[b], b))
        for base in served + [b for b in reversed(self._order()) if b not in set(served)]:
            if not self._place(base):
                self._make_room(base)
        again, self.result.failed = self.result.failed, []
        for base in sorted(again, key=lambda b: (-self.cost[b], b)):
            if base not in places and not self._place(base):
                self.result.failed.append(base)
        return self.result

    def _order(self) -> list[int]:
        """The order in which groups leave the graph."""
        graph = self.graph
        degree = {b: graph.degree(c, graph.widths[b]) for b, c in graph.groups.items()}
        initial = dict(degree)
        heap = [(d, b) for b, d in degree.items()]
        heapq.heapify(heap)
        cheapest = [(self.cost[b] / max(1, initial[b]), b) for b in degree]
        heapq.heapify(cheapest)
        remaining = sum(1 << b for b in degree)
        order = []
        while remaining:
            d, base = heap[0]
            if not remaining >> base & 1 or degree[base] != d:
                heapq.heappop(heap)
                continue
            if d + graph.widths[base] > self.limit:
                while not remaining >> cheapest[0][1] & 1:
                    heapq.heappop(cheapest)
                base = cheapest[0][1]
            order.append(base)
            remaining &= ~(1 << base)
            width = graph.widths[base]
            for other in members(graph.groups[base] & remaining):
                degree[other] -= max(width, graph.widths[other])
                heapq.heappush(heap, (degree[other], other))
        return order

    def _forbidden(self, base: int) -> int:
        """Starting places at which some word of the group would meet a conflict."""
        graph, places = self.graph, self.result.places
        forbidden = 0
        for i in range(graph.widths[base]):
            taken = 0
            for other in members(graph.words[base + i]):
                place = places.get(graph.base[other])
                if place is not None:
                    taken |= 1 << (place + other - graph.base[other])
            forbidden |= taken >> i
        return forbidden

    def _place(self, base: int) -> bool:
        graph, places = self.graph, self.result.places
        width = graph.widths[base]
        free = self.starts[width] & ~self._forbidden(base)
        if not free:
            return False
        place = self._preferred(base, free)
        places[base] = place
        self.result.used = max(self.result.used, place + width)
        return True

    def _preferred(self, base: int, free: int) -> int:
        """The place a move partner makes worth having; else half of a broken pair, so that whole ones stay;
        else the lowest."""
        graph, places = self.graph, self.result.places
        for mine, other in self.friends.get(base, ()):
            at = places.get(graph.base[other])
            if at is not None:
                wish = at + (other - graph.base[other]) - (mine - base)
                if wish >= 0 and free >> wish & 1:
                    return wish
        lowest = (free & -free).bit_length() - 1
        width = graph.widths[base]
        if width < 4:
            inside = free & ((1 << self.result.used) - 1)
            for place in members(inside):
                if not free >> (place ^ width) & 1:
                    return place
        return lowest

    def _make_room(self, base: int) -> None:
        """Spill the group, or whatever stands in its way where that is cheaper."""
        graph, places = self.graph, self.result.places
        width = graph.widths[base]
        neighbours = [o for o in members(graph.groups[base]) if o in places]
        best: tuple[float, int, list[int]] | None = None
        for start in members(self.starts[width]):
            blockers, cost = [], 0.0
            for other in neighbours:
                if self._clash(base, start, other, places[other]):
                    blockers.append(other)
                    cost += self.cost[other]
            if best is None or cost < best[0]:
                best = (cost, start, blockers)
        assert best is not None
        cost, start, blockers = best
        if cost == float("inf") and self.cost[base] == float("inf"):
            self.result.stuck.append(base)
        elif cost < self.cost[base]:
            for other in blockers:
                del places[other]
            self.result.failed += blockers
            places[base] = start
        else:
            self.result.failed.append(base)

    def _clash(self, base: int, start: int, other: int, at: int) -> bool:
        for i in range(self.graph.widths[base]):
            j = start + i - at
            if 0 <= j < self.graph.widths[other] and self.graph.words[base + i] >> (other + j) & 1:
                return True
        return False
