"""The command of `warpbank` about the FPGA demonstrator."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from warpbank.arch.config import with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.cli.options import JsonOption, SchemeOption, SetOption
from warpbank.program.errors import WarpbankError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("fpga")(fpga)


def fpga(
    kernel: Annotated[
        str, typer.Argument(help="A shipped integer kernel, such as pathfinder or bfs.")
    ] = "pathfinder",
    scheme: SchemeOption = "baseline",
    overrides: SetOption = None,
    board: Annotated[str, typer.Option("--board", help="ulx3s-85f or ulx3s-45f.")] = "ulx3s-85f",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Make a bitstream in this folder.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the placement.")] = 1,
    divide: Annotated[
        int, typer.Option("--divide", help="The machine's clock is the board's divided by this power of two.")
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Simulate the self-checking FPGA demonstrator (one sub-core, 8 lanes, a kernel's first launch); make its
    bitstream."""
    # Amaranth is not needed for anything else that a user without the RTL's wheels may call.
    from warpbank.studies import fpga as demonstrator
    from warpbank.synth.fpga import board as boards

    console = Console(stderr=True)
    if output is not None:
        boards.check(board, divide)
    chosen = parse_scheme(scheme)
    config = with_overrides(demonstrator.machine(), overrides or [])
    image = demonstrator.build(kernel, chosen, config)
    with console.status("simulating ..."):
        outcome = demonstrator.simulate(image, chosen)
    content: dict[str, object] = {
        "kernel": kernel,
        "scheme": chosen.name,
        "passed": outcome.passed,
        "compared": outcome.checked,
        "cycles": outcome.cycles,
    }
    if not outcome.passed:
        raise WarpbankError(
            f"the demonstrator failed in simulation; it compared {outcome.checked} of {image.checks} memory "
            "instructions."
        )
    built = None
    if output is not None:
        with console.status(f"building for {board} ..."):
            built = boards.build(image, chosen, board, output, seed=seed, divide=divide)
        content |= built.to_dict()
    if as_json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
        return
    out = Console()
    out.print(
        f"{kernel}, {chosen.name}: PASS in simulation; {outcome.checked} memory instructions compared, "
        f"{outcome.cycles} cycles",
        highlight=False,
    )
    if built is not None:
        for name, (used, there) in (
            ("LUTs", built.luts),
            ("flip-flops", built.flops),
            ("block RAMs", built.block_rams),
            ("multipliers", built.multipliers),
        ):
            out.print(f"{name}: {used} of {there}", highlight=False)
        out.print(
            f"fastest clock: {built.fmax_mhz} MHz, the machine's: {built.clock_mhz} MHz", highlight=False
        )
        if built.fmax_mhz < built.clock_mhz:
            out.print(f"the machine's clock is too fast; take --divide {2 * divide}", highlight=False)
        out.print(f"wrote {built.bitstream}", highlight=False)
