"""Time series of a run: IPC, hit ratio, live registers, accesses, conflicts and power, interval by
interval."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.cta_dispatch import Cta, CtaDispatch
from warpbank.program.errors import WarpbankError
from warpbank.program.release.statistics import live_registers
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import IDS, Batch
from warpbank.sim.output import check_file, write_text
from warpbank.studies.compare.measures import operands
from warpbank.synth.energy import EnergyTable, energy

#: Most intervals that are kept: when there would be more, each becomes twice as long.
INTERVALS = 1000
#: Cycles of the first intervals.
SHORTEST = 32

#: Columns of a table over time, and what each means.
COLUMNS = {
    "cycle": "first cycle of the interval",
    "cycles": "its cycles; the last interval may be shorter",
    "ipc": "warp instructions retired per cycle",
    "hit_ratio": (
        "share of source operands that were found in a collector or a register file cache; empty where none "
        "came"
    ),
    "live_registers": (
        "warp registers whose value is read later, mean over the cycles; counted from the issue of their "
        "write"
    ),
    "rf_reads": "bank reads per cycle",
    "rf_writes": "bank writes per cycle",
    "conflicts": "read requests that waited at the banks, mean over the cycles",
    "dynamic_mw": "power of the register file in mW, by the energy table",
    "leakage_mw": "its leakage in mW",
}
#: Drawings of a run: heading, and the columns in it.
_PANELS = {
    "IPC": ("ipc",),
    "hit ratio": ("hit_ratio",),
    "live registers": ("live_registers",),
    "per cycle": ("rf_reads", "rf_writes", "conflicts"),
    "mW": ("dynamic_mw", "leakage_mw"),
}
_COLOURS = ("#0072b2", "#e69f00", "#d55e00")


class OverTime:
    """Observer of a run (`warpbank.sim.runs.RunSpec`) that sums every counter, and the live registers, by
    interval.

    Parameters
    ----------
    scheme : what runs.
    """

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self.length = SHORTEST
        self.cycles = 0
        self._counters = {name: np.zeros(INTERVALS, np.int64) for name in COUNTERS}
        self._live = np.zeros(INTERVALS)
        self._level = 0
        self._running: dict[int, Cta] = {}
        self._first: dict[
            tuple[int, int], int
        ] = {}  # by sub-core and warp slot: first row of `Trace.dynamic`
        self._of: dict[tuple[int, int], int] = {}  # live registers of the warp there

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        self._after = live_registers(trace)
        self._rows = trace.warps["first"]
        self._ctas = CtaDispatch(self._scheme.machine(config), trace)

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        end = max(int(batch.end), 1)
        while end > self.length * INTERVALS:
            self._halve()
        records = batch.records[batch.records["cycle"] < batch.end]
        places = (records["cycle"] // np.uint64(self.length)).astype(np.int64)
        for name, counter in COUNTERS.items():
            fields = [field for field, _ in EVENTS[counter.event].fields]
            chosen = records["event"] == IDS[counter.event]
            if counter.when is not None:
                chosen &= records["values"][:, fields.index(counter.when[0])] == counter.when[1]
            amount = (
                records["values"][chosen, fields.index(counter.field)]
                if counter.field
                else np.ones(chosen.sum(), np.uint64)
            )
            np.add.at(self._counters[name], places[chosen], amount.astype(np.int64))
            if counter.also:
                np.add.at(self._counters[name], places[records["event"] == IDS[counter.also]], 1)
        self._follow(records, int(batch.start), end)
        self.cycles = int(batch.end)

    def _halve(self) -> None:
        """Make every interval twice as long."""
        self.length *= 2
        for name, values in self._counters.items():
            self._counters[name] = np.concatenate(
                [values.reshape(-1, 2).sum(1), np.zeros(INTERVALS // 2, np.int64)]
            )
        self._live = np.concatenate([self._live.reshape(-1, 2).sum(1), np.zeros(INTERVALS // 2)])

    def _follow(self, records: np.ndarray, start: int, end: int) -> None:
        """Live registers in every cycle: those after the instruction that each warp issued last."""
        steps = np.zeros(end - start, np.int64)
        order = [IDS[name] for name in ("issue", "cta_start", "cta_end")]
        rows = records[np.isin(records["event"], order)]
        rows = rows[
            np.lexsort((np.array([order.index(event) for event in rows["event"]], np.int64), rows["cycle"]))
        ]
        columns = [rows[name].tolist() for name in ("cycle", "core", "event", "values")]
        for cycle, core, event, values in zip(*columns, strict=True):
            if event == IDS["issue"]:
                place = (core, values[0])
                live = int(self._after[self._first[place] + values[1]])
                steps[cycle - start] += live - self._of.get(place, 0)
                self._of[place] = live
            elif event == IDS["cta_start"]:
                self._begin()
            else:
                self._ctas.end(self._running.pop(values[0]))
        levels = self._level + np.cumsum(steps)
        np.add.at(self._live, np.arange(start, end) // self.length, levels)
        self._level = int(levels[-1]) if len(levels) else self._level

    def _begin(self) -> None:
        """The next CTA starts; its warps are where CTA dispatch puts them."""
        while self._ctas.exhausted:
            assert self._ctas.next_launch(), "a CTA starts that the trace does not have"
        started = self._ctas.start()
        assert started is not None, "a CTA starts that does not fit"
        cta, rows = started
        self._running[cta.slot] = cta
        for place, row in zip(cta.warps, rows, strict=True):
            self._first[place] = int(self._rows[row])

    def table(self, prices: EnergyTable, config: SmConfig) -> list[dict[str, Any]]:
        """Table with a row per interval; keys: `COLUMNS`. Only after the run."""
        rows: list[dict[str, Any]] = []
        for place in range(-(-self.cycles // self.length)):
            counters = {name: int(values[place]) for name, values in self._counters.items()}
            cycles = min(self.length, self.cycles - place * self.length)
            spent = energy(
                {"scheme": self._scheme.name, "cycles": cycles, "counters": counters}, prices, config
            )
            nanoseconds = cycles * 1e3 / prices.clock_mhz
            kept, read = counters["boc.forwards"] + counters["cache.reads"], operands({"counters": counters})
            rows.append(
                {
                    "cycle": place * self.length,
                    "cycles": cycles,
                    "ipc": counters["retire.uops"] / cycles,
                    "hit_ratio": kept / read if read else None,
                    "live_registers": self._live[place] / cycles,
                    "rf_reads": counters["rf.reads"] / cycles,
                    "rf_writes": counters["rf.writes"] / cycles,
                    "conflicts": sum(counters[f"rf.conflict.{cause}"] for cause in ("write", "port", "queue"))
                    / cycles,
                    "dynamic_mw": spent.dynamic_total / nanoseconds,
                    "leakage_mw": spent.leakage_total / nanoseconds,
                }
            )
        return rows


def _csv(rows: list[dict[str, Any]], title: str, made_by: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _json(rows: list[dict[str, Any]], title: str, made_by: Mapping[str, Any]) -> str:
    data = {"title": title, "made_by": made_by, "columns": COLUMNS, "rows": rows}
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _html(rows: list[dict[str, Any]], title: str, made_by: Mapping[str, Any]) -> str:
    from warpbank.sim.report import (
        Page,
        Plot,
        Section,
        html,
    )  # brings a drawing library, and few runs are drawn

    cycles = [row["cycle"] for row in rows]
    sections = []
    for place, (heading, names) in enumerate(_PANELS.items()):
        lines = [
            {
                "type": "scatter",
                "mode": "lines",
                "name": name.replace("_", " "),
                "x": cycles,
                "y": [row[name] for row in rows],
                "line": {"shape": "hv", "width": 1.5, "color": colour},
            }
            for name, colour in zip(names, _COLOURS, strict=False)
        ]
        layout = {
            "xaxis": {"title": {"text": "cycle"}},
            "yaxis": {"title": {"text": heading}, "rangemode": "tozero"},
            "showlegend": len(names) > 1,
        }
        text = ". ".join(f"{name.replace('_', ' ')}: {COLUMNS[name]}" for name in names) + "."
        sections.append(
            Section(
                heading, text, [Plot(f"plot-{place}", f"{heading} over the cycles of the run", lines, layout)]
            )
        )
    return html(
        Page(
            f"Over time: {title}",
            f"A point is an interval of {rows[0]['cycles']} cycles.",
            sections,
            made_by=made_by,
        )
    )


_Writer = Callable[[list[dict[str, Any]], str, Mapping[str, Any]], str]
_WRITERS: dict[str, _Writer] = {".csv": _csv, ".json": _json, ".html": _html}


def check_name(path: Path, *inputs: Path) -> None:
    """Check that the file's name says what it is, and that it can be written and is none of the run's
    `inputs`; raises WarpbankError."""
    if path.suffix not in _WRITERS:
        raise WarpbankError(
            f"--over-time takes a file name that ends in {', '.join(_WRITERS)}, not {path.name!r}"
        )
    check_file(path, *inputs)


def write(path: Path, rows: list[dict[str, Any]], report: Mapping[str, Any]) -> None:
    """Write a table as CSV or JSON, or a drawing as one HTML file; `report`: `Report.to_dict()` of the
    run."""
    names = ("kernel", "size", "scheme", "preset", "engine", "config_hash", "trace", "versions")
    title = "{kernel} ({size}), {scheme}, {preset}".format_map(report)
    write_text(path, _WRITERS[path.suffix](rows, title, {name: report[name] for name in names}))
