"""The drawing: every piece and edge is there, and no box hides another."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given, settings

from tests.cli.command import warpbank
from tests.program.graphs import kernel_of, shapes
from warpbank import workloads
from warpbank.program.intervals.drawing import draw
from warpbank.program.intervals.formation import form
from warpbank.program.runner import compile_job

SVG = "{http://www.w3.org/2000/svg}"


def boxes(group: xml.Element) -> list[tuple[int, int]]:
    return [(int(box.attrib["x"]), int(box.attrib["y"])) for box in group.iter(f"{SVG}rect")]


def check_apart(places: list[tuple[int, int]]) -> None:
    for i, (x, y) in enumerate(places):
        assert x >= 0
        assert y >= 0
        assert all(abs(x - u) > 190 or abs(y - v) > 46 for u, v in places[:i])


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_boxes_of_every_graph_stand_apart(shape):
    kernel = kernel_of(shape)
    made = form(kernel, 8)
    places = boxes(xml.fromstring(draw({"k": kernel}, {"k": made})))
    assert len(places) == len(made.pieces)
    check_apart(places)


@pytest.mark.parametrize("limit", [8, 16])
def test_a_kernel_shows_its_intervals(limit: int) -> None:
    kernels = compile_job(workloads.get("bfs").job("tiny"))
    made = {name: form(kernel, limit) for name, kernel in kernels.items()}
    root = xml.fromstring(draw(kernels, made))
    groups = [group for group in root.findall(f"{SVG}g") if group.find(f"{SVG}text") is not None]
    assert len(groups) == len(kernels)
    for group, one in zip(groups, made.values(), strict=True):
        rects = list(group.iter(f"{SVG}rect"))
        assert len(rects) == len(one.pieces)
        assert len({r.attrib["fill"] for r in rects}) == len(one)
        assert [r.attrib["stroke-width"] for r in rects].count("3") == len(one)
        check_apart(boxes(group))


def curve(d: str) -> list[tuple[float, float]]:
    """Points along a path of moves, lines and cubic curves."""
    points: list[tuple[float, float]] = []
    for command, text in re.findall(r"([MLC])([^MLC]*)", d):
        numbers = [float(number) for number in text.split()]
        given = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "M":
            points.append(given[0])
            continue
        way = [points[-1], *given] if command == "C" else [points[-1], points[-1], given[0], given[0]]
        for step in range(1, 21):
            s = step / 20
            weights = ((1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s * s * (1 - s), s**3)
            points.append(
                (
                    sum(w * x for w, (x, _) in zip(weights, way, strict=True)),
                    sum(w * y for w, (_, y) in zip(weights, way, strict=True)),
                )
            )
    return points


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_no_edge_runs_behind_a_box_and_the_entry_is_at_the_top(shape):
    kernel = kernel_of(shape)
    root = xml.fromstring(draw({"k": kernel}, {"k": form(kernel, 8)}))
    places = boxes(root)
    assert places[0][1] == min(y for _, y in places)
    edges = [each.attrib["d"] for each in root.iter(f"{SVG}path") if "marker-end" in each.attrib]
    for d in edges:
        if "V" in d:  # the arrow into the entry
            continue
        for x, y in curve(d):
            assert not any(left + 1 < x < left + 189 and top + 2 < y < top + 44 for left, top in places), (
                d,
                x,
                y,
            )


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "k.svg"
    done = warpbank("explain", "btree", "--intervals", "--registers-per-interval", "8", "-o", str(path))
    assert done.code == 0
    assert "btree" in path.read_text()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    done = warpbank("explain", "btree", "--intervals", "--virtual", "-o", str(tmp_path / "k.svg"))
    assert done.code == 2
    assert "virtual registers" in done.err
    done = warpbank("explain", "btree", "-o", str(tmp_path / "k.svg"))
    assert done.code == 2
    assert "--intervals" in done.err
