"""Every kind of page in headless Chromium, by Playwright: drawn, silent, sortable, light and dark, whole on a
phone, offline. Which browser: `tests.browser`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser import PHONE, WIDTH, visit
from tests.sim.report.test_page import PAGE
from tests.studies.compare.test_compare import made
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.random_programs.operations import random_trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.report import html
from warpbank.sim.runs.spec import Observed
from warpbank.sim.view import banks
from warpbank.sim.view.follow import follow
from warpbank.studies import over_time
from warpbank.studies.compare.page import page as compared
from warpbank.studies.reproduce.page import page as reproduced
from warpbank.studies.reproduce.paper import SHAPES, Comparison, Figure, Paper, Published
from warpbank.studies.reproduce.run import Reproduction
from warpbank.synth.energy import table

GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}
INKS = {"light": "rgb(27, 31, 36)", "dark": "rgb(230, 233, 237)"}
#: Of every plot: what is drawn in it, and the colour of its ticks.
DRAWN = """[...document.querySelectorAll(".plot")].map(plot => [
  plot.querySelectorAll(".point path, .scatterlayer path, .heatmaplayer image").length,
  getComputedStyle(plot.querySelector(".xtick text, .ytick text")).fill])"""

#: Of the plot of IPC: what stands below each group of bars, and where it ends.
TICKS = """[...document.querySelectorAll("#plot-ipc .xtick text")].map(
  tick => [tick.textContent, tick.getBoundingClientRect().right])"""


def _reproduced() -> str:
    """A figure of every shape."""
    columns, rows = (
        ("c, 1", "d, 1", "c, 2", "d, 2"),
        {"nn": (1.0, 2.0, 3.0, 4.0), "bfs": (2.0, 1.0, 5.0, 3.0)},
    )
    stated = Published({columns[0]: 7.0}, {}, {}, "there")
    figures = [
        Figure(
            f"fig-{shape}", f"Fig. {shape}", "%", columns, lambda *_: (), lambda *_: (), "Why.", shape=shape
        )
        for shape in SHAPES
    ]
    parts = tuple(
        Comparison(figure, rows, (1.5, 1.5, 4.0, 3.5), stated, {"btree": "it broke"}) for figure in figures
    )
    return html(reproduced(Reproduction(Paper("p", "P", tuple(figures)), parts, {"command": "by hand"})))


def _over_time(folder: Path) -> str:
    config, scheme = preset("tiny"), parse_scheme("bow-wb")
    seen = over_time.OverTime(scheme)
    Observed(GoldenEngine(), seen).run(random_trace(11, ctas=9, launches=2), config, scheme)
    report = dict.fromkeys(
        ("kernel", "size", "scheme", "preset", "engine", "config_hash", "trace", "versions"), "x"
    )
    over_time.write(folder / "over_time.html", seen.table(table("common"), config), report)
    return (folder / "over_time.html").read_text()


def _banks() -> str:
    experiment = exp.find("vectoradd", "tiny", None, "tiny", None, "baseline", [], None, MAX_INSTRUCTIONS)
    return banks.page(follow(experiment, 0, 600), experiment)


PAGES: dict[str, Callable[[Path], str]] = {
    "one by hand": lambda folder: html(PAGE),
    "compare": lambda folder: html(compared(made())),
    "reproduce": lambda folder: _reproduced(),
    "run --over-time": _over_time,
    "view --format html": lambda folder: _banks(),
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_kind_of_page(kind: str, browser: Any, tmp_path: Path) -> None:
    """On a desk, in the light and then in the dark, and made as narrow as a phone."""
    path = tmp_path / "page.html"
    path.write_text(PAGES[kind](tmp_path))
    with visit(browser, path, color_scheme="light") as seen:
        for theme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=theme)
            for _ in range(100):  # plots are drawn again after the change of theme
                drawn = seen.page.evaluate(DRAWN)
                if all(count > 0 and ink == INKS[theme] for count, ink in drawn):
                    break
                seen.page.wait_for_timeout(50)
            assert len(drawn) >= 2
            assert all(count > 0 and ink == INKS[theme] for count, ink in drawn), drawn
            assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == GROUNDS[theme]
        seen.page.set_viewport_size(PHONE["viewport"])
        assert seen.page.evaluate(WIDTH) == [390, 390]
    assert not seen.said
    assert [url for url in seen.asked if not url.startswith("data:")] == [path.as_uri()]


def test_tables_sort_when_their_heads_are_pressed(browser: Any, tmp_path: Path) -> None:
    """Up, down, then by another column; what is missing stays last. The head says which way."""
    path = tmp_path / "page.html"
    path.write_text(html(PAGE))
    with visit(browser, path) as seen:
        tables = seen.page.locator("table.sortable")
        heads = tables.first.locator("th")

        def press(place: int) -> str:
            heads.nth(place).locator("button").click()
            return "".join(tables.first.locator("tbody td:first-child").all_text_contents())

        assert [press(1), press(1), press(2), press(2), press(0), press(0)] == [
            "cba",
            "abc",
            "acb",
            "cab",
            "abc",
            "cba",
        ]
        assert [heads.nth(place).get_attribute("aria-sort") for place in range(3)] == [
            "descending",
            None,
            None,
        ]
    assert not seen.said


def test_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """Nothing sticks out, tools do not lie on the plots, and a finger that moves over a plot scrolls."""
    path = tmp_path / "page.html"
    path.write_text(html(compared(made())))
    with visit(browser, path, color_scheme="dark", **PHONE) as seen:
        assert seen.page.evaluate(WIDTH) == [390, 390]
        assert seen.page.locator(".modebar").count() == 0
        # The mean is in sight: above every plot of a measure, and at its left end.
        assert seen.page.locator("p", has_text="Mean: ").count() >= 3
        first = min(seen.page.evaluate(TICKS), key=lambda tick: tick[1])
        assert first[0] == "mean"
        assert first[1] <= 390
        assert seen.page.evaluate("document.querySelector('.plot')._fullLayout.dragmode") is False
        assert (
            seen.page.evaluate(
                "Math.min(...[...document.querySelectorAll('p, td, th')].map(e => "
                "parseFloat(getComputedStyle(e).fontSize)))"
            )
            >= 14
        )
    assert not seen.said
