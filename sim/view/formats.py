"""Formats of a view: a pipeline for Konata or Perfetto, or the register banks as a page."""

from __future__ import annotations

from pathlib import Path

from warpbank.arch.names import unknown
from warpbank.program.errors import WarpbankError
from warpbank.sim.experiment import Experiment
from warpbank.sim.view.timeline import Timeline

#: Formats, and how the names of their files end.
SUFFIXES = {"kanata": ".kanata", "perfetto": ".perfetto.json", "html": "-banks.html"}


def default_name(experiment: Experiment, form: str) -> Path:
    """The file that a view is written to if none is named."""
    return Path(f"{experiment.job.name}{SUFFIXES[form]}")


def view_text(timeline: Timeline, experiment: Experiment, form: str) -> str:
    """A timeline as the text of a file.

    Parameters
    ----------
    timeline : some cycles of a run (`warpbank.sim.view.follow.follow`).
    experiment : the run.
    form : key of `SUFFIXES`.

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
