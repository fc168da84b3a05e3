"""Scorecard: every published number beside ours, with a verdict that is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from warpbank.studies.reproduce.paper import Comparison

#: Largest difference of numbers that agree: of the published one, and in points of a share.
SHARE, POINTS = 0.10, 3.0
#: Units whose numbers are points of a whole.
_POINTS = ("%", "points")
#: Smallest part of a difference that an experiment must remove if what remains is within the bar; and bounds
#: of an effect that is of the difference's size.
LEAST_EFFECT = 1 / 3
OF_THE_SIZE = (2 / 3, 3 / 2)
_ROUNDING = 1e-9
#: Numbers from here on are shown without digits behind the point.
_WHOLE = 1000


#: What stands before the figure at the end of a trial's command.
FIGURE = " --figure "


class Verdict(StrEnum):
    """Verdict on a published number."""

    AGREES = "agrees"
    EXPLAINED = "explained"
    OPEN = "open"
    INPUT = "input"


@dataclass(frozen=True)
class Trial:
    """Trial of an experiment: our number with one thing as in the paper.

    Parameters
    ----------
    experiment, source : name, and where the paper has it so.
    command : that makes the number.
    ours : the number; None: a run failed.
    """

    experiment: str
    source: str
    command: str
    ours: float | None


@dataclass(frozen=True)
class Entry:
    """Entry of the scorecard, one published number.

    Parameters
    ----------
    paper, figure, column : where it stands; `end`: "least" or "most" of the benchmarks, "" for a mean.
    unit : of both numbers.
    published : the number; `bound`: "at least" or "at most" it, as the paper says; "" for just it.
    ours : our number; None: there is none.
    given : nothing of ours is a result here: our tables take the number from the paper, or we cannot make it.
    trials : experiments that were run.
    """

    paper: str
    figure: str
    column: str
    end: str
    unit: str
    published: float
    bound: str
    ours: float | None
    given: bool = False
    trials: tuple[Trial, ...] = ()

    @property
    def name(self) -> str:
        """Name of the number in its paper."""
        return f"{self.figure}: {self.column}{f', {self.end}' * bool(self.end)}"

    @property
    def difference(self) -> float | None:
        """Ours less the published number."""
        return None if self.ours is None else self.ours - self.published

    @property
    def verdict(self) -> Verdict:
        """Verdict: `agrees` within the bar; `explained` if an experiment explains the difference."""
        if self.given:
            return Verdict.INPUT
        if self.ours is not None and self.agrees(self.ours):
            return Verdict.AGREES
        return Verdict.EXPLAINED if self.explanation is not None else Verdict.OPEN

    @property
    def explanation(self) -> Trial | None:
        """First trial whose effect explains the difference."""
        return next((trial for trial in self.trials if self._explains(trial)), None)

    def agrees(self, value: float) -> bool:
        """Whether a number is within the bar: a tenth of the published one, or three points where the unit is
        %; or on the side of a bound that the paper names."""
        difference = value - self.published
        within = (self.bound == "at most" and difference <= 0) or (
            self.bound == "at least" and difference >= 0
        )
        points = POINTS if self.unit in _POINTS else 0.0
        return within or abs(difference) <= max(SHARE * abs(self.published), points) + _ROUNDING

    def _explains(self, trial: Trial) -> bool:
        """Whether the trial removes what it should: what remains is within the bar and the effect is a third
        of the difference at least, or the effect is of the difference's size."""
        if self.ours is None or trial.ours is None:
            return False
        removed = (self.ours - trial.ours) / (self.ours - self.published) if self.difference else 0.0
        low, high = OF_THE_SIZE
        return (self.agrees(trial.ours) and removed >= LEAST_EFFECT) or low <= removed <= high

    def to_dict(self) -> dict[str, Any]:
        """Entry as plain dictionaries for JSON."""
        explanation = self.explanation if self.verdict is Verdict.EXPLAINED else None
        return {
            **asdict(self),
            "trials": [asdict(trial) for trial in self.trials],
            "difference": self.difference,
            "verdict": self.verdict.value,
            "explanation": None if explanation is None else explanation.experiment,
        }


