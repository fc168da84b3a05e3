"""Bytes in which results are stored, against the compressors of the golden model."""

from __future__ import annotations

import pytest

from warpbank import workloads
from warpbank.golden.storage.bdi import BdiCompressor, Delta
from warpbank.golden.storage.compressor import Compressor
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.similarity.statistics import Sizes, similarity


def stored(enc: int, lanes: int) -> int:
    """Bytes of a part with these encoding bits."""
    same = enc.bit_count()
    return same + (4 - same) * lanes if same else 4 * lanes


@pytest.mark.parametrize("name", ["btree", "scan", "nn", "nw"])
def test_sizes_are_those_of_the_compressors(name: str) -> None:
    job = workloads.get(name).job("tiny")
    trace = trace_job(job)
    whole, halves, bdi = Compressor(32), Compressor(32, 2), BdiCompressor(32)
    plain = bytewise = parts = packed = 0
    for warp in trace.warps:
        exist = int(warp["mask"])
        lanes = exist.bit_count()
        for row in trace.dynamic[int(warp["first"]) : int(warp["first"] + warp["length"])]:
            mask = int(row["mask"])
            for k in range(int(trace.code["count"][row["pc"]]) if mask else 0):
                value = trace.values[int(row["value"]) + k]
                plain += 4 * lanes
                if mask != exist:
                    bytewise, parts, packed = bytewise + 4 * lanes, parts + 4 * lanes, packed + 4 * lanes
                    continue
                bytewise += stored(whole.compress(value, mask).enc[0], lanes)
                for half, enc in enumerate(halves.compress(value, mask).enc):
                    if own := (exist >> 16 * half & 0xFFFF).bit_count():
                        parts += stored(enc, own)
                kind = bdi.compress(value, mask)[0]
                packed += 4 * lanes if kind is Delta.RAW else 4 + lanes * kind.width // 8
    assert similarity(trace, compile_job(job)).sizes == Sizes(plain, bytewise, parts, packed)
