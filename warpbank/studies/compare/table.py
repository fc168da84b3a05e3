"""Comparison table, the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from warpbank.arch.schemes import BASELINE
from warpbank.studies.compare.measures import MEASURES, Data, Measure, shown
from warpbank.studies.compare.published import published, published_ipc
from warpbank.studies.compare.settings import Setting
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
    schemes : names of the columns: schemes, and baselines under another scheduler.
    kernels : names of the kernels.
    runs : (column, kernel) -> the run's report with its energies; those that failed are missing. Baselines
        that are no column have runs, too.
    failures : (column, kernel) -> why.
    made_by : command, engine, configurations, versions.
    area : by scheme, then unit: what synthesis has recorded (`warpbank.studies.compare.area`); None: not
        recorded.
    settings : what each column runs on, and which baseline its values are divided by; without one it is the
        first column.
    """

    schemes: tuple[str, ...]
    kernels: tuple[str, ...]
    runs: Mapping[tuple[str, str], Data]
    failures: Mapping[tuple[str, str], str]
    made_by: dict[str, Any]
    area: Mapping[str, Mapping[str, Data | None]] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def base(self, scheme: str) -> str:
        """Name of the baseline that a column's values are divided by."""
        return self.settings[scheme].base if scheme in self.settings else self.schemes[0]

    @property
    def published(self) -> bool:
        """Whether each scheme stands beside the baseline of its own paper, which is no column."""
        return self.base(self.schemes[0]) not in self.schemes

    def values(self, measure: Measure) -> Values:
        """Values that are shown for every scheme and kernel that ran, where its baseline ran too."""
        return {
            scheme: {
                kernel: shown(measure, self.runs[scheme, kernel], self.runs[base, kernel])
                for kernel in self.kernels
                if (scheme, kernel) in self.runs and (base, kernel) in self.runs
            }
            for scheme in self.schemes
            for base in (self.base(scheme),)
        }

    @property
    def sentences(self) -> list[str]:
        """Sentences that belong above the numbers: machine, scheduler and size; what stands beside what; what
        the numbers do not show."""
        if not self.settings:
            return []
        size, count = self.made_by["size"], len(self.kernels)
        kernels = f"{count} kernel{'s' * (count > 1)} at {size}"
        rows = (row for name in self.schemes for row in name.split("+"))
        machines = {found.paper: found for found in map(published, rows) if found is not None}
        purposes = [machine.purpose for machine in machines.values() if machine.purpose]
        if self.published:
            return [
                f"Each scheme on its paper's machine, under its scheduler, in its code order, beside that "
                f"paper's baseline; {kernels}.",
                "Not shown: the papers' own kernels, of which a published value is a mean; and columns stand "
                "on different machines, so that they cannot be compared with each other.",
            ]
        first = self.settings[self.schemes[0]]
        code = first.options
        said = [
            f"Machine {first.preset}{''.join(f' {text}' for text in first.overrides)}, warp scheduler "
            f"{first.scheduler}, {kernels}, code {code.code_order}, constants in "
            f"{'the constant bank' if code.constants == 'bank' else 'registers'}."
        ]
        for name in self.schemes[1:]:
            setting = self.settings[name]
            if setting.scheme == BASELINE.name:
                beside = [each for each in self.schemes if self.base(each) == name]
                few, warps = setting.active_warps, setting.config.sub_core.warps
                active = f" ({few} of {warps} warps of a sub-core are active)" if few is not None else ""
                said.append(
                    f"{' and '.join(beside)} {'works' if len(beside) == 1 else 'work'} under "
                    f"{setting.scheduler} scheduling only{active} and "
                    f"{'stands' if len(beside) == 1 else 'stand'} beside the baseline under it."
                )
        shown_not = [
            "what a scheme gains on its own paper's machine and code (warpbank compare --as-published)",
            *purposes,
        ]
        return [
            *said,
            f"Not shown: {', '.join(shown_not[:-1])}{' and ' * (len(shown_not) > 1)}{shown_not[-1]}.",
        ]

    def heads(self) -> list[tuple[str, list[str]]]:
        """Rows of words above the numbers: what each column runs on and stands beside."""
        if not self.settings:
            return []
        settings = [self.settings[name] for name in self.schemes]
        rows = [("warp scheduler", [setting.scheduler for setting in settings])]
        if not self.published:
            return [*rows, ("relative to", [setting.base for setting in settings])]
        return [
            ("machine", [setting.preset for setting in settings]),
            *rows,
            ("code order", [setting.options.code_order for setting in settings]),
            ("constants", [setting.options.constants for setting in settings]),
            ("register file", [setting.register_file or "own" for setting in settings]),
            (
                "IPC, published",
                [
                    "–" if (value := published_ipc(setting.scheme)) is None else f"{value:.3f}"
                    for setting in settings
                ],
            ),
        ]

    @property
    def mean_kernels(self) -> tuple[str, ...]:
        """Kernels that means are made of: those of which no run failed, schemes that never ran left out."""
        every = dict.fromkeys((*map(self.base, self.schemes), *self.schemes))
        ran = [name for name in every if any((name, kernel) in self.runs for kernel in self.kernels)]
        return tuple(kernel for kernel in self.kernels if all((name, kernel) in self.runs for name in ran))

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

        if self._missing(scheme):
            return {}
        whole = sum(total(self.base(scheme)).values())
        return {structure: value / whole for structure, value in total(scheme).items()} if whole else {}

    def stalls(self, scheme: str) -> dict[str, float]:
        """Scheduler cycles by reason, over `mean_kernels`, as shares of the baseline's."""
        if self._missing(scheme):
            return {}
        whole = sum(
            sum(self.runs[self.base(scheme), kernel]["stalls"].values()) for kernel in self.mean_kernels
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

    def _missing(self, scheme: str) -> bool:
        """Whether a run of the column, or of its baseline, is missing."""
        names = (scheme, self.base(scheme))
        return any((name, kernel) not in self.runs for name in names for kernel in self.mean_kernels)

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
            "sentences": self.sentences,
            "settings": {name: setting.to_dict() for name, setting in self.settings.items()},
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
