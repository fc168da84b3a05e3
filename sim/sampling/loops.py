"""Loop iterations: where warps are long, representative iterations of their outermost loop stand for the
others. A warp goes from an iteration that is kept to the next one that is, over the head of the loop, so that
what is left is a path through the program, as if the loop had fewer iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.program.trace.schema import FLAG_ARRIVE, Trace
from warpbank.sim.sampling.clusters import chosen
from warpbank.sim.sampling.settings import Settings
from warpbank.sim.sampling.vectors import basic_blocks

#: Iterations that a unit has at least: neighbours often share memory lines, and stay together.
_NEIGHBOURS = 8


@dataclass(frozen=True)
class Loop:
    """Loop of which some iterations are kept.

    Parameters
    ----------
    head : pc at which an iteration begins.
    bounds : first iteration of each unit, and their number.
    iterations : iterations of the warp that the selection was made for.
    labels : per unit, the cluster that it belongs to; -1: it stands for itself.
    taken : per unit, whether it is kept.
    """

    head: int
    bounds: np.ndarray
    iterations: int
    labels: np.ndarray
    taken: np.ndarray


def find_loop(trace: Trace, row: int, together: int, settings: Settings) -> Loop | None:
    """The outermost loop that a warp spends its time in, with the iterations that are kept; None if it has no
    loop of which any can be left out.

    Parameters
    ----------
    trace : of the whole job.
    row : the warp's row of `trace.warps`.
    together : warps that run at a time.
    settings : as for waves: a unit is as many iterations as all these warps execute a wave's instructions in.
    """
    first, length = int(trace.warps[row]["first"]), int(trace.warps[row]["length"])
    mine = trace.dynamic[first : first + length]
    pcs = mine["pc"].astype(np.int64)
    spans: list[tuple[int, int, int]] = []
    for head in np.unique(pcs[1:][pcs[1:] <= pcs[:-1]]).tolist():
        places = np.flatnonzero(pcs == head)
        if len(places) > 2:
            spans.append((int(places[-1] - places[0]), len(places) - 1, head))
    if not spans:
        return None
    longest = max(spans)[0]
    _, count, head = min((span for span in spans if span[0] >= 0.9 * longest), key=lambda span: span[1])
    if count < _NEIGHBOURS * (settings.run_in + settings.least + 2):
        return None
    places = np.flatnonzero(pcs == head)
    rows = (places[-1] - places[0]) / count
    each = max(_NEIGHBOURS, round(settings.wave_instructions / (together * rows)))
    units = count // each
    inner = np.arange(settings.run_in, units - 1)
    if len(inner) <= settings.least:
        return None
    bounds = np.append(np.arange(units) * each, count)
    block = basic_blocks(trace)
    unit = np.full(length, -1)
    edges = places[bounds]
    for number, (begin, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        unit[begin:end] = number
    size = np.diff(edges)
    shares = np.zeros((units, int(block.max()) + 2))
    inside = unit >= 0
    np.add.at(shares, (unit[inside], block[pcs[inside]]), 1.0)
    np.add.at(shares[:, -1], unit[inside], mine["line_count"][inside].astype(float) + mine["passes"][inside])
    labels, taken = np.full(units, -1), np.ones(units, bool)
    labels[inner], taken[inner] = chosen((shares / size[:, None])[inner], size[inner], settings)
    return None if taken.all() else Loop(head, bounds, count, labels, taken)


def kept_rows(trace: Trace, row: int, loop: Loop) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a warp, counted from its first, that are kept, and the weight of each.

    A warp with another number of iterations keeps those at the same fraction of its way; one with fewer
    iterations than there are units keeps all.
    """
    first, length = int(trace.warps[row]["first"]), int(trace.warps[row]["length"])
    places = np.flatnonzero(trace.dynamic["pc"][first : first + length] == loop.head)
    weights = np.ones(length)
    if len(places) <= len(loop.taken):
        return np.arange(length), weights
    edges = places[np.round(loop.bounds * (len(places) - 1) / loop.iterations).astype(int)]
    size = np.diff(edges)
    for label in set(loop.labels[loop.labels >= 0].tolist()):
        mine = loop.labels == label
        weight = size[mine].sum() / size[mine & loop.taken].sum()
        for number in np.flatnonzero(mine):
            weights[edges[number] : edges[number + 1]] = weight if loop.taken[number] else 0.0
    kept = np.flatnonzero(weights)
    return kept, weights[kept]


def barriers_agree(trace: Trace, rows: range, kept: list[np.ndarray]) -> bool:
    """Whether the warps of a CTA meet at their barriers when only these rows of each are executed: no arrival
    is left out, or all warps arrive at the same barriers in the same order as before."""
    before: set[tuple[bytes, bytes]] = set()
    after: set[tuple[bytes, bytes]] = set()
    for row, mine in zip(rows, kept, strict=True):
        first, length = int(trace.warps[row]["first"]), int(trace.warps[row]["length"])
        executed = trace.dynamic[first : first + length]
        for found, part in ((before, executed), (after, executed[mine])):
            arrivals = part[part["flags"] & FLAG_ARRIVE != 0]
            found.add((arrivals["barrier"].tobytes(), arrivals["barrier_warps"].tobytes()))
    return before == after or len(before) == len(after) == 1
