"""Experiments on traces of Accel-Sim, which have no values and come without machine code that a compiler pass
could read."""

from __future__ import annotations

from pathlib import Path

from warpbank.arch.errors import ArgumentError
from warpbank.arch.schemes import Scheme
from warpbank.program.accelsim import read_accelsim
from warpbank.program.errors import TraceError
from warpbank.program.launch import Job
from warpbank.sim import experiment as exp

#: Hints that a pass finds in the trace itself.
_FROM_TRACES = ("near",)
_REMEDY = "run it on a shipped kernel or on PTX"


def choose(
    kernel: str | None,
    size: str,
    launch: Path | None,
    preset: str | None,
    file: Path | None,
    scheme: str,
    overrides: list[str] | None,
    max_registers: int | None,
    max_instructions: int,
    trace: Path | None,
) -> tuple[exp.Experiment, list[str]]:
    """Choice of the experiment of a command that takes a kernel or a trace, and what a user should know of
    the trace.

    Raises WarpbankError that says which argument is wrong.
    """
    if trace is None:
        if kernel is None:
            raise ArgumentError(
                "name a kernel (`warpbank kernels` lists them), a PTX file, or a trace: --trace FILE"
            )
        return exp.find(
            kernel, size, launch, preset, file, scheme, overrides, max_registers, max_instructions
        ), []
    if kernel is not None or launch is not None or max_registers is not None:
        raise ArgumentError(
            "--trace stands in the place of a kernel that is compiled already: leave out KERNEL, --launch "
            "and --max-registers"
        )
    return find(trace, preset, file, scheme, overrides)


def find(
    path: Path, preset: str | None, file: Path | None, scheme: str, overrides: list[str] | None
) -> tuple[exp.Experiment, list[str]]:
    """Experiment that a trace and a command's other arguments name, and what a user should know of the trace.

    Parameters
    ----------
    path : a `.traceg` file (also `.gz`, `.xz`), or a `kernelslist.g` that names several, in order.
    preset, file, scheme, overrides : as in `warpbank.sim.experiment.find`.

    Raises WarpbankError that says which of them is wrong, or why the scheme cannot run on a trace.
    """
    if file is not None and preset is not None:
        raise ArgumentError(
            f"--config {file} and --preset {preset} both name a machine; the file may begin with a preset"
        )
    name = str(file) if file is not None else preset or exp.DEFAULT_PRESET
    chosen = exp.find_scheme(scheme)
    check(chosen)
    config = exp.find_config(name, file, overrides or [])
    trace = read_accelsim(_kernels(path) if path.suffix == ".g" else [path])
    unknown = ", ".join(trace.meta["unknown"])
    note = f"note: {path} has opcodes that are not known, taken for arithmetic on single registers: {unknown}"
    job = Job(path.name.partition(".")[0], "trace", "", str(path), {}, [])
    return exp.Experiment(job, config, name, chosen, trace=trace), [note] if unknown else []


def check(scheme: Scheme) -> None:
    """Check that the scheme needs nothing that such traces do not have; raises TraceError."""
    if scheme.units.storage.encodes or {"scalar", "fresh"} & set(scheme.hints):
        raise TraceError(
            f"scheme {scheme.name} looks at the values of registers, and an Accel-Sim trace has none; "
            f"{_REMEDY}"
        )
    missing = [hint for hint in scheme.hints if hint not in _FROM_TRACES]
    if missing:
        raise TraceError(
            f"scheme {scheme.name} needs what a compiler pass finds in a kernel's code "
            f"({', '.join(missing)}), and an Accel-Sim trace has only what was executed; {_REMEDY}"
        )


def _kernels(path: Path) -> list[Path]:
    """The traces that a kernelslist.g names. What it says of memory copies does not matter here."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read {path}: {error}") from None
    found = [path.parent / line.strip() for line in lines if line.startswith("kernel")]
    if not found:
        raise TraceError(f"{path} names no kernel; a line reads kernel-1.traceg")
    return found
