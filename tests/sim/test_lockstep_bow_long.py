"""BOW's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores, most
of it builds.

    pytest -m long tests/sim/test_lockstep_bow_long.py -k pairs

Three schemes, seven sizes of the window and two presets are 42 machines, each with a build of its own.
`pairs` runs 21 of them: every scheme and preset meets every size (tests/test_covering.py checks the list). Of
the others `rest` draws one for each scheme, by the slice's seed.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.covering import all_pairs
from tests.sim.lockstep_cases import SMALL, compare, fits
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]
#: Entries, where half and the least differ: with a window of 2 or 3, half is the 6 that one uop may need.
ENTRIES = {2: ("full", "half"), 3: ("full", "half"), 7: ("full", "half", "6")}
#: Schemes, windows with their entries, presets.
PARAMETERS = (
    ("bow", "bow-wb", "bow-wr"),
    tuple(f"{window} {entries}" for window, kinds in ENTRIES.items() for entries in kinds),
    ("pascal", "turing"),
)
CROSSING = list(product(*PARAMETERS))
SHORT = all_pairs(*PARAMETERS)
REST = [cell for cell in CROSSING if cell not in SHORT]


def _lockstep(scheme: str, size: str, name: str) -> None:
    window, entries = size.split()
    overrides = (f"sub_core.collector.window={window}", f"sub_core.collector.boc_entries={entries}")
    config = with_overrides(preset(name), overrides)
    for kernel, input_size in RUNS:
        if not fits(kernel, input_size, config):
            continue
        outcome = compare(kernel, input_size, config, scheme=parse_scheme(scheme))
        where = f"{scheme}, {name}, window {window}, {entries} entries: {kernel} at {input_size}"
        assert outcome.divergence is None, f"{where}: {outcome.divergence.reason}"


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "size", "name"), SHORT)
def test_pairs(scheme: str, size: str, name: str) -> None:
    """Every event of every cycle."""
    _lockstep(scheme, size, name)


@pytest.mark.long
@pytest.mark.parametrize("scheme", PARAMETERS[0])
def test_rest(scheme: str, drawn: random.Random) -> None:
    """A machine that `test_pairs` leaves out."""
    _lockstep(*drawn.choice([cell for cell in REST if cell[0] == scheme]))
