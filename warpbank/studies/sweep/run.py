"""Runner of all runs of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warpbank.program.errors import WarpbankError
from warpbank.sim.runs import Outcome, execute
from warpbank.sim.runs.execute import LOCAL, Progress
from warpbank.studies.sweep.description import Sweep


def sweep(
    description: Sweep,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """Run what is not there yet, and return how every run ended, in the sweep's order.

    Parameters
    ----------
    scheduler : address of a dask scheduler; None: a cluster on this machine.
    workers : processes of that; None: one per core.
    progress : called with outcomes as they come; impossible machines, which are not run, are not among them.
    on_wait : see `warpbank.sim.runs.execute`.
    """
    specs = [spec for spec, _ in description.points()]
    refused: dict[object, Outcome] = {}
    for spec in specs:
        try:
            spec.check()
        except WarpbankError as error:
            refused[spec] = Outcome(spec, None, str(error))
    wanted = [spec for spec in specs if spec not in refused]
    done = iter(
        execute(wanted, scheduler=scheduler or LOCAL, workers=workers, progress=progress, on_wait=on_wait)
    )
    return [refused[spec] if spec in refused else next(done) for spec in specs]


def failures(description: Sweep, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Runs of a sweep that gave no result, by what was run, each with its cause."""
    return {
        " ".join((spec.kernel, spec.size, spec.scheme, spec.preset, *spec.overrides)): outcome.error
        for (spec, _), outcome in zip(description.points(), outcomes, strict=True)
        if outcome.result is None
    }
