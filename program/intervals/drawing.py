"""Drawing of a kernel's control flow graph with its intervals, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from xml.etree import ElementTree as xml

import networkx as nx

from warpbank.program.cfg import Cfg
from warpbank.program.intervals.formation import Intervals
from warpbank.program.isa import Kernel

# Pixels.
_WIDTH, _HEIGHT = 190, 46  # of a box
_COLUMN, _ROW = 230, 90  # from box to box
_MARGIN, _TITLE = 70, 40


def draw(kernels: Mapping[str, Kernel], made: Mapping[str, Intervals]) -> str:
    """SVG drawing of control flow graphs, one under the other. A box is a piece of a block, its colour the
    interval; a thick border marks where it prefetches. Backward edges are dashed."""
    root = xml.Element("svg", xmlns="http://www.w3.org/2000/svg")
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


def _graph(kernel: Kernel, made: Intervals) -> nx.DiGraph:
    """Pieces by the pc of their first instruction; `layer` is the longest way there along forward edges."""
    cfg, graph = Cfg(kernel), nx.DiGraph()
    graph.add_nodes_from(piece.start for piece in made.pieces)
    for piece in made.pieces:
        last = piece.end == cfg.starts[piece.block + 1]
        targets = (
            [cfg.starts[s] for s in cfg.successors[piece.block] if s != cfg.exit] if last else [piece.end]
        )
        graph.add_edges_from((piece.start, pc) for pc in targets if pc in graph)
    forward = nx.DiGraph((a, b) for a, b in graph.edges if a < b)
    forward.add_nodes_from(graph)
    for layer, pcs in enumerate(nx.topological_generations(forward)):
        for pc in pcs:
            graph.nodes[pc]["layer"] = layer
    return graph


def _places(graph: nx.DiGraph) -> dict[int, tuple[int, int]]:
    """Middle of every box. The library's layout is scaled to a unit square; the distance of neighbours scales
    it back."""
    found = nx.multipartite_layout(graph, subset_key="layer", align="horizontal")
    rows: dict[int, list[float]] = {}
    for pc in graph:
        rows.setdefault(graph.nodes[pc]["layer"], []).append(float(found[pc][0]))
    step = min((b - a for row in rows.values() for a, b in pairwise(sorted(row))), default=1.0)
    leftmost = min(x for row in rows.values() for x in row)
    left = _MARGIN + _WIDTH // 2
    return {
        pc: (
            left + round((float(found[pc][0]) - leftmost) / step * _COLUMN),
            _TITLE + _HEIGHT // 2 + graph.nodes[pc]["layer"] * _ROW,
        )
        for pc in graph
    }


def _kernel(group: xml.Element, kernel: Kernel, made: Intervals) -> tuple[int, int]:
    """Draw one kernel; returns the width and height it takes."""
    graph = _graph(kernel, made)
    at = _places(graph)
    xml.SubElement(group, "text", x="10", y="20").text = (
        f"{kernel.name}: {len(made)} intervals of at most {made.limit} registers ({made.first_pass} after "
        "pass 1)"
    )
    for a, b in graph.edges:
        (x, y), (u, v) = at[a], at[b]
        if a < b:
            path, dash = f"M{x} {y + _HEIGHT // 2}L{u} {v - _HEIGHT // 2}", "none"
        else:
            side = _WIDTH // 2
            path, dash = f"M{x - side} {y}C{x - side - 60} {y} {u - side - 60} {v} {u - side} {v}", "5 3"
        xml.SubElement(
            group,
            "path",
            {
                "d": path,
                "fill": "none",
                "stroke": "black",
                "stroke-dasharray": dash,
                "marker-end": "url(#arrow)",
            },
        )
    entries = set(made.entries.tolist())
    for piece in made.pieces:
        number = int(made.interval[piece.start])
        x, y = at[piece.start]
        left, top = x - _WIDTH // 2, y - _HEIGHT // 2
        # The golden angle keeps the hues of neighbouring numbers apart.
        xml.SubElement(
            group,
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
            xml.SubElement(group, "text", x=str(left + 6), y=str(top + 19 + 17 * i)).text = line
    right = max([x for x, _ in at.values()] + [400])
    return right + _WIDTH // 2 + _MARGIN, max([y for _, y in at.values()] + [0]) + _ROW
