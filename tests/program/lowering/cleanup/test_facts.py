"""Known facts reach as far as they hold, and no further."""

from __future__ import annotations

import pytest

from tests.program.lowering.cleanup.bench import becomes
from tests.program.lowering.cleanup.notation import kernel, p, v
from warpbank.program.cfg import Cfg
from warpbank.program.isa import PT, Imm, Instr, Pred
from warpbank.program.lowering.cleanup.facts import Facts, plain_predicate, sign_from, zero_above
from warpbank.program.lowering.cleanup.propagate import propagate


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A register with one definition is known where that has run on every path.
        ("MOV v1 = v0\nb1:\nST v2, v1", None),
        ("LD.SHARED v0 = v9; MOV v1 = v0\nb1:\nST v2, v1", "LD.SHARED v0 = v9; MOV v1 = v0\nb1:\nST v2, v0"),
        (
            "LD.SHARED v0 = v9; @p0 BRA >b2\nb1:\nMOV v1 = v0; ST v2, v1\nb2:\nST v2, v1",
            "LD.SHARED v0 = v9; @p0 BRA >b2\nb1:\nMOV v1 = v0; ST v2, v0\nb2:\nST v2, v1",
        ),
        # ... and so has every register that it mentions: not if one is written twice.
        ("LD.SHARED v0 = v9; MOV v1 = v0\nb1:\nLD.SHARED v0 = v8; ST v2, v1", None),
        ("LD.SHARED v0 = v9; MOV v1 = v0\nb1:\nST v2, v1; LD.SHARED v1 = v8", None),
        ("MOV v1 = v0\nb1:\nLD.SHARED v0 = v8; ST v2, v1", None),
        # Constants are known everywhere.
        ("MOV v1 = 5\nb1:\nST v2, v1", "MOV v1 = 5\nb1:\nST v2, 5"),
        # Within a block it holds until the word or a register it mentions is written.
        ("MOV v1 = v0; LD.SHARED v0 = v9; ST v2, v1; LD.SHARED v0 = v9", None),
        (
            "MOV v1 = v0; ST v2, v1; LD.SHARED v0 = v9; LD.SHARED v1 = v9",
            "MOV v1 = v0; ST v2, v0; LD.SHARED v0 = v9; LD.SHARED v1 = v9",
        ),
        ("MOV v1 = v0; LD.SHARED v1 = v9; ST v2, v1", None),
        ("MOV v1 = v0; MOV v1 = v3; LD.SHARED v3 = v9; ST v2, v1", None),
        # A copy of a pair's word ends with a new value of the word, and of the copy.
        ("MOV v1 = v16; IMULW v16:2 = v2, v3; ST v2, v1", None),
        # Under a guard nothing is known.
        ("@p0 MOV v1 = 5; ST v2, v1", None),
        ("@p0 PLOP.xF0 p2 = p1; @p2 ST v2, v1", None),
        # A move onto itself, and a sum of itself, say nothing.
        ("MOV v1 = v1; ST v2, v1", None),
        # Predicates.
        ("PLOP.xF0 p1 = p0\nb1:\n@p1 ST v2, v1", None),
        (
            "ISETP.EQ p0 = v1, v2; PLOP.xF0 p1 = p0\nb1:\n@p1 ST v2, v1",
            "ISETP.EQ p0 = v1, v2; PLOP.xF0 p1 = p0\nb1:\n@p0 ST v2, v1",
        ),
        (
            "ISETP.EQ p0 = v1, v2; PLOP.x0F p1 = p0; PLOP.x0F p2 = p1\nb1:\n@!p2 ST v2, v1",
            "ISETP.EQ p0 = v1, v2; PLOP.x0F p1 = p0; PLOP.x0F p2 = !p0\nb1:\n@!p0 ST v2, v1",
        ),
        (
            "ISETP.EQ p0 = v1, v2; @p3 BRA >b2\nb1:\nPLOP.xF0 p1 = p0; @p1 ST v2, v1\nb2:\n@p1 ST v2, v1",
            "ISETP.EQ p0 = v1, v2; @p3 BRA >b2\nb1:\nPLOP.xF0 p1 = p0; @p0 ST v2, v1\nb2:\n@p1 ST v2, v1",
        ),
        ("ISETP.EQ p0 = v1, v2; PLOP.xF0 p1 = p0\nb1:\n@p1 ST v2, v1; ISETP.EQ p0 = v1, v3", None),
        ("ISETP.EQ p0 = v1, v2; PLOP.xF0 p1 = p0\nb1:\n@p1 ST v2, v1; ISETP.EQ p1 = v1, v3", None),
        ("PLOP.xF0 p1 = p0; ISETP.EQ p0 = v1, v2; @p1 ST v2, v1; ISETP.EQ p0 = v1, v3", None),
        ("PLOP.xF0 p1 = p0; ISETP.EQ p1 = v1, v2; @p1 ST v2, v1", None),
        ("PLOP.xF0 p1 = p0; PLOP.xF0 p1 = p3; ISETP.EQ p3 = v1, v2; @p1 ST v2, v1", None),
        ("PLOP.xF0 p1 = p1; @p1 ST v2, v1", None),
        # What a loop writes behind a copy is another value than the one that was copied.
        ("MOV v3 = v4\nb1:\nPLOP.xF0 p1 = p0; ISETP.EQ p0 = v1, v2; @p1 ST v2, v1; @p0 BRA >b1", None),
        ("MOV v3 = v4\nb1:\nMOV v1 = v0; LD.SHARED v0 = v2; ST v2, v1; @p0 BRA >b1", None),
        ("PLOP.xF0 p1 = pt; @p1 ST v2, v1", "PLOP.xF0 p1 = pt; @pt ST v2, v1"),
        ("PLOP.xF0 p1 = pt\nb1:\n@!p1 ST v2, v1", "PLOP.xF0 p1 = pt\nb1:\n@!pt ST v2, v1"),
        ("PLOP.xF0 pt = p0; @pt ST v2, v1", None),
        ("PLOP.xF0 p1 p2 = p0; @p1 ST v2, v1", None),
        ("PLOP.xC0 p1 = p0, p2; @p1 ST v2, v1", None),
    ],
)
def test_what_is_known_where(before: str, after: str | None) -> None:
    becomes(propagate, before, after)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("PLOP.xF0 p1 = p0", p(0)),
        ("PLOP.xF0 p1 = !p0", p(0, True)),
        ("PLOP.x0F p1 = p0", p(0, True)),
        ("PLOP.x0F p1 = !p0", p(0)),
        ("PLOP.xCC p1 = pt, p0", p(0)),
        ("PLOP.xAA p1 = !pt, pt, p0", p(0)),
        ("PLOP.xC0 p1 = pt, p0", p(0)),
        ("PLOP.xC0 p1 = !pt, p0", Pred(PT, True)),
        ("PLOP.xFC p1 = p0, pt", Pred(PT)),
        ("PLOP.xFC p1 = p0, !pt", p(0)),
        ("PLOP.xC0 p1 = p0, p0", p(0)),
        ("PLOP.x3C p1 = p0, p0", Pred(PT, True)),
        ("PLOP.x3C p1 = p0, !p0", Pred(PT)),
        ("PLOP.x80 p1 = p0, pt, pt", p(0)),
        ("PLOP.x80 p1 = p0", p(0)),
        ("PLOP.xFF p1 = p0", Pred(PT)),
        ("PLOP.x00 p1 = p0", Pred(PT, True)),
        ("PLOP.x100 p1 = p0", Pred(PT, True)),
        ("PLOP.xC0 p1 = p0, p2", None),
    ],
)
def test_predicates_that_are_copies(text: str, wanted: Pred | None) -> None:
    assert plain_predicate(_only(text)) == wanted


