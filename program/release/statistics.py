"""Statistics of register lifetimes and of the cost of flags, from traces: no machine runs (renaming, Fig. 2,
3a, 9, 12).

Time is counted in instructions of a warp. A register is live if some lane reads its value later; with flags
it is held from the first write until a flag releases it, live or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import Control
from warpbank.program.loops import loop
from warpbank.program.release.insertion import Release, met
from warpbank.program.trace.schema import Trace

#: A stay of a value in a register: warp (row of `Trace.warps`), register, rows of `Trace.dynamic` that wrote
#: and last read it.
LIFETIME = np.dtype([("warp", "u4"), ("register", "u1"), ("first", "u8"), ("last", "u8")])


def live_registers(trace: Trace) -> np.ndarray:
    """Live registers of the warp after each row of `trace.dynamic` (i4)."""
    return _live(_columns(trace))[0]


def lifetimes(trace: Trace) -> np.ndarray:
    """Lifetimes of values in registers (`LIFETIME`): from the first write to the last read before lanes write
    it that read no more of it. Writes of other lanes before that belong to the same stay; results that nobody
    reads have none."""
    return _live(_columns(trace))[1]


def held_registers(trace: Trace) -> np.ndarray:
    """Registers that the warp holds after each row of `trace.dynamic` (i4), with the flags of `insert_flags`.

    Registers that are not renamed are held always.
    """
    released = np.zeros((len(trace.code), 256), np.bool_)
    for pc, word in trace.flag_words.items():
        released[pc] = [word.registers >> r & 1 for r in range(256)]
    dead = np.zeros(len(trace.code), np.uint8) if trace.hints is None else trace.hints.dead
    always = np.zeros((len(trace.warps), 256), np.bool_)
    if trace.exempt:
        kernels = np.array([[mask >> r & 1 for r in range(256)] for mask in trace.exempt], np.bool_)
        always = kernels[trace.launches["kernel"][trace.warps["launch"]]]
    return _held(_columns(trace), dead, released, always)


def in_step(trace: Trace, counts: np.ndarray, warps: int) -> np.ndarray:
    """Share of the registers given to the trace's first `warps` warps that `counts` (one per row) says,
    instruction by instruction, as if all of them ran in step; a warp that has ended uses none."""
    rows = trace.warps[:warps]
    total = np.zeros(int(rows["length"].max(initial=0)))
    for first, length in zip(rows["first"].tolist(), rows["length"].tolist(), strict=True):
        total[:length] += counts[first : first + length]
    given = trace.launches["registers"][rows["launch"]].astype(np.int64).sum()
    return total / max(int(given), 1)


@dataclass(frozen=True)
class Growth:
    """Code growth by flag instructions (Fig. 12).

    Parameters
    ----------
    code : instructions of the code without them.
    pir, pbr : flag instructions of the code.
    registers : registers that the code's pbr name.
    executed : instructions executed without them.
    pir_met, pbr_met : how often warps meet one; a release flag cache spares most fetches of a pir.
    """

    code: int
    pir: int
    pbr: int
    registers: int
    executed: int
    pir_met: int
    pbr_met: int


def growth(trace: Trace, release: Release) -> Growth:
    """Counts for a trace without flags and the flags of its kernels."""
    pbr = np.array([word.control is Control.PBR for word in release.words], bool)
    numbers = met(trace, release)[1]
    return Growth(
        len(release.dead),
        int((~pbr).sum()),
        int(pbr.sum()),
        sum(word.registers.bit_count() for word in release.words),
        len(trace.dynamic),
        int((~pbr[numbers]).sum()),
        int(pbr[numbers].sum()),
    )


def _columns(trace: Trace) -> tuple[np.ndarray, ...]:
    code, dynamic, warps = trace.code, trace.dynamic, trace.warps
    return (
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
    )


@loop
def _live(columns):
    """Every warp from its end to its start, with the lanes that read each register later."""
    pcs, masks, firsts, lengths, sources, source_count, destination, count = columns
    alive = np.zeros(len(pcs), np.int32)
    stays = np.empty(64, LIFETIME)
    n = 0
    needed = np.zeros(256, np.uint32)
    read = np.zeros(256, np.int64)  # row that reads it last
    for w in range(len(firsts)):
        needed[:] = 0
        now = 0
        for row in range(firsts[w] + lengths[w] - 1, firsts[w] - 1, -1):
            alive[row] = now
            pc, mask = pcs[row], masks[row]
            if mask == 0:
                continue
            for k in range(count[pc]):
                r = destination[pc] + k
                if needed[r] != 0 and needed[r] & ~mask == 0:
                    now -= 1
                    if n == len(stays):
                        stays = np.concatenate((stays, np.empty(n, LIFETIME)))
                    stays[n].warp, stays[n].register, stays[n].first, stays[n].last = w, r, row, read[r]
                    n += 1
                needed[r] &= ~mask
            for k in range(source_count[pc]):
                r = sources[pc, k]
                if needed[r] == 0:
                    now += 1
                    read[r] = row
                needed[r] |= mask
    return alive, stays[:n]


@loop
def _held(columns, dead, released, always):
    """Every warp from its start to its end, with the registers it holds."""
    pcs, masks, firsts, lengths, sources, source_count, destination, count = columns
    found = np.zeros(len(pcs), np.int32)
    for w in range(len(firsts)):
        held = always[w].copy()
        for row in range(firsts[w], firsts[w] + lengths[w]):
            pc = pcs[row]
            for r in range(256):
                if released[pc, r]:
                    held[r] = False
            if masks[row] != 0:
                for k in range(source_count[pc]):
                    if dead[pc] >> k & 1:
                        held[sources[pc, k]] = False
                for k in range(count[pc]):
                    held[destination[pc] + k] = True
            found[row] = held.sum()
    return found
