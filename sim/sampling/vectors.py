"""Basic-block vectors of a trace: per warp, how many instructions of every basic block it executed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.program.trace.schema import Trace
from warpbank.sim.sampling.caches import Caches

#: Rows of the trace that are counted at a time.
_ROWS = 1 << 20


@dataclass(frozen=True)
class Vectors:
    """Basic-block vectors of the warps of a trace, one row per row of `Trace.warps`.

    Parameters
    ----------
    blocks : (warps, basic blocks) instructions executed in each block.
    busy : (warps, 3) cycles for which the warp holds the load/store unit (memory lines and shared-memory
        passes), the L2 and the DRAM, by functional caches.
    """

    blocks: np.ndarray
    busy: np.ndarray

    @property
    def instructions(self) -> np.ndarray:
        """Instructions of every warp."""
        found: np.ndarray = self.blocks.sum(1)
        return found

    def of_groups(self, groups: np.ndarray, count: int) -> np.ndarray:
        """Shares of `count` groups of warps, as the clustering compares them: of the group's instructions,
        the share of every basic block, then the cycles of the memory units per instruction. Where these are
        more than one on average, they are divided by that average.

        Parameters
        ----------
        groups : group of every warp; -1: of none.
        count : groups.
        """
        kept = groups >= 0
        parts = np.column_stack([self.blocks, self.busy])[kept]
        sums = np.zeros((count, parts.shape[1]))
        np.add.at(sums, groups[kept], parts)
        width = self.blocks.shape[1]
        total = sums[:, :width].sum(1)
        shares: np.ndarray = sums / np.maximum(total, 1)[:, None]
        shares[:, width:] /= max(1.0, float(sums[:, width:].sum() / max(1.0, total.sum())))
        return shares


def basic_blocks(trace: Trace) -> np.ndarray:
    """Number of the basic block of every pc. A block begins where a kernel begins, behind a control
    instruction, and wherever an execution came from elsewhere."""
    leads = np.zeros(len(trace.code) + 1, bool)
    leads[trace.first_pc] = True
    leads[1:] |= trace.code["control"] != 0
    ends = np.zeros(0, np.int64)
    if len(trace.warps):
        ends = (trace.warps["first"].astype(np.int64) + trace.warps["length"]) - 1
    for begin in range(0, len(trace.dynamic), _ROWS):
        pcs = trace.dynamic["pc"][begin : begin + _ROWS + 1].astype(np.int64)
        jumps = pcs[1:] != pcs[:-1] + 1
        last = ends[(ends >= begin) & (ends < begin + len(jumps))] - begin
        jumps[last] = False  # the next row is another warp's
        leads[pcs[1:][jumps]] = True
        trace.let_go()
    return np.cumsum(leads[:-1]) - 1


def vectors(trace: Trace, machine: SmConfig) -> Vectors:
    """Count what every warp executed, and how long it holds the units of the memory."""
    block = basic_blocks(trace)
    caches, launch, memory = Caches(machine), -1, machine.memory
    counts = np.zeros((len(trace.warps), int(block.max(initial=-1)) + 1))
    busy = np.zeros((len(trace.warps), 3))
    for row, (number, first, length) in enumerate(
        zip(
            trace.warps["launch"].tolist(),
            trace.warps["first"].tolist(),
            trace.warps["length"].tolist(),
            strict=True,
        )
    ):
        if number != launch:
            launch = number
            caches.launch()
        mine = trace.dynamic[first : first + length]
        counts[row] = np.bincount(block[mine["pc"]], minlength=counts.shape[1])
        asked, missed = caches.walk(trace, first, length)
        used = mine["line_count"].sum(dtype=np.int64) + mine["passes"].sum(dtype=np.int64)
        busy[row] = used, asked * memory.l2_interval, missed * memory.dram_interval
        if row % 1024 == 0:
            trace.let_go()
    return Vectors(counts, busy)
