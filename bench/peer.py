"""Speed beside another simulator: `python -m bench.peer --peer "COMMAND {traces}"`.

Every kernel's trace is exported as `.traceg` files of Accel-Sim's tracer, version 5, and run by golden and by
the peer in turn, on one machine in one run: warp instructions per second of CPU time, and our ratio to the
peer's. `{traces}` in the command becomes the `kernelslist.g`; nothing of the peer is part of Warpbank. For
Accel-Sim, built elsewhere and set to one SM:

    python -m bench.peer --peer "accel-sim.out -trace {traces} -config gpgpusim.config -config trace.config"

Making and reading our trace is not part of our time; reading the files is part of the peer's, whose process
does both. Addresses within a memory line are made up (`warpbank.program.accelsim.export`).
"""

from __future__ import annotations

import json
import math
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bench import command_line
from warpbank import native, workloads
from warpbank.arch.config import preset as preset_of
from warpbank.arch.schemes import parse_scheme
from warpbank.program.accelsim import write_accelsim
from warpbank.program.errors import WarpbankError
from warpbank.program.runner import Options, trace_job
from warpbank.program.trace.schema import Trace
from warpbank.sim import engines
from warpbank.sim.experiment import register_limit

_TRACES = "{traces}"
_NEEDED = f"""\
bench.peer needs a simulator to compare with, as a command that runs a list of traces:
    python -m bench.peer --peer "accel-sim.out -trace {_TRACES} -config gpgpusim.config -config trace.config"
{_TRACES} becomes the kernelslist.g of each kernel. Build Accel-Sim yourself, and set its machine to one SM
like that of --preset; --export FOLDER writes the traces and stops."""


class PeerError(WarpbankError):
    """The peer's command failed."""


def ours(engine: str, trace: Trace, preset: str) -> Callable[[], float]:
    """Function that runs a trace on an engine of ours and returns its seconds of CPU time."""
    simulator, config, scheme = engines.engine(engine), preset_of(preset), parse_scheme("baseline")

    def run() -> float:
        begin = time.process_time()
        result = simulator.run(trace, config, scheme)
        assert result.warp_instructions == trace.warp_instructions
        return time.process_time() - begin

    return run


def peer(command: str, traces: Path) -> float:
    """Seconds of CPU time that the peer's command takes, user and system, its children included.

    Raises PeerError with the end of what it said if it fails.
    """
    words = [word.replace(_TRACES, str(traces)) for word in shlex.split(command)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise PeerError(f"the peer {words[0]} cannot be started: {error.strerror}") from None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise PeerError(f"the peer {words[0]} ended with {done.returncode}:\n{said}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def mean(rates: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, rates)) / len(rates))


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels [default: five of them].")] = None,
    command: Annotated[
        str | None,
        typer.Option("--peer", metavar="COMMAND", help=f"The peer; {_TRACES} is its list of traces."),
    ] = None,
    size: str = "small",
    preset: str = "turing",
    engine: Annotated[
        list[str] | None, typer.Option(help="Engines of ours, in turn [default: golden].")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, max=100, help="Runs of each side per kernel.")] = 1,
    export: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the traces here and stop.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run each kernel on ours and on the peer in turn."""
    if export is None and (command is None or _TRACES not in command):
        print(_NEEDED, file=sys.stderr)
        raise typer.Exit(2)
    chosen = engine or ["golden"]
    rates: dict[str, list[float]] = {name: [] for name in (*chosen, "peer")}
    with tempfile.TemporaryDirectory() as folder:
        for name in kernels or ["sgemm", "matrixmul", "blackscholes", "reduction", "bfs"]:
            job = workloads.get(name).job(size)
            trace = trace_job(job, Options(max_registers=register_limit(job, preset_of(preset))))
            made = write_accelsim(trace, (export or Path(folder)) / name)
            for what, count in made.differs.items():
                print(f"note: {name}: {count} of {made.instructions} differ: {what}", file=sys.stderr)
            if command is None or export is not None:
                continue
            sides = {each: ours(each, trace, preset) for each in chosen}
            if "verilator" in sides:
                sides["verilator"]()  # builds the model, which is not measured
            seconds = dict.fromkeys(rates, 0.0)
            for _ in range(pairs):
                for each, run in sides.items():
                    seconds[each] += run()
                seconds["peer"] += peer(command, made.kernels)
            for each, spent in seconds.items():
                rates[each].append(made.instructions * pairs / max(spent, 1e-9))
            if not as_json:
                row = "  ".join(f"{each} {found[-1]:9.0f}" for each, found in rates.items())
                print(f"{name:14} {made.instructions:9} instructions  {row}", flush=True)
    if export is not None:
        return
    means = {each: mean(found) for each, found in rates.items()}
    ratios = {each: means[each] / means["peer"] for each in chosen}
    if as_json:
        print(json.dumps({**{each: round(rate) for each, rate in means.items()}, "ratio": ratios}))
    else:
        shown = ", ".join(f"{each} {ratio:.2f}" for each, ratio in ratios.items())
        print(f"ratio to the peer, of geometric means ({size}, {preset}; golden {native.how()}): {shown}")


if __name__ == "__main__":
    command_line.run(main)
