"""What the compiler keeps in a register file cache, by hand; that it is safe shows in
tests/golden/hierarchy/test_rfc.py."""

from __future__ import annotations

from warpbank.arch.uop import MAX_SOURCES, TO_BANKS, TO_COLLECTOR
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Reg, Space
from warpbank.program.strand_cache import Step, assign, strand_cache_hints

KEPT = 1 << MAX_SOURCES
BOTH = TO_COLLECTOR | TO_BANKS
NOWHERE: frozenset[int] = frozenset()


def _step(
    written: tuple[int, ...] = (),
    sources: tuple[int, ...] = (),
    *,
    certain: bool = True,
    distant: bool = False,
    ends: bool = False,
    after: int = 0,
) -> Step:
    return Step(sources, written, certain, distant, ends, after)


def _hints(*steps: Step, entries: int = 8, distant: frozenset[int] = NOWHERE) -> tuple[list[int], list[int]]:
    near, write_back = assign(steps, entries, distant)
    return near.tolist(), write_back.tolist()


def test_a_value_that_dies_is_in_the_cache_only() -> None:
    assert _hints(_step((1,)), _step((2,), (0, 1))) == ([KEPT, 2], [TO_COLLECTOR, BOTH])


def test_a_value_that_is_read_later_goes_to_both() -> None:
    assert _hints(_step((1,), after=2), _step((2,), (1,), after=2)) == ([KEPT, 1], [BOTH, BOTH])


def test_a_result_nobody_reads_is_not_kept() -> None:
    assert _hints(_step((1,)), _step((2,), (3,)))[0] == [0, 0]


def test_strands_end() -> None:
    """Before what may wait for memory, and behind a barrier."""
    first, reader = _step((1,)), _step((2,), (1, 5))
    assert _hints(first, reader, distant=frozenset({5}))[0] == [0, 0]
    assert _hints(_step((5,), distant=True), first, reader)[0] == [0, 0, 0]
    assert _hints(first, _step(ends=True), reader)[0] == [0, 0, 0]
    assert _hints(_step((3,), (5,)), first, reader, distant=frozenset({5}))[0] == [
        0,
        KEPT,
        1,
    ]  # the first has waited for it


def test_two_values_in_one_place() -> None:
    """R1 and R9 meet in a cache of eight: the second comes once the first has been read for the last time."""
    meet = (_step((1,)), _step((9,)), _step((2,), (1,)), _step((3,), (9,)))
    assert _hints(*meet)[0] == [KEPT, 0, 1, 0]
    assert _hints(*meet, entries=16)[0] == [KEPT, KEPT, 1, 1]
    assert _hints(_step((1,)), _step((9,), (1,)), _step((3,), (9,)))[0] == [KEPT, KEPT | 1, 1]


def test_guards() -> None:
    """A guarded result is not kept; a guarded read alone is not sure to happen; a guarded write needs the
    banks below it."""
    assert _hints(_step((1,), certain=False), _step((2,), (1,)))[0] == [0, 0]
    assert _hints(_step((1,)), _step((2,), (1,), certain=False))[0] == [0, 0]
    guarded = (_step((1,)), _step((2,), (1,)), _step((1,), (3,), certain=False), _step((4,), (1,)))
    assert _hints(*guarded) == ([KEPT, 1, 0, 0], [BOTH, BOTH, BOTH, BOTH])


def test_wide_results_are_kept_as_a_whole() -> None:
    assert _hints(_step((2, 3)), _step((5,), (2, 3)))[0] == [KEPT, 3]
    assert _hints(_step((2, 3)), _step((5,), (2,)))[0] == [0, 0]


def test_a_constant_load_waits_for_nothing() -> None:
    """What it loads is kept, as a result of arithmetic is; what comes from beyond the SM is not, and whoever
    reads it begins a strand."""

    def kept(space: Space) -> list[int]:
        code = [
            Instr(Op.MOV, dst=Reg(3), srcs=(Imm(1),)),
            Instr(Op.LD, dst=Reg(1), srcs=(Reg(0),), space=space),
            Instr(Op.IADD, dst=Reg(2), srcs=(Reg(1), Reg(3))),
            Instr(Op.EXIT),
        ]
        return strand_cache_hints({"k": Kernel("k", [Block("A", code)], {}, 0)}, 8).near.tolist()

    assert kept(Space.CONST) == kept(Space.SHARED) == [KEPT, KEPT, 3, 0]
    assert kept(Space.GLOBAL) == kept(Space.LOCAL) == [0, 0, 0, 0]
