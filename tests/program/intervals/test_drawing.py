"""The drawing: every piece and edge is there, and no box hides another."""

from __future__ import annotations

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
    groups = root.findall(f"{SVG}g")
    assert len(groups) == len(kernels)
    for group, one in zip(groups, made.values(), strict=True):
        rects = group.findall(f"{SVG}rect")
        assert len(rects) == len(one.pieces)
        assert len({r.attrib["fill"] for r in rects}) == len(one)
        assert [r.attrib["stroke-width"] for r in rects].count("3") == len(one)
        check_apart(boxes(group))


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