def _only(text: str) -> Instr:
    return kernel(text).blocks[0].instrs[0]


def _behind(text: str) -> Facts:
    """What is known at the end of a block."""
    code = kernel(text)
    facts = Facts(code, Cfg(code))
    facts.enter(0)
    for instr in code.blocks[0].instrs:
        facts.after(instr)
    return facts


@pytest.mark.parametrize(
    ("text", "above", "sign"),
    [
        ("LD.SHARED.1.U8 v1 = v0", 8, 9),
        ("LD.SHARED.2.U16 v1 = v0", 16, 17),
        ("LD.SHARED.1.S8 v1 = v0", 32, 8),
        ("LD.SHARED.2.S16 v1 = v0", 32, 16),
        ("LD.SHARED v1 = v0", 32, 32),
        ("LD.SHARED.4.U8 v1 = v0", 32, 32),
        ("LD.SHARED.4.S8 v1 = v0", 32, 32),
        ("AND v1 = v0, 0xff", 8, 9),
        ("AND v1 = 0x7f, v0", 7, 8),
        ("AND v1 = v0, 0x1000000ff", 8, 9),
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 0xffff", 8, 9),
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 3", 2, 3),
        ("SHR.U32 v1 = v0, 24", 8, 9),
        ("SHR.U32 v1 = v0, 40", 0, 1),
        ("LD.SHARED.1.U8 v2 = v0; SHR.U32 v1 = v2, 3", 5, 6),
        ("LD.SHARED.1.U8 v2 = v0; SHR.U32 v1 = v2, 9", 0, 1),
        ("SHR.S32 v1 = v0, 24", 32, 32),
        ("SHR.U32 v1 = v0, v2", 32, 32),
        ("BFE.U32 v1 = v0, 4, 8", 8, 9),
        ("BFE.U32 v1 = v0, 4, 0x108", 8, 9),
        ("BFE.U32 v1 = v0, 4, 200", 32, 32),
        ("BFE.U32 v1 = v0, 4, v2", 32, 32),
        ("BFE.S32 v1 = v0, 4, 8", 32, 8),
        ("BFE.S32 v1 = v0, 4, 0x108", 32, 8),
        ("BFE.S32 v1 = v0, 4, 0", 32, 1),
        ("BFE.S32 v1 = v0, 4, 200", 32, 32),
        ("BFE.S32 v1 = v0, 4, v2", 32, 32),
        ("OR v1 = v0, 3", 32, 32),
        ("ATOM.SHARED.2.U16 v1 = v0, v2", 32, 32),
        ("ATOM.SHARED.2.S16 v1 = v0, v2", 32, 32),
        ("AND v1 = c8, 0xff", 8, 9),
        ("AND v1 = c8, c12", 32, 32),
        # Three definitions are looked through, and no more.
        ("LD.SHARED.1.U8 v4 = v0; SHR.U32 v3 = v4, 1; SHR.U32 v1 = v3, 1", 6, 7),
        ("LD.SHARED.1.U8 v5 = v0; SHR.U32 v4 = v5, 1; SHR.U32 v3 = v4, 1; SHR.U32 v1 = v3, 1", 29, 30),
        ("LD.SHARED.1.U8 v5 = v0; AND v4 = v5, v6; AND v3 = v4, v6; AND v1 = v3, v6", 32, 32),
        ("LD.SHARED.1.U8 v4 = v0; AND v3 = v4, v6; AND v1 = v3, v6", 8, 9),
    ],
)
def test_bits_that_are_known(text: str, above: int, sign: int) -> None:
    facts = _behind(text)
    assert zero_above(facts, v(1)) == above
    assert sign_from(facts, v(1)) == sign


