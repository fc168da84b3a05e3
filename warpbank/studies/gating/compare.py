"""Power gating of one kernel beside its run without renaming."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from warpbank.arch.config import with_overrides
from warpbank.arch.schemes import BASELINE, Scheme, first_scheme, parse_scheme
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.runs.spec import Observed
from warpbank.studies.gating.drawing import draw
from warpbank.studies.gating.observer import Gating


@dataclass(frozen=True)
class Comparison:
    """Comparison of power gating in two runs of a kernel.

    Parameters
    ----------
    experiment : the run with renaming.
    renaming : its `Gating.result()`.
    first_touch : `Gating.result()` of the run without renaming, where a register stays on from its first
        access.
    """

    experiment: exp.Experiment
    renaming: dict[str, Any]
    first_touch: dict[str, Any]

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.experiment.job.name

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {"kernel": self.kernel, "renaming": self.renaming, "first touch": self.first_touch}

    def draw(self) -> str:
        """Drawing of the two runs over their cycles, as SVG."""
        title = f"{self.kernel}, {self.experiment.scheme.name}, preset {self.experiment.preset}"
        return draw(title, self.renaming, self.first_touch)


def renames(scheme: Scheme) -> bool:
    """Whether registers change their places under a scheme."""
    return scheme.units.mapping.renames


def compare(experiment: exp.Experiment) -> Comparison:
    """Run an experiment on the golden model with renaming and without.

    Raises
    ------
    WarpbankError : the experiment's scheme does not rename registers.
    """
    if not renames(experiment.scheme):
        raise WarpbankError(
            f"scheme {experiment.scheme.name} does not rename registers; use one that does, such as "
            f"{first_scheme(renames)}"
        )
    return Comparison(experiment, _observe(experiment), _observe(_unrenamed(experiment)))


def _observe(experiment: exp.Experiment) -> dict[str, Any]:
    seen = Gating()
    exp.run(experiment, Observed(GoldenEngine(), seen))
    return seen.result()


def _unrenamed(experiment: exp.Experiment) -> exp.Experiment:
    """The experiment without renaming, under the scheduler that it has with renaming."""
    rows = [row for row in experiment.scheme.name.split("+") if not renames(parse_scheme(row))]
    policy = experiment.config.sub_core.front_end.scheduler
    if policy == "scheme":
        policy = experiment.scheme.scheduler
    config = with_overrides(experiment.config, [f"sub_core.front_end.scheduler={policy}"])
    return replace(experiment, scheme=exp.find_scheme("+".join(rows) or BASELINE.name), config=config)
