"""The machine's page in a real browser: played forwards and backwards, by keys and by touch, light and dark,
on a desk and on a telephone, for schemes that ship and for one that `--load` brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser import PHONE, WIDTH, visit
from tests.registries import kept
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.view.formats import draw

ROOT = Path(__file__).parent.parent.parent.parent
#: What stands on the page, as text: all that depends on the cycle.
STATE = """[document.querySelector("#cycle").value, document.querySelector("#machine").innerText,
  document.querySelector("#events").innerText, document.querySelectorAll("#wires g path").length,
  document.querySelectorAll("[data-hit]").length]"""
#: Notes beside the warps that issue.
ISSUING = """[...document.querySelectorAll(".buffer")].filter(box => box.querySelector("[style]:not(.warp)"))
  .map(box => box.querySelector("small").textContent)"""
#: Boxes that overlap although neither holds the other.
OVERLAPS = """(() => {
  const all = [...document.querySelectorAll(".room, .box, .panel, .chip, header")]
    .filter(element => element.offsetParent);
  const found = [];
  all.forEach((a, i) => all.slice(i + 1).forEach(b => {
    if (a.contains(b) || b.contains(a)) return;
    const x = a.getBoundingClientRect(), y = b.getBoundingClientRect();
    const wide = Math.min(x.right, y.right) - Math.max(x.left, y.left);
    const high = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
    if (wide > 1 && high > 1) found.push([a.className + a.id, b.className + b.id]);
  }));
  return found;
})()"""


def made(folder: Path, scheme: str, kernel: str = "hotspot", preset: str = "tiny", end: int = 400) -> Path:
    """A page in a file."""
    experiment = exp.find(kernel, "tiny", None, preset, None, scheme, [], None, 1 << 40)
    path = folder / "machine.html"
    path.write_text(draw(experiment, 0, end, "machine")[1])
    return path


def go(page: Any, cycle: int) -> None:
    """Set the cycle as a user would type it."""
    page.fill("#cycle", str(cycle))
    page.press("#cycle", "Enter")
    page.evaluate("document.activeElement.blur()")


def wait(page: Any, condition: str) -> None:
    """Wait until an expression holds. The page lets nobody evaluate strings, so Playwright asks again and
    again."""
    for _ in range(400):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {condition}")


@pytest.mark.quick("baseline")
@pytest.mark.parametrize("scheme", ["baseline", "bow-wr", "malekeh", "ltrf", "gscalar", "renaming", "rfc"])
def test_forwards_and_backwards(scheme: str, browser: Any, tmp_path: Path) -> None:
    """A cycle looks as it did, whichever way it was come to; nothing is said or asked for; all is drawn."""
    path = made(tmp_path, scheme)
    with visit(browser, path, color_scheme="light", viewport={"width": 1440, "height": 1000}) as seen:
        page = seen.page
        states = []
        for _ in range(60):
            page.keyboard.press("n")
            states.append(page.evaluate(STATE))
        if scheme != "baseline":
            assert len({state[0] for state in states}) > 10
        page.keyboard.press("Home")
        forwards = []
        for _ in range(80):
            page.keyboard.press("ArrowRight")
            forwards.append(page.evaluate(STATE))
        assert [int(state[0]) for state in forwards] == list(range(1, 81))
        assert len({state[1] for state in forwards}) > 20
        assert sum(state[3] for state in forwards) > 40
        for expected in reversed(forwards[:-1]):
            page.keyboard.press("ArrowLeft")
            assert page.evaluate(STATE) == expected
        assert page.evaluate(WIDTH)[0] <= 1440
    assert not seen.said
    assert seen.asked == [path.as_uri()]


def test_values_on_demand(browser: Any, tmp_path: Path) -> None:
    """A chip that is pressed shows its register's lanes; Escape puts them away."""
    with visit(browser, made(tmp_path, "bow-wb")) as seen:
        page = seen.page
        for _ in range(40):
            page.keyboard.press("n")
            if page.locator(".chip.found").count():
                break
        page.locator(".chip.found").first.click()
        text = page.locator("#detail").inner_text()
        assert "found in its collector" in text
        assert page.locator("#detail tr").count() == 5  # the head, and the four lanes of this machine
        page.keyboard.press("Escape")
        assert not page.locator("#sheet").is_visible()
        page.locator(".cells i.own").first.click()
        assert "bank 0, row 0: R0 of warp 0" in page.locator("#detail").inner_text()
        page.locator("#events li").first.click()
        assert page.locator("#events li p").count() == 1
    assert not seen.said


