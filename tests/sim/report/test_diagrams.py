"""Diagrams of the documentation: what is read of a chart, and what is drawn of it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from warpbank.sim.report.diagrams import DiagramError, flowchart, parse, svg, waves

DOCS = Path(__file__).parent.parent.parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"
CHARTS = [
    (page.stem, source)
    for page in sorted(DOCS.rglob("*.md"))
    for source in re.findall(r"```mermaid\n(.*?)```", page.read_text(), re.DOTALL)
]


def test_a_chart_is_read() -> None:
    chart = parse('flowchart LR\n  A["a<br>b"] -- "x, y" --> B[c] --> C\n  B <--> D\n  D -->|z| A\n')
    assert chart.turned
    assert chart.labels == ["a<br>b", "c", "C", "D"]
    assert chart.links == [(0, 1, "x, y", False), (1, 2, "", False), (1, 3, "", True), (3, 0, "z", False)]


def test_states_and_groups_are_read() -> None:
    chart = parse("stateDiagram-v2\n  [*] --> one: it starts\n  one --> two\n")
    assert chart.labels == ["●", "one", "two"]
    assert chart.links == [(0, 1, "it starts", False), (1, 2, "", False)]
    chart = parse('flowchart TB\n  subgraph g["<b>G</b>"]\n    a --> b\n  end\n  b --> c\n')
    assert chart.groups == [("<b>G</b>", [0, 1])]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("pie\n", "neither flowchart"),
        ("flowchart TB\n  A ==> B\n", "neither a link nor a box"),
        ("stateDiagram-v2\n  one\n", "no state and no transition"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(source: str, says: str) -> None:
    with pytest.raises(DiagramError, match=says):
        parse(source)


@pytest.mark.parametrize(("page", "source"), CHARTS)
def test_every_chart_of_the_docs(page: str, source: str) -> None:
    """All boxes, links and words are there; no box and no words lie over another box."""
    chart = parse(source)
    root = xml.fromstring(svg(chart))
    boxes = [
        [float(rect.attrib[side]) for side in ("x", "y", "width", "height")]
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib["class"] in ("node", "ground")
    ]
    named = sum(1 for _, _, text, _ in chart.links if text)
    assert len(boxes) == sum(label != "●" for label in chart.labels) + named
    assert len([each for each in root.iter(f"{SVG}path") if each.get("class") == "link"]) == len(chart.links)
    for place, (x, y, width, height) in enumerate(boxes):
        for u, v, across, down in boxes[:place]:
            assert x + width <= u or u + across <= x or y + height <= v or v + down <= y, page
    text = "".join(root.itertext())
    assert all(words in text for _, _, words, _ in chart.links if "<" not in words)


def test_there_are_charts() -> None:
    assert len(CHARTS) >= 6


def test_blocks_become_drawings() -> None:
    assert '<div class="drawing flow"><svg' in flowchart("flowchart TB\n A --> B\n", "", "", {}, None)
    pytest.importorskip("wavedrom")
    drawn = waves('{"signal": [{"name": "clk", "wave": "p.."}]}', "", "", {}, None)
    assert drawn.startswith('<div class="drawing waves"><svg')
    assert "clk" in drawn
