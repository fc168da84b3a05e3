"""Trace summary in numbers, for `warpbank trace inspect`."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpbank.arch.uop import LINE_MASK, Memory, Unit
from warpbank.program.isa import Op
from warpbank.program.trace.schema import FLAG_ARRIVE, Trace


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _by_name(counts: np.ndarray, names: type[Op] | type[Unit] | type[Memory]) -> dict[str, int]:
    """Counts that are not zero by name, most first."""
    found = [(names(i).name.lower(), int(n)) for i, n in enumerate(counts) if n]
    return dict(sorted(found, key=lambda item: (-item[1], item[0])))


def summarize(trace: Trace) -> dict[str, Any]:
    """The summary that `warpbank trace inspect` shows; JSON-able.

    Nested: instructions by opcode and by unit, memory accesses by kind with lines or passes for each.
    """
    d, code = trace.dynamic, trace.code
    lanes = np.bitwise_count(d["mask"]).astype(np.int64)
    existing = np.repeat(trace.warps["mask"], trace.warps["length"])
    order = np.repeat(trace.warps["first"].astype(np.int64), trace.warps["length"])
    offsets = np.arange(len(order)) - np.repeat(
        np.cumsum(trace.warps["length"].astype(np.int64)) - trace.warps["length"], trace.warps["length"]
    )
    full = np.zeros(len(d), np.uint32)
    full[order + offsets] = existing
    partial = d["mask"] != full
    count = len(d)
    memory: dict[str, Any] = {}
    for kind in Memory:
        rows = d[d["memory"] == kind]
        if kind in (Memory.NONE, Memory.SHUFFLE, Memory.FENCE) or not len(rows):
            continue
        name = kind.name.lower()
        memory[name] = len(rows)
        if rows["line_count"].any():
            memory[f"{name}, lines each"] = round(float(rows["line_count"].mean()), 3)
        if rows["passes"].any():
            memory[f"{name}, passes each"] = round(float(rows["passes"].mean()), 3)
    summary: dict[str, Any] = {k: v for k, v in trace.meta.items() if isinstance(v, (str, int, float, bool))}
    summary |= {
        "kernels": ", ".join(trace.kernels),
        "launches": len(trace.launches),
        "ctas": int(trace.launches["ctas"].sum()),
        "warps": len(trace.warps),
        "registers_per_thread": int(trace.launches["registers"].max()) if len(trace.launches) else 0,
        "warp_instructions": count,
        "thread_instructions": int(lanes.sum()),
        "lanes_per_instruction": round(float(lanes.mean()), 3) if count else 0.0,
        "divergent_share": _share(int(partial.sum()), count),
        "no_lane_share": _share(int((d["mask"] == 0).sum()), count),
        "barrier_arrivals": int((d["flags"] & FLAG_ARRIVE != 0).sum()),
        "values": len(trace.values),
        "lines": len(trace.lines),
        "distinct_lines": len(np.unique(trace.lines & np.uint64(LINE_MASK))),
        "bytes_in_memory": sum(
            a.nbytes for a in (code, trace.launches, trace.warps, d, trace.values, trace.lines)
        ),
        "instructions by opcode": _by_name(np.bincount(code["opcode"][d["pc"]]), Op),
        "instructions by unit": _by_name(np.bincount(code["unit"][d["pc"]]), Unit),
        "memory accesses": memory,
    }
    return summary
