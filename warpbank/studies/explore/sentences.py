"""Sentences of an exploration, for its page and for the terminal."""

from __future__ import annotations

from warpbank.studies.explore.measure import AIMS
from warpbank.studies.explore.result import Exploration, Explored


def values(point: Explored) -> str:
    """Values of a point in words."""
    return ", ".join(
        f"{aim.title} {point.values[name]:.{aim.digits}f} {aim.unit}" for name, aim in AIMS.items()
    )


def headline(made: Exploration) -> str:
    """Headline: how much was explored, how many are left, and the knee."""
    knee = made.knee()
    kernels = len(made.rungs[-1].kernels)
    return (
        f"{len(made.points)} register files on {made.made_by['machine']}, {len(made.finalists)} of them on "
        f"all {kernels} kernels at {made.made_by['size']}; {len(made.front())} are on the front of "
        f"{', '.join(aim.title for aim in made.aims)}. Its knee: {knee.name}."
    )


def worth(made: Exploration) -> str:
    """Values of the knee, and of the best that no paper has."""
    knee, found = made.knee(), made.unpublished
    text = f"The knee, nearest to the best of all aims, is {knee.name}: {values(knee)}."
    if found is None:
        return f"{text} No register file of the front joins units of several papers."
    if found.name == knee.name:
        return f"{text} It joins units of {' and '.join(found.papers)}: nobody has published it."
    return (
        f"{text} Of those that nobody has published, since they join units of several papers, the nearest is "
        f"{found.name} ({' and '.join(found.papers)}): {values(found)}."
    )


def model(made: Exploration) -> str:
    """Source of area and critical path, with their errors."""
    errors = "; ".join(
        f"{error.of}: half of {len(error.ratios)} units are met within a factor of {error.within(0.5):.2f}, "
        f"nine of ten within {error.within(0.9):.2f}"
        for error in made.errors
    )
    done = [each.name for each in made.points if each.synthesized]
    return (
        "Area and critical path come from models over the recorded baselines (synth/baselines), except where "
        "a part is recorded on this very machine"
        + (f", and where a point was synthesized ({'; '.join(done)})" if done else "")
        + f". Errors, each unit left out in turn: {errors}."
    )


def limits(made: Exploration) -> str:
    """Limits of the numbers."""
    return (
        "IPC and work are geometric means of ratios to the baseline, energy with leakage on the common "
        "table, at one clock for all. Differences of area that are smaller than the model's error mean "
        "nothing."
    )
