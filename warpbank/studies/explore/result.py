"""Result of an exploration: its points, their fronts, and what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.studies.explore.area_model import Error
from warpbank.studies.explore.front import Aim, Costs, front, knee, no_worse
from warpbank.studies.explore.halving import Rung
from warpbank.studies.explore.measure import AIMS, costs
from warpbank.studies.explore.space import Point
from warpbank.studies.frames import frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Size:
    """Area and critical path of a part of a register file.

    Parameters
    ----------
    cells_um2, memory_um2, delay_ns : of the part; area may be negative where a unit replaces a larger one.
    source : `model`, `recorded` or `synthesized`.
    """

    cells_um2: float
    memory_um2: float
    delay_ns: float
    source: str = "model"

    def to_dict(self) -> dict[str, Any]:
        """Size as a JSON object."""
        return {
            "cells_um2": round(self.cells_um2, 1),
            "memory_um2": round(self.memory_um2, 1),
            "delay_ns": round(self.delay_ns, 3),
            "source": self.source,
        }


@dataclass(frozen=True)
class Explored:
    """Point that has run.

    Parameters
    ----------
    point : of the design space.
    rung : the last that it ran on, from 0.
    values : of every aim, over that rung's kernels.
    kernels : IPC and pJ by kernel.
    parts : sizes of its parts, by name.
    synthesized : the whole register file as it was synthesized, by part; empty: it was not.
    """

    point: Point
    rung: int
    values: Mapping[str, float]
    kernels: Mapping[str, Mapping[str, float]]
    parts: Mapping[str, Size]
    synthesized: Mapping[str, Size] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the point."""
        return self.point.name

    @property
    def papers(self) -> tuple[str, ...]:
        """Papers that its rows come from, the baseline's left out."""
        rows = [SCHEMES[name] for name in self.point.scheme.split("+") if name != BASELINE.name]
        return tuple(dict.fromkeys(row.paper.partition(",")[0] for row in rows))

    @property
    def published(self) -> bool:
        """Whether some paper has it: it joins rows of one paper at most."""
        return len(self.papers) < 2

    def to_dict(self) -> dict[str, Any]:
        """Point as a JSON object."""
        return {
            "name": self.name,
            "scheme": self.point.scheme,
            "overrides": list(self.point.overrides),
            "published": self.published,
            "rung": self.rung,
            **{name: round(value, 6) for name, value in self.values.items()},
            "kernels": {kernel: dict(values) for kernel, values in self.kernels.items()},
            "parts": {name: size.to_dict() for name, size in self.parts.items()},
            "synthesized": {name: size.to_dict() for name, size in self.synthesized.items()},
        }


@dataclass(frozen=True)
class Exploration:
    """Explored design space.

    Parameters
    ----------
    points : that have run, the base first.
    rungs : of the halving.
    aims : that points were judged by.
    errors : of the models of area and critical path.
    refused : points that could not be built, or a run of which failed, each with its cause.
    there : evaluations that were there already, of how many.
    made_by : command, seed, versions.
    """

    points: tuple[Explored, ...]
    rungs: tuple[Rung, ...]
    aims: tuple[Aim, ...]
    errors: tuple[Error, ...]
    refused: Mapping[str, str]
    there: tuple[int, int]
    made_by: Mapping[str, Any]

    @property
    def finalists(self) -> tuple[Explored, ...]:
        """Points that have run on all kernels, the base among them."""
        return tuple(each for each in self.points if each.rung == len(self.rungs) - 1)

    def front(self, aims: Sequence[Aim] = ()) -> tuple[Explored, ...]:
        """Finalists that no other dominates in these aims (default: those that points were judged by). Of
        equal ones the one with the fewest changed fields stands for all."""
        own = {each.name: costs(each.values, aims or self.aims) for each in self.finalists}
        best = set(front(own))
        first: dict[Costs, Explored] = {}
        for each in sorted(self.finalists, key=lambda each: len(each.point.overrides)):
            first.setdefault(own[each.name], each)
        return tuple(each for each in self.finalists if each.name in best and first[own[each.name]] is each)

    def knee(self, among: Sequence[Explored] = (), aims: Sequence[Aim] = ()) -> Explored:
        """Knee of the front, or of some of its points."""
        points = among or self.front(aims)
        name = knee({each.name: costs(each.values, aims or self.aims) for each in points})
        return next(each for each in points if each.name == name)

    @property
    def unpublished(self) -> Explored | None:
        """Knee of the points of the front that join rows of several papers; None: there is none."""
        found = [each for each in self.front() if not each.published]
        return self.knee(found) if found else None

    @property
    def pairs(self) -> list[tuple[Aim, Aim]]:
        """Pairs of aims that a plane is drawn for: area against each other aim, then IPC against work and
        critical path."""
        ipc, work, area, clock = AIMS.values()
        return [(area, work), (area, ipc), (work, ipc), (area, clock), (clock, ipc)]

    def beaten(self) -> dict[str, list[str]]:
        """Finalists that are not on the front, each with the points of the front that are at least as good in
        every aim."""
        own = {each.name: costs(each.values, self.aims) for each in self.finalists}
        best = [each.name for each in self.front()]
        return {
            name: [other for other in best if no_worse(own[other], own[name])]
            for name in own
            if name not in best
        }

    def to_dict(self) -> dict[str, Any]:
        """Exploration as a JSON object."""
        found = self.unpublished
        return {
            "aims": [aim.name for aim in self.aims],
            "rungs": [{"kernels": list(rung.kernels), "share": rung.share} for rung in self.rungs],
            "front": [each.name for each in self.front()],
            "knee": self.knee().name,
            "unpublished": found.name if found else None,
            "beaten": self.beaten(),
            "points": [each.to_dict() for each in self.points],
            "model_errors": [error.to_dict() for error in self.errors],
            "refused": dict(self.refused),
            "made_by": dict(self.made_by),
        }

    def to_frame(self) -> pandas.DataFrame:
        """Points as a data frame, a row each. Raises MissingPackageError without pandas."""
        best = {each.name for each in self.front()}
        return frame(
            [
                {
                    "name": each.name,
                    "scheme": each.point.scheme,
                    "overrides": " ".join(each.point.overrides),
                    "published": each.published,
                    "rung": each.rung,
                    **each.values,
                    "front": each.name in best,
                }
                for each in self.points
            ]
        )
