"""Decompress moves where a value leaves its collector in the cycle in which its register is written again."""

from __future__ import annotations

import pytest

from tests.eviction_trace import Case, eviction_trace
from tests.released_trace import lost_trace, released_trace, renewed_trace
from warpbank.arch.config import preset
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandChecker, OperandMismatch
from warpbank.golden.sm import Sm
from warpbank.golden.storage.coded import Coded, Stored
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.metadata import Fill
from warpbank.program.random_programs.hinted import RandomProgram
from warpbank.program.trace.schema import Trace
from warpbank.studies.combinations import PROGRAMS

SCHEMES = ("bow-wr+gscalar-half", "bow-wb+gscalar", "bow-wb+bdi")
RELEASED = ("bow-wb+renaming+gscalar-half", "bow-wr+renaming+gscalar", "bow-wb+renaming+bdi")
#: Per case, whether a move goes before the write of some lanes, and the cycles from the eviction to what
#: issues: the move or the write. What is evicted counts from the next cycle on.
EXPECTED = {
    Case.BECOMES_COMPRESSED: (False, 0),
    Case.BECOMES_PLAIN: (True, 0),
    Case.STAYS_COMPRESSED: (True, 0),
    Case.CYCLE_LATER: (True, 1),
    Case.PLAIN_CYCLE_LATER: (False, 1),
}


def found(scheme: str) -> dict[Case, tuple[bool, int]]:
    """What `EXPECTED` says, as the model does it."""
    trace = eviction_trace()
    records: list[Record] = []
    Sm(trace, preset("tiny"), parse_scheme(scheme), events=records.append).run()
    code, dynamic = trace.code, trace.dynamic
    outcome: dict[Case, tuple[bool, int]] = {}
    launch, evicted = -1, {}
    for cycle, _, name, values in sorted(records, key=lambda record: record[0]):
        launch += name == "cta_start"
        if name == "write_back":
            evicted[launch, values[3]] = cycle
            continue
        if name not in ("move", "issue") or Case(launch) in outcome:
            continue
        case = Case(launch)
        if name == "move":
            outcome[case] = True, cycle - evicted[launch, case.register]
        else:
            uop = dynamic[int(trace.warps[launch]["first"]) + values[1]]
            if code[uop["pc"]]["destination"] == case.register and uop["mask"] == 0b0011:
                outcome[case] = False, cycle - evicted[launch, case.register]
    return outcome


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_eviction_counts_from_the_next_cycle_on(scheme: str) -> None:
    assert found(scheme) == EXPECTED


@pytest.mark.parametrize("program", [name for name in PROGRAMS if RandomProgram.parse(name)])
def test_the_check_of_combinations_sees_the_mutant(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its random programs have the cycle in which the mutant's events differ."""
    scheme, config, named = parse_scheme("bow-wb+gscalar-half"), preset("tiny"), RandomProgram.parse(program)
    assert named is not None

    def events() -> list[Record]:
        records: list[Record] = []
        Sm(named.trace(scheme, config), config, scheme, events=records.append).run()
        return sorted(records)

    right = events()
    assert events() == right
    monkeypatch.setattr(Coded, "_put_back", noted_at_once)
    assert events() != right


def noted_at_once(
    self: Coded, bank: int, row: int, warp: int, register: int, value: int, compress: bool
) -> Stored:
    """A mutant of `Coded._put_back`: the moves see what is evicted in the cycle of its eviction."""
    note = self._banks.describe(value, self._every_lane, Fill.WHOLE if compress else Fill.MOVED)
    self._banks.keep(bank, row, self._every_lane, value, note)
    self.moves.note(warp, register, note.compressed)
    return Stored(warp, register, bank, note, self._every_lane)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_mutant_a_move_that_sees_the_cycle(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coded, "_put_back", noted_at_once)
    wrong = {case for case, outcome in found(scheme).items() if outcome != EXPECTED[case]}
    assert wrong == {Case.BECOMES_COMPRESSED, Case.BECOMES_PLAIN}


def moves(scheme: str) -> int:
    """Moves in the trace of a register that was released."""
    result = Sm(released_trace(), preset("tiny"), parse_scheme(scheme)).run()
    assert result.counters["renaming.maps"] == 4
    return int(result.counters["issue.moves"])


@pytest.mark.parametrize("scheme", RELEASED)
def test_what_is_known_of_a_released_value_ends_with_it(scheme: str) -> None:
    """The second write finds nothing compressed: the first one is in its collector alone, and what it did not
    write nobody needs."""
    assert moves(scheme) == 0


@pytest.mark.parametrize("scheme", RELEASED)
def test_mutant_what_is_known_of_a_released_value_stays(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = DecompressMoves.issue
    monkeypatch.setattr(DecompressMoves, "issue", lambda self, uop, _: issue(self, uop, 0))
    assert moves(scheme) == 1


@pytest.mark.parametrize(
    ("trace", "scheme"),
    [(lost_trace(), "bow-wb+renaming+gscalar-half"), (renewed_trace(), "bow-wb+gscalar-half")],
    ids=["released", "written anew"],
)
def test_a_move_is_not_asked_for_lanes_that_are_lost(
    trace: Trace, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a collector hands back can be compressed with lanes that a release has ended, or a write that no
    lane needs the old value behind. The move before the next write of some lanes reads them, too."""

    def run() -> int:
        result = Sm(trace, preset("tiny"), parse_scheme(scheme)).run()
        return int(result.counters["issue.moves"])

    assert run() == 1
    monkeypatch.setattr(OperandChecker, "_lose", lambda *_: None)
    with pytest.raises(OperandMismatch, match="register R1, lane 2: expected 0x00000007, found 0x00000000"):
        run()
