"""Window analysis: what a window of recent uops saves, on a trace and without a machine (BOW, Fig. 3 and 8).

Per warp, in program order. A register that a uop reads or writes stays in the warp's window until `window`
uops after its last access; uops of all kinds count, those without an executing lane too, but these access
nothing. A read brings the whole register in; a result on all 32 lanes makes its own place; one on fewer lanes
joins the register if it is there and goes to the banks otherwise. There is room for everything, and results
arrive at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR
from warpbank.program.hints import Hints
from warpbank.program.loops import loop
from warpbank.program.trace.schema import Trace

_ALL = 0xFFFFFFFF


@dataclass(frozen=True)
class Savings:
    """Savings of a window: accesses to warp registers, and those that it makes unnecessary.

    Parameters
    ----------
    reads : distinct source registers of executed uops.
    reads_saved : of them, found in the window.
    writes : results, one per destination register of an executed uop.
    bank_writes : per architectural register, writes into the banks with write-back: of results that do not
        enter the window, and of values that leave it with results the banks have not seen. Such a value goes
        unwritten if a full result replaces it first, or if its newest result is collector only. At a warp's
        end all others are written.
    """

    reads: int
    reads_saved: int
    writes: int
    bank_writes: np.ndarray

    @property
    def writes_saved(self) -> int:
        """Writes that the window makes unnecessary."""
        return self.writes - int(self.bank_writes.sum())


def savings(trace: Trace, window: int, hints: Hints | None = None) -> Savings:
    """Savings of a window of `window` uops (at least 2): write-back, with `hints.write_back` if there are
    hints.

    With hints, results for the banks alone never enter, so that `reads_saved` can be less.
    """
    if window < 2:
        raise ValueError(f"a window of {window} uops saves nothing; it must be at least 2.")
    bits = Hints.none(len(trace.code)).write_back if hints is None else hints.write_back
    code, warps, dynamic = trace.code, trace.warps, trace.dynamic
    found = np.zeros(3, np.int64)
    banks = np.zeros(256, np.int64)
    _replay(
        np.ascontiguousarray(dynamic["pc"]),
        np.ascontiguousarray(dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        bits,
        window,
        found,
        banks,
    )
    return Savings(int(found[0]), int(found[1]), int(found[2]), banks)


def source_counts(trace: Trace) -> np.ndarray:
    """Executed instructions with 0, 1, 2, and 3 or more register sources (BOW, Fig. 8). A 64-bit operand is
    two registers."""
    counts = np.minimum(trace.code["source_count"][trace.dynamic["pc"]], 3)
    return np.bincount(counts, minlength=4)


@loop
def _replay(
    pcs, masks, firsts, lengths, sources, source_count, destination, count, bits, window, found, banks
):
    last = np.empty(256, np.int64)
    dirty = np.empty(256, np.bool_)
    keep = np.empty(256, np.bool_)
    for w in range(len(firsts)):
        last[:] = -window
        dirty[:] = False
        for t in range(lengths[w]):
            row = firsts[w] + t
            pc, mask = pcs[row], masks[row]
            if mask == 0:
                continue
            for k in range(source_count[pc]):
                r = sources[pc, k]
                found[0] += 1
                if t - last[r] < window:
                    found[1] += 1
                else:
                    _leave(r, dirty, keep, banks)
                last[r] = t
            to = bits[pc]
            for k in range(count[pc]):
                r = destination[pc] + k
                found[2] += 1
                inside = t - last[r] < window
                if not inside:
                    _leave(r, dirty, keep, banks)
                if mask == _ALL:
                    inside = to & TO_COLLECTOR != 0
                    dirty[r] = inside
                    keep[r] = to & TO_BANKS != 0
                elif inside and dirty[r]:
                    keep[r] |= to != TO_COLLECTOR
                elif inside:
                    inside = dirty[r] = to & TO_COLLECTOR != 0
                    keep[r] = to & TO_BANKS != 0
                if not inside:
                    banks[r] += 1
                last[r] = t if inside else -window
        for r in range(256):
            _leave(r, dirty, keep, banks)


@loop
def _leave(r, dirty, keep, banks):
    """A register's stay has ended."""
    if dirty[r] and keep[r]:
        banks[r] += 1
    dirty[r] = False
