"""`warpbank synth`: area, critical path and power of a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.arch.schemes import BASELINE
from warpbank.cli import completion, output
from warpbank.cli.options import (
    ConfigOption,
    JsonOption,
    LibertyOption,
    PresetOption,
    SchemeOption,
    SetOption,
    Size,
)
from warpbank.cli.wheels import wheels
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim.output import check_file, write_text
from warpbank.sim.runs import Outcome

if TYPE_CHECKING:
    from warpbank.studies.register_files import RegisterFile
    from warpbank.synth.baselines import Checked
    from warpbank.synth.synthesis import Synthesis


class Effort(StrEnum):
    """Effort of a synthesis: a key of `warpbank.synth.search.EFFORTS`."""

    FULL = "full"
    QUICK = "quick"


def synth(
    unit: Annotated[
        str | None,
        typer.Argument(
            metavar="UNIT|sm",
            help="A unit (`warpbank units`), or the whole SM; all, for --check.",
            autocompletion=completion.unit,
        ),
    ] = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    liberty: LibertyOption = None,
    clock: Annotated[
        float, typer.Option("--clock", metavar="NS", min=0.01, max=1000, help="Clock to aim at, in ns.")
    ] = 1.0,
    effort: Annotated[
        Effort | None,
        typer.Option(
            "--effort",
            help="Several mappings, of which the best is taken, or one, in a fraction of the time.",
            show_default="full; quick for sm and sub_core",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="KERNEL", help="Power, with the activity of this kernel at size tiny."
        ),
    ] = None,
    netlist: Annotated[
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
    whole: Annotated[
        bool,
        typer.Option(
            "--register-files",
            help="Print the area of each paper's register file, on its machine, beside the baseline's there.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Synthesize a unit: area, critical path, memories, and power under a kernel.

    Numbers are those of a cell library, or of generic gates without one.
    """
    with wheels():
        from warpbank.studies import synthesis
        from warpbank.studies.register_files import register_files
        from warpbank.synth import pdk, report

    if table:
        if whole or unit or preset or config or overrides or check or record or netlist or as_json:
            raise WarpbankError(
                "--table prints the pages' tables of what is recorded; leave out unit, machine, --check, "
                "--record, --output, --register-files and --json"
            )
        for name, text in report.tables().items():
            output.line(f"{report.TITLES[name]}\n\n{text}")
        return
    if whole:
        if unit or preset or config or overrides or scheme != BASELINE.name or check or record or netlist:
            raise WarpbankError(
                "--register-files measures a scheme of each paper on its paper's machine; leave out unit, "
                "machine, --check, --record and --output"
            )
        output.listing("register_files", register_files(progress=_tell), as_json, _register_files)
        return
    if check or record:
        machine = preset or config or overrides or scheme != BASELINE.name
        if machine or netlist or clock != 1.0 or kernel or effort:
            raise WarpbankError(
                "--check and --record measure a unit at its paper's size (docs/synthesis.md); leave out "
                "machine, --kernel, --clock, --effort and --output"
            )
        if check and record:
            raise WarpbankError("--check compares with the baseline, and --record replaces it; give one")
        if record:
            _record(unit, pdk.find(liberty))
        else:
            _check(unit, pdk.find(liberty), as_json)
        return
    if unit is None:
        raise WarpbankError(
            "name a unit (`warpbank units`) or sm; without one, only --check and --record work"
        )
    if netlist is not None:
        check_file(netlist, *exp.files(kernel, None, preset, config, *map(Path, liberty or ())))
    chosen, size = exp.find_scheme(scheme), Size.TINY
    activity = None
    if kernel is not None:
        activity = exp.find(kernel, size, None, preset, config, scheme, overrides, None, MAX_INSTRUCTIONS)
    with output.working() as say:
        made = synthesis.synthesize(
            unit,
            exp.find_config(exp.machine_name(preset, config), config, overrides or []),
            chosen,
            pdk.find(liberty),
            clock=clock,
            effort=effort,
            activity=activity,
            on_step=_of(unit, say),
        )
    if netlist is not None:
        write_text(netlist, made.verilog)
        output.wrote(netlist)
    output.emit(made, as_json, _tables)


def _tell(outcome: Outcome, done: int, total: int) -> None:
    """Say what has been counted."""
    output.note(f"{done} of {total}: {outcome.task.label}{' (kept)' if outcome.cached else ''}")


def _register_files(files: Sequence[RegisterFile]) -> Iterator[RenderableType]:
    from warpbank.studies.register_files import bank_rows, part_rows, rows

    head, *body = rows(files)
    yield output.table("Register files of a sub-core", head, body)
    head, *body = bank_rows(files)
    yield output.table("Banks of register file caches, by storage cell", head, body)
    head, *body = part_rows(files)
    yield output.table("Their parts", head, body)


def _record(unit: str | None, files: list[Path]) -> None:
    """Write the baseline of a unit, or of all of them."""
    from warpbank.studies import synthesis
    from warpbank.synth import baselines

    for name in [unit] if unit else baselines.SIZES:
        with output.working() as say:
            synthesis.record(name, files, _of(name, say))
        output.wrote(f"the baseline of {name}")


def _check(unit: str | None, files: list[Path], as_json: bool) -> None:
    """Compare a unit, or all of them, with the baselines: exit code 1 if something moved."""
    from warpbank.synth import baselines

    results = []
    for name in [unit] if unit else baselines.SIZES:
        with output.working() as say:
            results.append(baselines.check(name, files, _of(name, say)))
    output.listing("checked", results, as_json, _sentences)
    if any(each.moved for each in results):
        raise typer.Exit(1)


def _of(unit: str, say: Callable[[str], None]) -> Callable[[str], None]:
    """Progress of one unit."""
    return lambda what: say(f"{unit}: {what}")


def _sentences(results: Sequence[Checked]) -> Iterator[RenderableType]:
    for each in results:
        for sentence in each.sentences() or [f"{each.unit}: as recorded ({each.key})"]:
            yield Text(sentence)


def _tables(made: Synthesis) -> Iterator[RenderableType]:
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
    if made.busy_power is not None:
        rows += [
            (f"power, a value in every cycle, {name}", f"{value:.4f} mW")
            for name, value in made.busy_power.items()
        ]
    yield output.table(f"Synthesis: {made.unit}", ("what", "value"), rows)
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
        yield output.table("Memories", columns, listed, numbers=5)
    versions = ", ".join(f"{name} {value}" for name, value in made.tools.items())
    yield output.table("Method", ("number", "how"), [*made.method.items(), ("tools", versions)])
