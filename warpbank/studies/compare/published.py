"""Machines as published: what each paper's authors ran on, as an option of the comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpbank.arch.schemes import SCHEMES
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace

#: Field that names the warp scheduler of all sub-cores.
SCHEDULER = "sub_core.front_end.scheduler"


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
    area : what the paper says that its idea adds to the register file.
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
    area: str = ""


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
            area="network under 0.04 mm2 in 28 nm; 4 % more storage",  # sections I and V
        ),
        PublishedMachine(
            "Malekeh",
            "turing",
            "malekeh",
            CompileOptions(),
            ipc={"malekeh": ("fig12", "Malekeh")},
            area="less than 0.78 %, from storage",  # abstract
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
            "16 %",  # section 4, area and power cost
        ),
        PublishedMachine(
            "G-Scalar",
            "fermi-gscalar",
            "gscalar",
            CompileOptions(CodeOrder.SOURCE, ConstantPlace.REGISTERS),
            ipc={"gscalar-half": ("fig11-ipc", "gscalar-half")},
            purpose="the energy of execution that G-Scalar saves",
            area="3 %, without compressors",  # section 5
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
            "1 %",  # section 1
        ),
    )
}
#: Figures that print a change in time in the place of one in IPC.
_TIMES = ("fig12-time",)


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
