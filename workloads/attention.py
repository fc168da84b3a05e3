"""Attention of one head: scores, softmax and the weighted sum of values, a warp per query."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

_SHAPE = {"tiny": (6, 20), "small": (50, 60), "full": (190, 125)}  # queries, keys
_WIDTH, _WARPS = 32, 4


def _build(size: str) -> Job:
    queries, keys = _SHAPE[size]
    rng = np.random.default_rng(64)
    query = rng.uniform(-1, 1, (queries, _WIDTH)).astype(np.float32)
    key, value = rng.uniform(-1, 1, (2, keys, _WIDTH)).astype(np.float32)
    weight = np.exp(query.astype(np.float64) @ key.T / np.sqrt(_WIDTH))
    result = (weight / weight.sum(1, keepdims=True)) @ value
    ptx, path = ptx_text("attention")
    args = ("query", "key", "value", "out", np.int32(queries), np.int32(keys))
    return Job(
        name="attention",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "query": query,
            "key": key,
            "value": value,
            "out": np.full((queries, _WIDTH), np.nan, np.float32),
        },
        launches=[Launch("attention", (-(-queries // _WARPS), 1, 1), (32 * _WARPS, 1, 1), args)],
        # A weighted mean of values below 1, with approximate exponentials of scores below 3.
        expected={"out": Expected(result.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload(
    "attention", "scores, softmax and values of one head", "transformer inference", _build, DEEP_LEARNING
)
