"""Results of the functions of `warpbank.api`: dataclasses that become plain dictionaries or data frames.

`to_dict` gives what JSON takes. `to_frame` gives a pandas data frame; pandas is no dependency of Warpbank,
and where it is not installed `MissingPackageError` says how to get it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from warpbank import arguments as check
from warpbank.arch.parameters import SmConfig
from warpbank.sim import lockstep
from warpbank.sim.experiment import Report
from warpbank.sim.output import write_text
from warpbank.sim.runs import Outcome
from warpbank.studies.compare.measures import hit_ratio
from warpbank.studies.frames import frame
from warpbank.studies.sweep import Sweep, write
from warpbank.studies.sweep.table import DESCRIPTION, columns, measured, row
from warpbank.synth.energy import Energy

if TYPE_CHECKING:
    import pandas

Row = TypeVar("Row", "KernelInfo", "SchemeInfo", "PresetInfo")


@dataclass(frozen=True, repr=False)
class Run:
    """Run of one kernel through one machine.

    Parameters
    ----------
    report : the run as the engine gave it, with its machine, job and trace.
    energy : dynamic energy and leakage of the register file in pJ, on the table that was asked for.
    energy_own : the run's energy on tables that the scheme's own paper printed; empty where another table
        than the common one was asked for.
    notes : what a user should know of the input, a sentence each.
    """

    report: Report
    energy: Energy
    energy_own: tuple[Energy, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self.report.experiment.job.name

    @property
    def size(self) -> str:
        """Problem size: "tiny", "small" or "full"; another word for what is not shipped."""
        return self.report.experiment.job.size

    @property
    def scheme(self) -> str:
        """Name of the register-file scheme."""
        return self.report.experiment.scheme.name

    @property
    def preset(self) -> str:
        """Preset or configuration file that the machine comes from."""
        return self.report.experiment.preset

    @property
    def engine(self) -> str:
        """Name of the simulator."""
        return self.report.engine

    @property
    def config(self) -> SmConfig:
        """The machine, overrides included."""
        return self.report.experiment.config

    @property
    def cycles(self) -> int:
        """Clock cycles of the SM, summed over all launches."""
        return self.report.result.cycles

    @property
    def warp_instructions(self) -> int:
        """Warp instructions retired."""
        return self.report.result.warp_instructions

    @property
    def ipc(self) -> float:
        """Warp instructions per cycle of the SM."""
        return self.report.result.ipc

    @property
    def hit_ratio(self) -> float:
        """Source operands found in a collector or a register file cache, in percent."""
        return hit_ratio(self.report.result.to_dict())

    @property
    def stalls(self) -> dict[str, int]:
        """Scheduler cycles by reason (docs/machine.md); they sum to cycles x schedulers."""
        return self.report.result.stalls

    @property
    def counters(self) -> dict[str, int]:
        """Counters by dotted name (docs/machine.md)."""
        return self.report.result.counters

    def __repr__(self) -> str:
        names = ("kernel", "size", "scheme", "preset", "engine", "cycles")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Run({shown}, ipc={self.ipc:.3f})"

    def to_dict(self) -> dict[str, Any]:
        """Dictionary with the keys that `warpbank run` prints as JSON (docs/cli.md)."""
        return self.report.to_dict() | {
            "seed": self.config.sub_core.collector.seed,
            "hit_ratio": self.hit_ratio,
            "energy": self.energy.to_dict(),
            "energy_own": [each.to_dict() for each in self.energy_own],
        }

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame of one row, with the columns of a sweep (docs/sweep.md) and `hit_ratio`.

        Raises MissingPackageError if pandas is not installed.
        """
        data = self.to_dict()
        found = {name: data[name] for name in DESCRIPTION} | measured(data, self.energy)
        return frame([found | {"hit_ratio": self.hit_ratio}])


