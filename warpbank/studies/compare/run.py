"""Comparison runs, every scheme on every kernel."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from warpbank import workloads
from warpbank.arch.config import SmConfig
from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs import RunSpec, execute
from warpbank.sim.runs.execute import Progress
from warpbank.studies.compare.area import areas
from warpbank.studies.compare.table import Comparison
from warpbank.synth.energy import COMMON, energy, own_tables, table

#: One scheme of each paper, and the baseline.
DEFAULT_SCHEMES = tuple(row.name for row in SCHEMES.values() if row.representative)
#: Kernels of different kinds that do not take long: streaming, stencil, dense, divergent, tree search,
#: barriers.
DEFAULT_KERNELS = ("nn", "hotspot", "matrixmul", "bfs", "btree", "reduction")
#: Stands for every one of them.
ALL = "all"


def compare(
    schemes: Sequence[str] = DEFAULT_SCHEMES,
    kernels: Sequence[str] = DEFAULT_KERNELS,
    *,
    size: str = "small",
    preset: str = exp.DEFAULT_PRESET,
    overrides: Sequence[str] = (),
    options: CompileOptions = DEFAULT_OPTIONS,
    engine: str = "golden",
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Comparison:
    """Run every scheme on every kernel, or take what is there of it, and compare.

    Parameters
    ----------
    schemes : scheme strings, or "all" for every registered one. The baseline is always first.
    kernels : shipped kernels, groups of them (`warpbank.workloads.GROUPS`, or "all"), or PTX files with a
        launch description beside them.
    size, preset, overrides, engine : see `warpbank.sim.runs.RunSpec`; the preset may be a TOML file.
    options : how every kernel is compiled, for all schemes alike.
    scheduler, workers, progress, on_wait : see `warpbank.sim.runs.execute`.

    Raises WarpbankError for what cannot be meant, before anything is run. A run that fails does not stop the
    others.
    """
    names = list(SCHEMES) if list(schemes) == [ALL] else [exp.find_scheme(text).name for text in schemes]
    chosen = tuple(dict.fromkeys((BASELINE.name, *names)))
    jobs = tuple(dict.fromkeys(workloads.expand(kernels)))
    tasks = {
        (scheme, kernel): RunSpec(kernel, size, scheme, preset, tuple(overrides), options, engine)
        for kernel in jobs
        for scheme in chosen
    }
    outcomes = dict(
        zip(
            tasks,
            execute(tasks.values(), scheduler=scheduler, workers=workers, progress=progress, on_wait=on_wait),
            strict=True,
        )
    )
    config = exp.find_config(preset, None, list(overrides))
    results = {key: outcome.result for key, outcome in outcomes.items() if outcome.result is not None}
    runs = {}
    for (scheme, kernel), result in results.items():
        base = results.get((chosen[0], kernel))
        runs[scheme, kernel] = priced(result, config) | {
            "base_own": _own(base, scheme, config) if base else None
        }
    failures = {key: outcome.error for key, outcome in outcomes.items() if outcome.result is None}
    words = [
        "warpbank",
        "compare",
        "--schemes",
        ",".join(chosen),
        "--kernels",
        ",".join(jobs),
        "--size",
        size,
    ]
    words += [
        "--config" if exp.is_file(preset) else "--preset",
        preset,
        "--engine",
        engine,
        *(word for text in overrides for word in ("--set", text)),
        *options.words(),
    ]
    hashes = sorted({f"{run['preset']} {run['config_hash']}" for run in runs.values()})
    made_by = {
        "command": shlex.join(words),
        "engine": engine,
        "size": size,
        "groups": workloads.groups(jobs),
        "compile": options.to_dict(),
        "configurations": hashes,
        "versions": tool_versions() | extensions.versions(),
        "data": "inputs of the kernels are fixed: seeds and generators stand in workloads/",
        "energy": {COMMON: table(COMMON).title},
    }
    return Comparison(chosen, jobs, runs, failures, made_by, areas(chosen))


def priced(result: dict[str, Any], config: SmConfig) -> dict[str, Any]:
    """Run's report with its energy on the common table (`energy`) and on its scheme's own (`energy_own`; None
    without one)."""
    common = energy(result, table(COMMON), config).to_dict()
    return {**result, "energy": common, "energy_own": _own(result, result["scheme"], config)}


def _own(result: dict[str, Any], scheme: str, config: SmConfig) -> dict[str, Any] | None:
    """Energy of a run on the table that is the scheme's own."""
    names = own_tables(exp.find_scheme(scheme))
    return energy(result, table(names[0]), config).to_dict() if names else None
