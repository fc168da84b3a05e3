"""Plan of a sample: which launches and which CTA waves of them are simulated, and how many instructions each
of their instructions stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.program.trace.schema import WARP, Trace
from warpbank.sim.sampling.caches import Contents, contents_at
from warpbank.sim.sampling.clusters import chosen, cluster
from warpbank.sim.sampling.loops import Loop, barriers_agree, find_loop, kept_rows
from warpbank.sim.sampling.settings import Settings
from warpbank.sim.sampling.vectors import Vectors, vectors

#: Weight of a doubling of a launch's instructions beside the shares of its vector.
_SIZE = 0.5


@dataclass(frozen=True)
class Kept:
    """CTAs of a launch that are kept.

    Parameters
    ----------
    ctas : their numbers.
    weights : per CTA, instructions of the launch that each of its instructions stands for.
    loop : the loop of which iterations are left out; None: none are.
    left_out : row of a warp among those kept before which instructions were left out, and 0 -> its row of the
        whole trace.
    """

    ctas: np.ndarray
    weights: np.ndarray
    loop: Loop | None
    left_out: dict[int, int]


@dataclass(frozen=True)
class Part:
    """Launch that is simulated in place of others.

    Parameters
    ----------
    launch : its number.
    stands_for : numbers of the launches it stands for, itself among them.
    weight : their instructions by its own.
    distance : mean distance of their vectors from the centre of the cluster.
    trace : the launch alone, with the CTAs that are kept.
    weights : per row of the trace's `dynamic`, instructions of the launch that it stands for.
    warm : per row of the trace's `warps` before which others were left out, and of row 0, what the caches
        hold when those have run.
    """

    launch: int
    stands_for: list[int]
    weight: float
    distance: float
    trace: Trace
    weights: np.ndarray
    warm: dict[int, Contents]


def plan(trace: Trace, machine: SmConfig, settings: Settings) -> Iterator[Part]:
    """Choose the parts of a trace that are simulated.

    Parameters
    ----------
    trace : of the whole job, with the hints of the scheme.
    machine : the machine, as the scheme changes it.
    settings : how much is kept.
    """
    found = vectors(trace, machine)
    count = len(trace.launches)
    of_launch = trace.warps["launch"].astype(np.int64)
    instructions = np.bincount(of_launch, found.instructions, count)
    running = np.flatnonzero(instructions)
    kernels = trace.launches["kernel"][running].astype(np.int64)
    shapes = np.column_stack(
        [
            found.of_groups(of_launch, count)[running],
            _SIZE * np.log2(instructions[running]),
            _SIZE * np.log2(_waves(trace, running, machine)),
            4.0 * (kernels[:, None] == np.unique(kernels)),
        ]
    )
    groups = cluster(
        shapes, instructions[running], radius=settings.radius, most=settings.most, seed=settings.seed
    )
    launches = [int(running[place]) for place in groups.representatives]
    kept = [_kept(trace, found, launch, machine, settings) for launch in launches]
    places = {row for each in kept for row in each.left_out.values()}
    contents = contents_at(trace, machine, places)
    for label, (launch, each) in enumerate(zip(launches, kept, strict=True)):
        others = running[groups.labels == label]
        weight = float(instructions[others].sum() / instructions[launch])
        away = float(np.average(groups.away[groups.labels == label], weights=instructions[others]))
        part, weights = _alone(trace, launch, each)
        warm = {row: contents[whole] for row, whole in each.left_out.items()}
        yield Part(launch, [int(other) for other in others], weight, away, part, weights, warm)


def _waves(trace: Trace, launches: np.ndarray, machine: SmConfig) -> list[int]:
    """Waves of CTAs that each of these launches has."""
    return [
        -(-int(trace.launches[launch]["ctas"]) // resident(trace, int(launch), machine))
        for launch in launches
    ]


def resident(trace: Trace, launch: int, machine: SmConfig) -> int:
    """CTAs of a launch that run at a time, at least 1."""
    row = trace.launches[launch]
    kernel = int(row["kernel"])
    exempt = trace.exempt[kernel] if trace.exempt else 0
    warps = int(row["warps_per_cta"])
    _, slots = machine.launch_shape(int(row["registers"]), exempt.bit_count(), warps)
    fits = slots * machine.sub_cores // warps
    if row["shared_bytes"]:
        fits = min(fits, machine.cta.shared_bytes // int(row["shared_bytes"]))
    return max(1, min(fits, machine.cta.max_ctas))


def _kept(trace: Trace, found: Vectors, launch: int, machine: SmConfig, settings: Settings) -> Kept:
    """The CTAs of a launch that are kept.

    Kept are the first waves, which find the machine empty, the last, which leaves it empty, and of the waves
    between them some of every cluster, which stand for their cluster. A launch with too few waves for that
    keeps them all, and some iterations of its loop stand for the others.
    """
    row = trace.launches[launch]
    ctas, each, first = int(row["ctas"]), int(row["warps_per_cta"]), int(row["first_warp"])
    of_cta = np.full(len(trace.warps), -1)
    of_cta[first : first + ctas * each] = np.repeat(np.arange(ctas), each)
    per_cta = np.bincount(of_cta[of_cta >= 0], found.instructions[of_cta >= 0], ctas)
    at_a_time = resident(trace, launch, machine)
    size = at_a_time * max(1, round(settings.wave_instructions / max(1.0, per_cta.mean() * at_a_time)))
    waves = ctas // size  # what is left over joins the last
    keep = np.ones(ctas, bool)
    weight = np.ones(ctas)
    inner = np.arange(settings.run_in, waves - 1)
    if len(inner) > settings.least:
        of_wave = np.full(len(trace.warps), -1)
        wave_of = np.minimum(np.arange(ctas) // size, waves - 1)
        of_wave[of_cta >= 0] = wave_of[of_cta[of_cta >= 0]]
        total = np.bincount(wave_of, per_cta, waves)
        labels, taken = chosen(found.of_groups(of_wave, waves)[inner], total[inner], settings)
        for label in range(labels.max() + 1):
            mine, kept = inner[labels == label], inner[(labels == label) & taken]
            weight[np.isin(wave_of, kept)] = total[mine].sum() / total[kept].sum()
        keep = ~np.isin(wave_of, inner[~taken])
    kept = np.flatnonzero(keep)
    before = np.append(-1, kept[:-1])
    loop = None if len(kept) < ctas else _loop(trace, kept, first, each, at_a_time, settings)
    jumps = (kept - before > 1) | (before < 0)
    if loop is not None:  # iterations are left out in every wave
        jumps |= np.arange(len(kept)) % at_a_time == 0
    left_out = {int(place) * each: first + int(kept[place]) * each for place in np.flatnonzero(jumps)}
    return Kept(kept, weight[kept], loop, left_out)


def _loop(
    trace: Trace, ctas: np.ndarray, first: int, each: int, at_a_time: int, settings: Settings
) -> Loop | None:
    """The loop of which iterations are left out in all CTAs that are kept, if there is one."""
    rows = first + (ctas[:, None] * each + np.arange(each)).ravel()
    longest = int(rows[trace.warps["length"][rows].argmax()])
    loop = find_loop(trace, longest, min(at_a_time, len(ctas)) * each, settings)
    if loop is None:
        return None
    for cta in ctas.tolist():
        mine = range(first + cta * each, first + (cta + 1) * each)
        if not barriers_agree(trace, mine, [kept_rows(trace, row, loop)[0] for row in mine]):
            return None
    return loop


def _alone(trace: Trace, launch: int, kept: Kept) -> tuple[Trace, np.ndarray]:
    """The trace of the CTAs of a launch that are kept, and the weight of each of its rows."""
    ctas = kept.ctas
    row = trace.launches[launch].copy()
    each, first = int(row["warps_per_cta"]), int(row["first_warp"])
    warps = np.zeros(len(ctas) * each, WARP)
    rows, weights = [], []
    at = 0
    for place, cta in enumerate(ctas.tolist()):
        for index in range(each):
            old = trace.warps[first + cta * each + index]
            begin, length = int(old["first"]), int(old["length"])
            new = warps[place * each + index : place * each + index + 1]
            new[:] = old
            new["launch"], new["first"] = 0, at
            executed = trace.dynamic[begin : begin + length]
            stands = np.ones(length)
            if kept.loop is not None:
                mine, stands = kept_rows(trace, first + cta * each + index, kept.loop)
                executed = executed[mine]
            rows.append(executed)
            weights.append(stands * kept.weights[place])
            new["length"] = len(executed)
            at += len(executed)
    row["ctas"], row["first_warp"] = len(ctas), 0
    alone = replace(
        trace,
        launches=np.array([row], trace.launches.dtype),
        warps=warps,
        dynamic=np.concatenate(rows),
        meta=dict(trace.meta),
    )
    trace.let_go()
    return alone, np.concatenate(weights)