@dataclass(frozen=True)
class SweepResult:
    """Sweep that was run: every run's description and outcome.

    Parameters
    ----------
    description : what was run.
    outcomes : how each run ended, in the description's order.
    """

    description: Sweep
    outcomes: tuple[Outcome, ...] = field(repr=False)

    @property
    def failures(self) -> dict[str, str]:
        """Cause by run, for the runs that failed; a run is named by kernel, scheme and fields."""
        return {each.task.label: each.error for each in self.outcomes if each.result is None}

    def rows(self) -> list[dict[str, Any]]:
        """Rows, a dictionary for each run, with the columns that docs/sweep.md describes."""
        points = self.description.points()
        return [row(*point, outcome) for point, outcome in zip(points, self.outcomes, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON: `description`, and `runs`, the rows."""
        return {"description": dataclasses.asdict(self.description), "runs": self.rows()}

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame with a row for each run and the columns that docs/sweep.md describes.

        Raises MissingPackageError if pandas is not installed.
        """
        return frame(self.rows(), columns(self.description))

    def write(self, path: str | Path) -> None:
        """Write one Parquet file, whole or not at all.

        Raises MissingPackageError if pyarrow is not installed, OutputError if the file cannot be written.
        """
        write(self.description, self.outcomes, check.path("path", path))


@dataclass(frozen=True)
class Lockstep:
    """Lockstep of the golden model and the RTL on one kernel.

    Parameters
    ----------
    kernel : name of the kernel.
    size : its problem size.
    scheme : name of the register-file scheme.
    preset : preset or configuration file that the machine comes from.
    engine : simulator of the RTL.
    outcome : what was found, with the events around a divergence.
    notes : what a user should know of the input, a sentence each.
    """

    kernel: str
    size: str
    scheme: str
    preset: str
    engine: str
    outcome: lockstep.Outcome = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether every event of every cycle, every counter and every stall reason is equal."""
        return self.outcome.divergence is None

    @property
    def cycles(self) -> int:
        """Clock cycles compared."""
        return self.outcome.cycles

    @property
    def events(self) -> int:
        """Events compared."""
        return self.outcome.events

    @property
    def divergence(self) -> lockstep.Divergence | None:
        """Divergence of the RTL from the golden model; None: there is none."""
        return self.outcome.divergence

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of what was run, and of the keys that `warpbank lockstep` prints as JSON."""
        return self._run() | self.outcome.to_dict()

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame of one row: what was run, `equal`, `cycles`, `events`, and the divergence's
        `cycle` and `reason`.

        Raises MissingPackageError if pandas is not installed.
        """
        found = self.divergence
        where = {
            "divergence.cycle": None if found is None else found.cycle,
            "divergence.reason": "" if found is None else found.reason,
        }
        compared = {"equal": self.equal, "cycles": self.cycles, "events": self.events}
        return frame([self._run() | compared | where])

    def _run(self) -> dict[str, Any]:
        names = ("kernel", "size", "scheme", "preset", "engine")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class PtxKernel:
    """Kernel of a PTX module.

    Parameters
    ----------
    name : its entry, as a launch description names it.
    parameters : number of its parameters.
    parameter_bytes : bytes of them.
    shared_bytes : bytes of shared memory that it declares.
    """

    name: str
    parameters: int
    parameter_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class Ptx:
    """PTX module that was compiled from CUDA C++.

    Parameters
    ----------
    source : the CUDA source.
    target : GPU that the PTX is for, such as "sm_75".
    text : the PTX module.
    kernels : the kernels in it.
    notes : what the compiler warns of, and what of the host's code was left out; a sentence each.
    """

    source: Path
    target: str
    text: str = field(repr=False)
    kernels: tuple[PtxKernel, ...]
    notes: tuple[str, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write the text to a file. Raises OutputError if that fails."""
        write_text(check.path("path", path), self.text)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON: `source`, `target`, `text`, `kernels`, `notes`."""
        return {
            "source": str(self.source),
            "target": self.target,
            "text": self.text,
            "kernels": [dataclasses.asdict(kernel) for kernel in self.kernels],
            "notes": list(self.notes),
        }

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame with a row for each kernel.

        Raises MissingPackageError if pandas is not installed.
        """
        names = [spec.name for spec in dataclasses.fields(PtxKernel)]
        return frame([dataclasses.asdict(kernel) for kernel in self.kernels], names)


@dataclass(frozen=True)
class KernelInfo:
    """Shipped kernel.

    Parameters
    ----------
    name : as `run` takes it.
    summary : what it computes.
    origin : the benchmark whose algorithm it has.
    sizes : problem sizes there are.
    group : core, register-sensitive or deep-learning (docs/kernels.md).
    """

    name: str
    summary: str
    origin: str
    sizes: tuple[str, ...]
    group: str


@dataclass(frozen=True)
class SchemeInfo:
    """Register-file scheme, and the unit it puts in each place of the machine: "" for the baseline's.

    Parameters
    ----------
    name : as `run` takes it; several are joined by "+".
    description : what it does.
    paper : paper and section that it comes from.
    collector : unit that gathers operands.
    hierarchy : cache between collectors and the main register file.
    mapping : where a register lives.
    storage : banks.
    scheduler : warp scheduler.
    """

    name: str
    description: str
    paper: str
    collector: str
    hierarchy: str
    mapping: str
    storage: str
    scheduler: str


@dataclass(frozen=True)
class PresetInfo:
    """Machine with a name.

    Parameters
    ----------
    name : as `run` takes it.
    description : where its numbers come from.
    config : every field of it.
    """

    name: str
    description: str
    config: SmConfig = field(repr=False)


@dataclass(frozen=True)
class Listing(Sequence[Row], Generic[Row]):
    """List of kernels, schemes or presets: a sequence of rows that are found by place or by name.

    Parameters
    ----------
    rows : dataclasses with a `name` each.
    """

    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows, in order."""
        return tuple(each.name for each in self.rows)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Row | tuple[Row, ...]:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(key)
            return self.rows[self.names.index(key)]
        return self.rows[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON: each row by its name."""
        return {each.name: _plain(each) for each in self.rows}

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame with a row for each; fields of a machine are columns, by their dotted paths.

        Raises MissingPackageError if pandas is not installed.
        """
        return frame(dict(_flat(_plain(each))) for each in self.rows)


def _plain(info: KernelInfo | SchemeInfo | PresetInfo) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in dataclasses.asdict(info).items()
    }


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values of nested dictionaries by dotted path; the machine's own name is left out of the paths."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, "" if name == "config" else f"{prefix}{name}.")
        else:
            yield prefix + name, value
