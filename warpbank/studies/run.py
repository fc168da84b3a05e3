"""One run with the energy of its register file, as `warpbank run` prints it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpbank.arch.errors import ArgumentError
from warpbank.sim import experiment as exp
from warpbank.sim.engines import Engine, Waves
from warpbank.sim.engines.base import OnBuild, Progress
from warpbank.sim.engines.checkpoint import Checkpoint
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.runs.spec import Observed
from warpbank.studies import over_time as timeline
from warpbank.studies.compare.measures import hit_ratio
from warpbank.synth import energy as energies
from warpbank.synth.energy import COMMON, Energy


@dataclass(frozen=True)
class Measured:
    """A run and what its register file spent.

    Parameters
    ----------
    report : the run.
    energy : energy on the table that was asked for.
    energy_own : energy on the tables that the scheme's own paper printed; empty if another table than the
        common one was asked for.
    """

    report: exp.Report
    energy: Energy
    energy_own: tuple[Energy, ...]

    @property
    def hit_ratio(self) -> float:
        """Source operands found in a collector or in a register file cache, in percent."""
        return hit_ratio({"counters": self.report.result.counters})

    @property
    def seed(self) -> int:
        """Seed of the machine's random choices."""
        return self.report.experiment.config.sub_core.collector.seed

    def to_dict(self) -> dict[str, Any]:
        """One JSON object, whose keys docs/cli.md documents."""
        return {
            **self.report.to_dict(),
            "seed": self.seed,
            "hit_ratio": self.hit_ratio,
            "energy": self.energy.to_dict(),
            "energy_own": [each.to_dict() for each in self.energy_own],
        }


def run(
    experiment: exp.Experiment,
    engine: Engine | None = None,
    *,
    energy: str = COMMON,
    over_time: Path | None = None,
    waves: Waves | None = None,
    on_emulate: Callable[[], None] | None = None,
    on_build: OnBuild | None = None,
    progress: Progress | None = None,
    sample: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Measured:
    """Run an experiment and price its events.

    Parameters
    ----------
    experiment : kernel, machine, scheme.
    engine : the simulator; None: the golden model.
    energy : name of an energy table, or a TOML file.
    over_time : file to write the run's progress over time to, as `.csv`, `.json` or `.html`.
    waves, on_emulate, on_build, progress, sample, checkpoint : see `warpbank.sim.experiment.run`.

    Raises
    ------
    ArgumentError : a sample has no progress over time and no waves, and runs on the golden model alone; so
        does a run with a checkpoint.
    CheckpointError : the checkpoint is refused.
    WarpbankError : no such energy table, or a file name with another ending; before anything is run.
    """
    simulator = engine if engine is not None else GoldenEngine()
    if sample:
        exp.check_sample(simulator)
        if over_time is not None or waves is not None:
            raise ArgumentError(
                "a sample has no events of the whole run to write over time or as waves; leave --sample out"
            )
    if checkpoint is not None:
        exp.check_checkpoint(simulator, sample)
        if over_time is not None:
            raise ArgumentError(
                "a run that goes on from a checkpoint has no events of its first part to write over time; "
                "leave --checkpoint or --over-time out"
            )
    prices, config = energies.table(energy), experiment.config
    seen = None
    if over_time is not None:
        timeline.check_name(over_time)
        seen = timeline.OverTime(experiment.scheme)
    report = exp.run(
        experiment,
        simulator if seen is None else Observed(simulator, seen),
        waves=waves,
        on_emulate=on_emulate,
        on_build=on_build,
        progress=progress,
        sample=sample,
        checkpoint=checkpoint,
    )
    data = report.to_dict()
    own = energies.own_tables(experiment.scheme) if energy == COMMON else ()
    measured = Measured(
        report,
        energies.energy(data, prices, config),
        tuple(energies.energy(data, energies.table(name), config) for name in own),
    )
    if over_time is not None and seen is not None:
        timeline.write(over_time, seen.table(prices, config), data)
    return measured
