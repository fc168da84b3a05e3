"""backprop: one training step of a fully connected layer with 16 hidden units.

The device makes the sums of each tile of input units and, later, adjusts the weights. What lies between, the
activation of the 16 hidden units and their errors, is the host's work, done here with the reference's sums.
"""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

HIDDEN = 16
TILE = 16
LEARNING_RATE = MOMENTUM = 0.3

#: Input units, the bias among them. No multiple of TILE, so that the last CTA has rows that do not exist.
_INPUTS = {"tiny": 25, "small": 601, "full": 8001}


def _build(size: str) -> Job:
    inputs = _INPUTS[size]
    rng = np.random.default_rng(20)
    unit = rng.random(inputs, dtype=np.float32)
    unit[0] = 1.0
    weights = rng.uniform(-1, 1, (inputs, HIDDEN)).astype(np.float32) / np.float32(np.sqrt(inputs))
    change = rng.uniform(-0.01, 0.01, (inputs, HIDDEN)).astype(np.float32)

    blocks = -(-inputs // TILE)
    products = np.zeros((blocks * TILE, HIDDEN))
    products[:inputs] = weights.astype(np.float64) * unit[:, None]
    partial = products.reshape(blocks, TILE, HIDDEN).sum(axis=1)

    hidden = 1 / (1 + np.exp(-partial.sum(axis=0)))
    error = rng.uniform(-1, 1, HIDDEN)
    delta = (hidden * (1 - hidden) * error).astype(np.float32)
    step = LEARNING_RATE * delta.astype(np.float64) * unit[:, None] + MOMENTUM * change

    ptx, path = ptx_text("backprop")
    grid, block = (blocks, 1, 1), (HIDDEN, TILE, 1)
    count = np.int32(inputs)
    return Job(
        name="backprop",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "input": unit,
            "weights": weights,
            "partial": np.zeros((blocks, HIDDEN), np.float32),
            "delta": delta,
            "change": change,
        },
        launches=[
            Launch("backprop_layer_forward", grid, block, ("input", "weights", "partial", count)),
            Launch("backprop_adjust_weights", grid, block, ("input", "delta", "weights", "change", count)),
        ],
        # Sums of 16 products of either sign: the error is relative to the products (below 1), not to what is
        # left of them.
        expected={
            "partial": Expected(partial.astype(np.float32), rtol=2e-6, atol=1e-6),
            "weights": Expected((weights + step).astype(np.float32), rtol=1e-5, atol=1e-7),
            "change": Expected(step.astype(np.float32), rtol=1e-5, atol=1e-8),
        },
    )


WORKLOAD = Workload(
    "backprop", "Training step of a neural layer: forward sums, weight update", "Rodinia backprop", _build
)
