"""Progress of long runs, on the error stream, and only when a person is watching."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from warpbank.sim.runs import Outcome
from warpbank.sim.runs.execute import Progress as RunsProgress

#: Shorter work shows nothing.
QUIET_SECONDS = 2.0


class Reporter:
    """Tells how far a run has come."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.started = time.monotonic()
        self.task: TaskID = bar.add_task("", total=None, visible=False)

    def reading(self, done: int, total: int) -> None:
        """Progress of reading a trace: bytes so far, and of how many."""
        if time.monotonic() - self.started > QUIET_SECONDS:
            self.bar.update(
                self.task, description="reading the trace", completed=done, total=total, visible=True
            )

    def emulating(self) -> None:
        """The emulator starts; it cannot tell how far it will have to go."""
        self.bar.update(self.task, description="emulating", total=None, visible=True)

    def building(self, done: int, total: int) -> None:
        """The RTL is built, which takes a minute or two, and once for all kernels of a machine: how much of
        its C++ is compiled. Nothing can be told while there is none."""
        self.bar.update(
            self.task,
            description="compiling the RTL" if total else "building the RTL",
            completed=done,
            total=total or None,
            visible=True,
        )

    def simulating(self, retired: int, total: int) -> None:
        """Progress of a simulation: how many of the trace's warp instructions have retired."""
        if time.monotonic() - self.started > QUIET_SECONDS:
            self.bar.update(self.task, description="simulating", completed=retired, total=total, visible=True)


@contextmanager
def reporter() -> Iterator[Reporter]:
    """A reporter whose bar is gone when the work is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield Reporter(bar)


@contextmanager
def runs() -> Iterator[RunsProgress]:
    """Progress of many runs, for `warpbank.sim.runs.execute`."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("runs", total=None)

        def report(outcome: Outcome, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=outcome.task.label)

        yield report
