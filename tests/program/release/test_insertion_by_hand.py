"""Where warps meet flag instructions, and how the kernels of a trace follow one another, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests.program.release.test_words import straight
from warpbank.arch.uop import Control
from warpbank.program.isa import Block, Instr, Kernel, Op
from warpbank.program.release.flags import release_flags
from warpbank.program.release.insertion import Release, _spread, met, release_all
from warpbank.program.release.words import FlagWord, flag_words


def meetings(
    pcs: list[int], warps: list[tuple[int, int]], words: list[FlagWord], count: int
) -> list[tuple[int, int]]:
    """Rows and numbers of words, for warps of (first row, rows)."""
    trace = SimpleNamespace(
        dynamic=np.array([(pc,) for pc in pcs], dtype=[("pc", "u4")]),
        warps=np.array(warps, dtype=[("first", "u8"), ("length", "u8")]),
    )
    rows, numbers = met(trace, Release(np.zeros(count, np.uint8), tuple(words), (0,)))
    return list(zip(rows.tolist(), numbers.tolist(), strict=True))


def test_a_pir_is_met_from_elsewhere_and_where_it_begins() -> None:
    words = [
        FlagWord(Control.PBR, 0, 0, 0, registers=1),
        FlagWord(Control.PIR, 0, 3, 0),
        FlagWord(Control.PIR, 3, 2, 0),
        FlagWord(Control.PIR, 6, 3, 0),
    ]
    first = [0, 1, 2, 3, 9, 4, 5, 6, 7, 6, 7, 1, 2]  # pc 9 is another pass's
    second = [1, 2, 8]  # begins among the instructions that the first warp has left
    third = [8]
    found = meetings([*first, *second, *third], [(0, 13), (13, 3), (14, 0), (16, 1)], words, 9)
    assert found == [(0, 0), (0, 1), (3, 2), (7, 3), (9, 3), (11, 1), (13, 1), (15, 3), (16, 3)]


def test_the_first_word_may_be_a_pir() -> None:
    assert meetings([0, 1, 0, 1], [(0, 4)], [FlagWord(Control.PIR, 0, 2, 0)], 2) == [(0, 0), (2, 0)]


def test_kernels_follow_one_another() -> None:
    kernels = {"a": straight(20), "b": straight(40)}
    release = release_all(kernels)
    assert [word.first for word in release.words] == [0, 18, 20, 38, 56]
    assert release.exempt == (0, 0)
    alone = [release_flags(kernel).dead for kernel in kernels.values()]
    assert release.dead.tolist() == np.concatenate(alone).tolist()
    exempt = release_all(kernels, {"a": 0b10, "b": 0b1})
    assert exempt.exempt == (0b10, 0b1)
    assert exempt.dead.tolist() != release.dead.tolist()


def test_a_pir_without_flags_is_left_out_unless_it_is_asked_for() -> None:
    kernel = Kernel("k", [Block("A", [Instr(Op.EXIT)])], {}, 0, registers=1)
    assert release_all({"k": kernel}).words == ()
    expected = flag_words(kernel, release_flags(kernel), empty=True)
    assert release_all({"k": kernel}, empty=True).words == tuple(expected)


def test_rows_of_warps() -> None:
    first, length = np.array([5, 0, 9]), np.array([2, 3, 1])
    assert _spread(first, length).tolist() == [5, 6, 0, 1, 2, 9]
