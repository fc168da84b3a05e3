"""Steps of an LSTM layer on a batch of sequences: gates by warps, then the cell."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch, Pointer
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

#: Inputs, units, batch, steps.
_SHAPE = {"tiny": (20, 9, 2, 1), "small": (70, 30, 3, 2), "full": (150, 90, 4, 2)}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _build(size: str) -> Job:
    inputs, units, batch, steps = _SHAPE[size]
    rng = np.random.default_rng(63)
    weights = rng.uniform(-0.2, 0.2, (4 * units, inputs + units)).astype(np.float32)
    bias = rng.uniform(-0.5, 0.5, 4 * units).astype(np.float32)
    sequence = rng.uniform(-1, 1, (steps, batch, inputs)).astype(np.float32)
    memory = rng.uniform(-1, 1, (batch, units)).astype(np.float32)
    state = rng.uniform(-1, 1, (batch, units)).astype(np.float32)
    wide_memory, wide_state = memory.astype(np.float64), state.astype(np.float64)
    for step in range(steps):
        both = np.concatenate([sequence[step].astype(np.float64), wide_state], 1)
        enter, forget, fresh, leave = np.split(both @ weights.T.astype(np.float64) + bias, 4, 1)
        wide_memory = _sigmoid(forget) * wide_memory + _sigmoid(enter) * np.tanh(fresh)
        wide_state = _sigmoid(leave) * np.tanh(wide_memory)
    blank = np.full((batch, units), np.nan, np.float32)
    buffers = {
        "weights": weights,
        "bias": bias,
        "sequence": sequence,
        "gates": np.full((batch, 4 * units), np.nan, np.float32),
        "memory0": memory,
        "state0": state,
    }
    launches = []
    sizes = (np.int32(inputs), np.int32(units))
    for step in range(steps):
        buffers |= {f"memory{step + 1}": blank.copy(), f"state{step + 1}": blank.copy()}
        now = Pointer("sequence", step * batch * inputs * 4)
        launches += [
            Launch(
                "gates",
                (units, batch, 1),
                (128, 1, 1),
                ("weights", "bias", now, f"state{step}", "gates", *sizes),
            ),
            Launch(
                "cell",
                (-(-units * batch // 64), 1, 1),
                (64, 1, 1),
                (
                    "gates",
                    f"memory{step}",
                    f"memory{step + 1}",
                    f"state{step + 1}",
                    np.int32(units),
                    np.int32(batch),
                ),
            ),
        ]
    ptx, path = ptx_text("lstm")
    # Approximate exponentials and divisions, right to a few units in the last place, of values below 10.
    expected = {
        f"memory{steps}": Expected(wide_memory.astype(np.float32), rtol=1e-5, atol=1e-5),
        f"state{steps}": Expected(wide_state.astype(np.float32), rtol=1e-5, atol=1e-5),
    }
    return Job("lstm", size, ptx, path, buffers, launches, expected)


WORKLOAD = Workload("lstm", "steps of an LSTM layer", "DeepBench rnn", _build, DEEP_LEARNING)
