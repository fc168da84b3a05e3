"""Kernels from executed edges: machine code that compiler passes can read, made of a trace that came without
it.

An edge of the control flow graph is a step that some warp has made, from an instruction to the one that it
executed next. A warp is one path through this graph, whichever of its lanes are active: where lanes part, the
path runs through one side and then through the other. No branch divides a warp here, so an instruction that
some warp has executed with fewer than its lanes is guarded: what it writes may leave the old value in other
lanes, and kills nothing.

What a pass finds on this graph holds for every warp of the trace. It need not hold for the kernel: a path
that no warp took is not there, so that more values are dead, and intervals longer, than a compiler could
know.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpbank.arch.uop import Memory
from warpbank.program.isa import VIRTUAL_PREDICATE, Block, DType, Instr, Kernel, Op, Pred, Reg, Space
from warpbank.program.trace.schema import Trace

#: Rows of a trace that are looked at together.
_CHUNK = 1 << 20
#: What leads elsewhere is told by the edges, not by the instruction.
_JUMPS = (Op.BRA, Op.EXIT)
_SPACES = {
    Memory.LOAD_SHARED: Space.SHARED,
    Memory.STORE_SHARED: Space.SHARED,
    Memory.ATOMIC_SHARED: Space.SHARED,
    Memory.LOAD_LOCAL: Space.LOCAL,
    Memory.STORE_LOCAL: Space.LOCAL,
    Memory.LOAD_CONST: Space.CONST,
}


def executed_kernels(trace: Trace) -> dict[str, Kernel]:
    """Kernels of a trace, in the order of `trace.kernels`, with the edges that its warps took.

    An instruction's pc is its row in `trace.code`, less the kernel's first. A kernel that is launched again
    has code of its own, and a number behind its name.
    """
    edges, entries, partial = _steps(trace)
    ends = [*trace.first_pc[1:], len(trace.code)]
    made = {}
    for number, (name, first, end) in enumerate(zip(trace.kernels, trace.first_pc, ends, strict=True)):
        launches = trace.launches[trace.launches["kernel"] == number]
        kernel = Kernel(name, _blocks(trace, first, end, edges, entries, partial), {}, 7)
        used = [r + 1 for i in kernel.instructions() for r in (*i.registers_read(), *i.registers_written())]
        kernel.registers = max([1, *used, *launches["registers"].tolist()])
        made[name if name not in made else f"{name} #{number + 1}"] = kernel
    return made


def _steps(trace: Trace) -> tuple[dict[int, list[int]], set[int], np.ndarray]:
    """Steps of all warps: pcs by the pc before them, the number of all pcs being the end of a warp; pcs that
    warps begin with; per pc, whether a warp has executed it with fewer than its lanes."""
    count = len(trace.code)
    partial = np.zeros(count, bool)
    steps: set[int] = set()
    entries: set[int] = set()
    warps = trace.warps[trace.warps["length"] > 0]
    warps = warps[np.argsort(warps["first"], kind="stable")]
    firsts = warps["first"].astype(np.int64)
    lasts = firsts + warps["length"] - 1
    for start, rows in _chunks(trace):
        pcs = rows["pc"].astype(np.int64)
        following = np.append(pcs[1:], count)
        numbers = np.arange(start, start + len(rows))
        owner = np.searchsorted(firsts, numbers, side="right") - 1
        inside = (owner >= 0) & (numbers <= lasts[owner])
        ending = inside & (numbers == lasts[owner])
        following[ending] = count
        if not ending[-1] and inside[-1]:
            following[-1] = int(trace.dynamic["pc"][start + len(rows)])
        steps |= set(np.unique(pcs[inside] * (count + 1) + following[inside]).tolist())
        entries |= set(np.unique(pcs[inside & (numbers == firsts[owner])]).tolist())
        partial[pcs[inside & (rows["mask"] != warps["mask"][owner])]] = True
        trace.let_go()
    edges: dict[int, list[int]] = {}
    for step in sorted(steps):
        edges.setdefault(step // (count + 1), []).append(step % (count + 1))
    return edges, entries, partial


def _chunks(trace: Trace) -> Iterator[tuple[int, np.ndarray]]:
    for start in range(0, len(trace.dynamic), _CHUNK):
        yield start, trace.dynamic[start : start + _CHUNK]


def _blocks(
    trace: Trace, first: int, end: int, edges: dict[int, list[int]], entries: set[int], partial: np.ndarray
) -> list[Block]:
    """Blocks of the kernel whose code is rows `first` to `end` - 1; an empty one in front of them if warps
    begin elsewhere than at its first row."""
    leaders = {first} | {pc for pc in entries if first <= pc < end}
    for pc in range(first, end):
        targets = edges.get(pc, [])
        if targets != [pc + 1]:
            leaders |= {pc + 1} | {target for target in targets if target < end}
    starts = sorted(pc for pc in leaders if pc < end)
    begun = sorted(pc for pc in entries if first <= pc < end)
    shift = int(bool(begun) and begun != [first])
    number = {pc: place + shift for place, pc in enumerate(starts)}
    out = len(starts) + shift
    blocks = [Block("entry", [], tuple(number[pc] for pc in begun))] if shift else []
    for place, start in enumerate(starts):
        stop = starts[place + 1] if place + 1 < len(starts) else end
        targets = edges.get(stop - 1, [len(trace.code)])
        instrs = [_instruction(trace, pc, bool(partial[pc])) for pc in range(start, stop)]
        blocks.append(Block(f"b{start - first}", instrs, tuple(number.get(pc, out) for pc in targets)))
    return blocks


def _instruction(trace: Trace, pc: int, guarded: bool) -> Instr:
    row = trace.code[pc]
    op, count = Op(int(row["opcode"])), int(row["count"])
    return Instr(
        Op.NOP if op in _JUMPS else op,
        DType(int(row["dtype"])),
        Reg(int(row["destination"]), count) if count else None,
        tuple(Reg(int(register)) for register in row["sources"][: int(row["source_count"])]),
        # Which predicate it was is not known, so that no two instructions may count as under one.
        guard=Pred(VIRTUAL_PREDICATE + pc) if guarded else None,
        aux=int(row["aux"]),
        space=_SPACES.get(Memory(int(row["memory"])), Space.GLOBAL),
        size=int(row["size"]),
        line=int(trace.ptx_line[pc]),
    )
