"""Options that several commands of `warpbank` share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from warpbank.arch.config import PRESETS
from warpbank.cli import completion
from warpbank.program.errors import WarpbankError
from warpbank.program.options import MAX_REGISTERS, MIN_REGISTERS, CodeOrder, ConstantPlace
from warpbank.sim.engines import ENGINES
from warpbank.sim.engines.checkpoint import MOST_SECONDS
from warpbank.sim.experiment import DEFAULT_PRESET, MOST_INSTRUCTIONS, MOST_REPEATS
from warpbank.sim.runs.execute import MOST_WORKERS
from warpbank.synth.energy import tables

#: Greatest cycle number that an option takes.
MOST_CYCLES = 10**15


class Size(StrEnum):
    """Problem sizes of the shipped kernels."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


class EngineName(StrEnum):
    """Engines."""

    GOLDEN = "golden"
    VERILATOR = "verilator"
    PYSIM = "pysim"


class RtlName(StrEnum):
    """Engines that simulate the RTL."""

    VERILATOR = "verilator"
    PYSIM = "pysim"


KernelArgument = Annotated[
    str,
    typer.Argument(
        metavar="KERNEL|FILE.ptx",
        help="A shipped kernel, or a PTX file.",
        autocompletion=completion.kernel_or_ptx,
    ),
]
SizeOption = Annotated[Size, typer.Option("--size", help="Problem size of a shipped kernel.")]
LaunchOption = Annotated[
    Path | None, typer.Option("--launch", help="Launch description of a PTX file.", show_default="FILE.toml")
]


def preset_option(default: str) -> Any:
    """`--preset` of a command whose machine is `default` unless another is named."""
    return typer.Option(
        "--preset",
        help=f"Machine: {', '.join(PRESETS)}.",
        show_default=default,
        autocompletion=completion.machine,
    )


PresetOption = Annotated[str | None, preset_option(DEFAULT_PRESET)]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Machine as a TOML file, in the place of a preset.")
]
SchemeOption = Annotated[
    str,
    typer.Option("--scheme", help="Register file (`warpbank schemes`).", autocompletion=completion.scheme),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Override a field: sub_core.banks=4.",
        autocompletion=completion.field,
    ),
]
RegistersOption = Annotated[
    int | None,
    typer.Option(
        "--max-registers",
        metavar="N",
        min=MIN_REGISTERS,
        max=MAX_REGISTERS,
        help="Registers per thread.",
        show_default="as many as let one CTA fit",
    ),
]
LimitOption = Annotated[
    int,
    typer.Option(
        "--max-registers",
        metavar="N",
        min=MIN_REGISTERS,
        max=MAX_REGISTERS,
        help="Registers per thread, of the allocator.",
    ),
]
CodeOrderOption = Annotated[
    CodeOrder,
    typer.Option(
        "--code-order", help="Code of a block as the list scheduler orders it, or as the PTX has it."
    ),
]
ConstantsOption = Annotated[
    ConstantPlace,
    typer.Option(
        "--constants", help="Parameters and constants: in the constant bank, or loaded into registers."
    ),
]
FreeRegistersOption = Annotated[
    int,
    typer.Option(
        "--free-registers",
        metavar="N",
        min=0,
        max=MAX_REGISTERS,
        help="Registers per thread that the list scheduler may use without need.",
    ),
]
InstructionsOption = Annotated[
    int,
    typer.Option(
        "--max-instructions",
        metavar="N",
        min=1,
        max=MOST_INSTRUCTIONS,
        help="Warp instructions after which a kernel counts as endless.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, not tables.")]
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="; ".join(f"{n}: {w}" for n, w in ENGINES.items()) + ".")
]
RtlOption = Annotated[RtlName, typer.Option("--engine", help="Simulator of the RTL.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A dask scheduler, such as tcp://host:8786.",
        show_default="this machine",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=MOST_WORKERS,
        help="Processes on this machine.",
        show_default="one per core",
    ),
]
FastOption = Annotated[
    bool,
    typer.Option(
        "--fast/--quick-build", help="Verilator: compile for speed, or for a build in half the time."
    ),
]
EnergyOption = Annotated[
    str,
    typer.Option(
        "--energy",
        metavar="TABLE|FILE.toml",
        help=f"Energy table: {', '.join(tables())}, or a file of your own.",
    ),
]
WavesOption = Annotated[
    Path | None,
    typer.Option("--waves", metavar="FILE.vcd|FILE.fst", help="Write waves of the RTL (verilator, pysim)."),
]
WaveCyclesOption = Annotated[
    str | None,
    typer.Option(
        "--wave-cycles",
        metavar="FIRST:END",
        help="Cycles of the waves, END not included.",
        show_default="all",
    ),
]
OptionalKernel = Annotated[
    str | None,
    typer.Argument(
        metavar="KERNEL|FILE.ptx",
        help="A shipped kernel, or a PTX file.",
        show_default=False,
        autocompletion=completion.kernel_or_ptx,
    ),
]
TraceOption = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="An Accel-Sim trace (.traceg, kernelslist.g), in the place of a kernel.",
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Keep the state of a long run; go on from it if it is there. golden only.",
    ),
]
CheckpointEveryOption = Annotated[
    float,
    typer.Option(
        "--checkpoint-every",
        metavar="SECONDS",
        min=0,
        max=MOST_SECONDS,
        help="Time between two writes of the checkpoint.",
    ),
]
SampleOption = Annotated[
    bool,
    typer.Option(
        "--sample", help="Simulate representative parts, and estimate the whole with a confidence interval."
    ),
]
RepeatOption = Annotated[
    int,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=MOST_REPEATS,
        help="Run the program N times, one after the other; caches stay warm.",
    ),
]
LibertyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--liberty",
        metavar="FILE|none",
        help="Cell library, .lib or .lib.gz; may be repeated.",
        show_default="$WARPBANK_LIBERTY, an installed PDK, or generic gates",
    ),
]
OverTimeOption = Annotated[
    Path | None,
    typer.Option(
        "--over-time",
        metavar="FILE.csv|.json|.html",
        help="Write IPC, hit ratio, live registers and power over time.",
    ),
]


def wave_cycles(text: str | None) -> tuple[int, int | None]:
    """The range that `--wave-cycles` names. Raises WarpbankError if it names none."""
    if text is None:
        return 0, None
    first, colon, end = text.partition(":")
    if not colon or not _cycle(first or "0") or not _cycle(end or "0"):
        raise WarpbankError(
            "--wave-cycles takes two cycle numbers up to "
            f"{MOST_CYCLES}, for example 100:200 or 100:, not {text!r}"
        )
    return int(first or 0), int(end) if end else None


def window(text: str) -> tuple[int, int]:
    """The cycles that `--cycles` names, the first and the end. Raises WarpbankError if it names none."""
    first, colon, end = text.partition(":")
    if not colon or not _cycle(first) or not _cycle(end) or int(end) <= int(first):
        raise WarpbankError(
            "--cycles takes the first cycle and the one after the last, for example 100:200, "
            f"up to {MOST_CYCLES}, not {text!r}"
        )
    return int(first), int(end)


def _cycle(text: str) -> bool:
    """Whether a text is a cycle number."""
    return text.isdecimal() and len(text) <= len(str(MOST_CYCLES)) and int(text) <= MOST_CYCLES


def listed(text: str) -> list[str]:
    """The names of an option that takes several, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
