"""docs/machine.md says what the registries say."""

from __future__ import annotations

from tests.machine_tables import PAGE, tables, updated


def test_generated_tables_are_up_to_date() -> None:
    page = PAGE.read_text()
    assert updated(page) == page, "run: python -m tests.machine_tables"


def test_every_table_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert all(f"<!-- table: {name} -->" in page for name in tables())
