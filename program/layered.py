"""Layered layout of a directed graph: boxes in layers, edges between them that pass behind no box.

The steps are those of Sugiyama, Tagawa and Toda (IEEE Trans. SMC 11(2), 1981): reverse the edges that close
cycles, put every box below those that lead to it, let a long edge have a place of its own in every layer that
it passes, order each layer by the middles of its neighbours, and straighten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]

#: Rounds of ordering and of straightening.
_ROUNDS = 12


@dataclass(frozen=True)
class Layout:
    """Layout of a graph.

    Parameters
    ----------
    width, height : what it takes.
    places : middle of every box, by its number.
    routes : for every edge in order, the bands that it runs through: pairs of points (top, bottom) between
        which it is straight; the first pair begins at its first box, the last ends at its last one.
    labels : for every edge, the middle of the place that its label has; None: it has none.
    upward : edges that close a cycle, which are drawn from below to above.
    """

    width: float
    height: float
    places: list[Point]
    routes: list[list[tuple[Point, Point]]]
    labels: list[Point | None]
    upward: frozenset[int]


def _cycle_edges(count: int, edges: Sequence[tuple[int, int]], top: int | None) -> set[int]:
    """Edges that lead back to a box on the way that leads to them, and all that lead to the box `top`."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    back: set[int] = set()
    for number, (a, b) in enumerate(edges):
        if b != top:
            leaving[a].append(number)
        else:
            back.add(number)
    state = [0] * count
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(leaving[root]))]
        while stack:
            node, rest = stack[-1]
            taken = next(rest, None)
            if taken is None:
                state[node] = 2
                stack.pop()
                continue
            target = edges[taken][1]
            if state[target] == 1:
                back.add(taken)
            elif not state[target]:
                state[target] = 1
                stack.append((target, iter(leaving[target])))
    return back


