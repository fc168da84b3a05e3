"""Random walks through a graph, the vectors of their 64 nodes pooled: a chain of dependent loads."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_SHAPE = {"tiny": (3, 60), "small": (63, 500), "full": (255, 800)}  # walks, nodes
_STEPS, _WIDTH = 64, 32


def _build(size: str) -> Job:
    count, nodes = _SHAPE[size]
    rng = np.random.default_rng(49)
    order = rng.permutation(
        nodes
    )  # one round trip: chance alone would lead all walks into a few short circles
    following = np.empty(nodes, np.int32)
    following[order] = np.roll(order, -1)
    vectors = rng.uniform(-1, 1, (nodes, _WIDTH)).astype(np.float32)
    start = rng.integers(0, nodes, count).astype(np.int32)
    path = [start]
    for _ in range(_STEPS - 1):
        path.append(following[path[-1]])
    x = vectors[np.stack(path)].astype(np.float64)  # step, walk, number
    weight = np.exp(-((x - x.mean(0)) ** 2))
    result = (weight * x).sum(0) / weight.sum(0)
    ptx, ptx_path = ptx_text("walks")
    args = ("next", "vectors", "start", "pooled", np.int32(count))
    return Job(
        name="walks",
        size=size,
        ptx=ptx,
        ptx_path=ptx_path,
        buffers={
            "next": following,
            "vectors": vectors,
            "start": start,
            "pooled": np.full((count, _WIDTH), np.nan, np.float32),
        },
        launches=[Launch("walks", (-(-count // 2), 1, 1), (64, 1, 1), args)],
        # A weighted mean of 64 values below 1, with approximate exponentials and division.
        expected={"pooled": Expected(result.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload("walks", "vectors along random walks, pooled", "DeepWalk", _build, REGISTER_SENSITIVE)