def test_bits_of_constants_are_known() -> None:
    facts = _behind("XOR v1 = v2, v3")
    assert zero_above(facts, Imm(0x100000005)) == 3
    assert sign_from(facts, Imm(5)) == 4
    assert zero_above(facts, Imm(0)) == 0
    assert zero_above(facts, v(9)) == 32


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("XOR v1 = v2, v3", True),
        ("XOR v1 = v1, v3", False),
        ("LD.SHARED.V v1 = v2", False),
        ("SEL v1 = v2, v3, p0", False),
        ("@p0 XOR v1 = v2, v3", False),
        ("IMULW v16:2 = v2, v3; XOR v1 = v2, v3; XOR v3 = v4, v5; XOR v3 = v4, v6", False),
        ("XOR v1 = v2, v3; XOR v3 = v4, v5", False),
        ("XOR v1 = v2, v3; XOR v5 = v4, v3", True),
    ],
)
def test_definitions(text: str, known: bool) -> None:
    assert (_behind(text).definition(v(1).index) is not None) == known


def test_both_words_of_a_product_have_one_definition() -> None:
    facts = _behind("IMULW v16:2 = v2, v3")
    assert facts.definition(v(16).index) is facts.definition(v(17).index) is not None
    facts = _behind("IMULW v16:2 = v2, v3; XOR v17 = v4, v5")
    assert facts.definition(v(16).index) is None
    facts = _behind("IMULW v16:2 = v2, v17")
    assert facts.definition(v(16).index) is None


def test_a_block_forgets_what_another_knew() -> None:
    code = kernel("MOV v1 = v0; PLOP.xF0 p1 = p0")
    facts = Facts(code, Cfg(code))
    facts.enter(0)
    for instr in code.blocks[0].instrs:
        facts.after(instr)
    assert facts.value(v(1)) == v(0)
    assert facts.predicate(p(1)) == p(0)
    facts.enter(0)
    assert facts.value(v(1)) == v(1)
    assert facts.predicate(p(1)) == p(1)
    assert facts.value(Imm(5)) == Imm(5)
    assert facts.predicate(Pred(PT, True)) == Pred(PT, True)


def test_what_a_block_wrote_ends_nothing_in_the_next() -> None:
    becomes(
        propagate,
        "MOV v1 = v0; PLOP.xF0 p1 = p0\n"
        "b1:\nMOV v1 = v3; LD.SHARED v0 = v9; ST v2, v1\n"
        "b2:\nPLOP.xF0 p1 = p3; ISETP.EQ p0 = v4, v5; @p1 ST v2, v2",
        "MOV v1 = v0; PLOP.xF0 p1 = p0\n"
        "b1:\nMOV v1 = v3; LD.SHARED v0 = v9; ST v2, v3\n"
        "b2:\nPLOP.xF0 p1 = p3; ISETP.EQ p0 = v4, v5; @p3 ST v2, v2",
    )


def test_a_pair_is_known_elsewhere_if_both_words_have_one_definition() -> None:
    code = kernel("IMULW v16:2 = 3, 4\nb1:\nXOR v17 = v4, v5")
    facts = Facts(code, Cfg(code))
    facts.enter(0)
    facts.after(code.blocks[0].instrs[0])
    facts.enter(1)
    assert facts.definition(v(16).index) is None
