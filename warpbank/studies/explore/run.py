"""Explorations: every point on a few kernels, sampled ones beside them, the best on more, and what is left on
all."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from warpbank import workloads
from warpbank.arch.errors import ArgumentError, MissingPackageError
from warpbank.program.errors import WarpbankError
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs.execute import Progress
from warpbank.studies.combinations import named
from warpbank.studies.explore import finalists
from warpbank.studies.explore.evaluate import Evaluator, size_values
from warpbank.studies.explore.front import Aim, best
from warpbank.studies.explore.halving import rungs
from warpbank.studies.explore.measure import AIMS, DEFAULT_AIMS, costs, find_aims
from warpbank.studies.explore.result import Exploration, Explored
from warpbank.studies.explore.sampling import BATCH, Sampler
from warpbank.studies.explore.space import Point, Space, Value
from warpbank.synth.energy import COMMON, table

#: Kernels of different kinds that do not take long: streams, stencils, dense algebra, trees, graphs,
#: barriers, dynamic programming, transforms, the tensor unit.
DEFAULT_KERNELS = (
    "nn",
    "hotspot",
    "matrixmul",
    "bfs",
    "btree",
    "reduction",
    "spmv",
    "pathfinder",
    "dct8x8",
    "mma_gemm",
    "srad",
    "backprop",
)
#: Points that are sampled beside the combinations, and the factor of the halving.
SAMPLES, FACTOR = 48, 3
#: Greatest seed.
MOST_SEED = 2**32 - 1


def explore(
    kernels: Sequence[str] = DEFAULT_KERNELS,
    *,
    size: str = "tiny",
    preset: str = exp.DEFAULT_PRESET,
    overrides: Sequence[str] = (),
    only: str | None = None,
    vary: Mapping[str, tuple[Value, ...]] | None = None,
    aims: Sequence[str] = DEFAULT_AIMS,
    samples: int = SAMPLES,
    factor: int = FACTOR,
    seed: int = 1,
    synthesize: int = 0,
    liberty: Sequence[str] | None = None,
    engine: str = "golden",
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Exploration:
    """Explore the register files that a machine can have, or take what is there of it.

    Parameters
    ----------
    kernels : shipped kernels, groups of them, or PTX files with a launch description beside them.
    size, preset, overrides, engine : see `warpbank.sim.runs.RunSpec`; the preset may be a TOML file.
    only : combinations that have all of these rows, joined by "+"; None: all legal ones.
    vary : further fields of the machine and the values that are tried, for all combinations.
    aims : what points are judged by (`measure.AIMS`).
    samples : points with other values of their parameters that the sampler chooses.
    factor : by which kernels grow and points shrink from rung to rung; 1: every point runs on all kernels.
    seed : of the order of kernels and of the sampler.
    synthesize : finalists that are synthesized; `liberty`: the cell library's files.
    scheduler, workers, progress, on_wait : see `warpbank.sim.runs.execute`.

    Raises WarpbankError for what cannot be meant, before anything is run. A point of which a run fails is
    left out, and the result says why; a baseline that fails ends the exploration.
    """
    _check_packages()
    chosen, files = find_aims(aims), finalists.libraries(liberty) if synthesize else ()
    ordered = list(dict.fromkeys(workloads.expand(kernels)))
    if not ordered:
        raise ArgumentError("explore needs at least one kernel")
    legal = tuple(each for each in named(only) if each.legal)
    if not legal:
        raise ArgumentError(f"no legal combination has all of {only}; see: warpbank schemes --combinations")
    space = Space(legal, preset, tuple(overrides), dict(vary or {}))
    taken = list(ordered)
    random.Random(seed).shuffle(taken)
    steps = rungs(taken, factor)
    evaluator = Evaluator(
        space, size, engine, scheduler=scheduler, workers=workers, progress=progress, on_wait=on_wait
    )
    points = _buildable(space.points(), evaluator)
    points += _first_rung(points, evaluator, steps[0].kernels, chosen, samples, seed)
    found: dict[Point, Explored] = {}
    for place, step in enumerate(steps):
        evaluator.evaluate(points, step.kernels)
        points = [point for point in points if point.name not in evaluator.refused]
        if space.base not in points:
            raise WarpbankError(f"the baseline fails: {evaluator.refused[space.base.name]}")
        found.update({point: evaluator.explored(point, place, step.kernels) for point in points})
        if place < len(steps) - 1:
            points = _kept(points, found, chosen, step.survivors(len(points)))
    made = Exploration(
        tuple(found.values()),
        tuple(steps),
        chosen,
        evaluator.model.errors,
        dict(evaluator.refused),
        (evaluator.there, evaluator.done),
        _made_by(space, ordered, size, only, chosen, samples, factor, seed, synthesize, engine),
    )
    made = _synthesized(made, evaluator, synthesize, files) if synthesize else made
    return replace(made, there=(evaluator.there, evaluator.done))


def _check_packages() -> None:
    """Raise MissingPackageError unless what explorations need is installed."""
    for name in ("optuna", "amaranth", "pyosys"):
        if find_spec(name) is None:
            raise MissingPackageError(
                f"explore needs the {name} package; install it with: pip install 'warpbank[explore]'"
            )


def _buildable(points: Sequence[Point], evaluator: Evaluator) -> list[Point]:
    """Points whose machine can be."""
    kept = []
    for point in points:
        try:
            setting = evaluator.setting(point)
            exp.check_machine(exp.find_scheme(point.scheme), setting.config)
        except WarpbankError as error:
            if point == evaluator.space.base:
                raise
            evaluator.refused[point.name] = str(error)
        else:
            kept.append(point)
    return kept


def _first_rung(
    points: list[Point],
    evaluator: Evaluator,
    kernels: Sequence[str],
    aims: Sequence[Aim],
    samples: int,
    seed: int,
) -> list[Point]:
    """Sampled points, chosen batch by batch by what is known of those before them."""
    sampler, asked = Sampler(evaluator.space, len(aims), seed), list(points)
    found: list[Point] = []
    while asked:
        evaluator.evaluate(asked, kernels)
        sampler.tell(
            {
                point: None
                if point.name in evaluator.refused
                else costs(evaluator.explored(point, 0, kernels).values, aims)
                for point in asked
            }
        )
        asked = _buildable(sampler.ask(min(BATCH, samples - len(found))), evaluator)
        found += asked
    return found


def _kept(
    points: Sequence[Point], found: Mapping[Point, Explored], aims: Sequence[Aim], count: int
) -> list[Point]:
    """Best points, and the base, which the others are compared with."""
    names = set(best({point.name: costs(found[point].values, aims) for point in points}, count))
    return [point for place, point in enumerate(points) if place == 0 or point.name in names]


def _synthesized(made: Exploration, evaluator: Evaluator, count: int, files: tuple[str, ...]) -> Exploration:
    """Exploration whose best finalists have the area and critical path of a synthesis: the knee first, then
    what is nearest to it."""
    left = list(made.front())
    wanted: list[Explored] = []
    while left and len(wanted) < count:
        wanted.append(made.knee(left))
        left.remove(wanted[-1])
    jobs = {each.name: finalists.tasks(evaluator.setting(each.point), files) for each in wanted}
    results = evaluator.execute([task for tasks in jobs.values() for task in tasks.values()])
    points = {each.name: each for each in made.points}
    refused = dict(made.refused)
    for name, tasks in jobs.items():
        failed = next(
            (f"{task.label}: {error}" for task in tasks.values() if (error := results[task][1])), ""
        )
        if failed:
            refused[f"synthesis of {name}"] = failed
            continue
        sizes = {part: finalists.size(results[task][0] or {}) for part, task in tasks.items()}
        values = {**points[name].values, **size_values(sizes)}
        points[name] = replace(points[name], synthesized=sizes, values=values)
    return replace(made, points=tuple(points.values()), refused=refused)


def _made_by(
    space: Space,
    kernels: Sequence[str],
    size: str,
    only: str | None,
    aims: Sequence[Aim],
    samples: int,
    factor: int,
    seed: int,
    synthesize: int,
    engine: str,
) -> dict[str, Any]:
    words = ["warpbank", "explore", "--kernels", ",".join(kernels), "--size", size]
    words += ["--config" if exp.is_file(space.preset) else "--preset", space.preset]
    words += [word for text in space.overrides for word in ("--set", text)]
    words += ["--only", only] if only else []
    for path, values in space.vary.items():
        words += ["--vary", f"{path}={','.join(map(str, values))}"]
    if tuple(aim.name for aim in aims) != DEFAULT_AIMS:
        words += ["--aims", ",".join(aim.name for aim in aims)]
    words += ["--samples", str(samples), "--factor", str(factor), "--seed", str(seed)]
    words += ["--synthesize", str(synthesize)] if synthesize else []
    return {
        "command": shlex.join(words),
        "machine": Path(space.preset).name,
        "engine": engine,
        "size": size,
        "combinations": len(space.combinations),
        "aims": ", ".join(f"{aim.title} ({aim.unit})" for aim in AIMS.values()),
        "energy": {COMMON: table(COMMON).title},
        "versions": tool_versions() | extensions.versions(),
    }
