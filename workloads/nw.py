"""nw: Needleman-Wunsch alignment, the score table filled one diagonal of shared-memory tiles per launch."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

TILE = 16
GAP = 10
LETTERS = 20

#: Lengths of the two sequences.
_SIZES = {"tiny": (13, 22), "small": (75, 90), "full": (301, 330)}


def _scores(similarity: np.ndarray) -> np.ndarray:
    """The table of best scores. Cells of one anti-diagonal do not depend on each other and are done at
    once."""
    rows, columns = similarity.shape
    table = np.zeros((rows + 1, columns + 1), np.int32)
    table[:, 0] = -GAP * np.arange(rows + 1)
    table[0, :] = -GAP * np.arange(columns + 1)
    for d in range(rows + columns - 1):
        i = np.arange(max(0, d - columns + 1), min(rows, d + 1))
        j = d - i
        gapped = np.maximum(table[i, j + 1], table[i + 1, j]) - GAP
        table[i + 1, j + 1] = np.maximum(table[i, j] + similarity[i, j], gapped)
    return table


def _build(size: str) -> Job:
    rows, columns = _SIZES[size]
    rng = np.random.default_rng(28)
    # Scores like those of amino acid matrices: symmetric, likeness rewarded, most exchanges punished.
    exchange = rng.integers(-4, 3, (LETTERS, LETTERS))
    exchange = np.tril(exchange) + np.tril(exchange, -1).T + np.diag(rng.integers(4, 10, LETTERS))
    first = rng.integers(0, LETTERS, rows)
    second = rng.integers(0, LETTERS, columns)
    similarity = exchange[np.ix_(first, second)].astype(np.int32)

    table = _scores(similarity)
    start = np.zeros_like(table)
    start[:, 0], start[0, :] = table[:, 0], table[0, :]

    ptx, path = ptx_text("nw")
    tile_rows, tile_columns = -(-rows // TILE), -(-columns // TILE)
    launches = []
    for diagonal in range(tile_rows + tile_columns - 1):
        left = max(0, diagonal - tile_rows + 1)
        right = min(tile_columns - 1, diagonal)
        scalars = [np.int32(v) for v in (rows, columns, diagonal, left, GAP)]
        launches.append(
            Launch("nw_diagonal", (right - left + 1, 1, 1), (TILE, 1, 1), ("similarity", "score", *scalars))
        )
    return Job(
        name="nw",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"similarity": similarity, "score": start},
        launches=launches,
        expected={"score": Expected(table)},
    )


WORKLOAD = Workload("nw", "Needleman-Wunsch sequence alignment", "Rodinia nw", _build)
