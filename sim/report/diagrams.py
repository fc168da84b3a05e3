"""Diagrams of the documentation as SVG, made when the site is built: a reader's browser asks for nothing.

`mkdocs.yml` names `flowchart` and `waves` as formats of fenced blocks: `mermaid` blocks (flowcharts and state
diagrams, as far as our pages use them) and `wavedrom` blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Any
from zlib import crc32

from warpbank.program.layered import Point, arrange, path

#: Pixels: of a letter on average, a line, and around the text of a box.
_LETTER, _LINE, _PAD = 7.4, 18.0, 12.0
_NODE = re.compile(r"\s*([\w-]+)\s*(?:\[\"?(.*?)\"?\])?")
_LINK = re.compile(r"\s*(<?)--(?:>|\s*\"?(.*?)\"?\s*-->)(?:\|(.*?)\|)?")
_STATE = re.compile(r"\s*(\[\*\]|\w+)\s*-->\s*(\[\*\]|\w+)\s*(?::\s*(.*))?$")


class DiagramError(ValueError):
    """A diagram that cannot be drawn, with its line."""


@dataclass
class Chart:
    """Chart as boxes and links.

    Parameters
    ----------
    turned : layers run from left to right.
    names : number of every box, by its name.
    labels : words in every box.
    links : from, to, words, whether it points both ways.
    groups : name and boxes of every group.
    """

    turned: bool = False
    names: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    links: list[tuple[int, int, str, bool]] = field(default_factory=list)
    groups: list[tuple[str, list[int]]] = field(default_factory=list)

    def box(self, name: str, label: str | None) -> int:
        """Number of a box; its first mention may give it words."""
        number = self.names.setdefault(name, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label or name)
        elif label:
            self.labels[number] = label
        return number


def parse(source: str) -> Chart:
    """Chart of a Mermaid flowchart or state diagram.

    Raises
    ------
    DiagramError : a line that is neither a box, a link nor a group.
    """
    lines = [line.strip() for line in source.strip().splitlines()]
    chart = Chart()
    head = lines[0].split()
    if head[0] == "stateDiagram-v2":
        for line in filter(None, lines[1:]):
            found = _STATE.match(line)
            if found is None:
                raise DiagramError(f"no state and no transition: {line!r}")
            a, b = (chart.box(name, "●" if name == "[*]" else None) for name in found.group(1, 2))
            chart.links.append((a, b, found.group(3) or "", False))
        return chart
    if head[0] != "flowchart" or head[-1] not in ("TB", "LR"):
        raise DiagramError(f"neither flowchart TB, flowchart LR nor stateDiagram-v2: {lines[0]!r}")
    chart.turned = head[-1] == "LR"
    open_groups: list[int] = []
    for line in filter(None, lines[1:]):
        group = re.fullmatch(r"subgraph\s+([\w-]+)(?:\[\"?(.*?)\"?\])?", line)
        if group:
            open_groups.append(len(chart.groups))
            chart.groups.append((group.group(2) or group.group(1), []))
        elif line == "end":
            open_groups.pop()
        else:
            for number in _statement(chart, line):
                for place in open_groups:
                    if number not in chart.groups[place][1]:
                        chart.groups[place][1].append(number)
    return chart


def _statement(chart: Chart, line: str) -> list[int]:
    """Read a line of boxes and links; returns the boxes that it names with words, or for the first time."""
    before = len(chart.labels)
    found = _NODE.match(line)
    if found is None:
        raise DiagramError(f"no box at the start of {line!r}")
    here, place = chart.box(found.group(1), found.group(2)), found.end()
    while place < len(line):
        link = _LINK.match(line, place)
        target = None if link is None else _NODE.match(line, link.end())
        if link is None or target is None:
            raise DiagramError(f"neither a link nor a box: {line[place:]!r} in {line!r}")
        there = chart.box(target.group(1), target.group(2))
        chart.links.append((here, there, link.group(2) or link.group(3) or "", bool(link.group(1))))
        here, place = there, target.end()
    return list(range(before, len(chart.labels)))


def _words(label: str) -> list[tuple[str, bool]]:
    """Lines of a label, and whether each is bold."""
    return [
        (unescape(re.sub(r"</?b>", "", line)).strip(), "<b>" in line) for line in re.split(r"<br ?/?>", label)
    ]


def _size(label: str, pad: float) -> Point:
    lines = _words(label)
    return max(len(line) for line, _ in lines) * _LETTER + 2 * pad, len(lines) * _LINE + pad


def _text(label: str, x: float, y: float, css: str) -> str:
    lines = _words(label)
    first = y - (len(lines) - 1) * _LINE / 2 + 4.5
    return "".join(
        f'<text class="{css}{" strong" * bold}" x="{x:.1f}" y="{first + number * _LINE:.1f}">{escape(line)}'
        "</text>"
        for number, (line, bold) in enumerate(lines)
    )


def svg(chart: Chart, name: str = "diagram") -> str:
    """Drawing of a chart.

    Parameters
    ----------
    chart : boxes and links.
    name : begins the ids in the drawing, so that several may stand on one page.
    """

    def turn(size: Sequence[float]) -> Point:
        return (size[1], size[0]) if chart.turned else (size[0], size[1])

    sizes = [_size(label, _PAD) for label in chart.labels]
    named = {number: _size(text, 4.0) for number, (_, _, text, _) in enumerate(chart.links) if text}
    layout = arrange(
        [turn(size) for size in sizes],
        [(a, b) for a, b, _, _ in chart.links],
        {number: turn(size) for number, size in named.items()},
        (26.0, 26.0 if chart.turned else 30.0),
    )
    parts: list[str] = []
    margin = 14.0 + 12.0 * bool(chart.groups)
    for title, boxes in sorted(chart.groups, key=lambda group: -len(group[1])):
        parts.append(_group(title, [(*turn(layout.places[box]), *sizes[box]) for box in boxes]))
    for number, (_, _, _, both) in enumerate(chart.links):
        if layout.routes[number]:
            start = f' marker-start="url(#{name}-tip)"' if both else ""
            line = path(layout.routes[number], chart.turned)
            parts.append(f'<path class="link" d="{line}" marker-end="url(#{name}-tip)"{start}/>')
    for number, size in named.items():
        middle = layout.labels[number]
        if middle is not None:
            x, y = turn(middle)
            words = _text(chart.links[number][2], x, y, "label")
            parts.append(
                f'<rect class="ground" x="{x - size[0] / 2:.1f}" y="{y - size[1] / 2:.1f}" '
                f'width="{size[0]:.1f}" height="{size[1]:.1f}"/>{words}'
            )
    for label, place, size in zip(chart.labels, layout.places, sizes, strict=True):
        x, y = turn(place)
        if label == "●":
            parts.append(f'<circle class="start" cx="{x:.1f}" cy="{y:.1f}" r="7"/>')
            continue
        parts.append(
            f'<rect class="node" x="{x - size[0] / 2:.1f}" y="{y - size[1] / 2:.1f}" '
            f'width="{size[0]:.1f}" height="{size[1]:.1f}" rx="5"/>{_text(label, x, y, "words")}'
        )
    width, height = (round(side + 2 * margin) for side in turn((layout.width, layout.height)))
    words = escape(
        ", ".join(" ".join(line for line, _ in _words(label)) for label in chart.labels), quote=True
    )
    return (
        f'<svg class="flowchart" role="img" aria-label="{words}" xmlns="http://www.w3.org/2000/svg" '
        f'width="{width}" height="{height}" viewBox="{-margin:g} {-margin:g} {width} {height}">'
        f'<defs><marker id="{name}-tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(parts)}</svg>"
    )


def _group(title: str, boxes: list[tuple[float, float, float, float]]) -> str:
    """Frame around boxes, given by their middles and sizes."""
    left = min(x - width / 2 for x, _, width, _ in boxes) - 9
    right = max(x + width / 2 for x, _, width, _ in boxes) + 9
    top = min(y - height / 2 for _, y, _, height in boxes) - 22
    bottom = max(y + height / 2 for _, y, _, height in boxes) + 9
    return (
        f'<rect class="group" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" rx="7"/>'
        + "".join(
            f'<text class="title" x="{left + 8:.1f}" y="{top + 15:.1f}">{escape(line)}</text>'
            for line, _ in _words(title)[:1]
        )
    )


def _framed(kind: str, drawing: str) -> str:
    return f'<div class="drawing {kind}">{drawing}</div>'


def flowchart(source: str, language: str, css_class: str, options: Any, md: Any, **others: Any) -> str:
    """Format of `mermaid` blocks for pymdownx.superfences."""
    return _framed("flow", svg(parse(source), f"d{crc32(source.encode()):08x}"))


def waves(source: str, language: str, css_class: str, options: Any, md: Any, **others: Any) -> str:
    """Format of `wavedrom` blocks for pymdownx.superfences."""
    import wavedrom

    return _framed("waves", wavedrom.render(source).tostring())
