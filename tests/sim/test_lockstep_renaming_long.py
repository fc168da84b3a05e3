"""Renaming's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores,
most of it builds.

    pytest -m long tests/sim/test_lockstep_renaming_long.py

Every two values of any two parameters stand together in some machine. The size of the table changes no
hardware, only which registers the compiler exempts.
"""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.sim.lockstep_cases import SMALL, compare, hinted
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme

SCHEME = parse_scheme("renaming")
RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]
VALUES = (("fermi", "turing"), ("consolidate", "wear_level"), ("two_level", "gto", "lrr"), (256, 1024, 2048))
#: Preset, policy, scheduler, bytes of the renaming table.
MACHINES = [
    ("fermi", "consolidate", "two_level", 256),
    ("turing", "wear_level", "two_level", 1024),
    ("fermi", "wear_level", "two_level", 2048),
    ("turing", "wear_level", "gto", 256),
    ("fermi", "consolidate", "gto", 1024),
    ("turing", "consolidate", "gto", 2048),
    ("fermi", "wear_level", "lrr", 256),
    ("turing", "consolidate", "lrr", 1024),
    ("turing", "wear_level", "lrr", 2048),
]


def _machine(name: str, policy: str, scheduler: str, table: int) -> SmConfig:
    return with_overrides(
        preset(name),
        [
            f"sub_core.front_end.scheduler={scheduler}",
            f"sub_core.mapping.policy={policy}",
            f"sub_core.mapping.table_bytes={table}",
        ],
    )


def test_every_pair_of_values() -> None:
    for one, other in combinations(range(len(VALUES)), 2):
        assert {(machine[one], machine[other]) for machine in MACHINES} == set(
            product(VALUES[one], VALUES[other])
        )


@pytest.mark.long
@pytest.mark.parametrize(("name", "policy", "scheduler", "table"), MACHINES)
def test_every_event_of_every_cycle(name: str, policy: str, scheduler: str, table: int) -> None:
    config = _machine(name, policy, scheduler, table)
    exempt = 0
    for kernel, size in RUNS:
        exempt += sum(mask.bit_count() for mask in hinted(kernel, size, config, SCHEME).exempt)
        outcome = compare(kernel, size, config, scheme=SCHEME)
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
    assert exempt or table > 256
