"""Explorations end to end on the smallest machine: equal seeds, a kill and going on, the front, the page."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import PHONE, WIDTH, visit
from tests.synth.library import text
from warpbank.arch.errors import ArgumentError, SchemeError
from warpbank.arch.schemes import BASELINE
from warpbank.program.errors import WarpbankError
from warpbank.sim.runs import Outcome, RunSpec, Task
from warpbank.sim.runs.worker import perform
from warpbank.studies.compare.settings import Setting
from warpbank.studies.explore import Exploration, explore, finalists
from warpbank.studies.explore.counts import KINDS
from warpbank.studies.explore.front import dominates, no_worse
from warpbank.studies.explore.measure import AIMS, costs, find_aims, measured, speed_and_work
from warpbank.studies.explore.page import page, write
from warpbank.studies.explore.parts import Rtl
from warpbank.studies.explore.sentences import worth
from warpbank.studies.explore.space import Point, Space

#: Recorded units that are counted in no time.
SMALL = ("ocu", "gto", "direct", "arbiter", "result_arbiter", "in_flight", "registers", "sthld", "ccu_lru")
HOW: dict[str, Any] = {
    "size": "tiny",
    "preset": "tiny",
    "only": "rfc+ccu-lru-gto",
    "samples": 2,
    "factor": 3,
    "seed": 7,
    "workers": 1,
}
KERNELS = ("vectoradd", "spmv", "reduction")


class Here:
    """Evaluations in this process, with results of these tests alone; after `left` of them it is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.left = folder, 10**6

    def execute(self, tasks: Iterable[Task], **_: Any) -> list[Outcome]:
        """As `warpbank.sim.runs.execute`."""
        ordered = list(tasks)
        for task in ordered:
            task.check()
        outcomes = []
        for task in ordered:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            outcomes.append(perform(task))
        return outcomes


def small_samples() -> dict[str, Rtl]:
    """As `evaluate._samples`, of `SMALL` units."""
    from warpbank.synth.baselines import SIZES

    return {unit: Rtl(unit, SIZES[unit].scheme, SIZES[unit].preset) for unit in SMALL}


