"""Kernels and traces by hand, with chosen values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpbank.program.emulator.record import code_rows
from warpbank.program.isa import Block, Instr, Kernel
from warpbank.program.trace.schema import DYNAMIC, LAUNCH, WARP, Trace

ALL = 0xFFFFFFFF
Values = int | Sequence[int]


@dataclass(frozen=True)
class Did:
    """One executed instruction: its pc, the lanes, and the values of its results: one for all lanes, or
    32."""

    pc: int
    mask: int = ALL
    values: tuple[Values, ...] = ()


def kernel(*blocks: list[Instr]) -> Kernel:
    """Blocks B0, B1, ... of allocated code."""
    return Kernel("k", [Block(f"B{i}", list(instrs)) for i, instrs in enumerate(blocks)], {}, 7, registers=16)


def trace(code: Kernel, *warps: list[Did], exist: Sequence[int] = ()) -> Trace:
    """A launch of one CTA with these warps; `exist`: the lanes each has (default: all)."""
    rows: list[tuple[int, ...]] = []
    values: list[np.ndarray] = []
    table = []
    for index, warp in enumerate(warps):
        table.append((0, 0, index, len(rows), len(warp), exist[index] if exist else ALL))
        for did in warp:
            rows.append((did.pc, did.mask, len(values), 0, 0, 0, 0, 0, 0, 0))
            if did.mask:
                active = np.array([did.mask >> lane & 1 for lane in range(32)], bool)
                values += [
                    np.where(active, np.broadcast_to(np.array(v, np.uint32), 32), 0) for v in did.values
                ]
    return Trace(
        meta={},
        kernels=["k"],
        first_pc=[0],
        text=["" for _ in code.instructions()],
        ptx_line=np.zeros(len(code.instructions()), np.uint32),
        code=code_rows(code.instructions()),
        launches=np.array([(0, (1, 1, 1), (32 * len(warps), 1, 1), 16, 0, 1, len(warps), 0)], LAUNCH),
        warps=np.array(table, WARP),
        dynamic=np.array(rows, DYNAMIC),
        values=np.array(values, np.uint32).reshape(-1, 32),
        lines=np.zeros(0, np.uint64),
    )
