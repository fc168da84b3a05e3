"""The register file with a scalar bank: where registers go, what waits for the bank, moves, latency, and
mutants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.golden.storage.test_coded import ALL, LOW, alu, hand_made, lanes, run
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Scalar, Unit
from warpbank.golden.probe import Probe
from warpbank.golden.sm import OperandMismatch, simulate
from warpbank.golden.storage.scalar_file import ScalarFile, scalar_file
from warpbank.golden.storage.scalar_rf import ScalarRf
from warpbank.program.hints import Hints
from warpbank.program.random_programs.similar import similar_trace
from warpbank.program.trace.builder import TraceBuilder

SCHEME = "scalar-rf"
FERMI = preset("fermi")


@pytest.mark.parametrize("machine", ["tiny", "turing", "fermi"])
def test_random_programs(machine: str) -> None:
    waited = 0
    for seed in (0, 1, 4):
        trace, config = similar_trace(seed), preset(machine)
        result, records = run(trace, SCHEME, config)
        baseline = simulate(trace, config, parse_scheme("baseline"))
        moves = result.counters["issue.moves"]
        assert moves
        assert result.operands_checked == baseline.operands_checked + moves
        assert result.counters == count(records)
        assert result.counters["scalar_rf.reads"]
        assert result.counters["scalar.alu"]
        waited += result.counters["scalar_rf.write_waits"]
    assert waited or machine != "turing", "no two results met at the scalar bank"


def test_only_arithmetic_of_all_threads_is_scalar() -> None:
    ops = (alu(2), alu(1, 2), alu(1, 2, unit=Unit.SFU), alu(1, 2, mask=LOW), alu(1), alu(3, 1))
    result, records = run(hand_made(*ops, values=[4, 1, 2, 3, np.arange(32), 0]), SCHEME)
    assert lanes(records)[1:4] == [(1, Scalar.ALU), (32, Scalar.NONE), (16, Scalar.NONE)]
    assert lanes(records)[5] == (32, Scalar.NONE)
    assert result.counters["scalar_rf.reads"] == 4  # three times R2, and R1 by the move


@pytest.mark.parametrize(("mask", "fresh", "moves"), [(LOW, 0, 1), (LOW, 1, 0), (ALL, 0, 0)])
def test_a_move_goes_before(mask: int, fresh: int, moves: int) -> None:
    ops = (alu(1), alu(1, mask=mask), alu(2, 1, mask=mask if fresh else ALL))
    result, _ = run(hand_made(*ops, values=[7, np.arange(32), 0], fresh=fresh), SCHEME)
    assert result.counters["issue.moves"] == moves


def test_similar_is_not_equal() -> None:
    ops = (alu(1), alu(1, mask=LOW), alu(2, 1))
    result, _ = run(hand_made(*ops, values=[np.arange(32), 9, 0]), SCHEME)
    assert result.counters["issue.moves"] == result.counters["scalar_rf.reads"] == 0


def test_one_more_cycle() -> None:
    """A chain of dependent uops: each waits for the one before; a plain operand comes as from plain banks."""
    for value in (7, np.arange(32)):
        trace = hand_made(alu(1), *(alu(1, 1) for _ in range(10)), values=[value] * 11)
        assert run(trace, SCHEME)[0].cycles - run(trace, "baseline")[0].cycles == 10


def test_scalars_of_many_warps_wait_for_one_bank() -> None:
    """Uops of eight warps read two registers each: of sixteen banks in the baseline, of one bank here."""
    ops = [alu(1), alu(2), *(alu(3 + number, 1, 2) for number in range(6))]
    trace = TraceBuilder().launch([ops] * 8).build()
    trace = replace(trace, values=np.full_like(trace.values, 5), hints=Hints.none(len(trace.code)))
    (plain, _), (result, _) = run(trace, "baseline", FERMI), run(trace, SCHEME, FERMI)
    assert plain.counters["rf.reads"] == result.counters["scalar_rf.reads"] == 96
    assert (
        result.counters["rf.reads"]
        == result.counters["rf.arrays.read"]
        == result.counters["rf.arrays.write"]
        == 0
    )
    conflicts = sum(plain.counters[f"rf.conflict.{why}"] for why in ("write", "port", "queue"))
    assert result.counters["scalar_rf.waits"] > 2 * conflicts


class ForgetsTheBit(ScalarRf):
    """A vector write does not say that the register is in its own bank."""

    def write(self, bank: int, row: int, mask: int, value: Any) -> None:
        scalar = self._scalar[bank][row]
        super().write(bank, row, mask, value)
        self._scalar[bank][row] = scalar


class TakesParts(ScalarFile):
    """Divergent results are kept as scalars, too."""

    def describe(self, uop: Any, value: Any) -> Any:
        part, uop.part = uop.part, False
        metadata = super().describe(uop, value)
        uop.part = part
        return metadata


def mismatches() -> bool:
    for seed in range(4):
        try:
            simulate(similar_trace(seed), preset("tiny"), parse_scheme(SCHEME))
        except OperandMismatch:
            return True
    return False


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        (
            "warpbank.golden.storage.decompress_moves.DecompressMoves.before",
            lambda self, uop, missing: None,
        ),  # the move is missing
        ("warpbank.golden.storage.scalar_file.ScalarRf", ForgetsTheBit),
        ("warpbank.golden.storage.scalar_file.ScalarFile", TakesParts),
    ],
)
def test_mutants_are_caught(name: str, mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not mismatches()
    monkeypatch.setattr(name, mutant)
    assert mismatches()


def test_what_it_cannot_be_built_with() -> None:
    with pytest.raises(
        ValueError, match=r"scalar-rf is built for banks of one cycle: leave sub_core\.bank_latency at 100"
    ):
        parse_scheme(SCHEME).machine(with_overrides(preset("tiny"), ["sub_core.bank_latency=200"]))
    with pytest.raises(ValueError, match="cannot work: an evicted value may wait for scalar-rf's one scalar"):
        parse_scheme("bow-wb+scalar-rf")
    with pytest.raises(
        ValueError, match="cannot work: registers between a register file cache and its banks"
    ):
        parse_scheme("ltrf+scalar-rf")


def test_an_operand_is_looked_up_before_the_writes_of_its_cycle() -> None:
    """A register moves from the scalar bank to its own in cycle 1: who asks in that cycle finds it where it
    was, who asks in the next one does not, even if the storage had nothing to do in between."""
    records: list[tuple[int, str, tuple[int, ...]]] = []
    probe = Probe(0, lambda event: records.append((event[0], event[2], event[3])))
    config = preset("tiny")
    unit = scalar_file(config, probe)
    arbiter = unit.arbiter(probe)
    unit.put(
        0,
        0,
        ALL & config.lane_mask,
        np.full(config.lanes, 5, np.uint32),
        unit.encode(np.full(config.lanes, 5, np.uint32), True),
    )
    unit.write_back(0, 0, 0, 0, np.arange(config.lanes, dtype=np.uint32), True)
    unit.step()
    for cycle in (1, 2):
        probe.cycle = cycle
        if unit.busy:
            unit.begin()
            unit.step()
        arbiter.request(0, 0, cycle, 0)
    probe.cycle = 3
    arbiter.step(0, 0, 0)
    grants = [(name, values) for cycle, name, values in records if cycle == 3]
    assert grants == [("grant", (0, 0, 2, 0)), ("scalar_grant", (0, 1, 0))]
