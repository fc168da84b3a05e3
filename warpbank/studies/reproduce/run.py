"""Reproduction of a paper: all runs of its figures, then its tables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from warpbank import workloads
from warpbank.arch.names import unknown
from warpbank.program.errors import WarpbankError
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs import Outcome, RunSpec, Task, execute
from warpbank.sim.runs.execute import Progress
from warpbank.studies.reproduce.experiments import EXPERIMENTS, Experiment, changed
from warpbank.studies.reproduce.paper import Comparison, Figure, Paper, compare
from warpbank.studies.reproduce.scorecard import Entry, Trial, Verdict, entries


@dataclass(frozen=True)
class Reproduction:
    """Reproduction of a paper's figures, ours beside theirs.

    Parameters
    ----------
    made_by : command, size, kernels, tool versions, the configuration hashes of the machines that ran, and
        their seed.
    scorecard : every published number of these figures beside ours, with its verdict.
    """

    paper: Paper
    comparisons: tuple[Comparison, ...]
    made_by: dict[str, Any]
    scorecard: tuple[Entry, ...] = ()

    @property
    def failures(self) -> dict[str, str]:
        """Failures in any figure, and why."""
        return {
            label: cause for comparison in self.comparisons for label, cause in comparison.failures.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Reproduction as plain dictionaries for JSON."""
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "made_by": self.made_by,
            "figures": [comparison.to_dict() for comparison in self.comparisons],
            "scorecard": [entry.to_dict() for entry in self.scorecard],
        }


