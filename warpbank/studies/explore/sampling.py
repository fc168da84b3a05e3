"""Sampler of points: Optuna chooses combinations and values of parameters that promise a better front.

Combinations at the machine's own values are few enough to run all of them. Their parameters are not: of
those, as many points are tried as the user allows, chosen by Optuna's tree-structured Parzen estimator from
what is known so far (Ozaki et al., "Multiobjective Tree-Structured Parzen Estimator", JAIR 2022).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from warpbank.program.errors import WarpbankError
from warpbank.studies.combinations import ROOMS
from warpbank.studies.explore.front import Costs
from warpbank.studies.explore.space import Point, Space, Value

if TYPE_CHECKING:
    from optuna.trial import Trial

#: Points that are asked for at a time, whatever the number of workers: another number would choose others.
BATCH = 32
#: Proposals of the estimator for a point that is asked for, and then draws at random, after which the space
#: counts as exhausted.
_PROPOSALS, _DRAWS = 24, 400


class Sampler:
    """Sampler of a space's points, each proposed once.

    Parameters
    ----------
    space : the design space.
    seed : of the choices; equal seeds and equal costs give equal points.
    """

    def __init__(self, space: Space, aims: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of options that may change
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=0, constant_liar=True)
        self._optuna: Any = optuna
        self._random = random.Random(seed)
        self._study = optuna.create_study(directions=["minimize"] * aims, sampler=sampler)
        self._space = space
        rows = {each.scheme: Point(each.scheme).rows for each in space.combinations}
        self._rows = {room: tuple(sorted({each[room] for each in rows.values()})) for room in ROOMS}
        self._by_rows = {tuple(each.values()): scheme for scheme, each in rows.items()}
        self._seen: set[Point] = set()
        self._open: dict[Point, Trial] = {}

    def tell(self, costs: Mapping[Point, Costs | None]) -> None:
        """Tell what points cost, those that were asked for and others; None: the point failed."""
        for point, own in costs.items():
            trial = self._open.pop(point, None)
            failed = self._optuna.trial.TrialState.FAIL
            if trial is not None:
                self._study.tell(trial, own, state=failed if own is None else None)
            elif own is not None and tuple(point.rows.values()) in self._by_rows:
                self._study.add_trial(self._as_trial(point, own))
            self._seen.add(point)

    def _as_trial(self, point: Point, costs: Costs) -> Any:
        """Trial of a point that was not asked for."""
        chosen: dict[str, Value] = dict(point.rows)
        options: dict[str, Sequence[Value]] = dict(self._rows)
        values = dict(text.split("=", 1) for text in point.overrides)
        for path, tried in self._space.fields(point.scheme).items():
            name = _parameter(path, tried)
            options[name] = range(len(tried))
            chosen[name] = next((at for at, each in enumerate(tried) if str(each) == values.get(path)), 0)
        distribution = self._optuna.distributions.CategoricalDistribution
        return self._optuna.trial.create_trial(
            params=chosen,
            distributions={name: distribution(choices) for name, choices in options.items()},
            values=list(costs),
        )

    def ask(self, count: int) -> list[Point]:
        """Ask for points that were neither asked for nor told; fewer where the space has no more.

        Where the estimator proposes only what is known, a point is drawn at random.
        """
        found: list[Point] = []
        while len(found) < count:
            point = self._chosen() or self._drawn()
            if point is None:
                break
            self._seen.add(point)
            found.append(point)
        return found

    def _chosen(self) -> Point | None:
        """New point that the estimator proposes; None: it proposes known ones."""
        for _ in range(_PROPOSALS):
            trial = self._study.ask()
            point = self._proposed(trial)
            if point is not None and point not in self._seen:
                self._open[point] = trial
                return point
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    def _drawn(self) -> Point | None:
        """New point at random; None: none was found."""
        schemes = list(self._by_rows.values())
        for _ in range(_DRAWS):
            scheme = self._random.choice(schemes)
            fields = self._space.fields(scheme)
            values = {path: self._random.choice(tried) for path, tried in fields.items()}
            try:
                point = self._space.point(scheme, values)
            except WarpbankError:
                continue
            if point not in self._seen:
                return point
        return None

    def _proposed(self, trial: Trial) -> Point | None:
        """Point of a trial; None: its rows or values cannot stand together."""
        rows = tuple(trial.suggest_categorical(room, choices) for room, choices in self._rows.items())
        scheme = self._by_rows.get(rows)
        if scheme is None:
            return None
        fields = self._space.fields(scheme)
        values: dict[str, Value] = {}
        for path, tried in fields.items():
            place = trial.suggest_categorical(_parameter(path, tried), range(len(tried)))
            values[path] = tried[place]
        try:
            return self._space.point(scheme, values)
        except WarpbankError:
            return None


def _parameter(path: str, values: Sequence[Value]) -> str:
    """Name of a parameter of the study: fields that units try with different values are different ones."""
    return f"{path} of {', '.join(map(str, values))}"
