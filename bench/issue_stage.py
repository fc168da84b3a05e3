"""Cost in IPC of one more stage between choice and issue of a uop: `python -m bench.issue_stage`.

A sub-core that issues the uop of a chosen warp a cycle after the choice finds every dependent uop a cycle
later. So every result here comes a cycle later than the machine says: those of the execution units, and those
of shared and constant memory, lane exchanges and hits of the L1. What the stage would hold beside that, such
as a collector that is promised and not yet taken, is not in it.
"""

from __future__ import annotations

from typing import Annotated

import typer

import warpbank as wb
from bench import command_line
from bench.golden import mean
from warpbank import workloads
from warpbank.arch.config import preset as preset_of
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit

_LSU = ("shared_latency", "const_latency", "shuffle_latency")


def later(config: SmConfig) -> dict[str, int]:
    """Fields of a machine whose results all come a cycle later."""
    execute = config.sub_core.execute
    units = {unit.name.lower(): getattr(execute, unit.name.lower(), None) for unit in Unit}
    return {
        **{f"sub_core.execute.{name}.latency": unit.latency + 1 for name, unit in units.items() if unit},
        **{f"lsu.{name}": getattr(config.lsu, name) + 1 for name in _LSU},
        "l1.latency": config.l1.latency + 1,
    }


def main(
    schemes: Annotated[list[str] | None, typer.Argument(help="Schemes; default: the baseline.")] = None,
    kernel: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all.")] = None,
    size: str = "tiny",
    preset: str = "turing",
) -> None:
    """Simulate every kernel with and without the stage, and print how IPC changes."""
    overrides = later(preset_of(preset))
    lines = [f"{size}, {preset}", "| scheme | mean | least | | greatest | |", "|---|---:|---:|---|---:|---|"]
    for scheme in schemes or ["baseline"]:
        found: list[tuple[float, str]] = []
        for name in kernel or workloads.names():
            with_it, without = (
                wb.run(name, size=size, scheme=scheme, preset=preset, overrides=fields).ipc
                for fields in (overrides, {})
            )
            found.append((with_it / without, name))
        average = mean([ratio for ratio, _ in found])
        cells = [f"{100 * (ratio - 1):+.1f} % | `{name}`" for ratio, name in (min(found), max(found))]
        lines.append(f"| `{scheme}` | {100 * (average - 1):+.1f} % | {' | '.join(cells)} |")
    print("\n".join(lines))


if __name__ == "__main__":
    command_line.run(main)
