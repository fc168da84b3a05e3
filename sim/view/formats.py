"""Formats of a view: a pipeline for Konata or Perfetto, the register banks or the whole machine as a page."""

from __future__ import annotations

from pathlib import Path

from warpbank.arch.names import unknown
from warpbank.program.errors import WarpbankError
from warpbank.sim.experiment import Experiment
from warpbank.sim.view.follow import follow
from warpbank.sim.view.timeline import Timeline

#: Formats, and how the names of their files end.
SUFFIXES = {
    "kanata": ".kanata",
    "perfetto": ".perfetto.json",
    "html": "-banks.html",
    "machine": "-machine.html",
}


def draw(experiment: Experiment, start: int, end: int, form: str) -> tuple[Timeline, str]:
    """Run an experiment on the golden model and draw the cycles from `start` up to, not including, `end`.

    Parameters
    ----------
    experiment : the run.
    start, end : the cycles.
    form : key of `SUFFIXES`.

    Returns the timeline and the text of the file.

    Raises
    ------
    WarpbankError : no such format, too many cycles for it, or the run is over before `start`.
    """
    if form == "machine":
        from warpbank.sim.view.machine import page
        from warpbank.sim.view.recording import record

        recording = record(experiment, start, end)
        return recording.timeline, page(recording, experiment)
    timeline = follow(experiment, start, end)
    return timeline, view_text(timeline, experiment, form)


def default_name(experiment: Experiment, form: str) -> Path:
    """The file that a view is written to if none is named."""
    return Path(f"{experiment.job.name}{SUFFIXES[form]}")


def view_text(timeline: Timeline, experiment: Experiment, form: str) -> str:
    """A timeline as the text of a file.

    Parameters
    ----------
    timeline : some cycles of a run (`warpbank.sim.view.follow.follow`).
    experiment : the run.
    form : key of `SUFFIXES` other than `machine`, which needs more than a timeline (see `draw`).

    Raises
    ------
    WarpbankError : no such format.
    """
    if form == "kanata":
        from warpbank.sim.view.kanata import kanata

        return kanata(timeline)
    if form == "perfetto":
        from warpbank.sim.view.perfetto import perfetto

        return perfetto(timeline)
    if form == "html":
        from warpbank.sim.view.banks import page  # brings a drawing library

        return page(timeline, experiment)
    raise WarpbankError(unknown("format", form, SUFFIXES))
