"""Evaluation of points: their runs and the counts of their RTL, each done once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from warpbank.program.errors import WarpbankError
from warpbank.sim.runs import Task, execute
from warpbank.sim.runs.execute import Progress
from warpbank.studies.compare.settings import Setting
from warpbank.studies.explore import area_model
from warpbank.studies.explore.area_model import AreaModel, Sample
from warpbank.studies.explore.measure import AIMS, measured, speed_and_work
from warpbank.studies.explore.parts import COLLECTORS, Part, Rtl, parts
from warpbank.studies.explore.result import Explored, Size
from warpbank.studies.explore.space import Point, Space


class Evaluator:
    """Evaluator of a space's points.

    Parameters
    ----------
    space, size, engine : what runs; `engine` as in `warpbank.sim.runs.RunSpec`.
    scheduler, workers, progress, on_wait : see `warpbank.sim.runs.execute`.
    """

    def __init__(
        self,
        space: Space,
        size: str,
        engine: str,
        *,
        scheduler: str | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.space, self._size, self._engine = space, size, engine
        self._how: dict[str, Any] = {
            "scheduler": scheduler,
            "workers": workers,
            "progress": progress,
            "on_wait": on_wait,
        }
        self._settings: dict[Point, Setting] = {}
        self._runs: dict[Point, dict[str, dict[str, float]]] = {}
        self._counts: dict[Rtl, dict[str, Any]] = {}
        self._samples: dict[str, Rtl] = {}
        self._model: AreaModel | None = None
        #: Why points have no values.
        self.refused: dict[str, str] = {}
        #: Evaluations so far, and how many of them were there already.
        self.done = self.there = 0

    def setting(self, point: Point) -> Setting:
        """Machine, scheme and scheduler of a point."""
        if point not in self._settings:
            self._settings[point] = self.space.setting(point)
        return self._settings[point]

    @property
    def model(self) -> AreaModel:
        """Model of area and critical path. It is there once something was evaluated."""
        assert self._model is not None
        return self._model

    def evaluate(self, points: Sequence[Point], kernels: Sequence[str]) -> None:
        """Run points on kernels, and count the RTL of their parts, where that has not been done."""
        runs = {
            self.setting(point).task(kernel, self._size, self._engine): (point, kernel)
            for kernel in kernels
            for point in points
            if point.name not in self.refused and kernel not in self._runs.get(point, {})
        }
        if not self._samples:
            self._samples = _samples()
        asked = [*self._samples.values(), *(task for point in points for task in self._rtl(point))]
        found = self.execute([*dict.fromkeys(task for task in asked if task not in self._counts), *runs])
        for task, (result, error) in found.items():
            if isinstance(task, Rtl):
                if result is None:
                    raise WarpbankError(f"{task.label}: {error}")
                self._counts[task] = result
            elif result is None:
                point, kernel = runs[task]
                self.refused.setdefault(point.name, f"{kernel}: {error}")
            else:
                point, kernel = runs[task]
                self._runs.setdefault(point, {})[kernel] = measured(result, self.setting(point))
        if self._model is None:
            self._model = _fitted({name: self._counts[task] for name, task in self._samples.items()})

    def execute(self, tasks: Iterable[Task]) -> dict[Any, tuple[dict[str, Any] | None, str]]:
        """Do tasks, or take what is there of them: result and error by task."""
        outcomes = execute(tasks, **self._how)
        self.done += len(outcomes)
        self.there += sum(outcome.cached for outcome in outcomes)
        return {outcome.task: (outcome.result, outcome.error) for outcome in outcomes}

    def _rtl(self, point: Point) -> list[Rtl]:
        return [task for part in parts(point, self.space) for task in part.tasks]

    def explored(self, point: Point, rung: int, kernels: Sequence[str]) -> Explored:
        """A point that has been evaluated on these kernels, with its values."""
        sizes = self.sizes(point)
        own, base = self._runs[point], self._runs[self.space.base]
        values = {**speed_and_work(own, base, kernels), **size_values(sizes)}
        return Explored(
            point,
            rung,
            {name: values[name] for name in AIMS},
            {kernel: own[kernel] for kernel in kernels},
            sizes,
        )

    def sizes(self, point: Point) -> dict[str, Size]:
        """Sizes of the parts of a point's register file, once it has been evaluated."""
        return {part.name: self._sized(part) for part in parts(point, self.space)}

    def bits(self, point: Point) -> int:
        """Bits of a point's register file that are no SRAM: flip-flops, or latches in their place."""
        return sum(
            bits_of(self._counts[part.rtl]) - (bits_of(self._counts[part.instead]) if part.instead else 0)
            for part in parts(point, self.space)
        )

    def _sized(self, part: Part) -> Size:
        """Size of a part: as recorded on this very machine, or from the model."""
        known = area_model.recorded(part.rtl.recorded) if part.instead is None else {}
        if known and _of_this_machine(part.rtl, known):
            return Size(known["area_um2"], known["memory_um2"], known["delay_ns"], "recorded")
        cells, memory = self.model.area(self._counts[part.rtl])
        if part.instead is not None:
            less_cells, less_memory = self.model.area(self._counts[part.instead])
            cells, memory = cells - less_cells, memory - less_memory
        return Size(cells, memory, self.model.delay(self._counts[part.rtl]))


def size_values(sizes: Mapping[str, Size]) -> dict[str, float]:
    """Values of the aims `area` and `clock`: areas added, the slowest part."""
    return {
        "area": sum(size.cells_um2 + size.memory_um2 for size in sizes.values()) / 1e6,
        "clock": max(size.delay_ns for size in sizes.values()),
    }


def bits_of(counts: Mapping[str, Any]) -> int:
    """Bits of registers, small memories and arrays in a unit's RTL."""
    arrays = sum(rows * width * number for rows, width, *_, sram, number in counts["memories"] if not sram)
    return int(counts["bits"]["flops"] + counts["bits"]["memory_bits"]) + arrays


def _of_this_machine(rtl: Rtl, known: Mapping[str, Any]) -> bool:
    """Whether a record is of this unit in this machine. That of a register file is of the baseline's."""
    from warpbank.synth.baselines import SIZES, same_machine

    config, scheme = rtl.machine()
    whose = SIZES[rtl.recorded].machine()[1]
    alike = scheme.collector == whose.collector if rtl.unit == COLLECTORS else scheme == whose
    return alike and same_machine(dict(known), config)


def _samples() -> dict[str, Rtl]:
    """RTL of the recorded units that the model is fitted over, at the sizes of their papers."""
    from warpbank.synth.baselines import SIZES

    return {
        unit: Rtl(unit, size.scheme, size.preset, size.overrides)
        for unit, size in SIZES.items()
        if area_model.recorded(unit).get("area_um2", 0.0) >= area_model.SMALLEST
    }


def _fitted(counted: Mapping[str, Mapping[str, Any]]) -> AreaModel:
    known = {unit: area_model.recorded(unit) for unit in counted}
    samples = [
        Sample(unit, counts, known[unit]["area_um2"], known[unit]["delay_ns"])
        for unit, counts in counted.items()
    ]
    return area_model.fitted(samples, area_model.recorded_arrays(samples))
