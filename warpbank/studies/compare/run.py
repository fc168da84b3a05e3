"""Comparison runs, every scheme on every kernel."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from warpbank import workloads
from warpbank.arch.errors import ArgumentError
from warpbank.arch.register_files import REGISTER_FILES
from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs import execute
from warpbank.sim.runs.execute import Progress
from warpbank.studies.compare.area import areas
from warpbank.studies.compare.settings import Setting, as_published, one_machine
from warpbank.studies.compare.table import Comparison
from warpbank.synth.energy import COMMON, Energy, EnergyTable, energy, own_tables, table

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
    preset: str | None = None,
    overrides: Sequence[str] = (),
    options: CompileOptions = DEFAULT_OPTIONS,
    published: bool = False,
    engine: str = "golden",
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Comparison:
    """Run every scheme on every kernel, or take what is there of it, and compare.

    Parameters
    ----------
    schemes : scheme strings, or "all" for every registered one.
    kernels : shipped kernels, groups of them (`warpbank.workloads.GROUPS`, or "all"), or PTX files with a
        launch description beside them.
    size, preset, overrides, engine : see `warpbank.sim.runs.RunSpec`; the preset may be a TOML file. All
        schemes run on this one machine, under one warp scheduler (`settings.one_machine`).
    options : how every kernel is compiled, for all schemes alike.
    published : each scheme runs on its paper's machine, under its scheduler and compiler, beside its baseline
        (`settings.as_published`).
    scheduler, workers, progress, on_wait : see `warpbank.sim.runs.execute`.

    Raises WarpbankError for what cannot be meant, before anything is run. A run that fails does not stop the
    others.
    """
    names = list(SCHEMES) if list(schemes) == [ALL] else [exp.find_scheme(text).name for text in schemes]
    jobs = tuple(dict.fromkeys(workloads.expand(kernels)))
    machine = preset or exp.DEFAULT_PRESET
    if not published:
        settings = one_machine(names, machine, overrides, options)
    elif preset is not None or overrides or options != DEFAULT_OPTIONS:
        raise ArgumentError(
            "--as-published takes machine, scheduler and compiler from each paper; leave --preset, --config, "
            "--set and compile options out"
        )
    else:
        settings = as_published(names)
        if not settings:
            raise ArgumentError("--as-published needs a scheme besides the baseline")
    tasks = {
        (setting.name, kernel): setting.task(kernel, size, engine) for kernel in jobs for setting in settings
    }
    outcomes = dict(
        zip(
            tasks,
            execute(tasks.values(), scheduler=scheduler, workers=workers, progress=progress, on_wait=on_wait),
            strict=True,
        )
    )
    known = {setting.name: setting for setting in settings}
    results = {key: outcome.result for key, outcome in outcomes.items() if outcome.result is not None}
    runs = {}
    for (name, kernel), result in results.items():
        setting = known[name]
        base = results.get((setting.base, kernel))
        runs[name, kernel] = priced(result, setting) | {
            "column": name,
            "base_own": _own(base, setting.scheme, known[setting.base]) if base else None,
        }
    failures = {key: outcome.error for key, outcome in outcomes.items() if outcome.result is None}
    columns = tuple(name for name in known if not published or known[name].scheme != BASELINE.name)
    given = dict.fromkeys(setting.scheme for setting in settings if not published or setting.name in columns)
    words = ["warpbank", "compare", "--schemes", ",".join(given), "--kernels", ",".join(jobs), "--size", size]
    if published:
        words.append("--as-published")
    else:
        words += ["--config" if exp.is_file(machine) else "--preset", machine]
    words += ["--engine", engine, *(word for text in overrides for word in ("--set", text)), *options.words()]
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
    return Comparison(columns, jobs, runs, failures, made_by, areas(tuple(given)), known)


def priced(result: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """Run's report with its energy on the common table (`energy`) and on its scheme's own (`energy_own`; None
    without one)."""
    common = _spent(result, table(COMMON), setting).to_dict()
    return {**result, "energy": common, "energy_own": _own(result, setting.scheme, setting)}


def _own(result: dict[str, Any], scheme: str, setting: Setting) -> dict[str, Any] | None:
    """Energy of a run on the table that is the scheme's own."""
    names = own_tables(exp.find_scheme(scheme))
    return _spent(result, table(names[0]), setting).to_dict() if names else None


def _spent(result: dict[str, Any], prices: EnergyTable, setting: Setting) -> Energy:
    """Energy of a run. The banks of another main register file cost what the machine's own would, times the
    power of LTRF's Table 2."""
    if not setting.register_file:
        return energy(result, prices, setting.config)
    plain = tuple(text for text in setting.overrides if text != setting.register_file)
    spent = energy(result, prices, replace(setting, overrides=plain).config)
    power = REGISTER_FILES[setting.register_file].power
    dynamic, leakage = (
        {name: value * (power if name == "banks" else 1) for name, value in part.items()}
        for part in (spent.dynamic, spent.leakage)
    )
    return replace(spent, dynamic=dynamic, leakage=leakage)
