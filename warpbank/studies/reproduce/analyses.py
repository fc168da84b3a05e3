"""Analyses of a kernel's code and trace that figures need; no machine runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from warpbank.arch.uop import Memory, Unit
from warpbank.program import runner
from warpbank.program.intervals.dynamic import form_all, report
from warpbank.program.launch import Job
from warpbank.program.release.exemption import exempt_registers, table_bits
from warpbank.program.release.insertion import insert_flags, release_all
from warpbank.program.release.statistics import growth, held_registers, in_step, lifetimes, live_registers
from warpbank.program.reuse import histogram, near_hints, votes
from warpbank.program.similarity.statistics import similarity
from warpbank.program.windows import savings
from warpbank.program.write_back import shares, transient_registers, write_back, write_back_hints

#: Accesses whose address is two registers.
_GLOBAL = (Memory.LOAD_GLOBAL, Memory.STORE_GLOBAL, Memory.ATOMIC_GLOBAL, Memory.REDUCE_GLOBAL)


def count_sources(job: Job, options: runner.Options) -> dict[str, int]:
    """Executed uops of a job by the number of distinct registers they read. `address_once`: those that read
    three and more if the address of a global access counts as one register, and not as two."""
    trace = runner.trace_job(job, options)
    ran = trace.dynamic["pc"]
    numbers = trace.code["source_count"][ran]
    addresses = np.isin(trace.code["memory"][ran], [int(access) for access in _GLOBAL])
    return {
        **{
            str(number): int((numbers == number).sum())
            for number in range(trace.code["sources"].shape[1] + 1)
        },
        "address_once": int((numbers.astype(np.int64) - addresses >= 3).sum()),
    }


def windows(job: Job, options: runner.Options, *, first: int, last: int) -> dict[str, dict[str, int]]:
    """Accesses that windows of `first` to `last` uops save, by window; without hints, but for
    `writes_saved_hints`."""
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    ordered = {name: kernels[name] for name in trace.kernels}
    found = {}
    for window in range(first, last + 1):
        plain, hinted = savings(trace, window), savings(trace, window, write_back_hints(ordered, window))
        found[str(window)] = {
            "reads": plain.reads,
            "reads_saved": plain.reads_saved,
            "writes": plain.writes,
            "writes_saved": plain.writes_saved,
            "writes_saved_hints": hinted.writes_saved,
        }
    return found


def destinations(job: Job, options: runner.Options, *, window: int) -> dict[str, int]:
    """Executed uops with a result by where the compiler's hints send it, and registers of the code
    (`registers`; of them `unkept` need no place in the banks), summed over the job's kernels."""
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    ordered = {name: kernels[name] for name in trace.kernels}
    counted = shares(trace.code, write_back_hints(ordered, window).write_back, trace.dynamic["pc"])
    return {
        "banks": counted.banks,
        "collector": counted.collector,
        "both": counted.both,
        "registers": sum(kernel.registers for kernel in ordered.values()),
        "unkept": sum(
            len(transient_registers(kernel, write_back(kernel, window))) for kernel in ordered.values()
        ),
    }


def values(job: Job, options: runner.Options, *, warp_size: int) -> dict[str, Any]:
    """Similarity of the values of warp registers (`warpbank.program.similarity.statistics.Similarity`), for
    warps of 32 or 64 threads."""
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    return asdict(similarity(trace, {name: kernels[name] for name in trace.kernels}, warp_size))


def lanes(job: Job, options: runner.Options) -> dict[str, int]:
    """Lanes that execute the uops of a job, by unit; uops that no lane executes and branches without operands
    have none."""
    trace = runner.trace_job(job, options)
    code, pcs = trace.code, trace.dynamic["pc"]
    counts = np.bitwise_count(trace.dynamic["mask"]).astype(np.int64)
    counts[(code["unit"][pcs] == Unit.CONTROL) & (code["source_count"][pcs] == 0)] = 0
    return {unit.name.lower(): int(counts[code["unit"][pcs] == unit].sum()) for unit in Unit}


def release(job: Job, options: runner.Options, *, warps: int, physical: int) -> dict[str, Any]:
    """Release flags of register renaming, on a machine with a number of warps and physical registers.

    `flags`, `all_flags`: `Growth`, without and with pir that hold no flag. `live`, `held`: mean and greatest
    share of their registers that the first warps have in use, running in step; held: with flags. `registers`,
    `table`, `exempt`: of the kernel with the largest renaming table, its registers, the bytes of the table,
    and the registers exempted for one of 1 KB; `small_table`: the bytes of that.
    """
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    ordered = {name: kernels[name] for name in trace.kernels}
    made = release_all(ordered)
    flagged = insert_flags(trace, made)
    held = held_registers(flagged)[
        flagged.dynamic["pc"] < len(trace.code)
    ]  # after the trace's own instructions
    shares = {
        name: in_step(trace, counts, warps)
        for name, counts in (("live", live_registers(trace)), ("held", held))
    }
    largest = max(ordered.values(), key=lambda kernel: kernel.registers)
    exempt = exempt_registers(largest, warps, physical).bit_count()
    return {
        "flags": asdict(growth(trace, made)),
        "all_flags": asdict(growth(trace, release_all(ordered, empty=True))),
        **{name: [float(share.mean()), float(share.max())] for name, share in shares.items()},
        "registers": largest.registers,
        "table": table_bits(warps, largest.registers, physical) / 8,
        "exempt": exempt,
        "small_table": table_bits(warps, largest.registers - exempt, physical) / 8,
    }


def patterns(job: Job, options: runner.Options) -> dict[str, int]:
    """Usage patterns of warps' registers, summed over warps: `long`, one value stays for half of the warp's
    instructions or longer; else `once`, a single value that is read, and `again`, several."""
    trace = runner.trace_job(job, options)
    stays = lifetimes(trace)
    owners, which = np.unique(stays["warp"].astype(np.int64) * 256 + stays["register"], return_inverse=True)
    count, longest = np.bincount(which), np.zeros(len(owners), np.int64)
    np.maximum.at(longest, which, (stays["last"] - stays["first"]).astype(np.int64))
    long = 2 * longest >= trace.warps["length"][owners // 256]
    return {
        "long": int(long.sum()),
        "once": int((~long & (count == 1)).sum()),
        "again": int((~long & (count > 1)).sum()),
    }


def reuse(job: Job, options: runner.Options, *, threshold: int) -> dict[str, list[int] | float]:
    """Reuses by distance (`classes`, see `warpbank.program.reuse.histogram`), and the share of all accesses
    whose reuse is as near or far as a bit for their operand says: voted by the first warps (`first`), by all
    (`all`)."""
    trace = runner.trace_job(job, options)
    found = votes(trace, threshold=threshold)
    return {
        "classes": histogram(trace).tolist(),
        "first": found.agreeing(near_hints(trace, threshold=threshold)),
        "all": found.agreeing(found.bits),
    }


def intervals(job: Job, options: runner.Options, *, limit: int) -> dict[str, Any]:
    """Register-intervals of at most `limit` registers on the job's trace
    (`warpbank.program.intervals.dynamic.Report`)."""
    kernels = runner.compile_job(job, options)
    trace = runner.trace_job(job, options)
    return asdict(report(form_all({name: kernels[name] for name in trace.kernels}, limit), trace))
