"""Scorecard: verdicts by hand, experiments by tasks, the command, and the recorded page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import scorecard_page
from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.program.options import DEFAULT_OPTIONS, CodeOrder, CompileOptions
from warpbank.sim.runs import Outcome, RunSpec, Task
from warpbank.sim.runs.worker import perform
from warpbank.studies.reproduce import PAPERS, reproduce
from warpbank.studies.reproduce.experiments import EXPERIMENTS, Experiment, changed
from warpbank.studies.reproduce.paper import published
from warpbank.studies.reproduce.run import supplemented
from warpbank.studies.reproduce.scorecard import Entry, Trial, Verdict, counts, from_dict, markdown, summary
from warpbank.studies.reproduce.write import write_scorecard

#: Figures that are counted.
_COUNTED = (("bow", "storage"), ("ltrf", "wcb"), ("ltrf", "table2-power"))
#: Machine of each paper's figures.
_MACHINES = {"bow": "pascal", "malekeh": "turing", "ltrf": "maxwell", "gscalar": "fermi", "renaming": "fermi"}


def entry(published: float, ours: float | None, *tried: float | None, unit: str = "%", **rest: Any) -> Entry:
    """Entry with trials that gave these numbers."""
    trials = tuple(Trial(f"trial {place}", "", "run", value) for place, value in enumerate(tried))
    return Entry("p", "fig1", "c", "", unit, published, rest.get("bound", ""), ours, trials=trials)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (entry(50, 45), Verdict.AGREES),  # a tenth
        (entry(50, 44.9), Verdict.OPEN),
        (entry(2, 5), Verdict.AGREES),  # three points
        (entry(2, 5.1), Verdict.OPEN),
        (entry(2, 5, unit="x"), Verdict.OPEN),  # no points without a share
        (entry(2, 2.2, unit="x"), Verdict.AGREES),
        (entry(-36, -39), Verdict.AGREES),
        (entry(70, 99, bound="at least"), Verdict.AGREES),
        (entry(70, 60, bound="at least"), Verdict.OPEN),
        (entry(2, -9, bound="at most"), Verdict.AGREES),
        (entry(2, 9, bound="at most"), Verdict.OPEN),
        (entry(0, 0, unit="writes"), Verdict.AGREES),
        (entry(50, None), Verdict.OPEN),
        (entry(50, 30, 48), Verdict.EXPLAINED),  # what remains is within the bar
        (entry(50, 30, 44), Verdict.EXPLAINED),  # 14 of 20
        (entry(50, 30, 43), Verdict.OPEN),  # 13 of 20 is less than two thirds
        (entry(50, 30, 60), Verdict.EXPLAINED),  # 30 of 20
        (entry(50, 30, 61), Verdict.OPEN),  # further off than before
        (entry(50, 30, 20), Verdict.OPEN),  # the wrong way
        (entry(50, 44, 45.5), Verdict.OPEN),  # within the bar by chance: a quarter of the difference
        (entry(50, 30, None), Verdict.OPEN),
        (entry(50, None, 50), Verdict.OPEN),
        (entry(50, 30, 31, 49), Verdict.EXPLAINED),
    ],
)
def test_verdicts_by_hand(made: Entry, verdict: Verdict) -> None:
    assert made.verdict is verdict
    again = from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.verdict is verdict


def test_the_first_experiment_that_explains_is_named() -> None:
    made = entry(50, 30, 31, 49, 50)
    assert made.explanation is made.trials[1]
    assert made.to_dict()["explanation"] == "trial 1"
    assert "trial 1: 49" in markdown([made])
    assert "tried: trial 0: 31" in markdown([entry(50, 30, 31)])


def test_inputs_are_no_results() -> None:
    given = Entry("p", "table2", "c", "", "x", 1.0, "", None, given=True)
    assert given.verdict is Verdict.INPUT
    card = [given, entry(50, 50), entry(50, 30, 49), entry(50, 30)]
    assert counts(card) == dict.fromkeys(Verdict, 1)
    assert summary(card).startswith(
        "Of 3 published numbers 1 agree with ours, 1 differ for a measured reason, 1"
    )


def test_tasks_of_an_experiment() -> None:
    task = RunSpec("nn", "tiny", "bow", "pascal", ("sub_core.banks=4",))
    source = Experiment("s", "", code_order=CodeOrder.SOURCE).compiled(CompileOptions(free_registers=30))
    assert source == CompileOptions(CodeOrder.SOURCE, free_registers=30)
    made = changed(task, source, ("sub_core.rows=128",), "turing")
    assert made == RunSpec(
        "nn", "tiny", "bow", "turing", ("sub_core.banks=4", "sub_core.rows=128"), compile=source
    )
    assert changed(task, None, (), "") == task


def test_a_scheduler_that_the_scheme_brings_is_not_named_again() -> None:
    """So that an experiment finds the runs that are there."""
    policy = ("sub_core.front_end.scheduler=two_level",)
    brought, not_brought = (RunSpec("nn", "tiny", scheme) for scheme in ("ltrf", "baseline"))
    assert changed(brought, None, policy, "") == brought
    assert changed(not_brought, None, policy, "") == RunSpec("nn", "tiny", "baseline", overrides=policy)
    already = RunSpec("nn", "tiny", "ltrf", overrides=("sub_core.front_end.scheduler=gto",))
    assert changed(already, None, policy, "") == RunSpec(
        "nn", "tiny", "ltrf", overrides=(*already.overrides, *policy)
    )


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_experiments_can_be_run(paper: str) -> None:
    """Their figures, kernels and machines are there, and each changes something."""
    figures = PAPERS[paper].figures
    names = [figure.name for figure in figures]
    for experiment in EXPERIMENTS[paper]:
        for pattern in experiment.figures:
            one = Experiment("", "", (pattern,))
            assert any(one.concerns(name) for name in names), pattern
        for figure, other in experiment.instead:
            asked, made = (each for name in (figure, other) for each in figures if each.name == name)
            assert asked.columns == made.columns
            assert asked.unit == made.unit
            assert other not in published(PAPERS[paper]), "it is no figure of the paper's"
        assert set(workloads.expand(experiment.kernels)) <= set(workloads.names(workloads.ALL))
        with_overrides(preset(experiment.preset or _MACHINES[paper]), list(experiment.overrides))
        options = experiment.compiled(DEFAULT_OPTIONS)
        changes = (experiment.kernels, experiment.overrides, experiment.preset, experiment.size)
        assert any((*changes, experiment.instead, options != DEFAULT_OPTIONS))
        assert experiment.size in ("", *workloads.SIZES)
        assert experiment.source


def test_a_figure_in_the_place_of_another() -> None:
    """Table I is made without a line of the snippet where it does not agree, and is explained so."""
    made = reproduce(PAPERS["bow"], [], "tiny", figures=["table1-bow-wb"])
    card = {entry.column: entry for entry in made.scorecard}
    (trial,) = card["r2"].trials
    assert trial.command == "warpbank reproduce bow --size tiny --figure table1-bow-wb-no-mov"
    assert (card["r2"].ours, trial.ours, card["r2"].published) == (2, 1, 1)
    assert card["r2"].verdict is card["r0 to r3"].verdict is Verdict.EXPLAINED
    assert card["r0"].verdict is Verdict.AGREES
    assert card["r0"].trials == ()


def test_experiments_added_to_a_record() -> None:
    """A trial that was recorded keeps its number, one that is lacking is run, one whose experiment is gone is
    left out."""
    paper = PAPERS["bow"]
    card = reproduce(paper, [], "tiny", figures=["table4-access", "storage"], experiments=False).scorecard
    bank = next(one for one in card if one.figure == "table4-access")
    assert bank.verdict is Verdict.OPEN
    (added,) = (one for one in supplemented(paper, card, "tiny") if one.figure == bank.figure)
    assert [trial.experiment for trial in added.trials] == ["a bank of 64 KB"]
    kept = Trial("a bank of 64 KB", "s", "c", 99.0)
    gone = Trial("gone", "s", "c", bank.published)
    again = supplemented(paper, [replace(bank, trials=(gone, kept))], "tiny")
    assert again == (replace(bank, trials=(kept,)),)


def test_a_figure_at_another_size() -> None:
    """A number that is open at one size is tried at another, on kernels of its own."""
    larger = Experiment("larger", "s", ("fig7",), kernels=("nn",), size="small")
    assert larger.concerns("fig7")
    assert larger.made("fig7") == "fig7"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, "bow", (larger,))
        made = reproduce(PAPERS["bow"], [], "tiny", figures=["fig7"])
    alone = reproduce(PAPERS["bow"], ["nn"], "small", figures=["fig7"], experiments=False)
    tried = [entry for entry in made.scorecard if entry.trials]
    assert tried
    for entry in tried:
        assert entry.trials[0].command == "warpbank reproduce bow --size small --kernels nn --figure fig7"
        assert entry.trials[0].ours == alone.comparisons[0].ours(entry.column, entry.end)[1]


def test_the_command_ends_with_a_scorecard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels, one figure: the experiment's number is what its command gives."""
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))

    def execute(tasks: Iterable[Task], **_: Any) -> list[Outcome]:
        return [perform(task) for task in tasks]

    monkeypatch.setattr("warpbank.studies.reproduce.run.execute", execute)
    words = ("reproduce", "bow", "--size", "tiny", "--kernels", "vectoradd,nn", "--figure", "fig7")
    data = json.loads(warpbank(*words, "--json").out)["papers"][0]
    card = [from_dict(row) for row in data["scorecard"]]
    assert [each.column for each in card] == ["banks only", "collector only", "both"]
    assert all(each.ours == mean for each, mean in zip(card, data["figures"][0]["mean"][:3], strict=True))
    tried = [each for each in card if each.trials]
    assert tried
    trial = tried[0].trials[0]
    assert trial.experiment == "code in source order"
    again = json.loads(warpbank(*trial.command.split()[1:], "--json", "--no-explain").out)["papers"][0]
    assert again["figures"][0]["mean"][card.index(tried[0])] == trial.ours
    assert not any(row["trials"] for row in again["scorecard"])
    shown = warpbank(*words, "--output", str(tmp_path / "out"))
    assert shown.code == 0, shown.err
    assert "Scorecard: bow" in shown.out
    assert shown.out.index("made by:") < shown.out.index("Scorecard: bow")
    assert "## Scorecard" in (tmp_path / "out" / "bow.md").read_text()
    assert ">Scorecard<" in (tmp_path / "out" / "bow.html").read_text()


