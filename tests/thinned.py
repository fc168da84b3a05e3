"""Part of a test that the default suite runs: some cases of its parameters, or some examples of its search.

The default suite asks each question once, on a machine that is small; the long suite (`tests.slices`) asks it
of every case and draws every example.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol

import pytest
from hypothesis import settings

#: Options of pytest that add what was taken out of the default suite's tests: their other cases and examples.
WHOLE = ("-m", "(thinned or not long) and not hardware and not benchmark", "--hypothesis-profile=thorough")
#: Profile of hypothesis that the default suite runs under (tests/conftest.py).
REPEATABLE = "repeatable"


class Collected(Protocol):
    """A test that pytest has collected (`pytest.Item`), as far as its marks go."""

    @property
    def nodeid(self) -> str: ...

    def get_closest_marker(self, name: str) -> pytest.Mark | None: ...

    def add_marker(self, marker: pytest.MarkDecorator) -> None: ...


def mark_long(items: Sequence[Collected]) -> list[str]:
    """Mark as `long` the cases that `pytest.mark.quick` of their test does not name.

    Those that nothing else makes long are marked `thinned`, too: they take seconds, and judge mutants.

    Parameters
    ----------
    items : tests that pytest has collected. `quick` takes ids of cases, or patterns of them.

    Returns
    -------
    A sentence for each id of `quick` that no case has.
    """
    cases: defaultdict[str, list[str]] = defaultdict(list)
    quick: dict[str, tuple[str, ...]] = {}
    for item in items:
        mark = item.get_closest_marker("quick")
        if mark is None:
            continue
        test = item.nodeid.split("[", 1)[0]
        case = item.nodeid.removeprefix(test)[1:-1]
        quick[test] = mark.args
        cases[test].append(case)
        if not any(fnmatchcase(case, pattern) for pattern in mark.args):
            if item.get_closest_marker("long") is None:
                item.add_marker(pytest.mark.thinned)
            item.add_marker(pytest.mark.long)
    return [
        f"{test}: no case is {pattern!r}, which its mark `quick` names"
        for test, patterns in quick.items()
        for pattern in patterns
        if not any(fnmatchcase(case, pattern) for case in cases[test])
    ]


def examples(full: int, few: int) -> int:
    """How many examples a search draws: `few` in the default suite, `full` under every other profile."""
    return few if settings.get_current_profile_name() == REPEATABLE else full
