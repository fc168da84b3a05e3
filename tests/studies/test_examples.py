"""The papers' examples show what the papers say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser import PHONE, WIDTH, visit
from tests.cli.command import warpbank
from tests.sim.view.test_machine_browser import OVERLAPS
from warpbank.arch.counters import count
from warpbank.arch.errors import ArgumentError
from warpbank.arch.events import EVENTS
from warpbank.sim.events import decode
from warpbank.sim.view.recording import Recording
from warpbank.studies.examples import EXAMPLES, find, page, record
from warpbank.studies.reproduce.snippet import bank_writes


def counted(recording: Recording) -> dict[str, int]:
    return count(decode(recording.records))


def events(recording: Recording, name: str) -> list[dict[str, int]]:
    """Events of that name: cycle and fields."""
    fields = [field for field, _ in EVENTS[name].fields]
    return [
        {"cycle": cycle, **dict(zip(fields, values, strict=True))}
        for cycle, _, found, values in decode(recording.records)
        if found == name
    ]


def notes(recording: Recording, register: int) -> list[str]:
    """Encodings that a register of warp 0 has in the banks, one after the other."""
    core = recording.cores[0]
    place = next(home[2:] for home in core.homes[-1][1] if home[:2] == (0, register))
    return [note for _, _, note in core.rows[place[0], place[1]]]


@pytest.mark.parametrize(
    ("scheme", "writes"), [("bow", [3, 4, 3, 1, 1]), ("bow-wb", [1, 2, 2, 1, 1]), ("bow-wr", [0, 1, 0, 1, 1])]
)
def test_bow_writes_as_often_as_table_1_says(scheme: str, writes: list[int]) -> None:
    """Table I, with what docs/bow.md says of r2 and r4."""
    recording, _ = record(find("bow"), scheme)
    assert bank_writes(list(decode(recording.records))) == writes


def test_malekeh_hits_waits_and_flushes() -> None:
    found = counted(record(find("malekeh"))[0])
    assert found["boc.forwards"] > 20
    assert found["ccu.waits"] > 0
    assert found["ccu.flushes"] > 0
    assert counted(record(find("malekeh"), "baseline")[0])["boc.forwards"] == 0


def test_ltrf_prefetches_once_if_the_nest_fits() -> None:
    """Fig. 6: with 16 registers the nest is one interval; with 8 its entries prefetch again and again."""
    fits, _ = record(find("ltrf"))
    assert len(events(fits, "prefetch")) == 2  # a warp each
    assert not events(fits, "interval_read")
    apart, _ = record(find("ltrf"), overrides=("sub_core.cache.registers=8",))
    assert len(events(apart, "prefetch")) > 4


def test_gscalar_encodes_as_the_paper_does() -> None:
    """Section 3.1: C04039C0, ... have encoding bits 1110; a scalar 1111; a divergent write sets D, after a
    decompress move."""
    recording, _ = record(find("gscalar"))
    assert notes(recording, 2)[-1] == "enc 1110"
    assert "enc 1111" in notes(recording, 3)
    assert notes(recording, 3)[-1].startswith("D")
    assert len(events(recording, "move")) == 1
    ones = [event for event in events(recording, "lanes") if event["lanes"] == 1]
    assert ones


def test_renaming_releases_and_gives_again() -> None:
    """Fig. 4a and 7: r0 is released before it is written again; Fig. 4b: r3 is released once, after both
    sides."""
    recording, _ = record(find("renaming"))
    maps = [each for each in events(recording, "map") if (each["warp"], each["register"]) == (0, 0)]
    unmaps = [each for each in events(recording, "unmap") if (each["warp"], each["register"]) == (0, 0)]
    assert len(maps) == 2
    assert maps[0]["cycle"] < unmaps[0]["cycle"] < maps[1]["cycle"]
    assert (
        len([each for each in events(recording, "unmap") if each["warp"] == 0 and each["register"] == 3]) == 1
    )


def test_an_example_that_is_none() -> None:
    with pytest.raises(ArgumentError, match="bow, malekeh, ltrf, gscalar, renaming"):
        find("figure")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_command_writes_a_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("view", "--example", name)
    assert done.code == 0, done.err
    assert EXAMPLES[name].title in (tmp_path / f"{name}-example.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--example", "nope"), "Known: bow"),
        (("nn", "--example", "bow"), "leave out KERNEL"),
        (("--example", "bow", "--max-registers", "20"), "leave out --max-registers"),
        (("--example", "bow", "--size", "full"), "leave out --size"),
        (("--example", "bow", "--code-order", "source"), "leave out --code-order"),
        (("--example", "bow", "--format", "kanata"), "write --format machine"),
        (("--example", "bow", "--cycles", "9000:9001"), "the run is over after"),
        (("--example", "bow", "--cycles", "9"), "--cycles takes"),
        (("--example", "bow", "--scheme", "nope"), "nope"),
        (("--example", "bow", "--output", "no/such/page.html"), "No such file or directory"),
    ],
)
def test_wrong_arguments(
    words: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("view", *words)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_on_a_phone(name: str, browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    example = find(name)
    path.write_text(page(example, *record(example)))
    with visit(browser, path, color_scheme="dark", **PHONE) as seen:
        for _ in range(4):
            seen.page.keyboard.press("n")
            assert seen.page.evaluate(WIDTH) == [390, 390]
            assert seen.page.evaluate(OVERLAPS) == []
    assert not seen.said
