"""`warpbank run`: a kernel through the SM."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from warpbank.arch.events import COUNTERS
from warpbank.arch.schemes import BASELINE
from warpbank.cli import output, progress
from warpbank.cli.options import (
    ConfigOption,
    EnergyOption,
    EngineName,
    EngineOption,
    FastOption,
    InstructionsOption,
    JsonOption,
    LaunchOption,
    OptionalKernel,
    OverTimeOption,
    PresetOption,
    RegistersOption,
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
from warpbank.sim import engines, traced
from warpbank.studies import run as studied
from warpbank.synth.energy import COMMON, Energy


def run(
    kernel: OptionalKernel = None,
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
    engine: EngineOption = EngineName.GOLDEN,
    fast: FastOption = True,
    waves: WavesOption = None,
    cycles: WaveCyclesOption = None,
    energy: EnergyOption = COMMON,
    over_time: OverTimeOption = None,
    trace: TraceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a kernel through the SM and print cycles, IPC, stalls and register-file traffic."""
    simulator = engines.engine(engine, fast=fast)
    if waves is None and cycles is not None:
        raise WarpbankError("--wave-cycles says which cycles go into the file that --waves names; give both")
    recorded = engines.Waves(waves, *wave_cycles(cycles)) if waves is not None else None
    experiment, notes = traced.choose(
        kernel, size, launch, preset, config, scheme, overrides, max_registers, max_instructions, trace
    )
    for note in notes:
        output.note(note)
    with progress.reporter() as report:
        measured = studied.run(
            experiment,
            simulator,
            energy=energy,
            over_time=over_time,
            waves=recorded,
            on_emulate=report.emulating,
            on_build=report.building,
            progress=report.simulating,
        )
    output.emit(measured, as_json, tables)


def tables(measured: studied.Measured) -> Iterator[RenderableType]:
    """Tables of a run: what ran, how fast it went, where the cycles went, what the register file did and
    spent."""
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
        ("machine", f"{data['preset']}, configuration {data['config_hash']}"),
        ("scheme, engine", ", ".join(filter(None, (data["scheme"], data["engine"], data["model"])))),
        ("registers per thread", registers),
        ("memory", checked),
        ("operands checked", f"{data['operands_checked']:,}, {data['operand_mismatches']} wrong"),
        ("cycles", data["cycles"]),
        ("warp instructions", data["warp_instructions"]),
        ("IPC", data["ipc"]),
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
    counters = [(name, COUNTERS[name].unit, count) for name, count in data["counters"].items()]
    yield output.table("Run", ("", "value"), summary, numbers=1)
    yield output.table("Scheduler cycles", ("reason", "cycles", "share"), stalls, numbers=2)
    yield output.table("Counters", ("counter", "unit", "count"), counters, numbers=1)
    for energy in (measured.energy, *measured.energy_own):
        yield _energy(energy)


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
