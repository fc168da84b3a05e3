"""Drawing of a kernel's control flow graph with its intervals, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as xml

from warpbank.program.cfg import Cfg
from warpbank.program.intervals.formation import Intervals
from warpbank.program.isa import Kernel
from warpbank.program.layered import arrange, path

# Pixels.
_WIDTH, _HEIGHT = 190, 46  # of a box
_MARGIN, _TITLE = 30, 56


def draw(kernels: Mapping[str, Kernel], made: Mapping[str, Intervals]) -> str:
    """SVG drawing of control flow graphs, one under the other. A box is a piece of a block, its colour the
    interval; a thick border marks where it prefetches. The entry is at the top, with an arrow from nowhere;
    edges that close a loop are dashed."""
    root = xml.Element("svg", xmlns="http://www.w3.org/2000/svg", style="background: white")
    arrow = xml.SubElement(
        xml.SubElement(root, "defs"),
        "marker",
        id="arrow",
        viewBox="0 0 8 8",
        refX="8",
        refY="4",
        markerWidth="8",
        markerHeight="8",
        orient="auto",
    )
    xml.SubElement(arrow, "path", d="M0 0L8 4L0 8z")
    width = height = 0
    for name, kernel in kernels.items():
        group = xml.SubElement(
            root, "g", {"transform": f"translate(0 {height})", "font-family": "monospace", "font-size": "12"}
        )
        across, down = _kernel(group, kernel, made[name])
        width, height = max(width, across), height + down
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(width))
    root.set("height", str(height))
    return xml.tostring(root, encoding="unicode") + "\n"


def _edges(kernel: Kernel, made: Intervals) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Number of every piece by the pc of its first instruction, in the order of the code, and the edges
    between them."""
    cfg = Cfg(kernel)
    numbers = {piece.start: number for number, piece in enumerate(made.pieces)}
    edges: dict[tuple[int, int], None] = {}
    for piece in made.pieces:
        last = piece.end == cfg.starts[piece.block + 1]
        targets = (
            [cfg.starts[s] for s in cfg.successors[piece.block] if s != cfg.exit] if last else [piece.end]
        )
        for pc in targets:
            if pc in numbers:
                edges[numbers[piece.start], numbers[pc]] = None
    return numbers, list(edges)


def _kernel(group: xml.Element, kernel: Kernel, made: Intervals) -> tuple[int, int]:
    """Draw one kernel; returns the width and height it takes."""
    numbers, edges = _edges(kernel, made)
    layout = arrange([(_WIDTH, _HEIGHT)] * len(numbers), edges, gap=(30, 44), top=0)
    title = (
        f"{kernel.name}: {len(made)} intervals of at most {made.limit} registers ({made.first_pass} after "
        "pass 1)"
    )
    xml.SubElement(group, "text", x="10", y="20").text = title
    moved = xml.SubElement(group, "g", {"transform": f"translate({_MARGIN} {_TITLE})"})
    # An arrow into the entry, which is the top box.
    x, y = layout.places[0]
    _arrow(moved, f"M{x:.1f} {y - _HEIGHT / 2 - 16:.1f}V{y - _HEIGHT / 2:.1f}", "none")
    for number, ((a, b), route) in enumerate(zip(edges, layout.routes, strict=True)):
        dash = "5 3" if number in layout.upward else "none"
        if a == b:
            x, y = layout.places[a]
            right = x + _WIDTH / 2
            _arrow(
                moved, f"M{right} {y + 10}C{right + 24} {y + 10} {right + 24} {y - 10} {right} {y - 10}", dash
            )
        else:
            _arrow(moved, path(route), dash)
    entries = set(made.entries.tolist())
    for piece in made.pieces:
        number = int(made.interval[piece.start])
        x, y = layout.places[numbers[piece.start]]
        left, top = round(x) - _WIDTH // 2, round(y) - _HEIGHT // 2
        # The golden angle keeps the hues of neighbouring numbers apart.
        xml.SubElement(
            moved,
            "rect",
            {
                "x": str(left),
                "y": str(top),
                "width": str(_WIDTH),
                "height": str(_HEIGHT),
                "rx": "4",
                "fill": f"hsl({number * 137 % 360} 65% 85%)",
                "stroke": "black",
                "stroke-width": "3" if piece.start in entries else "1",
            },
        )
        lines = (
            f"{kernel.blocks[piece.block].label}  pc {piece.start}..{piece.end - 1}",
            f"interval {number}: {int(made.registers[number].sum())} registers",
        )
        for i, line in enumerate(lines):
            xml.SubElement(moved, "text", x=str(left + 6), y=str(top + 19 + 17 * i)).text = line
    return max(8 * len(title) + 20, round(layout.width) + 2 * _MARGIN), round(layout.height) + _TITLE + 30


def _arrow(group: xml.Element, line: str, dash: str) -> None:
    xml.SubElement(
        group,
        "path",
        {"d": line, "fill": "none", "stroke": "#444", "stroke-dasharray": dash, "marker-end": "url(#arrow)"},
    )
