"""Every operator makes the change it is named for, and what is no behaviour is left alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.mapping import ROOT
from tests.mutation.operators import KINDS, mutants

CASES = [
    ("comparison", "x = a < b", "x = (a <= b)"),
    ("comparison", "x = a in b", "x = (a not in b)"),
    ("comparison", "x = min(a, b)", "x = max(a, b)"),
    ("constant", "x = True", "x = False"),
    ("constant", "x = f(1)", "x = f(0)"),
    ("off by one", "x = f(7)", "x = f(8)"),
    ("off by one", "for i in range(n): f(i)", "for i in range((n) - 1): f(i)"),
    ("arm", "if a: f()", "if not (a): f()"),
    ("arm", "x = a if b else c", "x = (c if b else a)"),
    ("arm", "with m.If(a): f()", "with m.If((a) == 0): f()"),
    ("enable", "x = a & b", "x = (a)"),
    ("enable", "x = a & b", "x = (b)"),
    ("enable", "x = a or b or c", "x = ((a) or (c))"),
    ("enable", "x = ~a", "x = (a)"),
    ("arithmetic", "x = a + b", "x = ((a) - (b))"),
    ("arithmetic", "n += k", "n -= k"),
    ("priority", "with m.Elif(a): f()", "with m.If(a): f()"),
    ("priority", "x = reversed(a)", "x = list(a)"),
    ("statement", "m.d.comb += a.eq(b)", "pass"),
    ("statement", "f()", "pass"),
]

LEFT_ALONE = [
    '"""A text of 1."""',
    "import a",
    "def f(x: int | None, *, y: Literal[1]) -> int | None: ...",
    "raise ValueError(1 + 1)",
    "assert a < 1",
    'x = f"{a + 1}"',
    "x: Annotated[int, 3]",
    "x = Signal(a, reset_less=True)",
    "x = zip(a, b, strict=True)",
    "@f(1)\nclass A(b[1]): ...",
    "if TYPE_CHECKING:\n    x = 1",
]


@pytest.mark.parametrize(("kind", "before", "after"), CASES)
def test_an_operator(kind: str, before: str, after: str) -> None:
    assert (kind, after) in {(each.kind, each.applied(before)) for each in mutants(before)}
    assert kind in KINDS


@pytest.mark.parametrize("source", LEFT_ALONE)
def test_what_is_no_behaviour_is_left_alone(source: str) -> None:
    assert not [str(each) for each in mutants(source)]


@pytest.mark.quick("program*")
@pytest.mark.parametrize("name", ["program/liveness.py", "hdl/collector/ocu.py", "golden/sm.py"])
def test_every_mutant_of_a_file_is_another_program(name: str) -> None:
    source = (ROOT / name).read_text()
    found = list(mutants(source))
    assert len(found) > 30
    programs = {ast.dump(ast.parse(each.applied(source))) for each in found}
    assert ast.dump(ast.parse(source)) not in programs
    assert len({each.key for each in found}) == len(found)
    for each in found:
        assert source[each.start : each.end] == each.before
        assert source.count("\n", 0, each.start) + 1 == each.line


def test_places_behind_letters_of_several_bytes() -> None:
    source = 'x = f("µm²", 3)'
    (mutant,) = (each for each in mutants(source) if each.before == "3")
    assert mutant.applied(source) == 'x = f("µm²", 4)'


def test_a_source_keeps_its_mutants() -> None:
    source = Path(__file__).read_text()
    assert list(mutants(source)) == list(mutants(source))