def entries(paper: str, part: Comparison) -> list[Entry]:
    """Entries of a figure, in the order of its columns."""
    stated, found = part.published, []
    for column in part.figure.columns:
        for end, numbers in (("", stated.values), ("least", stated.least), ("most", stated.most)):
            if column in numbers:
                found.append(
                    Entry(
                        paper,
                        part.figure.name,
                        column,
                        end,
                        part.figure.unit,
                        numbers[column],
                        "" if end else stated.bounds.get(column, ""),
                        part.ours(column, end)[1],
                        part.figure.row is None or column in stated.inputs,
                    )
                )
    return found


def from_dict(row: dict[str, Any]) -> Entry:
    """Entry from what `Entry.to_dict` gave; the verdict is computed once more."""
    known = {name: row[name] for name in Entry.__dataclass_fields__ if name != "trials"}
    return Entry(**known, trials=tuple(Trial(**trial) for trial in row["trials"]))


def counts(card: Iterable[Entry]) -> dict[Verdict, int]:
    """Number of entries with each verdict."""
    verdicts = [entry.verdict for entry in card]
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def summary(card: Sequence[Entry]) -> str:
    """Sentence on all entries."""
    found = counts(card)
    results = len(card) - found[Verdict.INPUT]
    return (
        f"Of {results} published numbers {found[Verdict.AGREES]} agree with ours, "
        f"{found[Verdict.EXPLAINED]} differ for a measured reason, {found[Verdict.OPEN]} are open; "
        f"{found[Verdict.INPUT]} more are inputs, or nothing of ours stands beside them."
    )


def remark(entry: Entry) -> str:
    """Remark on a difference: the experiment that explains it, or those that were tried without success."""
    if entry.verdict in (Verdict.AGREES, Verdict.INPUT):
        return ""
    if entry.explanation is not None:
        return f"{entry.explanation.experiment}: {_number(entry.explanation.ours)}"
    tried = [f"{trial.experiment}: {_number(trial.ours)}" for trial in entry.trials]
    return f"tried: {'; '.join(tried)}" if tried else ""


def row(entry: Entry) -> tuple[str, str, str, str, str, str]:
    """Cells of a table: the number's name, published, ours, difference, verdict, what was measured."""
    published = f"{entry.bound} {_number(entry.published)} {entry.unit}".strip()
    return (
        entry.name,
        published,
        _number(entry.ours),
        "" if entry.difference is None else f"{'+' * (entry.difference >= 0)}{_number(entry.difference)}",
        entry.verdict.value,
        remark(entry),
    )


#: Heads of the columns of `row`.
HEADS = ("figure", "published", "ours", "difference", "verdict", "ours with one thing as in the paper")


def commands(card: Iterable[Entry]) -> list[tuple[str, str]]:
    """Experiments that were tried, and for each the command that makes all figures it was tried on."""
    figures: dict[tuple[str, str], list[str]] = {}
    for entry in card:
        for trial in entry.trials:
            command, _, figure = trial.command.rpartition(FIGURE)
            figures.setdefault((f"{trial.experiment} ({trial.source})", command), []).append(figure)
    return [
        (experiment, command + "".join(f"{FIGURE}{figure}" for figure in dict.fromkeys(tried)))
        for (experiment, command), tried in figures.items()
    ]


def markdown(card: Sequence[Entry], before: Mapping[tuple[str, str], Verdict] | None = None) -> str:
    """Markdown of the table of each paper, and the commands of the experiments that explain.

    Parameters
    ----------
    before : verdicts of an earlier card, by paper and name, which stand beside those of this one.
    """
    lines = [summary(card)]
    heads: tuple[str, ...] = HEADS
    marks = "|---|---:|---:|---:|---|---|"
    if before is not None:
        heads, marks = (*HEADS, "before"), f"{marks}---|"
    for paper in dict.fromkeys(entry.paper for entry in card):
        part = [entry for entry in card if entry.paper == paper]
        lines += ["", f"### {paper}", "", summary(part), "", f"| {' | '.join(heads)} |", marks]
        for entry in part:
            cells = list(row(entry))
            if before is not None:
                cells.append(before[paper, entry.name].value if (paper, entry.name) in before else "–")
            lines.append(f"| {' | '.join(cells)} |")
        lines += [""] * any(entry.trials for entry in part)
        lines += [f"- {experiment}: `{command}`" for experiment, command in commands(part)]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    """Number of four digits, of more if it is a whole one."""
    if value is None:
        return "–"
    return f"{value:.4g}" if abs(value) < _WHOLE else f"{value:.0f}"
