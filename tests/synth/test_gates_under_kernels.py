"""Gates of a unit of every scheme, beside its RTL, under a kernel: mapped to a cell library, they get what
the unit's ports got while the kernel ran through the SM, and have to answer as it did, in every cycle.

    pytest -m long tests/synth/test_gates_under_kernels.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synth import library
from warpbank.arch.schemes import SCHEMES
from warpbank.program.emulator.machine import MAX_INSTRUCTIONS
from warpbank.sim import experiment as exp
from warpbank.studies.synthesis import synthesize

#: Scheme -> a unit without memories of its own among those that it has and the baseline has not; the baseline
#: has one, too.
UNITS = {
    "baseline": "ocu",
    "bow": "boc_write_through",
    "bow-wb": "inserter",
    "bow-wr": "boc",
    "malekeh": "ccu",
    "malekeh-pr": "ccu",
    "ccu-lru-gto": "ccu_lru",
    "ccu-lru-own": "ccu_lru",
    "ltrf": "places",
    "ltrf-plus": "places",
    "ltrf-strand": "places",
    "rfc": "tag_row",
    "sw-rfc": "two_level",
    "renaming": "availability",
    "gscalar": "compressor",
    "gscalar-half": "compressor_half",
    "bdi": "bdi_compressor",
    "scalar-rf": "scalar_lanes",
}


def test_every_scheme_has_a_unit() -> None:
    assert UNITS.keys() == SCHEMES.keys()


@pytest.mark.long
@pytest.mark.parametrize("scheme", UNITS)
def test_gates_answer_as_the_unit_did(scheme: str, tmp_path: Path) -> None:
    """A difference is a NetlistError, which names the cycle."""
    (tmp_path / "small.lib").write_text(library.text())
    run = exp.find("bfs", "tiny", None, "tiny", None, scheme, None, None, MAX_INSTRUCTIONS)
    found = synthesize(
        UNITS[scheme], run.config, run.scheme, [tmp_path / "small.lib"], effort="quick", activity=run
    )
    assert found.power is not None
    assert found.power["combinational"] > 0
