"""A run of 1e9 warp instructions that is killed: `python -m bench.long hotspot --size full --folder FOLDER`.

The kernel runs as often as it takes (`warpbank run --repeat --checkpoint`), in a process of its own, that
is killed three times at random moments and started again. Its resident memory is noted every ten seconds.
FOLDER keeps checkpoint and notes: the command, stopped at any moment and given again, goes on.

The result must be that of a run that nobody killed. That run is not made a second time: a program that is
repeated on warm caches finds the machine as it was a repetition ago, so that from some repetition on each
of them adds the same numbers. Three short runs that nobody kills, one repetition apart, must show that; what
they add, multiplied, is every number of the long run, exactly.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import command_line

#: Seconds between two notes of memory.
EVERY = 10.0
#: Repetitions after which the short runs expect the machine to find itself as it was.
WARM = 12

Numbers = dict[str, int]


def command(kernel: str, size: str, repeat: int) -> list[str]:
    """`warpbank run` of a kernel that many times, with JSON as its result."""
    return [
        sys.executable,
        "-m",
        "warpbank",
        "run",
        kernel,
        "--size",
        size,
        "--repeat",
        str(repeat),
        "--json",
    ]


def numbers(result: dict[str, Any]) -> Numbers:
    """Every whole number of a run's result that counts something: cycles, instructions, stalls, counters."""
    found = {name: result[name] for name in ("cycles", "warp_instructions", "operands_checked")}
    for group in ("counters", "stalls"):
        found |= {f"{group}.{name}": value for name, value in result[group].items()}
    return found


def extrapolated(short: list[Numbers], repeats: list[int], repeat: int) -> Numbers:
    """Numbers of a run of `repeat` repetitions, from those of three runs that are as far apart.

    Raises
    ------
    ValueError : the repetitions between them added different numbers; the message names one.
    """
    first, second, third = short
    for name in first:
        if third[name] - second[name] != second[name] - first[name]:
            raise ValueError(
                f"repetition {repeats[1]} adds {second[name] - first[name]} to {name}, and repetition "
                f"{repeats[2]} adds {third[name] - second[name]}: the machine is not as it was"
            )
    return {name: third[name] + (repeat - repeats[2]) * (third[name] - second[name]) for name in third}


def resident(process: int) -> int:
    """Resident memory of a process, bytes; 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


class Notes:
    """Events of a long run, one JSON object a line, kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.all: list[dict[str, Any]] = []
        if path.exists():
            self.all = [json.loads(line) for line in path.read_text().splitlines()]

    def add(self, event: str, **more: Any) -> None:
        """Note an event, with the time of day in seconds."""
        self.all.append({"event": event, "at": round(time.time(), 1), **more})
        with self.path.open("a") as file:
            file.write(json.dumps(self.all[-1]) + "\n")

    def count(self, event: str) -> int:
        """Number of times that an event was noted."""
        return sum(note["event"] == event for note in self.all)


def until_killed(arguments: list[str], notes: Notes, kill_after: float | None) -> dict[str, Any] | None:
    """One process of the long run: its result, or None if it was killed after that many seconds.

    Raises
    ------
    CalledProcessError : it ended by itself without a result.
    """
    notes.add("start")
    begin = time.monotonic()
    output = notes.path.with_name("result.json.part")
    with output.open("w") as file, subprocess.Popen(arguments, stdout=file) as process:
        while True:
            try:
                code = process.wait(timeout=EVERY)
                break
            except subprocess.TimeoutExpired:
                notes.add("memory", bytes=resident(process.pid))
            if kill_after is not None and time.monotonic() - begin > kill_after:
                process.kill()
                process.wait()
                notes.add("kill", after=round(time.monotonic() - begin))
                return None
    if code:
        raise subprocess.CalledProcessError(code, arguments)
    notes.add("end")
    output.replace(output.with_suffix(""))
    return dict(json.loads(output.with_suffix("").read_text()))


def main(
    kernel: Annotated[str, typer.Argument(help="A shipped kernel.")] = "hotspot",
    size: Annotated[str, typer.Option(help="Its size.")] = "full",
    instructions: Annotated[float, typer.Option(help="Warp instructions that the run has at least.")] = 1e9,
    kills: Annotated[int, typer.Option(help="How often the run is killed.")] = 3,
    within: Annotated[float, typer.Option(help="Seconds from a start within which a kill comes.")] = 3600,
    seed: Annotated[int, typer.Option(help="Of the moments of the kills.")] = 1,
    folder: Annotated[Path, typer.Option(help="Keeps checkpoint, notes and result.")] = Path("build/long"),
) -> None:
    """Run, kill, go on, and compare; exit status 1 if a number differs."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(folder / "notes.jsonl")
    repeats = [WARM, WARM + 1, WARM + 2]
    short = []
    for repeat in repeats:
        done = subprocess.run(command(kernel, size, repeat), stdout=subprocess.PIPE, check=True)
        short.append(numbers(json.loads(done.stdout)))
    each = short[2]["warp_instructions"] - short[1]["warp_instructions"]
    repeat = -(-int(instructions) // each)
    expected = extrapolated(short, repeats, repeat)
    arguments = [*command(kernel, size, repeat), "--checkpoint", str(folder / "run.ckpt")]

    moments = random.Random(seed)
    kill_after = [moments.uniform(1, within) for _ in range(kills)]
    result: dict[str, Any] | None = None
    while result is None:
        killed = notes.count("kill")
        result = until_killed(arguments, notes, kill_after[killed] if killed < kills else None)

    found = numbers(result)
    wrong = [name for name, value in found.items() if value != expected[name]]
    memory = [note["bytes"] / 1e6 for note in notes.all if note["event"] == "memory"]
    tenth = max(1, len(memory) // 10)
    print(
        f"{found['warp_instructions']:,} warp instructions, {found['cycles']:,} cycles, {repeat} repetitions"
    )
    print(f"started {notes.count('start')} times, killed {notes.count('kill')} times, seed {seed}")
    for part in range(0, len(memory), tenth):
        print(
            f"memory, part {part // tenth + 1} of the time: {max(memory[part : part + tenth]):.0f} MB at most"
        )
    print(
        f"{len(found)} numbers compared with runs that nobody killed: {len(wrong)} differ {' '.join(wrong)}"
    )
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    command_line.run(main)
