"""Tightness of dead bits and release flags: a replay of traces, lane by lane, that knows the future.

    python -m tests.hint_tightness [KERNEL ...] [--size SIZE]

A register is needed behind an instruction if some lane reads it later before that lane writes it. The hints
are safe if every value that is needed is still held, and tight if little else is. The replay shares nothing
with the passes; it reads a trace from its end to its beginning, and then forward.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import typer
from numba import njit

from warpbank import workloads
from warpbank.arch.uop import Control
from warpbank.program.intervals.dead import dead_operands
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace

REGISTERS = 256


class Tightness(NamedTuple):
    """Counts of a replay. A sum over executed instructions is meant where registers are counted.

    Parameters
    ----------
    lost : values that some lane needs and that are not held: none if the hints are safe.
    last_reads : reads of a value that no lane needs behind them, by an instruction that does not itself
        overwrite it.
    marked : those of them that carry a dead bit.
    wrong : reads that carry one although some lane needs the value.
    needed : registers whose value some lane needs.
    held : registers that have been written and not been released.
    written : registers that have been written.
    """

    lost: int
    last_reads: int
    marked: int
    wrong: int
    needed: int
    held: int
    written: int

    @property
    def dead_bits(self) -> float:
        """Share of the last reads that a dead bit marks."""
        return self.marked / max(self.last_reads, 1)

    @property
    def flags(self) -> float:
        """Share of the registers held that are needed."""
        return self.needed / max(self.held, 1)


@njit
def _replay(pcs, masks, firsts, lengths, sources, source_count, destination, count, dead, released):
    found = np.zeros(7, np.int64)
    for w in range(len(firsts)):
        length = lengths[w]
        behind = np.zeros((length, 256), np.uint32)  # lanes that need a register behind an instruction
        need = np.zeros(256, np.uint32)
        for at in range(length - 1, -1, -1):
            row = firsts[w] + at
            pc, mask = pcs[row], masks[row]
            behind[at] = need
            if mask:
                for k in range(count[pc]):
                    need[destination[pc] + k] &= ~mask
                for k in range(source_count[pc]):
                    need[sources[pc, k]] |= mask
        have = np.zeros(256, np.uint32)
        ever = np.zeros(256, np.uint32)
        allocated = np.zeros(256, np.bool_)
        for at in range(length):
            row = firsts[w] + at
            pc, mask = pcs[row], masks[row]
            for r in range(256):
                if released[pc, r] and mask:
                    have[r] = 0
                    allocated[r] = False
            if mask:
                for k in range(source_count[pc]):
                    r = sources[pc, k]
                    if destination[pc] <= r < destination[pc] + count[pc]:
                        needed = behind[at, r] & ~mask
                        rewritten = True
                    else:
                        needed = behind[at, r]
                        rewritten = False
                    marked = dead[pc] >> k & 1
                    if needed == 0:
                        found[1] += not rewritten
                        found[2] += marked
                    else:
                        found[3] += marked
                    if marked:
                        have[r] = 0
                        allocated[r] = False
                for k in range(count[pc]):
                    r = destination[pc] + k
                    have[r] |= mask
                    ever[r] |= mask
                    allocated[r] = True
            for r in range(256):
                if behind[at, r] & ever[r] & ~have[r]:
                    found[0] += 1
                found[4] += allocated[r] and behind[at, r] != 0
                found[5] += allocated[r]
                found[6] += ever[r] != 0
    return found


def tightness(trace: Trace) -> Tightness:
    """Replay a trace with the hints and flag instructions that it carries."""
    assert trace.hints is not None
    code, warps = trace.code, trace.warps
    released = np.zeros((len(code), REGISTERS), np.bool_)
    for pc, word in trace.flag_words.items():
        if word.control is Control.PBR:
            released[pc] = [word.registers >> register & 1 for register in range(REGISTERS)]
    counts = _replay(
        np.ascontiguousarray(trace.dynamic["pc"]),
        np.ascontiguousarray(trace.dynamic["mask"]),
        warps["first"].astype(np.int64),
        warps["length"].astype(np.int64),
        np.ascontiguousarray(code["sources"]),
        code["source_count"].astype(np.int64),
        code["destination"].astype(np.int64),
        code["count"].astype(np.int64),
        trace.hints.dead,
        released,
    )
    return Tightness(*(int(number) for number in counts))


def of_kernel(name: str, size: str = "tiny") -> tuple[Tightness, Tightness]:
    """Tightness of LTRF+'s dead bits, and of register renaming's flags, on a shipped kernel."""
    job = workloads.get(name).job(size)
    trace, kernels = trace_job(job), compile_job(job)
    flagged = insert_flags(trace, release_all(kernels))
    bits = np.concatenate([dead_operands(kernel) for kernel in kernels.values()])
    assert flagged.hints is not None
    added = len(flagged.code) - len(bits)
    only_bits = np.concatenate([bits, np.zeros(added, bits.dtype)])
    unflagged = _with_dead(flagged, only_bits)
    return tightness(unflagged), tightness(flagged)


def _with_dead(trace: Trace, dead: np.ndarray) -> Trace:
    assert trace.hints is not None
    return replace(trace, hints=replace(trace.hints, dead=dead), flag_words={})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per kernel, and all kernels together."""
    parser = argparse.ArgumentParser(prog="python -m tests.hint_tightness")
    parser.add_argument("kernels", nargs="*", default=list(workloads.names()))
    parser.add_argument("--size", default="tiny")
    chosen = parser.parse_args(arguments)
    typer.echo("kernel             lost  last reads   marked | needed / held   needed / written")
    sums = [np.zeros(7, np.int64), np.zeros(7, np.int64)]
    for name in chosen.kernels:
        pair = of_kernel(name, chosen.size)
        for total, one in zip(sums, pair, strict=True):
            total += np.array(one)
        typer.echo(row(name, *pair))
    typer.echo(row("all", *(Tightness(*(int(number) for number in total)) for total in sums)))


def row(name: str, dead: Tightness, flags: Tightness) -> str:
    """One line of the table."""
    return (
        f"{name:16} {dead.lost + flags.lost + dead.wrong + flags.wrong:6} {dead.last_reads:11} "
        f"{dead.dead_bits:8.1%} | {flags.flags:13.1%} {flags.needed / max(flags.written, 1):18.1%}"
    )


if __name__ == "__main__":
    main()
