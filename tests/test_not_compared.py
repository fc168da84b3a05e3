"""Summary of the suite: baselines that could not be compared are named."""

from __future__ import annotations

import pytest

from tests.not_compared import PREFIX, not_compared

pytest_plugins = ["pytester"]

_SUITE = """
import pytest
from tests.not_compared import not_compared

@pytest.mark.parametrize("unit", ["a", "b"])
def test_baseline(unit):
    not_compared("recorded with pyosys 0.1, now 0.2")

def test_other():
    pytest.skip("another reason")
"""


def test_the_summary_names_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_SUITE)
    pytester.makeconftest("from tests.conftest import pytest_terminal_summary\n")
    done = pytester.runpytest("-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(
        ["*baselines that were not compared*", "2 of them: recorded with pyosys 0.1, now 0.2"]
    )
    assert "another reason" not in done.stdout.str()


def test_a_reason_says_what_it_is() -> None:
    with pytest.raises(pytest.skip.Exception, match=PREFIX):
        not_compared("no library")