def test_it_plays_and_follows_the_theme(browser: Any, tmp_path: Path) -> None:
    with visit(browser, made(tmp_path, "baseline"), color_scheme="dark") as seen:
        page = seen.page
        ground = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(ground) == "rgb(15, 19, 24)"
        page.emulate_media(color_scheme="light")
        wait(page, f"{ground} === 'rgb(255, 255, 255)'")
        page.keyboard.press("t")
        assert page.evaluate(ground) == "rgb(15, 19, 24)"
        page.select_option("#speed", "30")
        page.click("#play")
        wait(page, "Number(document.querySelector('#cycle').value) > 5")
        page.click("#play")
        there = page.input_value("#cycle")
        page.wait_for_timeout(150)
        assert page.input_value("#cycle") == there
        assert "mov" in page.locator("#code").inner_text() or "ld." in page.locator("#code").inner_text()
    assert not seen.said


@pytest.mark.parametrize("scheme", ["bow-wr", "ltrf+renaming", "gscalar"])
def test_on_a_phone(scheme: str, browser: Any, tmp_path: Path) -> None:
    """Nothing sticks out or lies over something else; a finger moves time along the strip and steps by
    buttons."""
    with visit(browser, made(tmp_path, scheme), **PHONE) as seen:
        page = seen.page
        for cycle in (0, 60, 200):
            go(page, cycle)
            assert page.evaluate(WIDTH) == [390, 390]
            assert page.evaluate(OVERLAPS) == []
        page.tap("#on")
        assert page.input_value("#cycle") == "201"
        page.tap("#strip", position={"x": 10, "y": 10})
        assert int(page.input_value("#cycle")) < 30
        small = "Math.min(...[...document.querySelectorAll('nav button')].map(e => e.offsetHeight))"
        assert page.evaluate(small) >= 40
    assert not seen.said


def test_nothing_overlaps_on_a_desk(browser: Any, tmp_path: Path) -> None:
    with visit(browser, made(tmp_path, "renaming"), viewport={"width": 1100, "height": 900}) as seen:
        for cycle in (0, 60, 200):
            go(seen.page, cycle)
            assert seen.page.evaluate(OVERLAPS) == []
    assert not seen.said


def test_a_scheme_from_outside_is_drawn(browser: Any, tmp_path: Path) -> None:
    """`--load` brings a scheme that this package does not know: its name, its slots and what it forwards are
    there, and wires are drawn."""
    with kept():
        extensions.load(ROOT / "examples" / "last_value")
        with visit(browser, made(tmp_path, "last-value"), viewport={"width": 1440, "height": 1000}) as seen:
            page = seen.page
            assert "last_value" in page.locator("#collectors h2").inner_text()
            assert "kept" in page.locator("#collectors .box").first.inner_text()
            for _ in range(5):
                page.keyboard.press("n")
                assert "forward" in page.locator("#events").inner_text()
                assert page.locator(".chip.found").count() >= 1
                assert page.locator("#wires g path").count() >= 2
        assert not seen.said


def test_sixty_four_warps(browser: Any, tmp_path: Path) -> None:
    """Masks of warps are wider than a number of JavaScript is exact: a warp that issues is not pending."""
    with visit(browser, made(tmp_path, "baseline", preset="maxwell", end=120)) as seen:
        page = seen.page
        issued = 0
        for _ in range(100):
            page.keyboard.press("ArrowRight")
            if page.locator("#state").inner_text() == "issued":
                issued += 1
                assert page.evaluate(ISSUING) == [""]
        assert issued > 10
    assert not seen.said
