"""Memory and speed of Accel-Sim traces: a synthetic trace of any length is read and run, each in a process of
its own.

`python -m bench.traces 300000 1000000 3000000` prints a row for each length; with `--over-time`, the memory
that the process holds at every tenth of the run. The trace is a file in a temporary folder, some 33 bytes an
instruction, and goes when its row is printed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.accelsim import read_accelsim
from warpbank.program.executed import executed_kernels
from warpbank.program.hint_passes import with_hints
from warpbank.program.trace.spool import LIMIT

#: Warps of a thread block, and thread blocks.
WARPS, BLOCKS = 8, 8
_HEADER = """\
-kernel name = synthetic
-kernel id = 1
-grid dim = ({blocks},1,1)
-block dim = ({threads},1,1)
-shmem = 0
-nregs = 32
-accelsim tracer version = 5
-enable lineinfo = 0
"""
#: Instructions that a warp repeats; one in sixteen loads.
_LOOP = [f"{16 * place:04x} ffffffff 1 R{4 + place} FFMA 3 R{4 + place} R2 R3 0 0" for place in range(15)]


def synthetic(instructions: int) -> Iterator[str]:
    """Lines of a trace with about so many instructions."""
    each = max(1, instructions // (WARPS * BLOCKS) - 1)
    yield from _HEADER.format(blocks=BLOCKS, threads=32 * WARPS).splitlines()
    for block in range(BLOCKS):
        yield from ("#BEGIN_TB", f"thread block = {block},0,0")
        for warp in range(WARPS):
            yield from (f"warp = {warp}", f"insts = {each + 1}")
            for number in range(each):
                if number % 16 < 15:
                    yield _LOOP[number % 16]
                else:
                    base = 0x7F4000000000 + (number // 16 % 64 + 64 * warp) * 128
                    yield f"00f0 ffffffff 1 R3 LDG.E 1 R20 4 1 0x{base:x} 4 0"
            yield "0100 ffffffff 0 EXIT 0 0 0"
        yield "#END_TB"


def measure(
    file: Path, run: bool, limit: int = LIMIT, scheme: str = "baseline"
) -> tuple[int, float, float, int]:
    """Measure a trace: its instructions, seconds of CPU to read it and to run it on golden, and the most
    memory this process has had, in bytes.

    Parameters
    ----------
    file : the trace.
    run : run it, too.
    limit : bytes of each array that may stay in memory (`warpbank.program.accelsim.read_accelsim`).
    scheme : the register file, whose compiler passes count as reading.
    """
    config, chosen = preset("turing"), parse_scheme(scheme)
    started = time.process_time()
    trace = read_accelsim([file], limit=limit)
    count = trace.warp_instructions
    trace = with_hints(trace, chosen.hints, config, partial(executed_kernels, trace))
    read = time.process_time()
    if run:
        simulate(trace, config, chosen, check_operands=False)
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return count, read - started, done - read, peak


def held() -> int:
    """Bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def over_time(file: Path, limit: int = LIMIT, scheme: str = "baseline") -> list[tuple[int, int]]:
    """Run a trace on golden. Returns warp instructions retired and the bytes that the process holds, at every
    tenth of the run and at its end."""
    config, chosen = preset("turing"), parse_scheme(scheme)
    trace = read_accelsim([file], limit=limit)
    trace = with_hints(trace, chosen.hints, config, partial(executed_kernels, trace))
    seen = [(0, held())]

    def look(done: int, total: int) -> None:
        if done >= len(seen) * total // 10:
            seen.append((done, held()))

    simulate(trace, config, chosen, check_operands=False, progress=look)
    return [*seen, (trace.warp_instructions, held())]


def apart_over_time(instructions: int, limit: int = LIMIT, scheme: str = "baseline") -> list[tuple[int, int]]:
    """`over_time` of a synthetic trace in a process of its own."""
    return [
        (int(done), int(size))
        for done, size in map(str.split, _apart(instructions, f"over_time({{}}, {limit}, {scheme!r})"))
    ]


def _apart(instructions: int, call: str) -> list[str]:
    """Lines that a call of this module prints in a process of its own, a row each; `{}` in it is the file of
    a synthetic trace."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel-1.traceg"
        with file.open("w") as out:
            out.writelines(line + "\n" for line in synthetic(instructions))
        code = f"from bench.traces import *\nfor row in {call.format(f'Path({str(file)!r})')}: print(*row)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def apart(
    instructions: int, run: bool = True, limit: int = LIMIT, scheme: str = "baseline"
) -> tuple[int, float, float, int]:
    """`measure` of a synthetic trace in a process of its own, whose memory nothing else has touched."""
    (line,) = _apart(instructions, f"[measure({{}}, {run}, {limit}, {scheme!r})]")
    count, read, ran, peak = line.split()
    return int(count), float(read), float(ran), int(peak)


def main() -> None:
    """Print a row for each length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instructions", type=int, nargs="+")
    parser.add_argument("--read-only", action="store_true", help="do not run the trace")
    parser.add_argument("--over-time", action="store_true", help="print the memory held during the run")
    parser.add_argument("--scheme", default="baseline", help="register file")
    chosen = parser.parse_args()
    if chosen.over_time:
        print("instructions      retired  held MB")
        for wanted in chosen.instructions:
            for done, size in apart_over_time(wanted, scheme=chosen.scheme):
                print(f"{wanted:12,} {done:12,}  {size / 1e6:7.1f}", flush=True)
        return
    print("instructions  read s  run s  peak MB")
    for wanted in chosen.instructions:
        count, read, ran, peak = apart(wanted, not chosen.read_only, scheme=chosen.scheme)
        print(f"{count:12,}  {read:6.1f}  {ran:5.1f}  {peak / 1e6:7.1f}", flush=True)


if __name__ == "__main__":
    main()
