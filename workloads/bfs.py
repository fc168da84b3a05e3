"""bfs: breadth-first search of a random graph, level by level.

The graph has a few nodes of very high degree, so the lanes of a warp loop over edge lists of very different
lengths.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch, Pointer
from warpbank.workloads import Workload, ptx_text

#: Nodes, and threads of a CTA.
_SIZES = {"tiny": (60, 32), "small": (1000, 128), "full": (14000, 256)}


def _graph(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """An undirected graph as (first edge of each node and the end, neighbours); its last nodes have no
    edges."""
    rng = np.random.default_rng(21)
    linked = nodes - nodes // 30
    even = rng.integers(0, linked, (2, linked))
    skewed = np.stack([rng.permutation(linked), (linked * rng.random(linked) ** 3).astype(np.int64)])
    ends = np.concatenate([even, skewed], axis=1)
    both = np.concatenate([ends, ends[::-1]], axis=1)
    both = both[:, np.argsort(both[0], kind="stable")]
    first = np.searchsorted(both[0], np.arange(nodes + 1)).astype(np.int32)
    return first, both[1].astype(np.int32)


def _levels(first: np.ndarray, edges: np.ndarray, source: int) -> np.ndarray:
    """Number of edges from the source to each node, -1 where there is no way."""
    level = np.full(len(first) - 1, -1, np.int32)
    level[source] = 0
    frontier = [source]
    while frontier:
        reached = np.unique(np.concatenate([edges[first[node] : first[node + 1]] for node in frontier]))
        reached = reached[level[reached] < 0]
        level[reached] = level[frontier[0]] + 1
        frontier = list(reached)
    return level


def _build(size: str) -> Job:
    nodes, threads = _SIZES[size]
    first, edges = _graph(nodes)
    source = nodes // 2
    expected = _levels(first, edges, source)
    # The host stops after the level that finds nothing new.
    rounds = int(expected.max()) + 1

    at_source = np.zeros(nodes, np.uint8)
    at_source[source] = 1
    level = np.full(nodes, -1, np.int32)
    level[source] = 0
    more = np.ones(rounds, np.int32)
    more[-1] = 0

    ptx, path = ptx_text("bfs")
    grid, block = (-(-nodes // threads), 1, 1), (threads, 1, 1)
    count = np.int32(nodes)
    launches = []
    for i in range(rounds):
        launches.append(
            Launch(
                "bfs_expand",
                grid,
                block,
                ("first_edge", "edges", "frontier", "reached", "visited", "level", count),
            )
        )
        launches.append(
            Launch(
                "bfs_advance", grid, block, ("frontier", "reached", "visited", Pointer("more", 4 * i), count)
            )
        )
    return Job(
        name="bfs",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "first_edge": first,
            "edges": edges,
            "frontier": at_source,
            "reached": np.zeros(nodes, np.uint8),
            "visited": at_source,
            "level": level,
            "more": np.zeros(rounds, np.int32),
        },
        launches=launches,
        expected={
            "level": Expected(expected),
            "visited": Expected((expected >= 0).astype(np.uint8)),
            "frontier": Expected(np.zeros(nodes, np.uint8)),
            "reached": Expected(np.zeros(nodes, np.uint8)),
            "more": Expected(more),
        },
    )


WORKLOAD = Workload(
    "bfs", "Breadth-first search of a graph, one level per pair of launches", "Rodinia bfs", _build
)
