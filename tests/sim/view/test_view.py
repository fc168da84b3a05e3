"""`warpbank view`: the command, and the banks over time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import warpbank
from tests.sim.view.rules import check_chrome, check_hazards, check_kanata
from tests.studies.figures import figures
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.random_programs.operations import random_trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.view.banks import per_bank
from warpbank.sim.view.follow import follow, follow_trace
from warpbank.sim.view.kanata import kanata
from warpbank.sim.view.perfetto import perfetto


@pytest.mark.parametrize("step", [1, 7])
def test_accesses_per_bank(step: int) -> None:
    timeline = follow_trace(random_trace(5, length=10), preset("tiny"), parse_scheme("baseline"), 10, 200)
    table = per_bank(timeline, timeline.accesses, step)
    assert table.shape == (2, -(-190 // step))
    assert 0 < table.max() <= 1, "a bank has a single port"
    widths = np.minimum(step, 190 - step * np.arange(table.shape[1]))
    for bank in range(2):
        assert (table[bank] * widths).sum() == pytest.approx(len(timeline.accesses[0, bank]))


@pytest.mark.parametrize(
    ("scheme", "word"),
    [
        ("ltrf", "prefetch"),
        ("gscalar", "array_write"),
        ("renaming", "map"),
        ("malekeh", "forward"),
        ("bow-wr", "discard"),
        ("scalar-rf", "scalar_write"),
    ],
)
def test_events_of_every_scheme_are_drawn(scheme: str, word: str, tmp_path: Path) -> None:
    common = ("view", "reduction", "--preset", "tiny", "--scheme", scheme, "--cycles", "0:600")
    for form, check in (("kanata", check_kanata), ("perfetto", check_chrome)):
        path = tmp_path / form
        done = warpbank(*common, "--format", form, "--output", str(path))
        assert done.code == 0, done.err
        assert word in path.read_text()
        check(path.read_text())


KINDS = {
    "bow-wr": {"forward", "evict"},
    "malekeh": {"hit", "evict"},
    "ltrf": {"prefetch", "hit", "evict"},
    "rfc": {"hit", "evict"},
    "gscalar": {"compress"},
    "bdi": {"compress"},
    "scalar-rf": {"compress"},
    "renaming": {"rename"},
    "baseline": set(),
    "ltrf+malekeh+renaming+gscalar": {"prefetch", "hit", "evict", "compress", "rename"},
}


@pytest.mark.parametrize(("scheme", "kinds"), KINDS.items())
def test_what_schemes_do_is_named_in_common_words(scheme: str, kinds: set[str]) -> None:
    """Forward, hit, evict, prefetch, compress, rename, in both formats, for each scheme that does it and for
    no other."""
    experiment = exp.find("reduction", "tiny", None, "tiny", None, scheme, [], None, MAX_INSTRUCTIONS)
    timeline = follow(experiment, 0, 1500)
    shown: dict[str, set[str]] = {}
    for event in check_chrome(perfetto(timeline)):
        for kind in str(event.get("cat", "")).split(","):
            shown.setdefault(kind, set()).add(str(event["name"]))
    assert shown.keys() - {""} == kinds
    text = kanata(timeline)
    check_kanata(text)
    for kind in kinds:
        words = (f" ({kind}): ", *(f" {kind}: " for name in shown[kind] if name == kind))
        assert any(word in text for word in words), kind


@pytest.mark.parametrize("scheme", ["ltrf", "rfc", "sw-rfc", "ltrf+bow-wr", "ltrf+malekeh+renaming+gscalar"])
def test_every_hit_of_a_cache_is_marked_once(scheme: str) -> None:
    experiment = exp.find("vectoradd", "tiny", None, "tiny", None, scheme, [], None, MAX_INSTRUCTIONS)
    timeline = follow(experiment, 0, 100_000)
    hits = [mark for uop in timeline.uops for mark in uop.marks if mark.name == "cache_grant"]
    assert len(hits) == exp.run(experiment, GoldenEngine()).result.counters["cache.reads"] > 30


@pytest.mark.parametrize(
    "scheme", ["gscalar", "ltrf", "renaming", "scalar-rf", "gscalar+malekeh", "ltrf+malekeh+renaming+gscalar"]
)
def test_hazards_agree_with_the_scheduler(scheme: str) -> None:
    experiment = exp.find("reduction", "tiny", None, "tiny", None, scheme, [], None, MAX_INSTRUCTIONS)
    assert min(check_hazards(follow(experiment, 0, 100_000)).values()) > 50


@pytest.mark.parametrize("scheme", ["rfc", "sw-rfc", "ltrf", "renaming", "ltrf+malekeh+renaming+gscalar"])
def test_no_more_uops_are_marked_than_requests_wait(scheme: str) -> None:
    """Bank 1 and entry 1 of a cache are two places: who waits at the one has no mark of the other."""
    experiment = exp.find("reduction", "tiny", None, "tiny", None, scheme, [], None, MAX_INSTRUCTIONS)
    marked: dict[tuple[str, ...], list[int]] = {}
    for uop in follow(experiment, 0, 100_000).uops:
        for mark in uop.marks:
            # A request is in its bank's queue from the second cycle after the issue on.
            if (
                mark.name in ("conflict", "cache_conflict")
                and uop.issued is not None
                and uop.issued < mark.cycle - 1
            ):
                place, cause, count, _ = re.split(r": |, | waiting", mark.text)
                marked.setdefault((str(mark.cycle), str(uop.core), mark.name, place, cause), []).append(
                    int(count)
                )
    waiting: dict[tuple[str, ...], int] = {}
    uops: dict[tuple[str, ...], int] = {}
    for (*where, _), counts in marked.items():
        waiting[tuple(where)] = waiting.get(tuple(where), 0) + counts[0]
        uops[tuple(where)] = len(counts)
    assert len(uops) > 20
    assert not {where: count for where, count in uops.items() if count > waiting[where]}


def test_html_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "banks.html"
    done = warpbank(
        "view",
        "vectoradd",
        "--preset",
        "tiny",
        "--cycles",
        "0:3000",
        "--format",
        "html",
        "--output",
        str(path),
    )
    assert done.code == 0, done.err
    text = path.read_text()
    drawn = figures(text)
    assert list(drawn) == ["accesses", "conflicts"]
    for figure in drawn.values():
        (heat,) = figure.data
        assert heat.type == "heatmap"
        assert list(heat.y) == ["0.0", "0.1"]
        assert 0 < max(map(max, heat.z)) <= 1
    assert "columns of" in text
    assert "<script src=" not in text, "everything it needs is in it"


@pytest.mark.parametrize("cycles", ["5", "9:9", "9:3", "a:b", "-1:4", "5:"])
def test_cycles_that_are_none(cycles: str) -> None:
    done = warpbank("view", "vectoradd", f"--cycles={cycles}")
    assert done.code == 2
    assert "--cycles takes" in done.err
