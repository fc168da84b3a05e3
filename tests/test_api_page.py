"""docs/api.md says what the docstrings say, of everything that `import warpbank` brings."""

from __future__ import annotations

import warpbank
from tests.api_page import FUNCTIONS, PAGE, RESULTS, generated, updated
from warpbank import api, errors


def test_generated_parts_are_up_to_date() -> None:
    page = PAGE.read_text()
    assert updated(page) == page, "run: python -m tests.api_page"


def test_every_part_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert all(f"<!-- generated: {name} -->" in page for name in generated())


def test_nothing_public_is_left_out() -> None:
    shown = {*FUNCTIONS, *(kind.__name__ for kind in RESULTS)}
    others = {"WarpbankError", "__version__", "api", "errors", "results"}
    assert set(warpbank.__all__) <= shown | others
    assert set(api.__all__) - {"Overrides", "StrPath"} == set(FUNCTIONS)


def test_every_error_that_a_function_names_is_one() -> None:
    page = generated()["functions"]
    named = {cell for line in page.splitlines() if line.startswith("| `") for cell in line.split("`")[1::2]}
    raised = {name for name in named if name.endswith("Error") or name == "OperandMismatch"}
    assert len(raised) > 10
    assert raised <= set(errors.__all__)
