"""`warpbank fpga`: the self-checking demonstrator, in simulation and as a bitstream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.arch.schemes import BASELINE
from warpbank.cli import output
from warpbank.cli.options import JsonOption, SchemeOption, SetOption
from warpbank.cli.wheels import wheels
from warpbank.sim import experiment as exp
from warpbank.sim.output import check_folder

if TYPE_CHECKING:
    from warpbank.studies.fpga import Demonstration


def fpga(
    kernel: Annotated[
        str, typer.Argument(help="A shipped integer kernel, such as pathfinder or bfs.")
    ] = "pathfinder",
    scheme: SchemeOption = BASELINE.name,
    overrides: SetOption = None,
    board: Annotated[str, typer.Option("--board", help="ulx3s-85f or ulx3s-45f.")] = "ulx3s-85f",
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Make a bitstream in this folder.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="Seed of the placement.")] = 1,
    divide: Annotated[
        int,
        typer.Option(
            "--divide",
            min=1,
            max=1 << 16,
            help="The machine's clock is the board's divided by this power of two.",
        ),
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Simulate the self-checking FPGA demonstrator, and make its bitstream.

    It is one sub-core of 8 lanes that runs the first launch of a kernel.
    """
    with wheels("fpga"):
        from warpbank.studies import fpga as demonstrator

    if folder is not None:
        check_folder(folder)
    with output.working() as say:
        made = demonstrator.demonstrate(
            kernel,
            exp.find_scheme(scheme),
            demonstrator.machine(overrides or []),
            folder=folder,
            board=board,
            seed=seed,
            divide=divide,
            on_step=say,
        )
    output.emit(made, as_json, lambda made: _lines(made, divide))
    if made.built is not None:
        output.wrote(made.built.bitstream)


def _lines(made: Demonstration, divide: int) -> Iterator[RenderableType]:
    """How the simulation ended, and what the bitstream takes of the board."""
    yield Text(
        f"{made.kernel}, {made.scheme}: PASS in simulation; {made.outcome.checked} memory instructions "
        f"compared, {made.outcome.cycles} cycles"
    )
    built = made.built
    if built is None:
        return
    used = {
        "LUTs": built.luts,
        "flip-flops": built.flops,
        "block RAMs": built.block_rams,
        "multipliers": built.multipliers,
    }
    for name, (count, there) in used.items():
        yield Text(f"{name}: {count} of {there}")
    yield Text(f"fastest clock: {built.fmax_mhz} MHz, the machine's: {built.clock_mhz} MHz")
    if built.fmax_mhz < built.clock_mhz:
        yield Text(f"the machine's clock is too fast; take --divide {2 * divide}")