def made_up(self: Rtl) -> dict[str, Any]:
    """As `Rtl.compute`, but drawn by the name of the unit's machine, since RTL takes seconds to write."""
    draw = random.Random(self.key())
    logic = {kind: float(draw.randrange(100, 9000)) for kind in KINDS}
    arrays = [[6, 1024, 6, 0, 1, False, 2], [8, 1024, 6, 6, 2, False, 2]]  # as recorded units have them
    return {"bits": logic, "memories": arrays, "levels": draw.randrange(9, 99)}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """Evaluations in this process."""
    made = Here(tmp_path_factory.mktemp("results"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warpbank.sim.runs.store.folder", lambda: made.folder)
        patch.setattr("warpbank.studies.explore.evaluate.execute", made.execute)
        patch.setattr("warpbank.studies.explore.evaluate._samples", small_samples)
        patch.setattr(Rtl, "compute", made_up)  # what RTL really counts to: test_counts.py
        yield made


def test_the_collectors_of_a_scheme_are_counted() -> None:
    found = Rtl("collectors", BASELINE.name, "tiny").compute()
    assert found["bits"]["flops"] > 0
    assert found == Rtl("ocu", BASELINE.name, "tiny").compute()


@pytest.fixture(scope="module")
def made(here: Here) -> Exploration:
    """Exploration that was killed twice on its way."""
    for evaluations in (6, 24):
        here.left = evaluations
        with pytest.raises(KeyboardInterrupt):
            explore(KERNELS, **HOW)
    here.left = 10**6
    return explore(KERNELS, **HOW)


@pytest.mark.long
def test_a_killed_exploration_goes_on_where_it_was(made: Exploration, here: Here) -> None:
    there, done = made.there
    assert 24 <= there < done
    again = explore(KERNELS, **HOW)
    assert again.there == (done, done)
    assert again.to_dict() == made.to_dict()


@pytest.mark.long
def test_equal_seeds_give_equal_fronts_without_what_is_kept(
    made: Exploration, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "folder", tmp_path)
    again = explore(KERNELS, **HOW)
    assert again.there[0] == 0
    assert again.to_dict() == made.to_dict()


def test_points_climb_the_rungs(made: Exploration) -> None:
    assert [len(rung.kernels) for rung in made.rungs] == [1, 3]
    assert set(made.rungs[-1].kernels) == set(KERNELS)
    assert {each.point.scheme for each in made.points} >= {"rfc+ccu-lru-gto", "rfc+ccu-lru-gto+renaming+bdi"}
    assert sum(bool(each.point.overrides) for each in made.points) == 2
    first, last = len(made.points), len(made.finalists)
    assert last in (-(-first // 3), -(-first // 3) + 1)  # the base is always among them
    assert made.points[0].point.scheme == BASELINE.name
    assert made.points[0] in made.finalists
    assert made.points[0].values["ipc"] == made.points[0].values["work"] == 1.0
    for each in made.points:
        assert set(each.kernels) == set(made.rungs[each.rung].kernels)
    assert not made.refused


def test_the_front_holds_what_no_finalist_dominates(made: Exploration) -> None:
    own = {each.name: costs(each.values, made.aims) for each in made.finalists}
    best = {each.name for each in made.front()}
    beaten = made.beaten()
    assert best | set(beaten) == set(own)
    assert not best & set(beaten)
    for name, by in beaten.items():
        assert by
        assert all(no_worse(own[other], own[name]) for other in by)
    assert not any(
        dominates(one, other) for one in own.values() for name, other in own.items() if name in best
    )
    assert made.knee().name in best
    for pair in made.pairs:
        assert made.knee(aims=pair) in made.front(pair)


def test_values_are_those_of_runs_and_parts(made: Exploration, here: Here) -> None:
    found = next(each for each in made.finalists if each is not made.points[0])
    base = made.points[0]
    assert found.values["ipc"] == pytest.approx(
        speed_and_work(found.kernels, base.kernels, made.rungs[-1].kernels)["ipc"]
    )
    kernel = KERNELS[0]
    setting = Space((), "tiny").setting(found.point)
    result = perform(setting.task(kernel, "tiny", "golden")).result
    assert result is not None
    assert found.kernels[kernel] == measured(result, setting)
    total = sum(size.cells_um2 + size.memory_um2 for size in found.parts.values())
    assert found.values["area"] == pytest.approx(total / 1e6)
    assert found.values["clock"] == max(size.delay_ns for size in found.parts.values())


def test_what_no_paper_has_joins_several(made: Exploration) -> None:
    by_name = {each.point.scheme: each for each in made.points}
    assert by_name[BASELINE.name].published
    assert not by_name["rfc+ccu-lru-gto"].published
    assert by_name["rfc+ccu-lru-gto+renaming"].papers == ("LTRF", "Malekeh", "Jeon and Annavaram")
    found = made.unpublished
    if found is not None:
        assert not found.published
        assert found in made.front()
        assert found.name in worth(made)


def test_a_point_that_fails_is_left_out_and_said(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    compute = RunSpec.compute

    def failing(self: RunSpec) -> dict[str, Any]:
        if self.scheme == "rfc+ccu-lru-gto+bdi":
            raise WarpbankError("too large")
        return compute(self)

    monkeypatch.setattr(RunSpec, "compute", failing)
    monkeypatch.setattr(here, "folder", here.folder / "failing")
    made = explore(("vectoradd",), **{**HOW, "samples": 0, "only": "rfc+ccu-lru-gto+bdi"})
    assert made.refused == {"rfc+ccu-lru-gto+bdi": "vectoradd: too large"}
    assert "rfc+ccu-lru-gto+bdi" not in {each.name for each in made.points}
    monkeypatch.setattr(RunSpec, "compute", lambda self: failing(RunSpec("nn", scheme="rfc+ccu-lru-gto+bdi")))
    monkeypatch.setattr(here, "folder", here.folder / "again")
    with pytest.raises(WarpbankError, match="the baseline fails"):
        explore(("vectoradd",), **{**HOW, "samples": 0, "only": "rfc+ccu-lru-gto+bdi"})


def test_finalists_are_synthesized(here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The knee gets the area of its synthesis; what synthesis itself gives: tests/synth."""
    asked: list[tuple[str, Setting]] = []

    def synthesized(self: Any) -> dict[str, Any]:
        asked.append((self.unit, self.scheme))
        return {"area_um2": 1000.0, "memory_um2": 500.0, "delay_ns": 0.8 + len(asked), "liberty": "x"}

    module = "warpbank.studies.explore.finalists"
    monkeypatch.setattr(f"{module}.libraries", lambda given: ("cells.lib",))
    monkeypatch.setattr(f"{module}.Mapped.check", lambda self: None)
    monkeypatch.setattr(f"{module}.Mapped.key", lambda self: f"mapped-{self.unit}-{self.scheme}")
    monkeypatch.setattr(f"{module}.Mapped.compute", synthesized)
    plain = explore(("vectoradd",), **{**HOW, "samples": 0})
    made = explore(("vectoradd",), **{**HOW, "samples": 0, "synthesize": 1})
    (found,) = [each for each in made.points if each.synthesized]
    assert found.name == plain.knee().name
    assert found.values["area"] == pytest.approx(1500e-6 * len(asked))
    assert found.values["clock"] == 0.8 + len(asked)
    assert {unit for unit, _ in asked} >= {"registers"}
    assert "was synthesized" in "".join(section.text for section in page(made).sections)


def test_a_file_that_is_no_library_is_refused_before_the_runs(tmp_path: Path) -> None:
    (tmp_path / "picture.lib").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(WarpbankError, match=r"picture\.lib cannot be read"):
        explore(("vectoradd",), **{**HOW, "synthesize": 1, "liberty": [str(tmp_path / "picture.lib")]})


def test_a_part_of_a_finalist_is_mapped_to_a_library(tmp_path: Path) -> None:
    (tmp_path / "small.lib").write_text(text())
    (liberty,) = finalists.libraries([str(tmp_path / "small.lib")])
    space = Space((), "tiny")
    wanted = finalists.tasks(space.setting(Point("malekeh")), (liberty,))
    assert [task.unit for task in wanted.values()] == ["ccu", "registers", "cache_aware"]
    task = wanted["scheduler"]
    task.check()
    other = finalists.tasks(space.setting(Point("bow")), (liberty,))["scheduler"]
    assert task.key() != other.key()
    assert other.unit == "gto"
    found = finalists.size(task.compute())
    assert found.source == "synthesized"
    assert found.cells_um2 > 0
    assert found.delay_ns > 0


def test_what_cannot_be_meant_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("something ran")

    monkeypatch.setattr("warpbank.studies.explore.evaluate.execute", never)
    for changes, said in (
        ({"aims": ("ipc", "speed")}, "--aims: Unknown aim 'speed'"),
        ({"aims": ("ipc",)}, "--aims takes at least two"),
        ({"factor": 0}, "--factor takes"),
        ({"vary": {"no.field": (1,)}}, "--vary"),
        ({"synthesize": 1, "liberty": ("none",)}, "--synthesize needs a cell library"),
    ):
        with pytest.raises(ArgumentError, match=said):
            explore(KERNELS, **{**HOW, **changes})
    with pytest.raises(SchemeError, match="'bow\\+malekeh' cannot work: bow puts"):
        explore(KERNELS, **{**HOW, "only": "bow+malekeh"})
    assert [aim.name for aim in find_aims(("clock", "ipc"))] == ["clock", "ipc"]


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.studies.explore.run.find_spec", lambda name: None)
    with pytest.raises(WarpbankError, match=r"pip install 'warpbank\[explore\]'"):
        explore(KERNELS, **HOW)


def test_the_files_hold_every_point(made: Exploration, tmp_path: Path) -> None:
    html, data = write(made, tmp_path / "made")
    content = json.loads(data.read_text())
    assert content == json.loads(json.dumps(made.to_dict()))
    assert len(content["points"]) == len(made.points)
    assert content["knee"] in content["front"]
    assert set(AIMS) <= set(content["points"][0])
    assert made.knee().name in html.read_text()
    frame = made.to_frame()
    assert list(frame["name"]) == [each.name for each in made.points]
    assert set(frame[frame["front"]]["name"]) == set(content["front"])


def test_the_page_is_drawn_in_a_browser(made: Exploration, tmp_path: Path, browser: Any) -> None:
    (html, _) = write(made, tmp_path)
    for options in ({}, PHONE):
        with visit(browser, html, **options) as seen:
            plots = seen.page.evaluate(
                "[...document.querySelectorAll('.plot')].map(plot => plot.querySelectorAll('.point').length)"
            )
            assert len(plots) == len(made.pairs)
            assert all(count >= 2 for count in plots)
            wide, window = seen.page.evaluate(WIDTH)
            assert wide <= window
            heads = seen.page.locator("h2").all_text_contents()
            assert heads[0] == "The front"
            assert "What beats what" in heads
        assert seen.said == []
        assert seen.asked == [html.as_uri()]
