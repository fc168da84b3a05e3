"""The compressing register file in the machine: decompress moves, scalar execution, added cycles, and
mutants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.sim import lockstep_cases
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import MOVE, Scalar, Unit
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.probe import Probe
from warpbank.golden.result import Result
from warpbank.golden.sm import OperandMismatch, Sm, simulate
from warpbank.golden.storage.bdi_banks import bdi
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.gscalar import gscalar
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import POISON
from warpbank.program import hint_passes
from warpbank.program.hints import Hints
from warpbank.program.random_programs.similar import similar_trace
from warpbank.program.trace.builder import ALL, Op, TraceBuilder, alu
from warpbank.program.trace.schema import Trace

SCHEMES = ("gscalar", "gscalar-half")
LOW, HIGH = 0x0000FFFF, 0xFFFF0000
TURING = preset("turing")


def hand_made(*ops: Op, values: list[Any], launched: int = ALL, fresh: int = 0) -> Trace:
    """One warp. `values`: of the registers written, in order: a number for all lanes, or one per lane."""
    trace = TraceBuilder().launch([list(ops)], mask=launched).build()
    rows = np.array([np.broadcast_to(np.asarray(value, np.uint32), 32) for value in values], np.uint32)
    assert rows.shape == trace.values.shape
    hints = Hints.none(len(trace.code))
    size = len(trace.code)
    return replace(
        trace,
        values=rows,
        hints=replace(hints, scalar=np.ones(size, np.uint8), fresh=np.full(size, fresh, np.uint8)),
    )


def run(trace: Trace, scheme: str = "gscalar", config: Any = TURING) -> tuple[Result, list[Record]]:
    records: list[Record] = []
    return Sm(trace, config, parse_scheme(scheme), events=records.append).run(), records


def lanes(records: list[Record]) -> list[tuple[int, Scalar]]:
    """What was clocked for every uop, in program order."""
    found = sorted(
        (values[1], values[2], Scalar(values[3])) for _, _, name, values in records if name == "lanes"
    )
    return [(clocked, kind) for seq, clocked, kind in found if not seq & MOVE]


@pytest.mark.parametrize("machine", ["tiny", "turing", "fermi"])
@pytest.mark.parametrize("scheme", [*SCHEMES, "bdi"])
def test_random_programs(scheme: str, machine: str) -> None:
    for seed in range(4 if scheme in SCHEMES else 2):
        trace, config = similar_trace(seed), preset(machine)
        result, records = run(trace, scheme, config)
        baseline = simulate(trace, config, parse_scheme("baseline"))
        assert result.warp_instructions == baseline.warp_instructions
        moves = result.counters["issue.moves"]
        assert moves
        assert result.operands_checked == baseline.operands_checked + moves
        assert result.counters == count(records)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_kind_of_scalar_execution(scheme: str) -> None:
    kinds = {
        kind for seed in range(4) for _, kind in lanes(run(similar_trace(seed), scheme, preset("tiny"))[1])
    }
    assert kinds == set(Scalar) - ({Scalar.HALF} if scheme == "gscalar" else set())


@pytest.mark.parametrize(
    ("first", "launched", "mask", "fresh", "moves"),
    [
        (7, ALL, LOW, 0, 1),  # some lanes of a scalar
        (7, ALL, ALL, 0, 0),  # all of them
        (7, ALL, LOW, 1, 0),  # the others are dead
        (7, LOW, LOW, 0, 0),  # the warp has no others
        (7, LOW, 0xFF, 0, 1),
        (np.arange(32) << 24, ALL, LOW, 0, 0),  # nothing is shared
        (np.arange(32), ALL, LOW, 0, 1),
    ],
)
def test_a_move_goes_before(first: Any, launched: int, mask: int, fresh: int, moves: int) -> None:
    ops = (alu(1, mask=launched), alu(1, mask=mask), alu(2, 1, mask=mask if fresh else launched))
    result, _ = run(hand_made(*ops, values=[first, 9, 0], launched=launched, fresh=fresh))
    assert result.counters["issue.moves"] == moves
    assert result.warp_instructions == result.counters["issue.uops"] == 4


def test_nested_divergence_moves_once() -> None:
    ops = (alu(1), alu(1, mask=LOW), alu(1, 1, mask=0xF), alu(1, mask=HIGH), alu(2, 1))
    result, _ = run(hand_made(*ops, values=[5, 6, 7, 8, 9]))
    assert result.counters["issue.moves"] == 1


def test_a_whole_write_after_a_divergent_one_compresses_again() -> None:
    ops = (alu(1), alu(1, mask=LOW), alu(1), alu(1, mask=LOW), alu(2, 1))
    result, _ = run(hand_made(*ops, values=[5, 6, 7, 8, 9]))
    assert result.counters["issue.moves"] == 2


def test_every_destination_is_moved() -> None:
    ops = (alu(4, count=4, unit=Unit.TENSOR), alu(4, count=4, mask=LOW, unit=Unit.TENSOR), alu(0, 4, 5, 6, 7))
    result, _ = run(hand_made(*ops, values=[1, np.arange(32) << 24, 3, 4, 5, 6, 7, 8, 0]))
    assert result.counters["issue.moves"] == 3


def test_a_divergent_scalar_is_one_for_its_own_lanes_only() -> None:
    """Figure 7b."""
    ops = (
        alu(2),
        alu(2, 2, mask=LOW),
        alu(1, 2, mask=LOW),
        alu(1, 2, mask=HIGH),
        alu(1, 2, mask=0xFF),
        alu(1, 2),
    )
    _, records = run(hand_made(*ops, values=[np.arange(32), 4, 1, 2, 3, 5]))
    assert lanes(records)[2:6] == [
        (1, Scalar.DIVERGENT),
        (16, Scalar.NONE),
        (8, Scalar.NONE),
        (32, Scalar.NONE),
    ]


def test_a_scalar_is_one_for_any_lanes() -> None:
    ops = (alu(2), alu(1, 2, mask=LOW), alu(1, 2), alu(1, 2, unit=Unit.SFU))
    _, records = run(hand_made(*ops, values=[4, 1, 2, 3]))
    assert lanes(records)[1:4] == [(1, Scalar.DIVERGENT), (1, Scalar.ALU), (1, Scalar.SFU)]


def test_two_scalar_halves_are_not_one_scalar() -> None:
    """FS, section 4.3."""
    halves = np.repeat([4, 5], 16)
    ops = (alu(2), alu(3), alu(1, 2), alu(1, 2, 3), alu(1, 2, mask=LOW), alu(4), alu(1, 2, 4))
    trace = hand_made(*ops, values=[halves, 7, 0, 0, 0, np.where(np.arange(32) < 16, np.arange(32), 9), 0])
    assert lanes(run(trace, "gscalar-half")[1])[2:7] == [
        (2, Scalar.HALF),
        (2, Scalar.HALF),
        (16, Scalar.NONE),
        (1, Scalar.ALU),
        (17, Scalar.HALF),
    ]
    assert lanes(run(trace)[1])[2] == (32, Scalar.NONE)


def test_threads_that_do_not_exist() -> None:
    """A partially filled last warp is no divergence."""
    ops = (alu(2, mask=0xFF), alu(1, 2, mask=0xFF))
    _, records = run(
        hand_made(*ops, values=[np.where(np.arange(32) < 8, 3, np.arange(32)), 1], launched=0xFF)
    )
    assert lanes(records)[:2] == [(1, Scalar.ALU), (1, Scalar.ALU)]


def test_three_more_cycles() -> None:
    """A chain of dependent uops: each waits for the one before."""
    chain = [alu(1), *(alu(1, 1) for _ in range(10))]
    trace = hand_made(*chain, values=[np.arange(32)] * 11)
    plain = run(trace, "baseline")[0].cycles
    assert run(trace)[0].cycles - plain == run(trace, "bdi")[0].cycles - plain == 3 * 10


def test_a_scalar_special_function_may_take_one_cycle() -> None:
    """Only if it is asked for, and only one that one lane executes."""
    short = with_overrides(TURING, ["sub_core.execute.scalar_sfu=one"])
    for value, saved in ((7, True), (np.arange(32), False)):
        ops = (alu(1), *(alu(2 + number, 1, unit=Unit.SFU) for number in range(8)))
        trace = hand_made(*ops, values=[value] * 9)
        assert (run(trace)[0].cycles - run(trace, config=short)[0].cycles > 4 * 7) == saved
        assert run(trace, "scalar-rf")[0].cycles == run(trace, "scalar-rf", short)[0].cycles


def test_arrays() -> None:
    """Of eight arrays of 128 bits: a scalar needs none, a register that shares two bytes four, a divergent
    one all."""
    ops = (alu(1), alu(2), alu(3, mask=0xF), Op(Unit.ALU, (1, 2, 3), writes=1))
    _, records = run(hand_made(*ops, values=[5, np.arange(32) * 0x101, 7]))
    writes = [values[3:] for _, _, name, values in records if name == "array_write"]
    reads = sorted(values[3:] for _, _, name, values in records if name == "array_read")
    assert writes == [(0, 8), (4, 8), (4, 1)]
    assert reads == [(0, 8), (4, 8), (8, 8)]


def test_arrays_of_packed_registers() -> None:
    """Base-delta-immediate: of eight arrays a scalar needs one, differences of a byte three, of two bytes
    five."""
    ops = (alu(1), alu(2), alu(3), alu(4), alu(5, mask=0xF), Op(Unit.ALU, (1, 2, 3, 4, 5), writes=1))
    values = [5, np.arange(32) - 3, np.arange(32) << 9, np.arange(32) << 20, 7]
    result, records = run(hand_made(*ops, values=values), "bdi")
    assert [values[3:] for _, _, name, values in records if name == "array_write"] == [
        (1, 8),
        (3, 8),
        (5, 8),
        (8, 8),
        (1, 1),
    ]
    assert sorted(values[3] for _, _, name, values in records if name == "array_read") == [1, 3, 5, 8, 8]
    assert {kind for _, kind in lanes(records)} == {Scalar.NONE}
    assert result.counters["issue.moves"] == 0


@pytest.mark.parametrize(("first", "moves"), [(7, 1), (np.arange(32), 1), (np.arange(32) << 20, 0)])
def test_a_move_goes_before_part_of_a_packed_register(first: Any, moves: int) -> None:
    result, _ = run(hand_made(alu(1), alu(1, mask=LOW), alu(2, 1), values=[first, 9, 0]), "bdi")
    assert result.counters["issue.moves"] == moves


class Checked(ScalarLanes):
    """What one lane executes has one result."""

    seen = 0

    def dispatch(self, uop: TraceUop) -> bool:
        kind, _ = self._decide(uop)
        if kind not in (Scalar.NONE, Scalar.HALF):
            Checked.seen += 1
            for value in uop.values:
                active = [int(value[lane]) for lane in range(len(value)) if uop.lane_mask >> lane & 1]
                assert len(set(active)) == 1, f"pc {uop.pc}: {active}"
        return super().dispatch(uop)


@pytest.mark.parametrize("kernel", ["reduction", "bfs", "blackscholes", "pathfinder", "hotspot", "spmv"])
def test_kernels(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hardware takes for scalar is scalar, and dead values are dead, on real code."""
    monkeypatch.setattr("warpbank.golden.storage.coded.ScalarLanes", Checked)
    monkeypatch.setattr(Checked, "seen", 0)
    scheme = parse_scheme("gscalar-half")
    trace = lockstep_cases.trace(kernel, "tiny", 64)
    hinted = hint_passes.with_hints(trace, scheme.hints, TURING, lambda: lockstep_cases._code(kernel, 64))
    simulate(hinted, TURING, scheme)
    assert Checked.seen