def test_the_page_is_as_recorded() -> None:
    assert scorecard_page.PAGE.read_text() == scorecard_page.updated()


def test_the_record_has_the_published_numbers_and_verdicts_of_today() -> None:
    """A number that is read from a paper once more, or another rule, needs the page to be made once more."""
    data = json.loads(scorecard_page.RECORDED.read_text())
    assert list(data) == list(PAPERS)
    for name, runs in data.items():
        stated = published(PAPERS[name])
        rows = [row for run in runs for row in run["entries"]]
        recorded = {(row["figure"], row["column"], row["end"]) for row in rows}
        assert recorded == {
            (figure, column, end)
            for figure, each in stated.items()
            for end, numbers in (("", each.values), ("least", each.least), ("most", each.most))
            for column in numbers
        }
        for row in rows:
            figure = stated[row["figure"]]
            numbers = {"": figure.values, "least": figure.least, "most": figure.most}[row["end"]]
            assert numbers[row["column"]] == row["published"]
            assert from_dict(row).verdict == row["verdict"]


def test_two_papers_have_one_scorecard(tmp_path: Path) -> None:
    """Figures that are counted need no run."""
    made = [reproduce(PAPERS[name], [], "tiny", figures=[figure]) for name, figure in _COUNTED]
    card = [each for one in made for each in one.scorecard]
    paths = write_scorecard(card, made[0].made_by, tmp_path)
    assert [path.name for path in paths] == ["scorecard.md", "scorecard.json"]
    assert "### ltrf" in paths[0].read_text()
    rows = json.loads(paths[1].read_text())["entries"]
    assert [from_dict(row) for row in rows] == card
    assert {row["verdict"] for row in rows} <= {"agrees", "explained", "open", "input"}
