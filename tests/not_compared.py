"""Baselines that cannot be compared: a tool, a library or an input is another one than when they were
recorded. Their tests are skipped, and the summary of the suite says so, reason by reason."""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

import pytest

#: How the reason of such a skip begins.
PREFIX = "not compared: "


def not_compared(reason: str) -> NoReturn:
    """Skip a test whose baseline cannot be compared."""
    pytest.skip(PREFIX + reason)


def reasons(reports: list[pytest.TestReport]) -> Counter[str]:
    """Why baselines were not compared, with the number of tests, from the reports of skipped ones."""
    found: Counter[str] = Counter()
    for report in reports:
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _, prefix, reason = said.partition(PREFIX)
        if prefix:
            found[reason] += 1
    return found
