"""Traces for a machine with a release flag cache: pir instructions are no uops, since they are met in the
cache or fetched beside the stream (renaming, section 6.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.arch.uop import Control
from warpbank.program.trace.schema import Trace


def without_pir(trace: Trace) -> Trace:
    """The trace without its executions of pir instructions. What they cover is still in `flag_words`."""
    keep = trace.code["control"][trace.dynamic["pc"]] != Control.PIR
    before = np.concatenate(([0], np.cumsum(keep)))
    first, length = trace.warps["first"].astype(np.int64), trace.warps["length"].astype(np.int64)
    warps = trace.warps.copy()
    warps["first"] = before[first]
    warps["length"] = before[first + length] - before[first]
    return replace(trace, dynamic=trace.dynamic[keep], warps=warps)


def covers(trace: Trace) -> dict[int, int]:
    """Per pc that a pir covers, the first one it covers."""
    return {
        pc: word.first
        for word in trace.flag_words.values()
        if word.control is Control.PIR
        for pc in range(word.first, word.first + word.covers)
    }