def reproduce(
    paper: Paper,
    kernels: Sequence[str],
    size: str,
    *,
    figures: Sequence[str] = (),
    options: CompileOptions = DEFAULT_OPTIONS,
    overrides: Sequence[str] = (),
    machine: str = "",
    experiments: bool = True,
    scheduler: str | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run what the paper's figures need and is not there yet, and make their tables and the scorecard.

    Parameters
    ----------
    kernels : shipped kernels, or groups of them; empty: the core group.
    figures : names of figures; empty: all.
    options : how every kernel is compiled; what differs from the usual replaces what a figure asks for.
    overrides, machine : further fields of every machine, as after `--set`, and a preset or a TOML file in the
        place of the figures' own ("": theirs).
    experiments : run the paper's experiments for the numbers that do not agree
        (`warpbank.studies.reproduce.experiments`).
    scheduler, progress, on_wait : see `warpbank.sim.runs.execute`.

    Raises WarpbankError for a kernel or figure that does not exist.
    """
    chosen, known = (
        list(dict.fromkeys(workloads.expand(kernels or [workloads.CORE]))),
        workloads.names(workloads.ALL),
    )
    for kernel in chosen:
        if kernel not in known:
            raise WarpbankError(unknown("kernel", kernel, (*workloads.GROUPS, workloads.ALL, *known)))
    made = [_figure(paper, name) for name in figures] or list(paper.figures)
    change = _Change(options, tuple(overrides), machine)
    run = partial(execute, scheduler=scheduler, progress=progress, on_wait=on_wait)
    comparisons, tasks, results = _compared(paper, made, chosen, size, change, run)
    asked = [word for kernel in kernels for word in ("--kernel", kernel)]
    words = _words(paper, size, asked)
    card = tuple(entry for part in comparisons for entry in entries(paper.name, part))
    if experiments:
        for experiment in EXPERIMENTS.get(paper.name, ()):
            if not (experiment.kernels and kernels):
                card = _tried(paper, card, experiment, made, chosen, size, change, asked, run)
    hashes = sorted(
        {
            f"{result['preset']} {result['config_hash']}"
            for result in results.values()
            if "config_hash" in result
        }
    )
    words += [word for figure in figures for word in ("--figure", figure)]
    made_by = {
        "command": shlex.join([*words, *change.words()]),
        "size": size,
        "compile": options.to_dict(),
        "kernels": chosen,
        "groups": workloads.groups(chosen),
        "configurations": hashes,
        "versions": tool_versions() | extensions.versions(),
        "seed": _seeds(tasks),
        "data": "inputs of the kernels are fixed: seeds and generators stand in workloads/",
    }
    return Reproduction(paper, comparisons, made_by, card)


def supplemented(
    paper: Paper, card: Sequence[Entry], size: str, *, progress: Progress | None = None
) -> tuple[Entry, ...]:
    """Scorecard that was recorded at a size, with the experiments that have been added since.

    Trials that were recorded keep their numbers; those of experiments that are gone are left out. Each entry
    is tried in the order of `EXPERIMENTS`, until one explains it.
    """
    known = {
        (entry.figure, entry.column, entry.end, trial.experiment): trial
        for entry in card
        for trial in entry.trials
    }
    figures = [_figure(paper, name) for name in dict.fromkeys(entry.figure for entry in card)]
    kernels = list(dict.fromkeys(workloads.expand([workloads.CORE])))
    found = tuple(replace(entry, trials=()) for entry in card)
    for experiment in EXPERIMENTS.get(paper.name, ()):
        done, lacking = [], []
        for entry in found:
            trial = known.get((entry.figure, entry.column, entry.end, experiment.name))
            if trial is not None and entry.verdict is Verdict.OPEN:
                done.append(replace(entry, trials=(*entry.trials, trial)))
            else:
                lacking.append(entry)
        change = _Change(DEFAULT_OPTIONS, (), "")
        run = partial(execute, progress=progress)
        lacking = list(_tried(paper, tuple(lacking), experiment, figures, kernels, size, change, [], run))
        by_name = {entry.name: entry for entry in (*done, *lacking)}
        found = tuple(by_name[entry.name] for entry in found)
    return found


def _words(paper: Paper, size: str, kernels: Sequence[str]) -> list[str]:
    """Words of the command that reproduces a paper; `kernels`: those that name them."""
    return ["warpbank", "reproduce", paper.name, "--size", size, *kernels]


@dataclass(frozen=True)
class _Change:
    """What every task gets: compile options, further overrides, another machine."""

    options: CompileOptions
    overrides: tuple[str, ...]
    preset: str

    def task(self, task: Task) -> Task:
        options = None if self.options == DEFAULT_OPTIONS else self.options
        return changed(task, options, self.overrides, self.preset)

    def words(self) -> list[str]:
        option = "--config" if exp.is_file(self.preset) else "--preset"
        machine = [option, self.preset] if self.preset else []
        return [
            *self.options.words(),
            *machine,
            *(word for text in self.overrides for word in ("--set", text)),
        ]


def _compared(
    paper: Paper,
    figures: Sequence[Figure],
    kernels: Sequence[str],
    size: str,
    change: _Change,
    run: Callable[..., list[Outcome]],
) -> tuple[tuple[Comparison, ...], list[Task], dict[Task, dict[str, Any]]]:
    """Figures on the kernels, the tasks that were done, and their results."""
    tasks = {
        task: change.task(task)
        for figure in figures
        for kernel in figure.kernels or kernels
        for task in figure.tasks(kernel, size)
    }
    outcomes = dict(zip(tasks, run(tasks.values()), strict=True))
    results = {task: outcome.result for task, outcome in outcomes.items() if outcome.result is not None}
    failures = {task: outcome.error for task, outcome in outcomes.items() if outcome.result is None}
    made = tuple(compare(paper, figure, kernels, size, results, failures) for figure in figures)
    return made, list(tasks.values()), results


def _tried(
    paper: Paper,
    card: tuple[Entry, ...],
    experiment: Experiment,
    figures: Sequence[Figure],
    kernels: Sequence[str],
    size: str,
    change: _Change,
    asked: Sequence[str],
    run: Callable[..., list[Outcome]],
) -> tuple[Entry, ...]:
    """The scorecard with the experiment tried on what it concerns and is still open. `asked`: the words of
    the command that name kernels."""
    open_ = {entry.figure for entry in card if entry.verdict is Verdict.OPEN and entry.ours is not None}
    concerned = [figure for figure in figures if figure.name in open_ and experiment.concerns(figure.name)]
    if not concerned:
        return card
    chosen = list(workloads.expand(experiment.kernels)) or list(kernels)
    more = _Change(
        experiment.compiled(change.options),
        (*change.overrides, *experiment.overrides),
        experiment.preset or change.preset,
    )
    wanted = [_figure(paper, experiment.made(figure.name)) for figure in concerned]
    at = experiment.size or size
    parts = _compared(paper, wanted, chosen, at, more, run)[0]
    made = {figure.name: part for figure, part in zip(concerned, parts, strict=True)}
    kernels_said = ["--kernels", ",".join(experiment.kernels)] if experiment.kernels else []
    said = [*_words(paper, at, asked), *kernels_said, *more.words()]
    tried = []
    for entry in card:
        if entry.figure in made and entry.verdict is Verdict.OPEN and entry.ours is not None:
            value = made[entry.figure].ours(entry.column, entry.end)[1]
            command = shlex.join([*said, "--figure", experiment.made(entry.figure)])
            trial = Trial(experiment.name, experiment.source, command, value)
            entry = replace(entry, trials=(*entry.trials, trial))
        tried.append(entry)
    return tuple(tried)


def _seeds(tasks: Sequence[Task]) -> str:
    """What the machines' random choices start from."""
    machines = {(task.preset, task.overrides) for task in tasks if isinstance(task, RunSpec)}
    seeds = {
        exp.find_config(name, None, list(overrides)).sub_core.collector.seed for name, overrides in machines
    }
    return ", ".join(f"sub_core.collector.seed={seed}" for seed in sorted(seeds))


def _figure(paper: Paper, name: str) -> Figure:
    for figure in paper.figures:
        if figure.name == name:
            return figure
    raise WarpbankError(unknown(f"figure of {paper.name}", name, [figure.name for figure in paper.figures]))
