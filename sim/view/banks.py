"""Register banks over time: heat maps of accesses and conflicts, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arch.config import config_hash
from sim import experiment as exp
from sim.view.timeline import Mark, Timeline

#: Most columns of a heat map: a browser draws no more in its width.
COLUMNS = 1000
#: Accesses of `Timeline.accesses`; what else stands there tells more about one of them.
_ACCESSES = ("read", "write", "write_back", "fetch")


def per_bank(timeline: Timeline, marks: Mapping[tuple[int, int], list[Mark]], step: int) -> np.ndarray:
    """Marks per cycle of every bank (row) in every interval of `step` cycles (column)."""
    columns = -(-(timeline.end - timeline.start) // step)
    counted = np.zeros((timeline.cores * timeline.banks, columns))
    for (core, bank), found in marks.items():
        cycles = np.array([mark.cycle for mark in found if mark.name in (*_ACCESSES, "conflict")], np.int64)
        counted[core * timeline.banks + bank] = np.bincount((cycles - timeline.start) // step, minlength=columns)
    widths = np.minimum(step, timeline.end - timeline.start - step * np.arange(columns))
    return counted / widths


def page(timeline: Timeline, experiment: exp.Experiment) -> str:
    """Two heat maps, bank by cycle: accesses, and cycles in which a read waited. One file, no network needed."""
    import plotly.graph_objects as go  # slow to load, and no other command needs it
    from plotly.subplots import make_subplots

    step = -(-(timeline.end - timeline.start) // COLUMNS)
    cycles = [timeline.start + step * column for column in range(-(-(timeline.end - timeline.start) // step))]
    names = [f"{core}.{bank}" for core in range(timeline.cores) for bank in range(timeline.banks)]
    titles = ("accesses per cycle (a bank has one port)", "share of cycles in which a read was not granted")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1, subplot_titles=titles)
    for row, (marks, colours) in enumerate(((timeline.accesses, "Blues"), (timeline.conflicts, "Reds")), 1):
        shares = np.minimum(per_bank(timeline, marks, step), 1 if row == 2 else np.inf)
        bar = {"len": 0.45, "y": 0.78 if row == 1 else 0.22}
        figure.add_trace(go.Heatmap(z=shares, x=cycles, y=names, zmin=0, zmax=1, colorscale=colours, colorbar=bar,
                                    hovertemplate="bank %{y}, cycle %{x}: %{z:.2f}<extra></extra>"), row, 1)
        figure.update_yaxes(title_text="sub-core.bank", type="category", row=row, col=1)
    figure.update_xaxes(title_text=f"cycle (columns of {step})" if step > 1 else "cycle", row=2, col=1)
    job = experiment.job
    title = (f"{job.name} ({job.size}), {experiment.scheme.name}, {experiment.preset}<br><sub>cycles {timeline.start} to "
             f"{timeline.end - 1}, configuration {config_hash(experiment.config)}</sub>")
    figure.update_layout(title=title, height=260 + 36 * len(names))
    html: str = figure.to_html(include_plotlyjs=True, div_id="banks")
    return html
