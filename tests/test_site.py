"""The documentation builds as a site without a warning, and its navigation has every page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mkdocs.config import load_config

from tests.browser import PHONE, visit
from warpbank.studies.examples import EXAMPLES

ROOT = Path(__file__).parent.parent
#: Begins of diagram sources, which no reader should see.
RAW = ("flowchart ", "stateDiagram", "sequenceDiagram", '"signal"', "subgraph ", "```")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Site as mkdocs builds it, strictly: a link that leads nowhere and an anchor that is not there are
    errors."""
    folder = tmp_path_factory.mktemp("docs") / "site"
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
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds(site: Path) -> None:
    """Every page of the documentation has one in the site, and every example of a paper a machine."""
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 30
    for page in pages:
        made = page.parent if page.name in ("index", "README") else page
        assert (site / made / "index.html").exists(), page
    assert "<table>" in (site / "machine" / "index.html").read_text()
    assert {path.stem for path in (site / "machines").glob("*.html")} == set(EXAMPLES)


@pytest.mark.long
def test_diagrams_are_drawn_and_ask_for_nothing(site: Path, browser: Any) -> None:
    """Every page with a diagram, in a browser without a network: as many drawings as the source has blocks,
    none empty, none raw, and no request but for files of the site."""
    seen_kinds = set()
    for source in sorted((ROOT / "docs").rglob("*.md")):
        blocks = sum(source.read_text().count(f"```{kind}\n") for kind in ("mermaid", "wavedrom"))
        if not blocks:
            continue
        page = source.relative_to(ROOT / "docs").with_suffix("")
        with visit(browser, site / page / "index.html") as seen:
            drawings = seen.page.locator(".drawing > svg")
            assert drawings.count() == blocks, page
            for place in range(blocks):
                size = drawings.nth(place).bounding_box()
                assert size is not None, page
                assert min(size["width"], size["height"]) > 40, page
            text = seen.page.locator("article").inner_text()
            assert not [raw for raw in RAW if raw in text], page
            seen_kinds |= set(
                seen.page.evaluate("[...document.querySelectorAll('.drawing')].map(d => d.className)")
            )
        assert not [url for url in seen.asked if not url.startswith(("file:", "data:", "blob:"))], page
    assert seen_kinds == {"drawing flow", "drawing waves"}


def test_a_diagram_fits_a_phone(site: Path, browser: Any) -> None:
    """A drawing that is wider scrolls by itself; its page does not."""
    with visit(browser, site / "architecture" / "index.html", **PHONE) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert seen.page.evaluate("document.querySelector('.drawing').clientWidth <= innerWidth")


def test_the_papers_pages_lead_to_their_machines(site: Path, browser: Any) -> None:
    for name in EXAMPLES:
        with visit(browser, site / name / "index.html") as seen:
            seen.page.locator(f"a[href$='machines/{name}.html']").first.click()
            assert EXAMPLES[name].title in seen.page.locator("h1").inner_text()
            assert seen.page.locator("#machine .box").count() > 4


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
