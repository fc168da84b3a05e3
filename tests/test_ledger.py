"""The ledger of the long suite: what a JUnit file says, kept with its commit, and told in a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import NO_TIME
from tests.ledger import Ledger, Result, page, passed, passes

REPORT = f"""<testsuites><testsuite>
<testcase classname="tests.a.test_x" name="test_a[0]" time="4.0"/>
<testcase classname="tests.a.test_x" name="test_b[0]" time="1.0">
<failure message="1 is not 2&#10;more"/></testcase>
<testcase classname="tests.a.test_x" name="test_c" time="2.0"><error message="no fixture"/></testcase>
<testcase classname="tests.a.test_y" name="test_a[0]" time="0.0"><skipped message="another Yosys"/></testcase>
<testcase classname="tests.a.test_y" name="test_a[1]" time="0.0"><skipped message="{NO_TIME}"/></testcase>
</testsuite></testsuites>
"""
FOUND = {
    "tests/a/test_x.py::test_a[0]": Result("passed", 4.0, "", "c0ffee", 5),
    "tests/a/test_x.py::test_b[0]": Result("failed", 1.0, "1 is not 2", "c0ffee", 5),
    "tests/a/test_x.py::test_c": Result("failed", 2.0, "no fixture", "c0ffee", 5),
    "tests/a/test_y.py::test_a[0]": Result("skipped", 0.0, "another Yosys", "c0ffee", 5),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger that has kept REPORT."""
    report = tmp_path / "slice-1.xml"
    report.write_text(REPORT)
    made = Ledger(tmp_path / "kept" / "results.json")
    made.keep(report, "c0ffee", 5)
    return made


def test_a_report_is_kept_but_for_tests_that_had_no_time(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.results == FOUND
    assert Ledger(tmp_path / "kept" / "results.json").results == FOUND
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["results.json"]


def test_the_last_result_counts(ledger: Ledger, tmp_path: Path) -> None:
    report = tmp_path / "slice-2.xml"
    report.write_text(
        '<testsuite><testcase classname="tests.a.test_x" name="test_c" time="3.0"/></testsuite>'
    )
    ledger.keep(report, "decade", 6)
    assert ledger.results == {**FOUND, "tests/a/test_x.py::test_c": Result("passed", 3.0, "", "decade", 6)}


def test_a_page_names_commits_failures_and_what_was_skipped(ledger: Ledger) -> None:
    later = Result("passed", 60.0, "", "decade0123456789", 4)
    text = page([*FOUND, "x", "y"], {**ledger.results, "x": later}, 2)
    assert text.startswith("# Long suite: 5 of 6 tests have run, 2 failed\n")
    assert "| decade0123 | 4 | 0.5 | 1 | 0 | 0 |\n| c0ffee | 5 | 0.1 | 1 | 2 | 1 |\n" in text
    assert "- `tests/a/test_x.py::test_b[0]`: 1 is not 2\n" in text
    assert text.endswith("- 1 tests: another Yosys\n")
    assert "## Failed" not in page(["x"], {"x": later}, 2)


def test_what_passed_is_kept_by_function() -> None:
    tests = ["x.py::a[0]", "x.py::a[1]", "x.py::a[2]", "x.py::b", "x.py::c"]
    results = {
        "x.py::a[0]": Result("passed", 1.0, "", "c0ffee0123456789", 5),
        "x.py::a[1]": Result("passed", 2.0, "", "c0ffee0123456789", 5),
        "x.py::a[2]": Result("passed", 3.0, "", "decade", 6),
        "x.py::b": Result("failed", 1.0, "1 is not 2", "decade", 6),
        "x.py::c": Result("skipped", 1.0, "another Yosys", "decade", 6),
    }
    kept = passes(tests, results)
    assert kept == {"x.py::a": [(2, "c0ffee012345", 5, 1.5), (1, "decade", 6, 3.0)]}
    assert passed(tests, kept) == {
        "x.py::a[0]": Result("passed", 1.5, "", "c0ffee012345", 5),
        "x.py::a[1]": Result("passed", 1.5, "", "c0ffee012345", 5),
        "x.py::a[2]": Result("passed", 3.0, "", "decade", 6),
    }
    del results["x.py::a[1]"]
    gap = passes(tests, results)
    assert passed(tests, gap).keys() == {"x.py::a[0]", "x.py::a[2]"}
    assert passed(["x.py::a[3]", *tests], kept) == {}
