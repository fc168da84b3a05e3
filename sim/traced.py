"""Experiments on traces of Accel-Sim, which have no values and come without machine code: compiler passes
read the edges that were executed."""

from __future__ import annotations

from pathlib import Path

from warpbank.arch.errors import ArgumentError
from warpbank.arch.schemes import Scheme
from warpbank.program.accelsim import OnRead, read_accelsim
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import TraceError
from warpbank.program.launch import Job
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp

#: Hints that passes need values for.
_OF_VALUES = {"scalar", "fresh"}
#: Hints that a pass finds in the trace itself, whether or not it comes with code.
_FROM_TRACES = {"near"}
_REMEDY = "run it on a shipped kernel or on PTX"


def choose(
    kernel: str | None,
    size: str,
    launch: Path | None,
    preset: str | None,
    file: Path | None,
    scheme: str,
    overrides: list[str] | None,
    options: CompileOptions,
    max_instructions: int,
    trace: Path | None,
    on_read: OnRead | None = None,
) -> tuple[exp.Experiment, list[str]]:
    """Choice of the experiment of a command that takes a kernel or a trace, and what a user should know of
    the trace. `on_read` is called with the bytes of the trace that have been read, and how many there are.

    Raises WarpbankError that says which argument is wrong.
    """
    if trace is None:
        if kernel is None:
            raise ArgumentError(
                "name a kernel (`warpbank kernels` lists them), a PTX file, or a trace: --trace FILE"
            )
        return exp.find(kernel, size, launch, preset, file, scheme, overrides, options, max_instructions), []
    others = options != DEFAULT_OPTIONS or max_instructions != MAX_INSTRUCTIONS
    if kernel is not None or launch is not None or others:
        raise ArgumentError(
            "--trace stands in the place of a kernel that has run already: leave out KERNEL, --launch, "
            "--max-instructions and the options of the compiler (--max-registers, --code-order, --constants, "
            "--free-registers)"
        )
    return find(trace, preset, file, scheme, overrides, on_read)


def find(
    path: Path,
    preset: str | None,
    file: Path | None,
    scheme: str,
    overrides: list[str] | None,
    on_read: OnRead | None = None,
) -> tuple[exp.Experiment, list[str]]:
    """Experiment that a trace and a command's other arguments name, and what a user should know of the trace.

    Parameters
    ----------
    path : a `.traceg` file (also `.gz`, `.xz`), or a `kernelslist.g` that names several, in order.
    preset, file, scheme, overrides : as in `warpbank.sim.experiment.find`.
    on_read : as in `choose`.

    Raises WarpbankError that says which of them is wrong, or why the scheme cannot run on a trace.
    """
    name = exp.machine_name(preset, file)
    chosen = exp.find_scheme(scheme)
    check(chosen)
    config = exp.find_config(name, file, overrides or [])
    trace = read_accelsim(_kernels(path) if path.suffix == ".g" else [path], on_read)
    job = Job(path.name.partition(".")[0], "trace", "", str(path), {}, [])
    return exp.Experiment(job, config, name, chosen, trace=trace), _notes(path, chosen, trace)


def _notes(path: Path, scheme: Scheme, trace: Trace) -> list[str]:
    """What a user should know of the trace."""
    notes = [f"note: {sentence}" for sentence in trace.meta["notes"]]
    if trace.meta["unknown"]:
        notes.append(
            f"note: {path} has opcodes that are not known, taken for arithmetic on single registers: "
            f"{', '.join(trace.meta['unknown'])}"
        )
    if set(scheme.hints) - _FROM_TRACES:
        notes.append(
            f"note: the hints of {scheme.name} come from the edges that {path} executed, not from the "
            "kernel's code; a compiler, which must expect other paths, would find fewer"
        )
    return notes


def check(scheme: Scheme) -> None:
    """Check that the scheme does not look at values; raises TraceError."""
    if scheme.units.storage.encodes or _OF_VALUES & set(scheme.hints):
        raise TraceError(
            f"scheme {scheme.name} looks at the values of registers, and an Accel-Sim trace has none; "
            f"{_REMEDY}"
        )


def _kernels(path: Path) -> list[Path]:
    """The traces that a kernelslist.g names. What it says of memory copies does not matter here."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"cannot read {path}: {error}") from None
    found = [path.parent / line.strip() for line in lines if line.startswith("kernel")]
    if not found:
        raise TraceError(f"{path} names no kernel; a line reads kernel-1.traceg")
    return found
