"""docs/machine.md and docs/architecture.md say what the registries say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine_tables import PAGES, tables, updated


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_generated_tables_are_up_to_date(path: Path) -> None:
    page = path.read_text()
    assert updated(page) == page, "run: python -m tests.machine_tables"


def test_every_table_is_on_a_page() -> None:
    text = "".join(path.read_text() for path in PAGES)
    assert all(f"<!-- table: {name} -->" in text for name in tables())
