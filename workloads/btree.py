"""btree: searches keys in a B+ tree, one CTA per key; some of the keys searched are not in the tree."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

NO_KEY = 2**31 - 1
LOWEST = -(2**31)

#: Slots of a node (threads of a CTA), keys in the tree, keys searched. The tiny order leaves the second warp
#: partly empty.
_SIZES = {"tiny": (40, 900, 9), "small": (64, 20000, 150), "full": (256, 100000, 900)}


def _tree(order: int, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """(keys, links) of all nodes, the root first, and the number of inner levels. Nodes are filled to about
    three quarters."""
    fill = max(2, 3 * order // 4)
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    lows, links = keys, values
    while True:
        count = -(-len(lows) // fill)
        node_keys = np.full((count, order), NO_KEY, np.int32)
        node_links = np.full((count, order), -1, np.int32)
        for node, start in enumerate(range(0, len(lows), fill)):
            part = slice(start, start + fill)
            node_keys[node, : len(lows[part])] = lows[part]
            node_links[node, : len(lows[part])] = links[part]
        if levels:
            node_keys[0, 0] = LOWEST  # keys below the least key must lead to a leaf, too
        levels.insert(0, (node_keys, node_links))
        if count == 1:
            break
        lows, links = node_keys[:, 0], np.arange(count, dtype=np.int32)
    # A link so far counts within its level; the levels lie one after the other.
    start = 0
    for node_keys, node_links in levels[:-1]:
        start += len(node_keys)
        node_links[node_links >= 0] += start
    return np.concatenate([k for k, _ in levels]), np.concatenate([v for _, v in levels]), len(levels) - 1


def _build(size: str) -> Job:
    order, count, searched = _SIZES[size]
    rng = np.random.default_rng(22)
    keys = np.sort(rng.choice(8 * count, count, replace=False)).astype(np.int32)
    values = rng.integers(0, 2**30, count, dtype=np.int32)
    node_keys, node_links, inner = _tree(order, keys, values)

    wanted = rng.choice(keys, searched).astype(np.int32)
    strangers = rng.choice(searched, searched // 4, replace=False)
    wanted[strangers] = rng.integers(0, 8 * count, len(strangers))
    wanted[-2:] = -5, 8 * count  # below and above all keys
    place = np.searchsorted(keys, wanted).clip(max=count - 1)
    answers = np.where(keys[place] == wanted, values[place], -1).astype(np.int32)

    ptx, path = ptx_text("btree")
    return Job(
        name="btree",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "keys": node_keys,
            "links": node_links,
            "wanted": wanted,
            "answers": np.full(searched, -1, np.int32),
        },
        launches=[
            Launch(
                "btree_find",
                (searched, 1, 1),
                (order, 1, 1),
                ("keys", "links", "wanted", "answers", np.int32(inner)),
            )
        ],
        expected={"answers": Expected(answers)},
    )


WORKLOAD = Workload("btree", "Key searches in a B+ tree, one CTA per key", "Rodinia b+tree (findK)", _build)
