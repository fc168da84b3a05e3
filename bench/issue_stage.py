"""Price in IPC of the stage between choice and issue of a uop: `python -m bench.issue_stage`.

With the stage (`sub_core.front_end.issue_stages`) a dependent uop issues a cycle later, and a warp issues in
every second cycle at most.
"""

from __future__ import annotations

from typing import Annotated

import typer

import warpbank as wb
from bench import command_line
from bench.golden import mean
from warpbank import workloads

_STAGE = {"sub_core.front_end.issue_stages": 1}


def main(
    schemes: Annotated[list[str] | None, typer.Argument(help="Schemes; default: the baseline.")] = None,
    kernel: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all.")] = None,
    size: str = "tiny",
    preset: str = "turing",
) -> None:
    """Simulate every kernel with and without the stage, and print how IPC changes."""
    lines = [f"{size}, {preset}", "| scheme | mean | least | | greatest | |", "|---|---:|---:|---|---:|---|"]
    for scheme in schemes or ["baseline"]:
        found: list[tuple[float, str]] = []
        for name in kernel or workloads.names():
            with_it, without = (
                wb.run(name, size=size, scheme=scheme, preset=preset, overrides=fields).ipc
                for fields in (_STAGE, {})
            )
            found.append((with_it / without, name))
        average = mean([ratio for ratio, _ in found])
        cells = [f"{100 * (ratio - 1):+.1f} % | `{name}`" for ratio, name in (min(found), max(found))]
        lines.append(f"| `{scheme}` | {100 * (average - 1):+.1f} % | {' | '.join(cells)} |")
    print("\n".join(lines))


if __name__ == "__main__":
    command_line.run(main)
