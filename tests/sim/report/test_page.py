"""Pages: what they are made of, that nothing is loaded from elsewhere, and what a real browser makes of them.

The browser is Chromium or Chrome, found on the PATH or named by WARPBANK_CHROMIUM; without one those tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sim.compare.page import page as compared
from sim.report import Page, Plot, Section, Table, html
from tests.sim.compare.test_compare import made

NASTY = '<b>"&\'</script><script>fail()</script>'
PAGE = Page(
    f"A page {NASTY}",
    "What it is.",
    [
        Section("One", "A plot.",
                [Plot("plot-one", "bars", [{"type": "bar", "name": NASTY, "x": ["a", "b"], "y": [1, None]}], {})],
                [Table("Numbers", ("name", "x", "y"), [("a", [10.0, 1]), ("b", [9.0, None]), ("c", [-1.5, 3])], [1, 0])]),
        Section("Two", plots=[Plot("plot-two", "points", [{"type": "scatter", "x": [1, 2], "y": [3, 4]}], {}, 900)]),
    ],
    [("a run", f"it broke {NASTY}")],
    {"command": f"warpbank {NASTY}", "versions": {"numpy": 2}, "list": ["a", "b"]},
)  # fmt: skip


class Tree(HTMLParser):
    """Elements with their attributes, and the text of those that hold figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.figures: list[str] = []
        self.text = ""
        self._inside: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = (tag, dict(attrs))
        self.elements.append(self._inside)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ("", {})

    def handle_data(self, data: str) -> None:
        tag, attributes = self._inside
        if tag == "script" and attributes.get("class") == "figure":
            self.figures.append(data)
        elif tag not in ("script", "style"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_structure() -> None:
    tree = Tree(html(PAGE))
    assert [attributes["id"] for attributes in tree.all("div") if attributes.get("class") == "plot"] == ["plot-one", "plot-two"]
    figures = [json.loads(text) for text in tree.figures]
    assert figures[0]["data"][0]["name"] == NASTY  # whole, and the page is not broken by it
    assert len(tree.all("table")) == 1
    assert len(tree.all("th")) == len(tree.all("button")) == 3
    values = [attributes.get("data-value") for attributes in tree.all("td")]
    assert values == [None, "10.0", "1", None, "9.0", None, None, "-1.5", "3"]
    assert "–" in tree.text
    assert "it broke" in tree.text
    assert "numpy 2" in tree.text
    assert tree.text.count("fail()") == 4  # title, heading, failure, command: as text, never as an element
    assert len(tree.all("script")) == 4  # two figures, plotly, ours


def test_nothing_is_loaded_from_elsewhere() -> None:
    tree = Tree(html(PAGE))
    for tag, attributes in tree.elements:
        for name in ("src", "href", "srcset", "action"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    assert "@import" not in html(PAGE).split("<script>")[0]
    assert "url(" not in html(PAGE).split("<script>")[0]


def test_light_dark_and_narrow() -> None:
    text = html(PAGE)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    assert "width=device-width" in text


def test_figures_are_what_plotly_takes() -> None:
    """plotly's own checks of every trace and layout of a comparison."""
    graphs = pytest.importorskip("plotly.graph_objects")
    tree = Tree(html(compared(made())))
    assert len(tree.figures) == 10  # eight measures that have values, energy by structure, scheduler cycles
    for text in tree.figures:
        figure = json.loads(text)
        assert len(graphs.Figure(figure["data"], figure["layout"]).data) >= 2


#: Presses heads of the first table and says what happened.
PROBE = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const table = document.querySelector("table.sortable");
  const column = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent).join("");
  const press = place => { table.tHead.rows[0].cells[place].querySelector("button").click(); return column(); };
  const said = {
    orders: [column(), press(1), press(1), press(2), press(2), press(0), press(0)],
    plots: [...document.querySelectorAll(".plot")].map(plot => plot.querySelectorAll(".main-svg").length),
    bars: document.querySelectorAll(".plot .point path, .plot .scatterlayer path").length,
    wide: document.documentElement.scrollWidth <= window.innerWidth,
    ground: getComputedStyle(document.body).backgroundColor,
  };
  const out = document.createElement("pre");
  out.id = "said";
  out.textContent = JSON.stringify(said);
  document.body.append(out);
}, 1000));
</script>
</body>
"""


def _browser() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
    found = os.environ.get("WARPBANK_CHROMIUM") or next((path for name in names if (path := shutil.which(name))), "")
    if not found:
        pytest.skip("needs Chromium or Chrome on the PATH, or its path in WARPBANK_CHROMIUM")
    return found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_in_a_browser(width: int, dark: bool, tmp_path: Path) -> None:
    """No console errors, every plot drawn, tables sort, nothing sticks out of a phone."""
    browser = _browser()
    (tmp_path / "page.html").write_text(html(PAGE).replace("</body>", PROBE))
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
               f"--window-size={width},800", "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom",
               *(["--blink-settings=preferredColorScheme=0"] if dark else []), (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not re.findall(r".*CONSOLE.*", done.stderr)
    match = re.search(r'<pre id="said">(.*?)</pre>', done.stdout)
    assert match is not None, done.stderr
    said = json.loads(match[1].replace("&lt;", "<").replace("&amp;", "&"))
    assert said["orders"] == ["abc", "cba", "abc", "acb", "cab", "abc", "cba"]
    assert all(count >= 1 for count in said["plots"])
    assert len(said["plots"]) == 2
    assert said["bars"] >= 2
    assert said["wide"]
    assert said["ground"] == ("rgb(15, 19, 24)" if dark else "rgb(255, 255, 255)")
