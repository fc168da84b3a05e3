"""Register renaming (CENG-2014-05): figures about release flags and lifetimes, from code and traces."""

from __future__ import annotations

from collections.abc import Callable

from arch.config import preset
from sim.reproduce.paper import Figure, Paper, Results
from sim.runs import Task
from sim.runs.spec import AnalysisSpec

_PRESET = "fermi"
_MACHINE = preset(_PRESET).sub_core
_MIX = "our kernels, compiled from our own PTX, are another mix than the paper's benchmarks"
#: Why fewer of the paper's kernels need an exemption.
_WARPS = "Tables are for 48 warps and 1024 physical registers; the paper's are for the warps that run, mostly 32 to 48"


def _release(kernel: str, size: str) -> AnalysisSpec:
    arguments = (("warps", _MACHINE.warps), ("physical", _MACHINE.banks * _MACHINE.rows))
    return AnalysisSpec(kernel, size, "sim.reproduce.analyses:release", arguments, _PRESET)


def _tasks(kernel: str, size: str) -> list[Task]:
    return [_release(kernel, size)]


def _fig2_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_release(kernel, size)]
    return tuple(100 * share for share in (*found["live"], *found["held"]))


def _found_row(*names: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Rows of what the analysis finds under these names."""
    return lambda kernel, size, results: tuple(results[_release(kernel, size)][name] for name in names)


def _fig12_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_release(kernel, size)]
    few, every = found["flags"], found["all_flags"]
    return (
        *(100 * (flags["pir"] + flags["pbr"]) / flags["code"] for flags in (few, every)),
        *(100 * count / few["executed"] for count in (few["pbr_met"], few["pbr_met"] + few["pir_met"])),
    )


RENAMING = Paper(
    "renaming",
    "GPGPU Register File Management by Hardware Co-operated Register Reallocation (CENG-2014-05)",
    (
        Figure(
            "fig2", "Fig. 2: registers in use, of those given to 48 warps that run in step", "%",
            ("live, mean", "live, most", "held, mean", "held, most"), _tasks, _fig2_row,
            "Live: read later; held: from the first write to the release. The paper's time is cycles of a machine, ours "
            f"instructions of each warp; {_MIX}.",
        ),
        Figure(
            "fig11", "Fig. 11: size of the renaming table, with all registers and with as many as 1 KB takes", "bytes",
            ("all", "constrained"), _tasks, _found_row("table", "small_table"),
            f"{_WARPS}; {_MIX}.",
        ),
        Figure(
            "fig11-exempt", "Section 8.4: registers of the kernel, and those that are not renamed", "registers",
            ("registers", "exempt"), _tasks, _found_row("registers", "exempt"),
            f"{_WARPS}; {_MIX}.",
        ),
        Figure(
            "fig12", "Fig. 12: flag instructions, of the code's instructions and of those executed", "%",
            ("code", "code, empty pir kept", "pbr executed", "pbr and pir met"), _tasks, _fig12_row,
            "A pir that holds no flag is left out, unless the column says otherwise. A release flag cache spares most fetches of "
            f"a pir; executed are at least the pbr and at most what warps meet. Our blocks are short; {_MIX}.",
        ),
    ),
)
