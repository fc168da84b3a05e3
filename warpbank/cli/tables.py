"""What people read: rich tables of runs, kernels, schemes and traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from warpbank.arch.events import COUNTERS
from warpbank.arch.schemes import ROOMS, SCHEMES
from warpbank.sim.experiment import Report
from warpbank.studies.compare.measures import hit_ratio
from warpbank.synth.energy import Energy
from warpbank.workloads import Workload

__all__ = [
    "complain",
    "energy_table",
    "escape",
    "kernel_table",
    "run_tables",
    "scheme_rows",
    "scheme_table",
    "summary_tables",
    "table",
]


#: Failures that are printed one by one.
_SHOWN = 10


def complain(message: str, failures: Mapping[str, str]) -> None:
    """Say on the error stream what failed, and why: the first few."""
    console = Console(stderr=True, highlight=False)
    console.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    for label, cause in list(failures.items())[:_SHOWN]:
        console.print(f"  {escape(label)}: {escape(cause)}", soft_wrap=True)
    if len(failures) > _SHOWN:
        console.print(f"  and {len(failures) - _SHOWN} more")


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, numbers: int = 0) -> Table:
    """A table whose last `numbers` columns are right-aligned."""
    names = list(columns)
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for place, name in enumerate(names):
        made.add_column(name, justify="right" if place >= len(names) - numbers else "left")
    for row in rows:
        made.add_row(*(escape(_text(value)) for value in row))
    return made


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return str(value)


def run_tables(report: Report) -> list[RenderableType]:
    """One run: what was run, how fast it went, where the cycles went, what the register file did."""
    data = report.to_dict()
    memory = data["memory"]
    checked = (
        f"{memory['elements']:,} elements of {memory['buffers']} buffers right"
        if memory["buffers"]
        else "nothing expected"
    )
    registers = ", ".join(f"{count} ({kernel})" for kernel, count in report.registers.items())
    summary = [
        ("kernel", f"{data['kernel']} ({data['size']})"),
        ("machine", f"{data['preset']}, configuration {data['config_hash']}"),
        ("scheme, engine", f"{data['scheme']}, {data['engine']}"),
        ("registers per thread", registers),
        ("memory", checked),
        ("operands checked", f"{data['operands_checked']:,}, {data['operand_mismatches']} wrong"),
        ("cycles", data["cycles"]),
        ("warp instructions", data["warp_instructions"]),
        ("IPC", data["ipc"]),
        ("hit ratio", f"{hit_ratio(data):.1f} % of source operands"),
        ("made by", ", ".join(f"{tool} {version}" for tool, version in data["versions"].items())),
        ("seed", f"{report.experiment.config.sub_core.collector.seed}, of random choices"),
    ]
    total = sum(data["stalls"].values())
    stalls = [
        (name, count, f"{100 * count / total:.1f} %" if total else "")
        for name, count in data["stalls"].items()
    ]
    stalls.append(("total", total, ""))
    counters = [(name, COUNTERS[name].unit, count) for name, count in data["counters"].items()]
    return [
        table("Run", ("", "value"), summary, numbers=1),
        table("Scheduler cycles", ("reason", "cycles", "share"), stalls, numbers=2),
        table("Counters", ("counter", "unit", "count"), counters, numbers=1),
    ]


def energy_table(energy: Energy) -> Table:
    """Energy of the register file by structure."""
    total = energy.dynamic_total
    structures = dict.fromkeys((*energy.dynamic, *energy.leakage))
    rows = [
        (
            name,
            energy.dynamic.get(name, 0.0) / 1000,
            f"{100 * energy.dynamic.get(name, 0.0) / total:.1f} %" if total else "",
            energy.leakage.get(name, 0.0) / 1000,
        )
        for name in structures
    ]
    rows.append(("total", total / 1000, "", energy.leakage_total / 1000))
    title = f"Register file energy (table {energy.table}, {energy.clock_mhz:g} MHz)"
    return table(title, ("structure", "dynamic nJ", "share", "leakage nJ"), rows, numbers=3)


def kernel_table(rows: Iterable[Workload]) -> Table:
    """The shipped kernels."""
    return table(
        "Kernels", ("name", "what it computes", "algorithm of"), ((w.name, w.summary, w.origin) for w in rows)
    )


def scheme_rows() -> list[dict[str, Any]]:
    """The registered schemes as plain data."""
    return [asdict(row) for row in SCHEMES.values()]


def scheme_table() -> Table:
    """The registered schemes."""
    rows = []
    for row in scheme_rows():
        rows.append(
            (row["name"], ", ".join(f"{room} {row[room]}" for room in ROOMS if row[room]), row["description"])
        )
    return table("Schemes (`a+b` joins them)", ("name", "what it puts where", "description"), rows)


def summary_tables(summary: Mapping[str, Any]) -> list[Table]:
    """A trace's summary: single values in one table, each nested mapping in one of its own."""
    single = [(name, value) for name, value in summary.items() if not isinstance(value, Mapping)]
    made = [table("Trace", ("", "value"), single, numbers=1)]
    for name, value in summary.items():
        if isinstance(value, Mapping):
            made.append(table(name, ("", "value"), value.items(), numbers=1))
    return made
