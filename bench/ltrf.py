"""Steps of LTRF and what each brings, departures from its engine and what each costs: `python -m bench.ltrf`.

Speed of LTRF on several machines as change of the geometric mean of cycles, against the baseline under the
two-level scheduler with the same replacement and as many active warps. Each machine has main register banks
as fast as the baseline's, and banks that take 6.3 times as long; the baseline's are fast beside both.
"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from bench import command_line
from warpbank.sim.runs import RunSpec, execute

KERNELS = "dct8x8,hotspot,kmeans,matrixmul,mma_gemm,pathfinder,srad,stencil"
#: Fields that the baseline takes, too: its scheduling.
SHARED = ("sub_core.replacement", "sub_core.active_warps")
ON_DEMAND, BIT = "sub_core.replacement=on_demand", "sub_core.cache.prefetch=bit"
MACHINES: dict[str, tuple[str, ...]] = {
    "strict replacement": (),
    "strict, extra bit": (BIT,),
    "on demand": (ON_DEMAND,),
    "on demand, extra bit": (ON_DEMAND, BIT),
    "on demand, extra bit, 16 active warps": (ON_DEMAND, BIT, "sub_core.active_warps=16"),
    "strict, crossbar of the full width": ("sub_core.cache.crossing=1",),
    "on demand, extra bit, crossbar of the full width": (ON_DEMAND, BIT, "sub_core.cache.crossing=1"),
    "strict, clean registers not carried": ("sub_core.cache.write_back=dirty",),
}
SCHEMES = ("ltrf", "ltrf-plus")
LATENCIES = (100, 630)


def run(scheme: str, kernel: str, size: str, latency: int, overrides: tuple[str, ...]) -> RunSpec:
    """A run under the two-level scheduler."""
    fields = ("sub_core.front_end.scheduler=two_level", f"sub_core.bank_latency={latency}", *overrides)
    return RunSpec(kernel, size, scheme, "maxwell", fields)


def base(kernel: str, size: str, overrides: tuple[str, ...]) -> RunSpec:
    """The baseline that a machine stands beside."""
    shared = tuple(each for each in overrides if each.partition("=")[0] in SHARED)
    return run("baseline", kernel, size, 100, shared)


def main(
    kernels: Annotated[str, typer.Option(help="Names, separated by commas.")] = KERNELS, size: str = "tiny"
) -> None:
    """Print a row per machine: the change in speed at 1x and at 6.3x, for each scheme."""
    names = kernels.split(",")
    wanted: list[RunSpec] = []
    for overrides in MACHINES.values():
        for kernel in names:
            wanted.append(base(kernel, size, overrides))
            wanted += [
                run(scheme, kernel, size, latency, overrides) for scheme in SCHEMES for latency in LATENCIES
            ]
    cycles: dict[RunSpec, int] = {}
    for outcome in execute(wanted):
        assert outcome.result is not None, outcome.error
        cycles[outcome.task] = outcome.result["cycles"]
    for machine, overrides in MACHINES.items():
        shown = []
        for scheme in SCHEMES:
            changes = []
            for latency in LATENCIES:
                ratios = [
                    cycles[base(kernel, size, overrides)]
                    / cycles[run(scheme, kernel, size, latency, overrides)]
                    for kernel in names
                ]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                changes.append(f"{100 * mean - 100:+.1f} %")
            shown.append(f"{scheme} {changes[0]} ({changes[1]})")
        typer.echo(f"{machine}: {', '.join(shown)}")


if __name__ == "__main__":
    command_line.run(main)
