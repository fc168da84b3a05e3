"""docs/machine.md and docs/architecture.md say what the registries say."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest

from tests.machine_tables import PAGES, tables, updated
from warpbank.arch.config import field_paths, preset


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_generated_tables_are_up_to_date(path: Path) -> None:
    page = path.read_text()
    assert updated(page) == page, "run: python -m tests.machine_tables"


def test_parameters_beside_accelsim_are_those_of_the_presets() -> None:
    page = Path("docs/accelsim_baseline.md").read_text()
    table = page.partition("<!-- parameters -->")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (\w+) \| (\w+) \|", table, re.MULTILINE)
    machines = [preset("turing"), preset("turing-accelsim")]
    assert len(rows) == 33
    for field, *written in rows:
        assert written == [str(reduce(getattr, field.split("."), machine)) for machine in machines], field
    named = {field for field, *_ in rows}
    differing = {
        field
        for field in field_paths(machines[0])
        if field != "preset" and len({str(reduce(getattr, field.split("."), each)) for each in machines}) > 1
    }
    assert differing <= named


def test_every_table_is_on_a_page() -> None:
    text = "".join(path.read_text() for path in PAGES)
    assert all(f"<!-- table: {name} -->" in text for name in tables())
