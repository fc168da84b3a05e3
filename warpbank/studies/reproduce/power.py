"""Power under G-Scalar and of what it is compared with: of the register file, and of the GPU to first
order."""

from __future__ import annotations

from typing import Any

from warpbank.arch.config import preset
from warpbank.sim.runs import RunSpec, Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.reproduce.paper import Results
from warpbank.synth.energy import energy, table

#: The paper's machine.
PRESET = "fermi"
BASELINE = "baseline"
SCHEMES = ("scalar-rf", "bdi", "gscalar", "gscalar-half")
#: Shares of the baseline GPU's power, section 1: register file, execution units.
REGISTER_FILE, EXECUTION = 0.16, 0.24
#: Energy of a lane of the special-function unit over that of another lane: section 1 says 3 to 24, this is
#: their geometric mean.
SFU_WEIGHT = 8.5
#: Arrays of a bank.
_ARRAYS = 8


def run(kernel: str, size: str, scheme: str) -> RunSpec:
    """Run of a scheme; all but the baseline's tell the lanes of each unit."""
    return RunSpec(
        kernel,
        size,
        scheme,
        PRESET,
        observer="" if scheme == BASELINE else "warpbank.studies.reproduce.lane_clocking:LaneClocking",
    )


def _lanes(kernel: str, size: str) -> AnalysisSpec:
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:lanes", preset=PRESET)


def runs(kernel: str, size: str) -> list[Task]:
    """Runs that the figures need."""
    return [_lanes(kernel, size), *(run(kernel, size, scheme) for scheme in (BASELINE, *SCHEMES))]


def registers(kernel: str, size: str, scheme: str, results: Results) -> float:
    """Dynamic energy of the register file, as a share of the baseline's.

    A write of the baseline activates the arrays of its lanes: as many as a plain bank would in the run with
    compression, which counts them, decompress moves left out.
    """
    priced = table("gscalar")
    spent = energy(results[run(kernel, size, scheme)], priced, preset(PRESET)).dynamic_total
    counters = results[run(kernel, size, "gscalar")]["counters"]
    arrays = _ARRAYS * results[run(kernel, size, BASELINE)]["counters"]["rf.reads"]
    arrays += counters["rf.arrays.plain_write"] - _ARRAYS * counters["issue.moves"]
    (array,) = {row.picojoules for row in priced.events if "rf.arrays.read" in row.counters}
    return float(spent / (arrays * array)) if arrays else 1.0


def execution(kernel: str, size: str, scheme: str, results: Results) -> float:
    """Energy of the execution units by the lanes that they clock, as a share of the baseline's."""
    before = _weighed(results[_lanes(kernel, size)])
    return _weighed(results[run(kernel, size, scheme)]["observed"]) / before if before else 1.0


def _weighed(lanes: dict[str, Any]) -> float:
    return float(sum(lanes.values()) + (SFU_WEIGHT - 1) * lanes["sfu"])


def efficiency(kernel: str, size: str, scheme: str, results: Results) -> float:
    """Work per energy of the GPU, over the baseline's. What is neither register file nor execution takes the
    same power."""
    slower = results[run(kernel, size, scheme)]["cycles"] / results[run(kernel, size, BASELINE)]["cycles"]
    rest = 1 - REGISTER_FILE - EXECUTION
    spent = (
        REGISTER_FILE * registers(kernel, size, scheme, results)
        + EXECUTION * execution(kernel, size, scheme, results)
        + rest * slower
    )
    return float(1 / spent)
