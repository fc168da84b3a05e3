"""Every `warpbank` command that README and docs show is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.registries import kept
from tests.sim.command import warpbank

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _commands() -> list[tuple[str, str]]:
    """(page, command) of every line in a `sh` block that starts with warpbank."""
    found: list[tuple[str, str]] = []
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            found += [(page.name, line.strip()) for line in block.splitlines() if line.startswith("warpbank ")]
    return found


def test_there_are_commands() -> None:
    assert len(_commands()) >= 9


@pytest.mark.parametrize("page", sorted({page for page, _ in _commands()}))
def test_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one folder: a later command may use what an earlier one wrote."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with kept():
        for name, command in _commands():
            if name == page:
                done = warpbank(*shlex.split(command, comments=True)[1:])
                assert done.code == 0, f"{command}\n{done.err}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
