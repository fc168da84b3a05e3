"""Reproduction of a paper: all runs of its figures, then its tables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.names import unknown
from warpbank.program.errors import WarpbankError
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.program.runner import tool_versions
from warpbank.sim import extensions
from warpbank.sim.runs import AnalysisSpec, RunSpec, Task, execute
from warpbank.sim.runs.execute import Progress
from warpbank.studies.reproduce.paper import Comparison, Figure, Paper, compare


@dataclass(frozen=True)
class Reproduction:
    """Reproduction of a paper's figures, ours beside theirs.

    Parameters
    ----------
    made_by : command, size, kernels, tool versions, the configuration hashes of the machines that ran, and
        their seed.
    """

    paper: Paper
    comparisons: tuple[Comparison, ...]
    made_by: dict[str, Any]

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
        }


def reproduce(
    paper: Paper,
    kernels: Sequence[str],
    size: str,
    *,
    figures: Sequence[str] = (),
    options: CompileOptions = DEFAULT_OPTIONS,
    scheduler: str | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run what the paper's figures need and is not there yet, and make their tables.

    Parameters
    ----------
    kernels : shipped kernels, or groups of them; empty: the core group.
    figures : names of figures; empty: all.
    options : how every kernel is compiled; what differs from the usual replaces what a figure asks for.
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
    tasks = {
        task: _compiled(task, options)
        for figure in made
        for kernel in figure.kernels or chosen
        for task in figure.tasks(kernel, size)
    }
    done = execute(tasks.values(), scheduler=scheduler, progress=progress, on_wait=on_wait)
    outcomes = dict(zip(tasks, done, strict=True))
    results = {task: outcome.result for task, outcome in outcomes.items() if outcome.result is not None}
    failures = {task: outcome.error for task, outcome in outcomes.items() if outcome.result is None}
    comparisons = tuple(compare(paper, figure, chosen, size, results, failures) for figure in made)
    hashes = sorted(
        {
            f"{result['preset']} {result['config_hash']}"
            for result in results.values()
            if "config_hash" in result
        }
    )
    words = ["warpbank", "reproduce", paper.name, "--size", size]
    words += [word for kernel in kernels for word in ("--kernel", kernel)]
    words += [word for figure in figures for word in ("--figure", figure)]
    made_by = {
        "command": shlex.join([*words, *options.words()]),
        "size": size,
        "compile": options.to_dict(),
        "kernels": chosen,
        "groups": workloads.groups(chosen),
        "configurations": hashes,
        "versions": tool_versions() | extensions.versions(),
        "seed": _seeds(list(tasks)),
        "data": "inputs of the kernels are fixed: seeds and generators stand in workloads/",
    }
    return Reproduction(paper, comparisons, made_by)


def _compiled(task: Task, options: CompileOptions) -> Task:
    """Task with other compile options, if it compiles a kernel and they are not the usual ones."""
    if isinstance(task, RunSpec | AnalysisSpec) and options != DEFAULT_OPTIONS:
        return replace(task, compile=options)
    return task


def _seeds(tasks: Sequence[Task]) -> str:
    """What the machines' random choices start from."""
    machines = {(task.preset, task.overrides) for task in tasks if isinstance(task, RunSpec)}
    seeds = {
        with_overrides(preset(name), list(overrides)).sub_core.collector.seed for name, overrides in machines
    }
    return ", ".join(f"sub_core.collector.seed={seed}" for seed in sorted(seeds))


def _figure(paper: Paper, name: str) -> Figure:
    for figure in paper.figures:
        if figure.name == name:
            return figure
    raise WarpbankError(unknown(f"figure of {paper.name}", name, [figure.name for figure in paper.figures]))
