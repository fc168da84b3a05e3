"""Area and clock of register files that were not synthesized: models fitted over the recorded baselines, with
the error that each makes of a unit that it has not seen.

- Cells: a sum over the kinds of logic in the RTL (`counts.KINDS`), each with a price that is not negative.
- Memories: SRAM is tiled as synthesis tiles it. An array of flip-flops costs so much per bit, and so much
  more for each of its ports.
- Critical path: a power of the levels of the RTL (`levels`) and of the size of the unit.

Every error is one of leaving one out: the unit's own record is taken out, the model is fitted over the
others, and what it says is divided by the record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpbank.studies.explore.counts import KINDS

#: Recorded units smaller than this, in um2, teach nothing about register files.
SMALLEST = 100.0
#: Matrix of features, and what they should give.
Array = NDArray[np.float64]
#: Fits features to targets; gives what predicts from features.
Fitter = Callable[[Array, Array], Callable[[Array], Array]]


@dataclass(frozen=True)
class Sample:
    """Recorded unit: its RTL's counts and what synthesis made of it."""

    unit: str
    counts: Mapping[str, Any]
    area_um2: float
    delay_ns: float


@dataclass(frozen=True)
class Error:
    """Error of a model, as ratios of what it says of a unit that it has not seen to what was recorded.

    Parameters
    ----------
    of : what is modelled.
    ratios : by unit.
    """

    of: str
    ratios: Mapping[str, float]

    def within(self, share: float) -> float:
        """Factor by which that share of the units is missed at most, up or down."""
        factors = sorted(max(ratio, 1 / ratio) for ratio in self.ratios.values()) or [math.inf]
        return factors[math.ceil(share * len(factors)) - 1]

    def to_dict(self) -> dict[str, Any]:
        """Error as a JSON object."""
        return {
            "of": self.of,
            "samples": len(self.ratios),
            "half_within_factor": round(self.within(0.5), 3),
            "nine_of_ten_within_factor": round(self.within(0.9), 3),
            "median_ratio": round(median(self.ratios.values()), 3),
            "ratios": {name: round(ratio, 3) for name, ratio in self.ratios.items()},
        }


@dataclass(frozen=True)
class AreaModel:
    """Model of cells, arrays and critical paths.

    Parameters
    ----------
    cells, arrays, path : predict um2 of cells, um2 of a bit, and ns, from rows of features.
    errors : of each, leaving one out.
    """

    cells: Callable[[Array], Array]
    arrays: Callable[[Array], Array]
    path: Callable[[Array], Array]
    errors: tuple[Error, ...]

    def area(self, counts: Mapping[str, Any]) -> tuple[float, float]:
        """Area of cells and of memories in um2."""
        cells = float(self.cells(np.array([_logic(counts)]))[0])
        return cells, sum(
            self._memory(rows, width, chosen, writes, sram) * number
            for rows, width, _, chosen, writes, sram, number in counts["memories"]
        )

    def _memory(self, rows: int, width: int, reads: int, writes: int, sram: bool) -> float:
        from warpbank.synth import memories

        if sram:
            return memories.sram(rows, width).area
        return float(self.arrays(np.array([_ports(reads, writes)]))[0]) * rows * width

    def delay(self, counts: Mapping[str, Any]) -> float:
        """Critical path in ns."""
        return float(self.path(np.array([_path(counts)]))[0])


def _logic(counts: Mapping[str, Any]) -> list[float]:
    return [float(counts["bits"][kind]) for kind in KINDS]


def _ports(reads: int, writes: int) -> list[float]:
    return [1.0, float(reads), float(writes)]


def _path(counts: Mapping[str, Any]) -> list[float]:
    """Logarithms that the critical path is a straight line in."""
    return [1.0, math.log1p(counts["levels"]), math.log1p(sum(_logic(counts)))]


def prices(features: Array, target: Array) -> Callable[[Array], Array]:
    """Fit a sum of prices that are not negative, by least squares of relative errors.

    A price that comes out negative is left out, the most negative first, until none is. Least squares of
    ratios lean to what is too small, so that all prices are then scaled until the median ratio is 1.
    """
    weighted = features / target[:, None]
    used = [column for column in range(features.shape[1]) if features[:, column].any()]
    while True:
        found = np.linalg.lstsq(weighted[:, used], np.ones(len(target)), rcond=None)[0]
        if not len(used) or found.min() >= 0:
            break
        used.pop(int(found.argmin()))
    coefficients = np.zeros(features.shape[1])
    coefficients[used] = found / np.median(weighted[:, used] @ found)
    return lambda rows: rows @ coefficients


def power_law(features: Array, target: Array) -> Callable[[Array], Array]:
    """Fit a straight line through logarithms."""
    found = np.linalg.lstsq(features, np.log(target), rcond=None)[0]
    return lambda rows: np.exp(rows @ found)


def left_out(of: str, names: Sequence[str], features: Array, target: Array, fit: Fitter) -> Error:
    """Error of a model of every sample, fitted without it."""
    ratios = {}
    for place, name in enumerate(names if len(names) > 1 else ()):
        others = np.arange(len(names)) != place
        said = fit(features[others], target[others])(features[place : place + 1])[0]
        ratios[name] = max(float(said), 1e-9) / float(target[place])
    return Error(of, ratios)


def fitted(samples: Sequence[Sample], arrays: Mapping[str, tuple[int, int, float]]) -> AreaModel:
    """Fit the models.

    Parameters
    ----------
    samples : recorded units.
    arrays : recorded arrays of flip-flops by name: read ports whose address is no constant, write ports, um2
        of a bit.
    """
    names = [sample.unit for sample in samples]
    logic = np.array([_logic(sample.counts) for sample in samples])
    area = np.array([sample.area_um2 for sample in samples])
    paths = np.array([_path(sample.counts) for sample in samples])
    delay = np.array([sample.delay_ns for sample in samples])
    ports = np.array([_ports(reads, writes) for reads, writes, _ in arrays.values()])
    bit = np.array([price for *_, price in arrays.values()])
    return AreaModel(
        prices(logic, area),
        prices(ports, bit),
        power_law(paths, delay),
        (
            left_out("cells", names, logic, area, prices),
            left_out("arrays of flip-flops", list(arrays), ports, bit, prices),
            left_out("critical path", names, paths, delay, power_law),
        ),
    )


@cache
def recorded(unit: str) -> dict[str, Any]:
    """Recorded baseline of a unit in the library of the documents, with its machine as `config`; empty: there
    is none."""
    from warpbank.synth.baselines import LIBRARY

    path = files("warpbank.synth") / "baselines" / f"{unit}.json"
    if not path.is_file():
        return {}
    data = json.loads(path.read_text())
    found = data["results"].get(LIBRARY)
    return found | {"config": data["config"]} if found else {}


def recorded_arrays(samples: Sequence[Sample]) -> dict[str, tuple[int, int, float]]:
    """Arrays of flip-flops of these units' baselines, each shape once: read ports whose address is no
    constant, write ports, um2 of a bit. A shape that the RTL no longer has is left out."""
    found: dict[str, tuple[int, int, float]] = {}
    for sample in samples:
        chosen = {(*row[:3], row[4]): row[3] for row in sample.counts["memories"]}
        for memory in recorded(sample.unit).get("memories", []):
            shape = tuple(memory[name] for name in ("rows", "width", "reads", "writes"))
            if memory["kind"] == "array" and shape in chosen:
                rows, width, reads, writes = shape
                name = f"{rows} x {width}, {reads} reads, {writes} writes"
                found[name] = (chosen[shape], writes, memory["area_um2"] / (rows * width))
    return found