@pytest.mark.parametrize("storage", ["gscalar", "bdi"])
def test_moves_read_no_value_that_a_hint_dropped(storage: str) -> None:
    """Under BOW with hints a value that no instruction reads again stays out of the banks. The address that
    pathfinder computes into two registers is written on some lanes; a move of the first one goes before."""
    scheme, config = parse_scheme(f"bow-wr+{storage}"), preset("tiny")
    trace = lockstep_cases.hinted("pathfinder", "tiny", config, scheme)
    assert simulate(trace, config, scheme).counters["issue.moves"]


def mismatches(scheme: str, *, fresh: bool = False) -> bool:
    for seed in range(4):
        try:
            simulate(similar_trace(seed, fresh=fresh), preset("tiny"), parse_scheme(scheme))
        except OperandMismatch:
            return True
    return False


def test_a_packed_register_needs_its_move(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not mismatches("bdi")
    monkeypatch.setattr(DecompressMoves, "before", lambda self, uop, missing: None)
    assert mismatches("bdi")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_mutants_are_caught(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:  # D is ignored at a read
        context.setattr(Metadata, "kept", lambda self: self.enc)
        assert mismatches(scheme)
    with monkeypatch.context() as context:  # the decompress move is missing
        context.setattr(DecompressMoves, "before", lambda self, uop, missing: None)
        assert mismatches(scheme)
    assert mismatches(scheme, fresh=True)  # the compiler says dead where it is not
    assert not mismatches(scheme)


@pytest.mark.parametrize("scheme", ["rfc+gscalar", "sw-rfc+bdi"])
def test_caches_that_results_are_written_into_join_them(scheme: str) -> None:
    assert not mismatches(scheme)


@pytest.mark.parametrize("storage", [gscalar, bdi])
def test_a_value_evicted_in_the_cycle_of_the_release_comes_after_it(storage: Any) -> None:
    """It is compressed first. One that was evicted a cycle before the release is poisoned."""
    probe, value = Probe(0, None), np.array([7, 7, 7, 9], np.uint32)
    unit = storage(preset("tiny"), probe)
    for row, cycles in ((3, 1), (4, 2)):
        unit.write_back(0, row, 0, 5, value, True)
        for _ in range(cycles):
            unit.step()
            probe.cycle += 1
        unit.poison(0, row)
    assert (unit.content(0, 3)[0] == value).all()
    assert (unit.content(0, 4)[0] == POISON).all()
