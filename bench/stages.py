"""Price in IPC of pipeline stages: `python -m bench.stages`.

By default that of the stage between choice and issue of a uop (`sub_core.front_end.issue_stages`), with which
a dependent uop issues a cycle later, and a warp issues in every second cycle at most.
"""

from __future__ import annotations

from typing import Annotated

import typer

import warpbank as wb
from bench import command_line
from bench.golden import mean
from warpbank import workloads

_ISSUE = "sub_core.front_end.issue_stages=1"


def main(
    schemes: Annotated[list[str] | None, typer.Argument(help="Schemes; default: the baseline.")] = None,
    kernel: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all.")] = None,
    size: str = "tiny",
    preset: str = "turing",
    sets: Annotated[
        list[str] | None, typer.Option("--set", help=f"Stage, KEY=VALUE; may be repeated; default: {_ISSUE}.")
    ] = None,
) -> None:
    """Simulate every kernel with and without the stages, and print how IPC changes."""
    stages = sets or [_ISSUE]
    lines = [f"{size}, {preset}, {', '.join(stages)}"]
    lines += ["| scheme | mean | least | | greatest | |", "|---|---:|---:|---|---:|---|"]
    for scheme in schemes or ["baseline"]:
        found: list[tuple[float, str]] = []
        for name in kernel or workloads.names():
            with_it, without = (
                wb.run(name, size=size, scheme=scheme, preset=preset, overrides=fields).ipc
                for fields in (stages, [])
            )
            found.append((with_it / without, name))
        average = mean([ratio for ratio, _ in found])
        cells = [f"{100 * (ratio - 1):+.1f} % | `{name}`" for ratio, name in (min(found), max(found))]
        lines.append(f"| `{scheme}` | {100 * (average - 1):+.1f} % | {' | '.join(cells)} |")
    print("\n".join(lines))


if __name__ == "__main__":
    command_line.run(main)
