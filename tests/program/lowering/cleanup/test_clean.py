"""All clean-up passes together: what kernels do stays, and little is left."""

from __future__ import annotations

import random
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes, check
from tests.program.lowering.cleanup.drawn import Drawn
from tests.program.lowering.cleanup.lane import Lane
from tests.program.lowering.cleanup.notation import kernel, text
from warpbank.program.isa import Kernel
from warpbank.program.lowering.cleanup import clean
from warpbank.program.lowering.cleanup.coalesce import coalesce
from warpbank.program.lowering.cleanup.dead import remove_dead
from warpbank.program.lowering.cleanup.flow import tidy
from warpbank.program.lowering.cleanup.fuse import fuse
from warpbank.program.lowering.cleanup.propagate import propagate


def _at_last(code: Kernel) -> bool:
    clean(code)
    return True


def test_an_address_takes_one_instruction() -> None:
    """Base and index, as compilers write them word by word."""
    becomes(
        _at_last,
        """
        S2R v0 =
        MOV v1 = 4
        IMULW v16:2 = v0, v1
        MOV v18 = c16
        MOV v19 = c20
        IADD v20 p0 = v18, v16
        IADDC v21 = v19, v17, p0
        MOV v22 = v20
        MOV v23 = v21
        LD.GLOBAL v2 = v22:2
        ST.SHARED 0, v2
        EXIT
        """,
        """
        S2R v0 =
        IMADW v20:2 = v0, 4, c16:2
        LD.GLOBAL v2 = v20:2
        ST.SHARED 0, v2
        EXIT
        """,
    )


@given(st.integers(0, 2**32))
def test_drawn_kernels_do_what_they_did_in_fewer_steps(seed: int) -> None:
    before = Drawn(random.Random(seed)).kernel
    after = check(before, clean)
    for number in range(3):
        old, new = Lane(before, number), Lane(after, number)
        if old.trace[-1:] == ["end"]:
            assert sum(new.executed.values()) <= sum(old.executed.values()), text(after)


@given(st.integers(0, 2**32))
def test_no_pass_has_anything_left_to_do(seed: int) -> None:
    code = Drawn(random.Random(seed)).kernel
    clean(code)
    after = text(code)
    for each in (propagate, remove_dead, tidy, fuse, coalesce):
        assert not each(code), f"{after}\n{each.__name__} made of it\n{text(code)}"


@given(st.integers(0, 2**32))
def test_without_optimisation_the_blocks_are_made_legal(seed: int) -> None:
    before = Drawn(random.Random(seed)).kernel
    after = deepcopy(before)
    clean(after, optimize=False)
    assert [Lane(after, 0).trace] == [Lane(before, 0).trace]
    assert all(block.instrs for block in after.blocks)


def test_groups_that_the_code_names_are_kept() -> None:
    code = kernel("LD.SHARED.8 v16:2 = v0; ST.SHARED v1, v17; MOV v2 = v3; EXIT")
    clean(code)
    assert code.groups == {256 + 0: 1, 256 + 1: 1, 256 + 16: 2}
    code = kernel("ST.SHARED 0, v0; MOV v2 = v3; EXIT")
    clean(code, optimize=False)
    assert code.groups == {256 + 0: 1, 256 + 2: 1, 256 + 3: 1}


def test_a_branch_to_the_end_is_an_end() -> None:
    code = kernel("@p0 BRA >b2\nb1:\nST.SHARED 0, v0\nb2:\nEXIT")
    clean(code, optimize=False)
    assert text(code) == text(kernel("@p0 EXIT\nb1:\nST.SHARED 0, v0; EXIT"))
