"""The documentation builds as a site without a warning, and its navigation has every page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config import load_config

ROOT = Path(__file__).parent.parent


def test_the_site_builds(tmp_path: Path) -> None:
    """Strictly: a link that leads nowhere and an anchor that is not there are errors."""
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 30
    for page in pages:
        made = page.parent if page.name in ("index", "README") else page
        assert (tmp_path / "site" / made / "index.html").exists(), page
    text = (tmp_path / "site" / "machine" / "index.html").read_text()
    assert '<pre class="mermaid">' in text
    assert "<table>" in text


def _listed(nav: Any) -> Iterator[str]:
    """The pages of a part of the navigation, in order."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _listed(part)


def test_every_page_is_in_the_navigation() -> None:
    """Once; the tutorial first, then papers, commands, units, reference."""
    nav = load_config(str(ROOT / "mkdocs.yml"))["nav"]
    listed = list(_listed(nav))
    assert listed[:2] == ["index.md", "tutorial.md"]
    assert [next(iter(part)) for part in nav[2:]] == ["Papers", "Commands", "Units", "Reference"]
    assert len(listed) == len(set(listed))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(listed) == pages


def test_the_index_leads_to_every_page_but_the_units() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name
