"""Comparison table, the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from warpbank.studies.compare.measures import MEASURES, Data, Measure, shown
from warpbank.studies.frames import frame

if TYPE_CHECKING:
    import pandas

#: Values by scheme and kernel.
Values = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Comparison:
    """Comparison of register-file schemes on several kernels.

    Parameters
    ----------
    schemes : names of the schemes; the first is what the others are normalised to.
    kernels : names of the kernels.
    runs : (scheme, kernel) -> the run's report with its energies; those that failed are missing.
    failures : (scheme, kernel) -> why.
    made_by : command, engine, configurations, versions.
    area : by scheme, then unit: what synthesis has recorded (`warpbank.studies.compare.area`); None: not
        recorded.
    """

    schemes: tuple[str, ...]
    kernels: tuple[str, ...]
    runs: Mapping[tuple[str, str], Data]
    failures: Mapping[tuple[str, str], str]
    made_by: dict[str, Any]
    area: Mapping[str, Mapping[str, Data | None]] = field(default_factory=dict)

    def values(self, measure: Measure) -> Values:
        """Values that are shown for every scheme and kernel that ran, where the baseline ran too."""
        base = self.schemes[0]
        return {
            scheme: {
                kernel: shown(measure, self.runs[scheme, kernel], self.runs[base, kernel])
                for kernel in self.kernels
                if (scheme, kernel) in self.runs and (base, kernel) in self.runs
            }
            for scheme in self.schemes
        }

    @property
    def mean_kernels(self) -> tuple[str, ...]:
        """Kernels that means are made of: those of which no run failed, schemes that never ran left out."""
        ran = [
            scheme for scheme in self.schemes if any((scheme, kernel) in self.runs for kernel in self.kernels)
        ]
        return tuple(
            kernel for kernel in self.kernels if all((scheme, kernel) in self.runs for scheme in ran)
        )

    def mean(self, measure: Measure, scheme: str) -> float | None:
        """Mean over `mean_kernels`; geometric for ratios. None without a value for each."""
        row = self.values(measure)[scheme]
        values = [value for kernel in self.mean_kernels if (value := row.get(kernel)) is not None]
        if not values or len(values) < len(self.mean_kernels):
            return None
        if not measure.relative:
            return fmean(values)
        return geometric_mean(values) if min(values) > 0 else 0.0

    def structures(self, scheme: str) -> dict[str, float]:
        """Dynamic energy by structure on the common table, over `mean_kernels`, as shares of the baseline's
        total."""

        def total(name: str) -> dict[str, float]:
            spent: dict[str, float] = {}
            for kernel in self.mean_kernels:
                for structure, value in self.runs[name, kernel]["energy"]["dynamic"].items():
                    spent[structure] = spent.get(structure, 0.0) + value
            return spent

        if any((scheme, kernel) not in self.runs for kernel in self.mean_kernels):
            return {}
        whole = sum(total(self.schemes[0]).values())
        return {structure: value / whole for structure, value in total(scheme).items()} if whole else {}

    def stalls(self, scheme: str) -> dict[str, float]:
        """Scheduler cycles by reason, over `mean_kernels`, as shares of the baseline's."""
        if any((scheme, kernel) not in self.runs for kernel in self.mean_kernels):
            return {}
        whole = sum(
            sum(self.runs[self.schemes[0], kernel]["stalls"].values()) for kernel in self.mean_kernels
        )
        reasons = self.runs[scheme, self.mean_kernels[0]]["stalls"] if self.mean_kernels else {}
        return (
            {
                reason: sum(self.runs[scheme, kernel]["stalls"][reason] for kernel in self.mean_kernels)
                / whole
                for reason in reasons
            }
            if whole
            else {}
        )

    def to_frame(self) -> pandas.DataFrame:
        """Pandas data frame with a row for each scheme on each kernel.

        Columns: `scheme`, `kernel`; `failed` and `error`, the cause; `cycles` of the run; then a column for
        each measure (`ipc`, `rf_reads`, ...; docs/compare.md), where ratios are of the baseline.

        Raises MissingPackageError if pandas is not installed.
        """
        values = {measure.name: self.values(measure) for measure in MEASURES}
        rows = [
            {
                "scheme": scheme,
                "kernel": kernel,
                "failed": (scheme, kernel) not in self.runs,
                "error": self.failures.get((scheme, kernel), ""),
                "cycles": self.runs.get((scheme, kernel), {}).get("cycles"),
                **{name: row[scheme].get(kernel) for name, row in values.items()},
            }
            for scheme in self.schemes
            for kernel in self.kernels
        ]
        return frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Comparison as plain dictionaries for JSON; docs/compare.md documents the keys."""
        return {
            "schemes": list(self.schemes),
            "kernels": list(self.kernels),
            "mean_kernels": list(self.mean_kernels),
            "made_by": self.made_by,
            "measures": {
                measure.name: {
                    "title": measure.title,
                    "unit": measure.unit,
                    "text": measure.text,
                    "mean_kind": "geometric" if measure.relative else "arithmetic",
                    "mean": {scheme: self.mean(measure, scheme) for scheme in self.schemes},
                    "values": self.values(measure),
                }
                for measure in MEASURES
            },
            "energy_structures": {scheme: self.structures(scheme) for scheme in self.schemes},
            "stalls": {scheme: self.stalls(scheme) for scheme in self.schemes},
            "area": self.area,
            "runs": [_run(run) for run in self.runs.values()],
            "failures": [
                {"scheme": scheme, "kernel": kernel, "cause": cause}
                for (scheme, kernel), cause in self.failures.items()
            ],
        }


def _run(run: Data) -> dict[str, Any]:
    """A run without what `made_by` says for all, and without times of the clock on the wall."""
    return {key: value for key, value in run.items() if key not in ("versions", "seconds", "base_own")}


def labels(names: Sequence[str]) -> list[str]:
    """Labels of kernels: a shipped one's name, a file's without its folder."""
    return [name.rpartition("/")[2] for name in names]
