"""BOW's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores, most
of it builds.

pytest -m long tests/sim/test_lockstep_bow_long.py
"""

from __future__ import annotations

import pytest

from tests.sim.lockstep_cases import SMALL, compare, fits
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme

#: Entries, where half and the least differ: with a window of 2 or 3, half is the 6 that one uop may need.
ENTRIES = {2: ("full", "half"), 3: ("full", "half"), 7: ("full", "half", "6")}
RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["bow", "bow-wb", "bow-wr"])
@pytest.mark.parametrize(
    ("window", "entries"), [(window, entries) for window, kinds in ENTRIES.items() for entries in kinds]
)
@pytest.mark.parametrize("name", ["pascal", "turing"])
def test_every_event_of_every_cycle(name: str, window: int, entries: str, scheme: str) -> None:
    overrides = (f"sub_core.collector.window={window}", f"sub_core.collector.boc_entries={entries}")
    config = with_overrides(preset(name), overrides)
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=parse_scheme(scheme))
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
