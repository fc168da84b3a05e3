"""Register banks over time: heat maps of accesses and conflicts, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpbank.arch.config import config_hash
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.report import Page, Plot, Section, html
from warpbank.sim.view.timeline import Mark, Timeline

#: Most columns of a heat map: a browser draws no more in its width.
COLUMNS = 1000
#: From nothing to one access or wait in every cycle; nothing is the page's own ground.
_BLUE = [(0.0, "rgba(86,180,233,0)"), (1.0, "#0072b2")]
_RED = [(0.0, "rgba(230,159,0,0)"), (1.0, "#d55e00")]
#: Accesses of `Timeline.accesses`; what else stands there tells more about one of them.
_ACCESSES = ("read", "write", "write_back", "fetch")


def per_bank(timeline: Timeline, marks: Mapping[tuple[int, int], list[Mark]], step: int) -> np.ndarray:
    """Marks per cycle of every bank (row) in every interval of `step` cycles (column)."""
    columns = -(-(timeline.end - timeline.start) // step)
    counted = np.zeros((timeline.cores * timeline.banks, columns))
    for (core, bank), found in marks.items():
        cycles = np.array([mark.cycle for mark in found if mark.name in (*_ACCESSES, "conflict")], np.int64)
        counted[core * timeline.banks + bank] = np.bincount(
            (cycles - timeline.start) // step, minlength=columns
        )
    widths = np.minimum(step, timeline.end - timeline.start - step * np.arange(columns))
    return counted / widths


def page(timeline: Timeline, experiment: exp.Experiment) -> str:
    """Page of two heat maps, bank by cycle: accesses, and cycles in which a read waited. One file, no network
    needed."""
    cycles = timeline.end - timeline.start
    step = -(-cycles // COLUMNS)
    starts = [timeline.start + step * column for column in range(-(-cycles // step))]
    names = [f"{core}.{bank}" for core in range(timeline.cores) for bank in range(timeline.banks)]
    accesses = per_bank(timeline, timeline.accesses, step)
    waits = np.minimum(per_bank(timeline, timeline.conflicts, step), 1)

    def plot(name: str, text: str, shares: np.ndarray, colours: list[tuple[float, str]]) -> Plot:
        bar = {"title": {"text": "per cycle"}, "thickness": 12}
        trace = {
            "type": "heatmap",
            "z": shares.round(3).tolist(),
            "x": starts,
            "y": names,
            "zmin": 0,
            "zmax": 1,
            "colorscale": colours,
            "colorbar": bar,
            "hovertemplate": "bank %{y}, cycle %{x}: %{z:.2f}<extra></extra>",
        }
        layout = {
            "xaxis": {"title": {"text": f"cycle (columns of {step})" if step > 1 else "cycle"}},
            "yaxis": {"title": {"text": "sub-core.bank"}, "type": "category"},
        }
        return Plot(name, text, [trace], layout, 600)

    job, window = experiment.job, f"cycles {timeline.start} to {timeline.end - 1}"
    sections = [
        Section(
            "Accesses",
            "Reads and writes of every bank. A bank has one port: one access per cycle is all that it can "
            "do.",
            [plot("accesses", f"Accesses per cycle of every bank, {window}", accesses, _BLUE)],
        ),
        Section(
            "Conflicts",
            "Share of the cycles in which a bank had a read request that it did not grant: behind a write, "
            "behind an older request, or because the collector's port was taken.",
            [plot("conflicts", f"Cycles with a read that waited, of every bank, {window}", waits, _RED)],
        ),
    ]
    made_by = {
        "kernel": f"{job.name} ({job.size})",
        "scheme": experiment.scheme.name,
        "machine": experiment.preset,
        "configuration": config_hash(experiment.config),
        "versions": tool_versions() | extensions.versions(),
    }
    title = f"Register banks: {job.name}, {experiment.scheme.name}"
    return html(
        Page(title, f"{job.name} ({job.size}) on {experiment.preset}, {window}.", sections, made_by=made_by)
    )
