"""Cost of a unit under the activity of a kernel, by itself or as its recorded baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path

from warpbank.arch.config import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.activity import record as recorded
from warpbank.synth import baselines
from warpbank.synth.search import FULL, QUICK
from warpbank.synth.synthesis import CLOCK, Synthesis
from warpbank.synth.synthesis import synthesize as mapped

#: What is so large that it is mapped once unless more is asked for.
LARGE = ("sm", "sub_core")

_Step = Callable[[str], None]


def synthesize(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    files: Sequence[Path],
    *,
    clock: float = CLOCK,
    effort: str | None = None,
    activity: exp.Experiment | None = None,
    on_step: _Step | None = None,
) -> Synthesis:
    """Map a unit and measure it.

    Parameters
    ----------
    unit : a unit of `warpbank.synth.units`, or `sm`.
    config, scheme : the machine.
    files : Liberty files; none: generic gates.
    clock : period to aim at in ns.
    effort : `full` or `quick`; None: `quick` for `LARGE`, else `full`.
    activity : a run whose first cycles give the activity that power is estimated from; None: no power.
    on_step : called with what is done next.

    Raises
    ------
    WarpbankError : no such unit, a machine that cannot be, a clock that is no time.
    """
    if not (clock > 0 and isfinite(clock)):
        raise WarpbankError(f"--clock takes a time in ns above 0, for example 1.0, not {clock:g}")
    exp.check_machine(scheme, config)
    made = mapped(
        unit,
        scheme.machine(config),
        scheme,
        files,
        clock=clock,
        effort=effort or (QUICK if unit in LARGE else FULL),
        activity=None if activity is None else partial(recorded, unit, activity),
        on_step=on_step,
    )
    return replace(made, tools=made.tools | extensions.versions())


def record(unit: str, files: Sequence[Path], on_step: _Step | None = None) -> None:
    """Write a unit's baseline; with a cell library under the kernel that the baseline names, if it names
    one."""
    size, activity = baselines.SIZES.get(unit), None
    if files and size is not None and size.kernel:
        experiment = exp.find(
            size.kernel,
            "tiny",
            None,
            size.preset,
            None,
            size.scheme,
            list(size.overrides),
            None,
            MAX_INSTRUCTIONS,
        )
        activity = partial(recorded, unit, experiment)
    baselines.record(baselines.measure(unit, files, on_step, activity))
