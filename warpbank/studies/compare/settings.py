"""Settings of a comparison: what each of its columns runs on, and what it stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from warpbank.arch.config import SmConfig
from warpbank.arch.errors import SchemeError
from warpbank.arch.register_files import REGISTER_FILES
from warpbank.arch.schemes import BASELINE, SCHEMES, parse_scheme
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec

#: Field that names the warp scheduler of all sub-cores.
SCHEDULER = "sub_core.front_end.scheduler"


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
            "active_warps": self.config.sub_core.active_warps if self.scheduler == "two_level" else None,
            "register_file": self.register_file,
            "compile": self.options.to_dict(),
            "relative_to": self.base,
        }


@dataclass(frozen=True)
class PublishedMachine:
    """Machine, scheduler and compiler of a paper.

    Parameters
    ----------
    paper : name, as `Row.paper` begins with it.
    preset : its machine.
    overrides : of its schemes; `base`: of its baseline.
    options : of the compiler.
    ipc : scheme -> figure and column of the paper's change in IPC (`warpbank.studies.reproduce`).
    reproduction : the paper's name there.
    purpose : what a comparison of cycles on another machine leaves out of the idea; "" for nothing.
    """

    paper: str
    preset: str
    reproduction: str
    options: CompileOptions
    overrides: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    ipc: dict[str, tuple[str, str]] = field(default_factory=dict)
    purpose: str = ""


_SOURCE = CompileOptions(CodeOrder.SOURCE)
#: LTRF, Table 3: shared memory; section 5: the baseline has the 16 KB of the cache in its banks.
_SHARED = "cta.shared_bytes=65536"
_WITH_CACHE = "sub_core.rows=136"

#: Machines of the papers, by the paper's name in the registry of schemes. GPGPU-Sim, which all but Malekeh's
#: authors used, runs code in the order of its text.
PUBLISHED: dict[str, PublishedMachine] = {
    machine.paper: machine
    for machine in (
        PublishedMachine(
            "BOW",
            "pascal",
            "bow",
            _SOURCE,
            ipc={"bow": ("fig10", "BOW IW 3"), "bow-wr": ("fig10", "BOW-WR IW 3")},
        ),
        PublishedMachine(
            "Malekeh", "turing", "malekeh", CompileOptions(), ipc={"malekeh": ("fig12", "Malekeh")}
        ),
        PublishedMachine(
            "LTRF",
            "maxwell",
            "ltrf",
            _SOURCE,
            ("rf7", _SHARED),
            (_WITH_CACHE, _SHARED, f"{SCHEDULER}=two_level"),
            {"ltrf": ("fig9", "LTRF #7"), "ltrf-plus": ("fig9", "LTRF+ #7")},
            "the larger and slower register file that LTRF is made for",
        ),
        PublishedMachine(
            "G-Scalar",
            "fermi-gscalar",
            "gscalar",
            CompileOptions(CodeOrder.SOURCE, ConstantPlace.REGISTERS),
            ipc={"gscalar-half": ("fig11-ipc", "gscalar-half")},
            purpose="the energy of execution that G-Scalar saves",
        ),
        PublishedMachine(
            "Jeon and Annavaram",
            "fermi-renaming",
            "renaming",
            _SOURCE,
            (f"{SCHEDULER}=two_level",),
            (f"{SCHEDULER}=two_level",),
            {"renaming": ("fig12-time", "time")},
            "the power of the registers that renaming switches off (warpbank gating)",
        ),
    )
}
#: Figures that print a change in time in the place of one in IPC.
_TIMES = ("fig12-time",)


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


def published(scheme: str) -> PublishedMachine | None:
    """Machine of the paper that has this scheme; None for a combination, or a row of another paper."""
    row = SCHEMES.get(scheme)
    return None if row is None else PUBLISHED.get(row.paper.partition(",")[0])


def published_ipc(scheme: str) -> float | None:
    """IPC that the scheme's paper printed, of its baseline's; None if it printed none."""
    from warpbank.studies.reproduce import PAPERS
    from warpbank.studies.reproduce.paper import published as values

    machine = published(scheme)
    if machine is None or scheme not in machine.ipc:
        return None
    figure, column = machine.ipc[scheme]
    change = 1 + values(PAPERS[machine.reproduction])[figure].values[column] / 100
    return 1 / change if figure in _TIMES else change
