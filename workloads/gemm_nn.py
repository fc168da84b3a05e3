"""Matrix products of the shapes that layers have: small batch, square, tall."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

#: m, n, k: outputs, batch, inputs. DeepBench's shapes (1760 x 16 x 1760, 35 x 700 x 2048, ...), scaled down.
_SHAPES = {
    "tiny": ((30, 16, 10),),
    "small": ((110, 16, 110), (35, 44, 64), (70, 70, 20)),
    "full": ((250, 16, 250), (35, 175, 256), (126, 126, 64), (250, 40, 63)),
}
_TILE = 32


def _build(size: str) -> Job:
    rng = np.random.default_rng(60)
    buffers: dict[str, np.ndarray] = {}
    expected: dict[str, Expected] = {}
    launches: list[Launch] = []
    for i, (m, n, k) in enumerate(_SHAPES[size]):
        a = rng.uniform(-1, 1, (m, k)).astype(np.float32)
        b = rng.uniform(-1, 1, (k, n)).astype(np.float32)
        buffers |= {f"a{i}": a, f"b{i}": b, f"c{i}": np.full((m, n), np.nan, np.float32)}
        # A sum of k products below 1: k roundings of sums up to the square root of k.
        expected[f"c{i}"] = Expected(
            (a.astype(np.float64) @ b).astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-24
        )
        grid = (-(-n // _TILE), -(-m // _TILE), 1)
        launches.append(
            Launch(
                "gemm_nn",
                grid,
                (64, 1, 1),
                (f"a{i}", f"b{i}", f"c{i}", np.int32(m), np.int32(n), np.int32(k)),
            )
        )
    ptx, path = ptx_text("gemm_nn")
    return Job("gemm_nn", size, ptx, path, buffers, launches, expected)


WORKLOAD = Workload("gemm_nn", "layers' products, several shapes", "DeepBench gemm", _build, DEEP_LEARNING)
