"""`warpbank run`: a kernel through the SM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.arch.counters import COUNTERS
from warpbank.arch.schemes import BASELINE
from warpbank.cli import output, progress
from warpbank.cli.options import (
    CheckpointEveryOption,
    CheckpointOption,
    CodeOrderOption,
    ConfigOption,
    ConstantsOption,
    EnergyOption,
    EngineName,
    EngineOption,
    FastOption,
    FreeRegistersOption,
    InstructionsOption,
    JsonOption,
    LaunchOption,
    OptionalKernel,
    OverTimeOption,
    PresetOption,
    RegistersOption,
    RepeatOption,
    SampleOption,
    SchemeOption,
    SetOption,
    Size,
    SizeOption,
    TraceOption,
    WaveCyclesOption,
    WavesOption,
    wave_cycles,
)
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim import engines, traced
from warpbank.sim import experiment as exp
from warpbank.sim.engines.checkpoint import SECONDS, Checkpoint
from warpbank.sim.sampling.estimate import CONFIDENCE
from warpbank.studies import run as studied
from warpbank.studies.over_time import check_name
from warpbank.synth.energy import COMMON, Energy

#: What counters are about -> how their names begin; any other beginning is a group of its own.
_GROUPS = {
    "front end": ("fill", "issue", "two_level", "barrier", "cta"),
    "collectors": ("collector", "boc", "ccu", "dispatch"),
    "register file cache": ("cache",),
    "renaming": ("renaming",),
    "register banks": ("rf", "scalar_rf"),
    "execution units": ("lanes", "scalar", "retire"),
    "load/store unit and memory": ("lsu", "shared", "l1", "l2"),
}


def run(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    code_order: CodeOrderOption = CodeOrder.SCHEDULED,
    constants: ConstantsOption = ConstantPlace.BANK,
    free_registers: FreeRegistersOption = FREE_REGISTERS,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: EngineOption = EngineName.GOLDEN,
    fast: FastOption = True,
    waves: WavesOption = None,
    cycles: WaveCyclesOption = None,
    energy: EnergyOption = COMMON,
    over_time: OverTimeOption = None,
    sample: SampleOption = False,
    repeat: RepeatOption = 1,
    trace: TraceOption = None,
    checkpoint: CheckpointOption = None,
    checkpoint_every: CheckpointEveryOption = SECONDS,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show all counters, those that are zero, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the SM and print cycles, IPC, stalls and register-file traffic.

    --verbose shows counters that are zero, too, and --json always has them.
    """
    simulator = engines.engine(engine, fast=fast)
    if waves is None and cycles is not None:
        raise WarpbankError("--wave-cycles says which cycles go into the file that --waves names; give both")
    if checkpoint is None and checkpoint_every != SECONDS:
        raise WarpbankError("--checkpoint-every says how often --checkpoint is written; give both")
    if over_time is not None:
        check_name(over_time, *exp.files(kernel, launch, preset, config, trace, Path(energy)))
    recorded = engines.Waves(waves, *wave_cycles(cycles)) if waves is not None else None
    kept = Checkpoint(checkpoint, checkpoint_every) if checkpoint is not None else None
    options = CompileOptions(code_order, constants, free_registers, max_registers)
    with progress.reporter() as report:
        experiment, notes = traced.choose(
            kernel,
            size,
            launch,
            preset,
            config,
            scheme,
            overrides,
            options,
            max_instructions,
            trace,
            report.reading,
        )
    for note in notes:
        output.note(note)
    with progress.reporter() as report:
        measured = studied.run(
            replace(experiment, repeat=repeat),
            simulator,
            energy=energy,
            over_time=over_time,
            waves=recorded,
            on_emulate=report.emulating,
            on_build=report.building,
            progress=report.simulating,
            sample=sample,
            checkpoint=kept,
        )
    if kept is not None and kept.resumed:
        output.note(f"note: the run went on from {kept.path}, at cycle {kept.resumed:,}")
    output.emit(measured, as_json, partial(tables, verbose=verbose))


