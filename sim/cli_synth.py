"""Commands of `warpbank` about hardware cost: synth."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from program.errors import WarpbankError
from sim import experiment as exp
from sim import render
from sim.cli_rtl import wheels
from sim.options import ConfigOption, JsonOption, PresetOption, SchemeOption, SetOption
from sim.output import write_text

if TYPE_CHECKING:
    from synth.synthesis import Synthesis

LibertyOption = Annotated[
    list[str] | None,
    typer.Option("--liberty", metavar="FILE|none", help="Cell library, .lib or .lib.gz; may be repeated [default: "
                 "$WARPBANK_LIBERTY, an installed PDK, or generic gates]."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("synth")(synth)


def synth(
    unit: Annotated[str, typer.Argument(metavar="UNIT|sm", help="A unit (`warpbank units`), or the whole SM.")],
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    liberty: LibertyOption = None,
    clock: Annotated[float, typer.Option("--clock", metavar="NS", help="Clock to aim at, in ns.")] = 1.0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the mapped netlist as Verilog.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Synthesize a unit: area, critical path, memories; with a cell library, or in generic gates without one."""
    with wheels():
        from synth import pdk
        from synth.synthesis import synthesize

    if not clock > 0:
        raise WarpbankError(f"--clock takes a time in ns above 0, for example 1.0, not {clock:g}")
    chosen = exp.find_scheme(scheme)
    machine = chosen.machine(exp.find_config(preset or exp.DEFAULT_PRESET, config, overrides or []))
    files = pdk.find(liberty)
    console = Console(stderr=True)
    with console.status("") as status:
        made = synthesize(unit, machine, chosen, files, clock=clock, on_step=lambda what: status.update(f"{unit}: {what}"))
    if output is not None:
        write_text(output, made.verilog)
        console.print(f"wrote {output}", highlight=False)
    if as_json:
        sys.stdout.write(json.dumps(made.to_dict(), indent=2) + "\n")
        return
    for part in _tables(made):
        Console().print(part)


def _tables(made: Synthesis) -> list[Any]:
    data = made.to_dict()
    rows: list[tuple[str, object]] = [
        ("configuration", f"{data['preset']}, {data['scheme']}, {data['config_hash']}"),
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
    parts = [render.table(f"Synthesis: {made.unit}", ("what", "value"), rows)]
    if made.memories:
        columns = ("memory", "kind", "rows", "width", "reads", "writes", "um2")
        listed = [(one["name"], one["kind"], one["rows"], one["width"], one["reads"], one["writes"],
                   f"{one['area_um2']:,.0f}" if "area_um2" in one else "in the area") for one in made.memories]
        parts.append(render.table("Memories", columns, listed, numbers=5))
    methods = [(name, text) for name, text in made.method.items()]
    versions = ", ".join(f"{name} {value}" for name, value in made.tools.items())
    parts.append(render.table("Method", ("number", "how"), [*methods, ("tools", versions)]))
    return parts
