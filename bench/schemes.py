"""Cost of an instruction under the schemes, in the golden model: `python -m bench.schemes`.

CPU time per warp instruction, operand check on, as a multiple of the baseline's. The schemes run one after
the other, and all of that several times, so that the ratios hold on a machine whose speed varies.
"""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from bench import command_line
from bench.golden import mean, measure
from warpbank import native
from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.native import build

KERNELS = ["sgemm", "bfs", "srad"]
#: All five papers on one machine.
TOGETHER = "bow-wr+ltrf-plus+renaming+gscalar"


def costs(kernel: str, size: str, preset: str, schemes: list[str], rounds: int) -> dict[str, float]:
    """Microseconds of CPU time per warp instruction, by scheme: the least of the rounds."""
    found = dict.fromkeys(schemes, math.inf)
    for _ in range(rounds):
        for scheme in schemes:
            made = measure(kernel, size, preset, scheme)
            found[scheme] = min(found[scheme], made["seconds"] / made["uops"] * 1e6)
    return found


def main(
    schemes: Annotated[list[str] | None, typer.Argument(help="Schemes; all rows, and four at once.")] = None,
    kernel: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    size: str = "tiny",
    preset: str = "turing",
    rounds: Annotated[int, typer.Option(min=1, max=100)] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate the kernels under each scheme in turn."""
    build.ensure()
    wanted = [name for name in schemes or [*SCHEMES, TOGETHER] if name != BASELINE.name]
    kernels = kernel or KERNELS
    found = {name: costs(name, size, preset, [BASELINE.name, *wanted], rounds) for name in kernels}
    ratios = {
        scheme: mean([each[scheme] / each[BASELINE.name] for each in found.values()])
        for scheme in [BASELINE.name, *wanted]
    }
    if as_json:
        rounded = {scheme: round(ratio, 3) for scheme, ratio in ratios.items()}
        print(json.dumps({"compiled": native.active(), "microseconds": found, "ratios": rounded}))
        return
    print(f"{size}, {preset}, golden {'compiled' if native.active() else 'interpreted'}")
    print(f"{'scheme':36}" + "".join(f"{name:>12}" for name in kernels) + f"{'mean':>8}")
    for scheme in [BASELINE.name, *wanted]:
        cells = "".join(f"{found[name][scheme]:9.2f} us" for name in kernels)
        print(f"{scheme:36}{cells}{ratios[scheme]:7.2f}x")


if __name__ == "__main__":
    command_line.run(main)
