"""Hand-made traces with many alike CTAs, and with warps that loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.program.trace.builder import BRANCH, Op, TraceBuilder, alu, barrier, load, store
from warpbank.program.trace.schema import Trace

#: Machine of these tests: one sub-core of eight warps, four lanes.
PRESET = "tiny"


def waves(ctas: int = 120, warps: int = 2, launches: int = 1, private: bool = True) -> Trace:
    """Launches of CTAs that load lines of their own, or lines that all share, and compute."""
    builder = TraceBuilder()
    for _ in range(launches):
        builder.launch(*[[_block(warp) for warp in range(warps)] for _ in range(ctas)], registers=12)
    trace = builder.build()
    lines = trace.lines.copy()
    if private:  # one machine code for all, so the lines are told apart afterwards
        lines += np.repeat(trace.warps["cta"], len(lines) // len(trace.warps)).astype(np.uint64)
    return replace(trace, lines=lines)


def _block(warp: int) -> list[Op]:
    return [
        alu(1),
        load(2, 1, 64),
        *(alu(3 + place % 6, 2, 1 + (place + warp) % 3) for place in range(12)),
        store(1, 4, 4096),
    ]


def looping(iterations: int = 60, warps: int = 4, meets: bool = True) -> Trace:
    """One CTA whose warps repeat a loop body; `meets`: with a barrier in it."""
    body = [alu(2, 1), load(3, 2, 99), *(alu(4 + place, 3, 2) for place in range(6))]
    if meets:
        body.append(barrier())
    body.append(BRANCH)
    ops = [alu(1), *(body * iterations), store(1, 4, 7)]
    return TraceBuilder().launch([list(ops) for _ in range(warps)], registers=12).build()
