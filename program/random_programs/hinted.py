"""Random programs with whatever hints and instructions a scheme asks of the compiler, all of them safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.program.hints import Hints
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import divergent_op, random_op, random_trace
from warpbank.program.random_programs.release import with_flags
from warpbank.program.random_programs.similar import similar_trace
from warpbank.program.random_programs.strands import STRAND_REGISTERS, Maker, in_strands, with_strands
from warpbank.program.trace.schema import Trace

#: Random programs that have names, `NAME-SEED`, and what `random_for` takes for them.
SHAPES: dict[str, dict[str, Any]] = {"mixed": {}, "divergent": {"divergent": True, "length": 30}}
#: Overrides that make the preset `tiny` as small as the programs are.
SMALL = ("sub_core.warps=2", "sub_core.rows=64")


def random_for(
    scheme: Scheme,
    config: SmConfig,
    seed: int,
    *,
    ctas: int = 2,
    warps: int = 2,
    length: int = 12,
    divergent: bool = False,
) -> Trace:
    """A random trace for the scheme. Results always also go to the banks, since nothing is known of their
    last reads. `divergent`: of short uops on few registers, often on some lanes only (`divergent_op`).

    For a cache that the compiler manages the uops stand in strands (`in_strands`), and their hints are
    promises that hold: a result stays out of the banks if the strand writes its register again."""
    units = scheme.units
    compiled, registers = units.hierarchy.compiled, 12
    make: Maker = divergent_op if divergent else random_op
    if compiled:
        make, registers = in_strands(make), STRAND_REGISTERS
    shape: dict[str, Any] = {"ctas": ctas, "warps": warps, "length": length, "make": make}
    shape["registers"] = registers
    trace = similar_trace(seed, **shape) if units.storage.encodes else random_trace(seed, **shape)
    if compiled:
        trace = with_strands(trace, config.sub_core.cache.registers)
    else:
        rng, count = np.random.default_rng(seed), len(trace.code)
        write_back, near = rng.integers(2, 4, count, np.uint8), rng.integers(0, 128, count, np.uint8)
        trace = replace(
            trace, hints=replace(trace.hints or Hints.none(count), write_back=write_back, near=near)
        )
        if units.hierarchy.active_only:
            # Without intervals nobody serves a bit; a PREFETCH is a uop like others there.
            bits = config.takes_bits and not {"intervals", "strands"}.isdisjoint(scheme.hints)
            trace = with_prefetches(trace, config.sub_core.cache.registers, seed, bits)
    return with_flags(trace, seed, registers=registers) if units.mapping.renames else trace


@dataclass(frozen=True)
class RandomProgram:
    """A random program that has a name.

    Parameters
    ----------
    shape : a key of `SHAPES`.
    seed : of the generator.
    """

    shape: str
    seed: int

    @staticmethod
    def parse(name: str) -> RandomProgram | None:
        """The program called `SHAPE-SEED`, such as `divergent-7`; None: no shape has that name."""
        shape, _, seed = name.rpartition("-")
        return RandomProgram(shape, int(seed)) if shape in SHAPES and seed.isdecimal() else None

    def trace(self, scheme: Scheme, config: SmConfig) -> Trace:
        """The program with what the scheme asks of the compiler."""
        return random_for(scheme, config, self.seed, **SHAPES[self.shape])