def tables(measured: studied.Measured, verbose: bool = False) -> Iterator[RenderableType]:
    """Tables of a run: what ran, how fast it went, where the cycles went, what the register file did and
    spent. `verbose`: counters that are zero, too."""
    report = measured.report
    data = report.to_dict()
    memory = data["memory"]
    checked = (
        f"{memory['elements']:,} elements of {memory['buffers']} buffers right"
        if memory["buffers"]
        else "nothing expected"
    )
    registers = ", ".join(f"{count} ({kernel})" for kernel, count in report.registers.items())
    summary = [
        ("kernel", f"{data['kernel']} ({data['size']})"),
        *([("repeated", f"{data['repeat']:,} times")] if data["repeat"] > 1 else []),
        ("machine", f"{data['preset']}, configuration {data['config_hash']}"),
        ("scheme, engine", ", ".join(filter(None, (data["scheme"], data["engine"], data["model"])))),
        *([("hints of the scheme", "from executed edges")] if data["hints"] == "executed edges" else []),
        ("registers per thread", registers),
        ("code", _code(data)),
        ("memory", checked),
        ("operands checked", f"{data['operands_checked']:,}, {data['operand_mismatches']} wrong"),
        *_measured(report),
        ("hit ratio", f"{measured.hit_ratio:.1f} % of source operands"),
        ("made by", ", ".join(f"{tool} {version}" for tool, version in data["versions"].items())),
        ("seed", f"{measured.seed}, of random choices"),
    ]
    total = sum(data["stalls"].values())
    stalls = [
        (name, count, f"{100 * count / total:.1f} %" if total else "")
        for name, count in data["stalls"].items()
    ]
    stalls.append(("total", total, ""))
    yield output.table("Run", ("", "value"), summary, numbers=1)
    yield output.table("Scheduler cycles", ("reason", "cycles", "share"), stalls, numbers=2)
    yield from _counters(data["counters"], verbose)
    for energy in (measured.energy, *measured.energy_own):
        yield _energy(energy)


def _measured(report: exp.Report) -> Iterator[tuple[str, object]]:
    """Cycles, instructions and IPC; those of a sample with their intervals."""
    result, sample = report.result, report.sample
    if sample is None:
        yield "cycles", result.cycles
        yield "warp instructions", result.warp_instructions
        yield "IPC", result.ipc
        return
    yield (
        "sample",
        f"{sample.simulated:,} of {sample.instructions:,} warp instructions, 1 in {sample.ratio:.1f}",
    )
    yield "cycles", f"{result.cycles:,} ± {round(sample.cycles.margin):,}, estimated"
    yield "warp instructions", result.warp_instructions
    yield "IPC", f"{sample.ipc.value:.4f} ± {sample.ipc.margin:.4f}, at {CONFIDENCE:.0%} confidence"


def _code(data: Mapping[str, Any]) -> str:
    """How the code of a run was compiled."""
    if data["code_order"] is None:
        return "as the trace has it"
    return (
        f"{data['code_order']} order, constants in {data['constants']}, {data['free_registers']} free "
        f"registers, at most {data['max_registers']}"
    )


def _counters(counts: Mapping[str, int], verbose: bool) -> Iterator[RenderableType]:
    """Counters by what they are about, and a word about those left out."""
    groups: dict[str, list[tuple[str, str, int]]] = {group: [] for group in _GROUPS}
    for name, count in counts.items():
        if count or verbose:
            first = name.partition(".")[0]
            group = next((group for group, firsts in _GROUPS.items() if first in firsts), first)
            groups.setdefault(group, []).append((name, COUNTERS[name].unit, count))
    shown = {group: rows for group, rows in groups.items() if rows}
    yield output.grouped("Counters", ("counter", "unit", "count"), shown, numbers=1)
    left = 0 if verbose else sum(not count for count in counts.values())
    if left:
        yield Text(f"{left} more counters are zero; --verbose shows them\n", style="dim")


def _energy(energy: Energy) -> RenderableType:
    """Energy of the register file by structure."""
    total = energy.dynamic_total
    rows = [
        (
            name,
            energy.dynamic.get(name, 0.0) / 1000,
            f"{100 * energy.dynamic.get(name, 0.0) / total:.1f} %" if total else "",
            energy.leakage.get(name, 0.0) / 1000,
        )
        for name in dict.fromkeys((*energy.dynamic, *energy.leakage))
    ]
    rows.append(("total", total / 1000, "", energy.leakage_total / 1000))
    title = f"Register file energy (table {energy.table}, {energy.clock_mhz:g} MHz)"
    return output.table(title, ("structure", "dynamic nJ", "share", "leakage nJ"), rows, numbers=3)
