"""Commands of `warpbank` about hardware cost: synth."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from warpbank.cli import tables as render
from warpbank.cli.options import ConfigOption, JsonOption, PresetOption, SchemeOption, SetOption, Size
from warpbank.cli.rtl import wheels
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim.output import write_text

if TYPE_CHECKING:
    from warpbank.synth.power import Stimulus
    from warpbank.synth.synthesis import Synthesis

LibertyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--liberty",
        metavar="FILE|none",
        help="Cell library, .lib or .lib.gz; may be repeated [default: "
        "$WARPBANK_LIBERTY, an installed PDK, or generic gates].",
    ),
]


class Effort(StrEnum):
    """How much is tried; as `warpbank.synth.synthesis.EFFORTS`."""

    FULL = "full"
    QUICK = "quick"


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("synth")(synth)


def synth(
    unit: Annotated[
        str | None,
        typer.Argument(
            metavar="UNIT|sm", help="A unit (`warpbank units`), or the whole SM; all, for --check."
        ),
    ] = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    liberty: LibertyOption = None,
    clock: Annotated[float, typer.Option("--clock", metavar="NS", help="Clock to aim at, in ns.")] = 1.0,
    effort: Annotated[
        Effort | None,
        typer.Option(
            "--effort",
            help="Several mappings, of which the best is taken, or one, in a fraction of the "
            "time [default: full; quick for sm and sub_core].",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="KERNEL", help="Power, with the activity of this kernel at size tiny."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the mapped netlist as Verilog.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the unit's baseline, at its paper's size.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the unit's baseline, at its paper's size.")
    ] = False,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Print what was recorded of all units, the papers' numbers beside it, as Markdown.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Synthesize a unit: area, critical path, memories; with a cell library, or in generic gates without
    one."""
    with wheels():
        from warpbank.synth import pdk
        from warpbank.synth.synthesis import synthesize

    if table:
        from warpbank.synth import report

        for name, text in report.tables().items():
            sys.stdout.write(f"{report.TITLES[name]}\n\n{text}\n")
        return
    if check or record:
        if (
            preset
            or config
            or overrides
            or output
            or scheme != "baseline"
            or clock != 1.0
            or kernel
            or effort
        ):
            raise WarpbankError(
                "--check and --record measure a unit at its paper's size (docs/synthesis.md); leave out "
                "machine, --kernel, --clock, --effort and --output"
            )
        _baseline(unit, pdk.find(liberty), record, as_json)
        return
    if unit is None:
        raise WarpbankError(
            "name a unit (`warpbank units`) or sm; without one, only --check and --record work"
        )
    if not (clock > 0 and isfinite(clock)):
        raise WarpbankError(f"--clock takes a time in ns above 0, for example 1.0, not {clock:g}")
    chosen = exp.find_scheme(scheme)
    machine = chosen.machine(exp.find_config(preset or exp.DEFAULT_PRESET, config, overrides or []))
    files = pdk.find(liberty)
    activity = None
    if kernel is not None:
        from warpbank.sim.activity import record as recorded

        experiment = exp.find(
            kernel, Size.TINY, None, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS
        )
        activity = partial(recorded, unit, experiment)
    console = Console(stderr=True)
    with console.status("") as status:
        made = synthesize(
            unit,
            machine,
            chosen,
            files,
            clock=clock,
            effort=effort or _effort(unit),
            activity=activity,
            on_step=partial(_say, status, unit),
        )
    if output is not None:
        write_text(output, made.verilog)
        console.print(f"wrote {output}", highlight=False)
    if as_json:
        sys.stdout.write(json.dumps(made.to_dict(), indent=2) + "\n")
        return
    for part in _tables(made):
        Console().print(part)


def _effort(unit: str) -> Effort:
    return Effort.QUICK if unit in ("sm", "sub_core") else Effort.FULL


def _activity(unit: str) -> Callable[[], Stimulus] | None:
    """What the unit's ports are under the kernel that its baseline names, if it names one."""
    from warpbank.sim.activity import record
    from warpbank.synth.baselines import SIZES

    size = SIZES.get(unit)
    if size is None or not size.kernel:
        return None
    return partial(
        record,
        unit,
        exp.find(size.kernel, Size.TINY, None, size.preset, None, size.scheme, None, None, MAX_INSTRUCTIONS),
    )


def _baseline(unit: str | None, files: list[Path], write: bool, as_json: bool) -> None:
    """Record, or compare: exit code 1 if something moved."""
    from warpbank.synth import baselines

    console = Console(stderr=True)
    results: list[baselines.Checked] = []
    for name in [unit] if unit else baselines.SIZES:
        with console.status("") as status:
            step = partial(_say, status, name)
            if write:
                baselines.record(baselines.measure(name, files, step, _activity(name) if files else None))
                console.print(f"wrote the baseline of {name}", highlight=False)
            else:
                results.append(baselines.check(name, files, step))
    if write:
        return
    moved = [each for each in results if each.moved]
    if as_json:
        sys.stdout.write(json.dumps({"checked": [asdict(each) for each in results]}, indent=2) + "\n")
    else:
        for each in results:
            for sentence in each.sentences() or [f"{each.unit}: as recorded ({each.key})"]:
                Console().print(sentence, highlight=False, markup=False, soft_wrap=True)
    if moved:
        raise typer.Exit(1)


def _say(status: Any, unit: str, what: str) -> None:
    status.update(f"{unit}: {what}")


def _tables(made: Synthesis) -> list[Any]:
    data = made.to_dict()
    rows: list[tuple[str, object]] = [
        ("configuration", f"{data['preset']}, {data['scheme']}, {data['config_hash']}"),
        ("effort", data["effort"]),
        ("library", data["liberty"] or "none: generic gates"),
        ("cells, flip-flops, clock gates", f"{data['cells']:,}, {data['flops']:,}, {data['clock_gates']:,}"),
    ]
    if made.path is not None:
        rows += [
            ("area", f"{data['area_um2']:,.0f} um2, {data['nand2_equivalents']:,.0f} NAND2"),
            ("memories", f"{data['memory_um2']:,.0f} um2"),
            ("critical path", f"{data['delay_ns']:.3f} ns, {made.depth} cells"),
            ("with 3 x wire load", f"{data['delay_ns_guard_band']:.3f} ns"),
            ("from", made.path.start),
            ("to", made.path.end),
            (f"clock of {made.clock_ns:g} ns", "met" if data["meets_clock"] else "not met"),
        ]
    else:
        rows += [("transistors", data["transistors"]), ("logic depth", f"{made.depth} gates")]
    if made.power is not None:
        rows += [(f"power, {name}", f"{value:.4f} mW") for name, value in made.power.items()]
    parts = [render.table(f"Synthesis: {made.unit}", ("what", "value"), rows)]
    if made.memories:
        columns = ("memory", "kind", "rows", "width", "reads", "writes", "um2")
        where = {"registers": "in the area"}
        listed = [
            (
                one["name"],
                one["kind"],
                one["rows"],
                one["width"],
                one["reads"],
                one["writes"],
                f"{one['area_um2']:,.0f}" if "area_um2" in one else where.get(one["kind"], "black box"),
            )
            for one in made.memories
        ]
        parts.append(render.table("Memories", columns, listed, numbers=5))
    methods = [(name, text) for name, text in made.method.items()]
    versions = ", ".join(f"{name} {value}" for name, value in made.tools.items())
    parts.append(render.table("Method", ("number", "how"), [*methods, ("tools", versions)]))
    return parts
