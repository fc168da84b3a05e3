"""Speed of the RTL's model by the way it is built: `python -m bench.rtl_builds`.

Ways: as the engine builds it (the compiler of the ziglang wheel, where that is installed), with g++, with g++
and a profile of the kernels themselves, by Verilator's `--threads 2`, and with short functions. Each
is built once, with an empty cache, and runs every kernel in turn. Profiles are of the kernels that are
measured afterwards, so that what a profile brings is a bound.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import typer

from bench import command_line
from warpbank.arch.config import preset as preset_of
from warpbank.arch.schemes import parse_scheme
from warpbank.program.runner import Options, trace_job
from warpbank.sim import experiment as exp
from warpbank.sim.engines import model, verilator
from warpbank.sim.engines.model import Build


@dataclass(frozen=True)
class Way:
    """A way to build the model.

    Parameters
    ----------
    name : printed.
    compiler : command; the engine's choice if empty.
    verilator : options of Verilator beside the engine's.
    profile : option of the compiler that uses the profile which `-fprofile-generate` has made.
    """

    name: str
    compiler: str = ""
    verilator: tuple[str, ...] = ()
    profile: str = ""


WAYS = (
    Way("as the engine does"),
    Way("g++", "g++"),
    Way("g++ with a profile", "g++", profile="-fprofile-use -Wno-missing-profile"),
    Way("--threads 2", verilator=("--threads", "2")),
    Way("short functions", verilator=("--output-split-cfuncs", "200")),
)


@contextmanager
def _compiler(command: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, {"WARPBANK_CXX": command} if command else {}):
        yield


def built(
    way: Way, build: Build, preset: str, scheme: str, kernels: list[str], size: str, folder: Path
) -> tuple[Path, float]:
    """The model's library, built into a folder, and the CPU-seconds that its tools took, profiles apart."""
    register_file = parse_scheme(scheme)
    config = register_file.machine(preset_of(preset))
    compiled: list[tuple[Any, ...]] = []
    compile_now = model._compile

    def noted(*arguments: Any) -> None:
        compiled.append(arguments)
        compile_now(*arguments)

    folder.mkdir()
    with (
        mock.patch.dict(os.environ, {"WARPBANK_CACHE": str(folder / "cache")}),
        mock.patch.object(model, "_VERILATOR", [*model._VERILATOR, *way.verilator]),
        mock.patch.object(model, "_compile", noted),
        mock.patch.object(model.shutil, "rmtree"),  # a profile is of the objects that it was made by
    ):
        with _compiler(f"{way.compiler} -fprofile-generate" if way.profile else way.compiler):
            begin = _of_tools()
            model._make(config, register_file, build, folder, None)
            seconds = _of_tools() - begin
        if way.profile:
            for kernel in kernels:
                measured(folder / "model.so", kernel, size, preset, scheme)
            with _compiler(f"{way.compiler} {way.profile}"):
                compile_now(*compiled[0])
            (folder / "work" / "model.so").replace(folder / "model.so")
    return folder / "model.so", seconds


def _of_tools() -> float:
    used = os.times()
    return used.children_user + used.children_system


def measured(library: Path, *asked: str) -> dict[str, float]:
    """`run` in a process of its own: a profile is written when it ends."""
    command = [sys.executable, "-m", "bench.rtl_builds", "--library", str(library), *_words(*asked)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _words(kernel: str, size: str, preset: str, scheme: str) -> list[str]:
    return [kernel, "--size", size, "--preset", preset, "--scheme", scheme]


def run(library: Path, kernel: str, size: str, preset: str, scheme: str) -> dict[str, float]:
    """Cycles of a kernel, and the seconds of CPU and of wall time that they take."""
    experiment = exp.find(kernel, size, None, preset, None, scheme, [], None, Options().max_instructions)
    trace = exp.hinted(experiment, trace_job(experiment.job, exp.compile_options(experiment)))
    with mock.patch.object(verilator, "library", return_value=library):
        begin, begin_wall = time.process_time(), time.perf_counter()
        engine = verilator.VerilatorEngine(Build(fast=True))
        result = engine.run(trace, experiment.config, experiment.scheme)
    return {
        "cycles": result.cycles,
        "cpu": time.process_time() - begin,
        "wall": time.perf_counter() - begin_wall,
    }


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels [default: sgemm, bfs].")] = None,
    size: str = "small",
    preset: str = "turing",
    scheme: str = "baseline",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds over kernels and ways.")] = 3,
    quick_build: Annotated[bool, typer.Option("--quick-build", help="Build for tests.")] = False,
    way: Annotated[list[str] | None, typer.Option(help="Only this way; may be repeated.")] = None,
    library: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Print the CPU-seconds of each way's build, and its cycles a second of CPU and of wall time, the best of
    the rounds."""
    chosen = kernels or ["sgemm", "bfs"]
    if library is not None:
        print(json.dumps(run(library, chosen[0], size, preset, scheme)))
        return
    build = Build(fast=not quick_build)
    unknown = sorted({*(way or [])} - {each.name for each in WAYS})
    if unknown:
        known = ", ".join(each.name for each in WAYS)
        raise typer.BadParameter(f"there is no way {unknown[0]!r}; known: {known}", param_hint="--way")
    ways = [each for each in WAYS if way is None or each.name in way]
    rates: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as place:
        made = {
            each.name: built(each, build, preset, scheme, chosen, size, Path(place) / str(number))
            for number, each in enumerate(ways)
        }
        for kernel in chosen:
            times: dict[str, list[dict[str, float]]] = {name: [] for name in made}
            for _ in range(rounds):
                for name, (place_of, _) in made.items():
                    times[name].append(measured(place_of, kernel, size, preset, scheme))
            for name, found in times.items():
                best = {each: min(one[each] for one in found) for each in ("cpu", "wall")}
                rates.setdefault(name, []).append(
                    {each: found[0]["cycles"] / seconds for each, seconds in best.items()}
                )
    print(
        "| way | build | "
        + " | ".join(f"{kernel}, CPU | {kernel}, wall" for kernel in chosen)
        + " | CPU over the first |"
    )
    print("|---|" + "---:|" * (2 * len(chosen) + 2))
    first = rates[ways[0].name]
    for name, found in rates.items():
        ratio = math.exp(
            sum(math.log(one["cpu"] / other["cpu"]) for one, other in zip(found, first, strict=True))
            / len(found)
        )
        cells = " | ".join(f"{one['cpu']:.0f} | {one['wall']:.0f}" for one in found)
        print(f"| {name} | {made[name][1]:.0f} | {cells} | {ratio:.2f} |")


if __name__ == "__main__":
    command_line.run(main)
