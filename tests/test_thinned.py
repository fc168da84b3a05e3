"""`tests.thinned`: which cases and how many examples the default suite runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from tests import thinned


class Case:
    """A collected test, as far as `mark_long` looks at it."""

    def __init__(self, nodeid: str, *quick: str) -> None:
        self.nodeid = nodeid
        self.quick = pytest.mark.quick(*quick).mark if quick else None
        self.marks: list[str] = []

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        if name == "quick":
            return self.quick
        return getattr(pytest.mark, name).mark if name in self.marks else None

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.marks.append(marker.name)


def marked(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Ids of the cases that are long, and what `mark_long` complains of."""
    said = thinned.mark_long(cases)
    return [case.nodeid for case in cases if "long" in case.marks], said


def test_what_is_not_named_is_long() -> None:
    cases = [Case(f"a.py::test_f[{each}]", "tiny", "*-1") for each in ("tiny", "odd", "odd-1", "tiny-2")]
    assert marked(cases) == (["a.py::test_f[odd]", "a.py::test_f[tiny-2]"], [])


def test_an_empty_id_is_a_case() -> None:
    assert marked([Case("a.py::test_f[]", ""), Case("a.py::test_f[+x]", "")]) == (["a.py::test_f[+x]"], [])


def test_what_was_long_before_is_not_thinned() -> None:
    short, long = Case("a.py::test_f[x]", "y"), Case("a.py::test_f[z]", "y")
    long.marks.append("long")
    thinned.mark_long([short, long])
    assert "thinned" in short.marks
    assert "thinned" not in long.marks


def test_tests_without_the_mark_stay() -> None:
    assert marked([Case("a.py::test_f[x]"), Case("a.py::test_g")]) == ([], [])


def test_a_name_that_no_case_has() -> None:
    _, said = marked([Case("a.py::test_f[tiny]", "tiny", "tinny")])
    assert said == ["a.py::test_f: no case is 'tinny', which its mark `quick` names"]


@pytest.mark.parametrize(("profile", "drawn"), [("repeatable", 10), ("fresh", 40), ("explore", 40)])
def test_the_default_suite_draws_few_examples(
    profile: str, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thinned, "settings", SimpleNamespace(get_current_profile_name=lambda: profile))
    assert thinned.examples(40, 10) == drawn
