"""Random programs with whatever hints and instructions a scheme asks of the compiler, all of them safe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.program.hints import Hints
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.release import with_flags
from warpbank.program.random_programs.similar import similar_trace
from warpbank.program.trace.schema import Trace

#: Overrides that make the preset `tiny` as small as the programs are.
SMALL = ("sub_core.warps=2", "sub_core.rows=64")


def random_for(
    scheme: Scheme, config: SmConfig, seed: int, *, ctas: int = 2, warps: int = 2, length: int = 12
) -> Trace:
    """A random trace for the scheme. Results always also go to the banks, since nothing is known of their
    last reads."""
    shape: dict[str, Any] = {"ctas": ctas, "warps": warps, "length": length}
    trace = random_trace(seed, **shape) if scheme.storage == "plain" else similar_trace(seed, **shape)
    rng = np.random.default_rng(seed)
    count = len(trace.code)
    hints = trace.hints or Hints.none(count)
    if scheme.hierarchy != "sw_rfc":  # whose hints are promises, and random ones would break them
        write_back, near = rng.integers(2, 4, count, np.uint8), rng.integers(0, 128, count, np.uint8)
        hints = replace(hints, write_back=write_back, near=near)
    trace = replace(trace, hints=hints)
    if scheme.hierarchy != "flat":
        trace = with_prefetches(trace, config.sub_core.cache.registers, seed)
    return with_flags(trace, seed) if scheme.mapping == "renaming" else trace