def _layers(count: int, edges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Layer of every box: the longest way to it; an edge is (from, to, layers that it spans at least)."""
    layer = [0] * count
    for _ in range(count):
        changed = False
        for a, b, span in edges:
            if layer[b] < layer[a] + span:
                layer[b], changed = layer[a] + span, True
        if not changed:
            break
    return layer


def _crossings(order: list[list[int]], below: list[list[int]]) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    total = 0
    for upper, lower in pairwise(order):
        at = {node: place for place, node in enumerate(lower)}
        ends = [sorted(at[target] for target in below[node]) for node in upper]
        seen: list[int] = []
        for targets in ends:
            total += sum(1 for target in targets for other in seen if other > target)
            seen += targets
    return total


def _ordered(order: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """Layers in an order with few crossings."""
    best, fewest = [list(layer) for layer in order], _crossings(order, below)
    for number in range(_ROUNDS):
        down = number % 2 == 0
        around = above if down else below
        sweep = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for layer in sweep:
            fixed = order[layer - 1 if down else layer + 1]
            at = {node: place for place, node in enumerate(fixed)}
            now = {node: float(place) for place, node in enumerate(order[layer])}
            middles = {
                node: sum(at[other] for other in around[node]) / len(around[node])
                if around[node]
                else now[node]
                for node in order[layer]
            }
            order[layer] = sorted(order[layer], key=lambda node: (middles[node], now[node]))
        found = _crossings(order, below)
        if found < fewest:
            best, fewest = [list(layer) for layer in order], found
    return best


def _straightened(
    order: list[list[int]], widths: list[float], gap: float, above: list[list[int]], below: list[list[int]]
) -> list[float]:
    """Middle of every node across the layers: near its neighbours', and apart from those beside it."""
    at = [0.0] * len(widths)
    for layer in order:
        edge = 0.0
        for node in layer:
            at[node] = edge + widths[node] / 2
            edge += widths[node] + gap
    for number in range(_ROUNDS):
        sweep = order if number % 2 == 0 else order[::-1]
        for layer in sweep:
            wanted = []
            for node in layer:
                others = above[node] if number % 2 == 0 else below[node]
                others = others or above[node] + below[node]
                wanted.append(sum(at[other] for other in others) / len(others) if others else at[node])
            apart = [(widths[a] + widths[b]) / 2 + gap for a, b in pairwise(layer)]
            low, high = list(wanted), list(wanted)
            for place, distance in enumerate(apart):
                low[place + 1] = max(low[place + 1], low[place] + distance)
            for place in range(len(apart) - 1, -1, -1):
                high[place] = min(high[place], high[place + 1] - apart[place])
            for node, left, right in zip(layer, low, high, strict=True):
                at[node] = (left + right) / 2
    return at


def arrange(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    labels: Mapping[int, Point] | None = None,
    gap: Point = (28.0, 46.0),
    top: int | None = None,
) -> Layout:
    """Arrange boxes in layers from top to bottom.

    Parameters
    ----------
    sizes : width and height of every box.
    edges : (from, to), numbers of boxes. One from a box to itself gets no route.
    labels : size of the label of an edge, by the edge's number.
    gap : least distance of neighbours in a layer, and of layers.
    top : box that is in the top layer, whatever leads to it; None: those to which nothing leads.
    """
    labels = labels or {}
    back = _cycle_edges(len(sizes), edges, top)
    ways = [(b, a) if number in back else (a, b) for number, (a, b) in enumerate(edges)]
    spans = [(a, b, 2 if number in labels else 1) for number, (a, b) in enumerate(ways) if a != b]
    layer = _layers(len(sizes), spans)
    nodes = [*sizes]
    links: list[tuple[int, int]] = []
    chains: list[list[int]] = []
    named: dict[int, int] = {}
    for number, (a, b) in enumerate(ways):
        chain = [a]
        middle = (layer[a] + layer[b]) // 2
        for passed in range(layer[a] + 1, layer[b]):
            chain.append(len(nodes))
            if number in labels and passed == middle:
                named[number] = len(nodes)
            nodes.append(labels[number] if number in labels and passed == middle else (4.0, 0.0))
            layer.append(passed)
        chain.append(b)
        chains.append(chain)
        links += pairwise(chain) if a != b else []
    above: list[list[int]] = [[] for _ in nodes]
    below: list[list[int]] = [[] for _ in nodes]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    depth = max(layer, default=0) + 1
    order = _ordered(
        [[node for node in range(len(nodes)) if layer[node] == number] for number in range(depth)],
        above,
        below,
    )
    across = _straightened(order, [width for width, _ in nodes], gap[0], above, below)
    left = min((across[node] - nodes[node][0] / 2 for node in range(len(nodes))), default=0.0)
    heights = [max(nodes[node][1] for node in nodes_of) for nodes_of in order]
    tops = [sum(heights[:number]) + gap[1] * number for number in range(depth)]
    middles = [top + height / 2 for top, height in zip(tops, heights, strict=True)]
    places = [(across[node] - left, middles[layer[node]]) for node in range(len(nodes))]
    routes = _routes(ways, chains, back, places, nodes, layer, tops, heights)
    width = max((x + nodes[node][0] / 2 for node, (x, _) in enumerate(places)), default=0.0)
    return Layout(
        width,
        tops[-1] + heights[-1],
        places[: len(sizes)],
        routes,
        [places[named[number]] if number in named else None for number in range(len(edges))],
        frozenset(back),
    )


def _routes(
    ways: list[tuple[int, int]],
    chains: list[list[int]],
    back: set[int],
    places: list[Point],
    nodes: list[Point],
    layer: list[int],
    tops: list[float],
    heights: list[float],
) -> list[list[tuple[Point, Point]]]:
    """Bands of every edge (see `Layout`); edges leave and enter a box side by side."""
    leaving: dict[int, list[int]] = {}
    entering: dict[int, list[int]] = {}
    for number, chain in enumerate(chains):
        leaving.setdefault(chain[0], []).append(number)
        entering.setdefault(chain[-1], []).append(number)

    def port(node: int, number: int, numbers: list[int], neighbour: int) -> float:
        ordered = sorted(numbers, key=lambda each: (places[chains[each][neighbour]][0], each))
        share = (ordered.index(number) + 1) / (len(ordered) + 1)
        return places[node][0] + (share - 0.5) * nodes[node][0] * 0.8

    routes: list[list[tuple[Point, Point]]] = []
    for number, (a, b) in enumerate(ways):
        chain = chains[number]
        if a == b:
            routes.append([])
            continue
        start = port(a, number, leaving[a], 1)
        end = port(b, number, entering[b], -2)
        bottom = tops[layer[a]] + heights[layer[a]]
        bands = [((start, places[a][1] + nodes[a][1] / 2), (start, bottom))]
        for node in chain[1:-1]:
            x, top = places[node][0], tops[layer[node]]
            bands.append(((x, top), (x, top + heights[layer[node]])))
        bands.append(((end, tops[layer[b]]), (end, places[b][1] - nodes[b][1] / 2)))
        routes.append([(high, low) for low, high in reversed(bands)] if number in back else bands)
    return routes


def path(route: Sequence[tuple[Point, Point]], turned: bool = False) -> str:
    """Path of a route as SVG writes it: straight in its bands, smooth between them; `turned`: layers run
    from left to right, x and y are exchanged."""

    def text(point: Point) -> str:
        x, y = point[::-1] if turned else point
        return f"{x:.1f} {y:.1f}"

    def line(first: Point, last: Point) -> str:
        return "" if first == last else f"L{text(last)}"

    parts = [f"M{text(route[0][0])}{line(*route[0])}"]
    for (_, (ax, ay)), ((bx, by), last) in pairwise(route):
        middle = (ay + by) / 2
        parts.append(f"C{text((ax, middle))} {text((bx, middle))} {text((bx, by))}{line((bx, by), last)}")
    return "".join(parts)
