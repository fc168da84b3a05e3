"""Pipeline views of a hand-made trace, exactly; and of random traces under every scheme, by the formats'
rules.

`python -m tests.sim.view.test_pipeline` writes the expected files anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.view.rules import check_chrome, check_hazards, check_kanata
from warpbank.arch.config import preset
from warpbank.arch.events import Stall
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.program.errors import WarpbankError
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import BRANCH, TraceBuilder, alu, store
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import IDS, Batch
from warpbank.sim.view.follow import follow_trace
from warpbank.sim.view.kanata import kanata
from warpbank.sim.view.perfetto import perfetto
from warpbank.sim.view.timeline import Timeline, Uop

EXPECTED = Path(__file__).parent / "expected"
SMALL = (
    TraceBuilder()
    .launch([[alu(1), alu(3), alu(2, 1, 3), store(2, 1, 7)], [alu(3, 1, 5, unit=Unit.SFU), BRANCH]])
    .build()
)


def _follow(scheme: str, start: int = 0, end: int = 100, trace: Trace = SMALL) -> Timeline:
    return follow_trace(trace, preset("tiny"), parse_scheme(scheme), start, end)


@pytest.mark.parametrize("scheme", ["baseline", "bow-wb"])
def test_exact_text(scheme: str) -> None:
    timeline = _follow(scheme)
    assert kanata(timeline) == (EXPECTED / f"{scheme}.kanata").read_text()
    assert perfetto(timeline) == (EXPECTED / f"{scheme}.json").read_text()


def test_the_expected_files_show_what_is_asked_for() -> None:
    """Stages, stall reasons, conflicts and events of a scheme."""
    for scheme, words in {
        "baseline": ("conflict",),
        "bow-wb": ("forward", "reserve", "collector_write", "write_back"),
    }.items():
        text = (EXPECTED / f"{scheme}.kanata").read_text()
        chrome = (EXPECTED / f"{scheme}.json").read_text()
        for word in (*words, "scoreboard", "issued"):
            assert f"\t{word}\n" in text
            assert f'"{word}"' in chrome
        for stage in ("Bu", "Is", "Co", "Ex", "Wb"):
            assert f"\t{stage}\n" in text


@pytest.mark.parametrize("scheme", ["baseline", "bow", "bow-wb", "malekeh", "malekeh-pr", "ccu-lru-gto"])
@pytest.mark.parametrize(("start", "end"), [(0, 40), (35, 90), (0, 3000)])
def test_random_traces_obey_the_formats(scheme: str, start: int, end: int) -> None:
    seed = start + len(scheme)
    timeline = _follow(scheme, start, end, random_trace(seed, ctas=2, warps=2, length=12))
    assert len(timeline.uops) > 5
    commands = check_kanata(kanata(timeline))
    assert commands["I"] > len(timeline.uops)
    assert len(check_chrome(perfetto(timeline))) > len(timeline.uops)


def test_the_view_shows_the_run_itself() -> None:
    """Every uop that issues, every access and conflict of a bank and every stall is in the timeline, and no
    other."""
    trace = random_trace(3, ctas=2, warps=2, length=12)
    counted: dict[int, int] = {}
    reasons: dict[str, int] = {}

    def count(batch: Batch) -> None:
        for number, values in zip(
            batch.records["event"].tolist(), batch.records["values"].tolist(), strict=True
        ):
            counted[number] = counted.get(number, 0) + 1
            if number == IDS["scheduler"]:
                name = Stall(values[0]).name.lower()
                reasons[name] = reasons.get(name, 0) + 1

    result = GoldenEngine().run(trace, preset("tiny"), parse_scheme("baseline"), events=count)
    timeline = _follow("baseline", 0, result.cycles + 50, trace)
    assert timeline.end == result.cycles
    assert len(timeline.uops) == result.warp_instructions
    assert all(uop.issued is not None and uop.retired is not None for uop in timeline.uops)
    accesses = [mark.name for marks in timeline.accesses.values() for mark in marks]
    assert accesses.count("read") == counted[IDS["grant"]]
    assert accesses.count("write") == counted[IDS["write"]]
    assert sum(map(len, timeline.conflicts.values())) == counted[IDS["conflict"]]
    shown: dict[str, int] = {}
    for span in timeline.schedulers[0]:
        shown[span.name] = shown.get(span.name, 0) + span.end - span.start
    assert shown == reasons


def test_a_conflict_is_marked_on_those_who_wait() -> None:
    """Whoever has a mark waits for an operand, and the words of the bank's conflict count the requests of the
    marked uops."""
    timeline = _follow("baseline", 0, 3000, random_trace(3, ctas=2, warps=2, length=12))
    marked = [(mark.cycle, uop) for uop in timeline.uops for mark in uop.marks if mark.name == "conflict"]
    assert len(marked) > 10
    for cycle, uop in marked:
        assert uop.issued is not None
        assert uop.dispatched is not None
        assert uop.issued < cycle < uop.dispatched
    for (_, bank), conflicts in timeline.conflicts.items():
        for conflict in conflicts:
            assert any(
                cycle == conflict.cycle
                and any(mark.cycle == cycle and f"bank {bank}:" in mark.text for mark in uop.marks)
                for cycle, uop in marked
            )


@pytest.mark.parametrize("scheme", ["baseline", "bow", "bow-wb", "malekeh", "ccu-lru-gto"])
@pytest.mark.parametrize("seed", [3, 4])
def test_hazards_agree_with_the_scheduler(scheme: str, seed: int) -> None:
    seen = check_hazards(_follow(scheme, 0, 5000, random_trace(seed, ctas=2, warps=2, length=20)))
    assert min(seen.values()) > 20, seen


def test_stages_of_a_uop() -> None:
    uop = Uop(0, 0, 0, filled=2, issued=5, collects=True, dispatched=8, wrote=12, retired=13)
    before = [("buffer", 2, 5), ("issue", 5, 6), ("collect", 6, 9)]
    assert list(uop.stages(100)) == [*before, ("execute", 9, 12), ("write-back", 12, 14)]
    assert list(uop.stages(10)) == [*before, ("execute", 9, 10)]
    assert list(Uop(0, 0, 0, filled=2, issued=3, retired=3).stages(100)) == [
        ("buffer", 2, 3),
        ("issue", 3, 4),
    ]


def test_cycles_after_the_end() -> None:
    with pytest.raises(WarpbankError, match="over after"):
        _follow("baseline", 5000, 6000)


if __name__ == "__main__":
    for name in ("baseline", "bow-wb"):
        (EXPECTED / f"{name}.kanata").write_text(kanata(_follow(name)))
        (EXPECTED / f"{name}.json").write_text(perfetto(_follow(name)))
