"""Hint passes: the compiler analyses that make the hints a scheme asks for, run on a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.program.hints import Hints
from warpbank.program.intervals.dead import dead_operands
from warpbank.program.intervals.dynamic import form_all
from warpbank.program.intervals.formation import Rule
from warpbank.program.intervals.insertion import insert_prefetches, mark_entries
from warpbank.program.isa import Kernel
from warpbank.program.release.exemption import exemptions
from warpbank.program.release.fetch import without_pir
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.reuse import near_hints
from warpbank.program.scalar import fresh_hints, scalar_hints
from warpbank.program.strand_cache import strand_cache_hints
from warpbank.program.trace.batches import in_batches
from warpbank.program.trace.schema import Trace
from warpbank.program.write_back import write_back_hints

#: Hints that are PREFETCHes: where they are put.
RULES = {"intervals": Rule.INTERVAL, "strands": Rule.STRAND}


def with_hints(
    trace: Trace, wanted: tuple[str, ...], config: SmConfig, kernels: Callable[[], Mapping[str, Kernel]]
) -> Trace:
    """Trace with the fields of `Hints` that are `wanted` (`warpbank.arch.schemes.Scheme.hints`); the others
    stay at what is safe.

    `cached` sets `near` and `write_back` for a register file cache that the compiler manages
    (`warpbank.program.strand_cache`). `release` is no field: it sets `dead` to what the flags of register
    renaming can tell, puts the flag instructions into the code, and exempts registers that the machine's
    renaming table has no room for (`warpbank.program.release`). `intervals` and `strands` are no fields, but
    PREFETCH instructions that are put into the code (`warpbank.program.intervals`), or, on a machine that
    takes them, extra bits of the instructions there are.

    Parameters
    ----------
    config : the machine, for the parameters of the passes.
    kernels : gives the machine code of the trace's kernels, in the order of `trace.kernels`; called if a pass
        needs it. Of a trace without code it is made from executed edges (`warpbank.program.executed`).

    Raises
    ------
    ValueError : a hint that no pass makes.
    """
    hints = Hints.none(len(trace.code))
    for name in wanted:
        if name == "write_back":
            window, moves = config.sub_core.collector.window, "fresh" in wanted
            bits = write_back_hints(kernels(), window, moves).write_back
        elif name == "near":
            bits = near_hints(trace, threshold=config.sub_core.collector.near_distance)
        elif name == "cached":
            cached = strand_cache_hints(kernels(), config.sub_core.cache.registers, "fresh" in wanted)
            hints = replace(hints, near=cached.near, write_back=cached.write_back)
            continue
        elif name == "dead":
            bits = np.concatenate([dead_operands(kernel) for kernel in kernels().values()])
        elif name == "scalar":
            bits = np.concatenate([scalar_hints(kernel) for kernel in kernels().values()])
        elif name == "fresh":
            bits = np.concatenate([fresh_hints(kernel) for kernel in kernels().values()])
        elif name == "release" or name in RULES:
            continue
        else:
            raise ValueError(f"No pass makes the hint {name!r}.")
        hints = replace(hints, **{name: bits})
    annotated = replace(trace, hints=hints) if wanted else trace
    # Last, since it puts instructions behind those that the other hints are for.
    for name, rule in RULES.items():
        if name in wanted:
            intervals = form_all(kernels(), config.sub_core.cache.registers, rule)
            insert = mark_entries if config.takes_bits else insert_prefetches
            annotated = in_batches(annotated, partial(insert, intervals=intervals))
    if "release" in wanted:
        made = kernels()
        release = release_all(made, exemptions(made, trace, config))
        annotated = in_batches(annotated, lambda part: without_pir(insert_flags(part, release)))
    return annotated
