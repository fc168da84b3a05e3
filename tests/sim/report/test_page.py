"""Pages: what they are made of, and that nothing is loaded from elsewhere. In a browser: test_browser.py."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from tests.studies.compare.test_compare import made
from warpbank.sim.report import Page, Plot, Section, Table, html
from warpbank.studies.compare.page import page as compared

NASTY = "<b>\"&'</script><script>fail()</script>"
PAGE = Page(
    f"A page {NASTY}",
    "What it is.",
    [
        Section(
            "One",
            "A plot.",
            [Plot("plot-one", "bars", [{"type": "bar", "name": NASTY, "x": ["a", "b"], "y": [1, None]}], {})],
            [
                Table(
                    "Numbers",
                    ("name", "x", "y"),
                    [("a", [10.0, 1]), ("b", [9.0, None]), ("c", [-1.5, 3])],
                    [1, 0],
                )
            ],
        ),
        Section(
            "Two",
            plots=[Plot("plot-two", "points", [{"type": "scatter", "x": [1, 2], "y": [3, 4]}], {}, 900)],
        ),
    ],
    [("a run", f"it broke {NASTY}")],
    {"command": f"warpbank {NASTY}", "versions": {"numpy": 2}, "list": ["a", "b"]},
)


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
    assert [attributes["id"] for attributes in tree.all("div") if attributes.get("class") == "plot"] == [
        "plot-one",
        "plot-two",
    ]
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
    policy = next(
        meta["content"] for meta in tree.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")  # the browser's own word that nothing is asked for
    assert "http" not in policy


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
