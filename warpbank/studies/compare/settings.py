"""Settings of a comparison: what each of its columns runs on, and what it stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warpbank.arch.config import SmConfig
from warpbank.arch.errors import SchemeError
from warpbank.arch.register_files import REGISTER_FILES
from warpbank.arch.schemes import BASELINE, parse_scheme
from warpbank.arch.units import UNITS, SchedulerUnit
from warpbank.program.options import CompileOptions
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec
from warpbank.studies.compare.published import PUBLISHED, SCHEDULER, published


@dataclass(frozen=True)
class Setting:
    """Setting of a column: scheme, machine and compiler.

    Parameters
    ----------
    name : of the column.
    scheme : scheme string.
    preset : the machine, or a TOML file; `overrides`: as after `--set`.
    options : of the compiler.
    base : name of the setting that its values are divided by; its own for a baseline that stands beside none.
    """

    name: str
    scheme: str
    preset: str
    overrides: tuple[str, ...]
    options: CompileOptions
    base: str

    @cached_property
    def config(self) -> SmConfig:
        """Machine before the scheme changes it."""
        return exp.find_config(self.preset, None, list(self.overrides))

    @property
    def scheduler(self) -> str:
        """Warp scheduler that runs."""
        named = self.config.sub_core.front_end.scheduler
        return parse_scheme(self.scheme).scheduler if named == "scheme" else named

    @property
    def active_warps(self) -> int | None:
        """Warps of a sub-core that may issue; None if all may."""
        unit = UNITS["scheduler"][self.scheduler]
        assert isinstance(unit, SchedulerUnit)
        return self.config.sub_core.active_warps if unit.two_levels else None

    @property
    def register_file(self) -> str:
        """Main register file that takes the place of the machine's own; "" for none."""
        return next((text for text in reversed(self.overrides) if text in REGISTER_FILES), "")

    def task(self, kernel: str, size: str, engine: str) -> RunSpec:
        """Run of a kernel."""
        return RunSpec(kernel, size, self.scheme, self.preset, self.overrides, self.options, engine)

    def to_dict(self) -> dict[str, Any]:
        """Setting as plain dictionaries for JSON."""
        return {
            "scheme": self.scheme,
            "preset": self.preset,
            "overrides": list(self.overrides),
            "scheduler": self.scheduler,
            "active_warps": self.active_warps,
            "register_file": self.register_file,
            "compile": self.options.to_dict(),
            "relative_to": self.base,
        }


def one_machine(
    schemes: Sequence[str], preset: str, overrides: Sequence[str], options: CompileOptions
) -> list[Setting]:
    """Settings on one machine under one warp scheduler: the baseline's, or the one that the overrides name.

    The baseline comes first. A scheme that works under another scheduler only comes last, after a baseline
    under that scheduler, beside which it stands. A scheduler that extends the common one is part of its
    scheme.
    """
    given = tuple(overrides)
    named = exp.find_config(preset, None, list(given)).sub_core.front_end.scheduler
    first = Setting(BASELINE.name, BASELINE.name, preset, given, options, BASELINE.name)
    common = first.scheduler
    settings = {first.name: first}
    apart: dict[str, Setting] = {}
    for text in schemes:
        scheme = parse_scheme(text)
        policy = scheme.scheduler_beside(common) if named == "scheme" else named
        changed = given if policy in (scheme.scheduler, named) else (*given, f"{SCHEDULER}={policy}")
        if policy != common and scheme.units.scheduler.extends != common:
            base = f"{BASELINE.name} {policy}"
            apart[base] = Setting(
                base, BASELINE.name, preset, (*given, f"{SCHEDULER}={policy}"), options, first.name
            )
            apart[scheme.name] = Setting(scheme.name, scheme.name, preset, changed, options, base)
        elif scheme.name not in settings:
            settings[scheme.name] = Setting(scheme.name, scheme.name, preset, changed, options, first.name)
    return [*settings.values(), *apart.values()]


def as_published(schemes: Sequence[str]) -> list[Setting]:
    """Settings of schemes on the machines of their papers, each after the baseline of its paper.

    Raises SchemeError for a scheme that no paper of `PUBLISHED` has.
    """
    settings: dict[str, Setting] = {}
    for text in schemes:
        scheme = parse_scheme(text).name
        if scheme == BASELINE.name:
            continue
        machine = published(scheme)
        if machine is None:
            raise SchemeError(
                f"No paper has published {scheme} on a machine of its own: --as-published takes one row of "
                f"{', '.join(PUBLISHED)} at a time; leave --as-published out to compare it on one machine."
            )
        base = f"{BASELINE.name} of {machine.paper}"
        settings[base] = Setting(base, BASELINE.name, machine.preset, machine.base, machine.options, base)
        settings[scheme] = Setting(scheme, scheme, machine.preset, machine.overrides, machine.options, base)
    return list(settings.values())
