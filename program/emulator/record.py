"""Trace recorder: arrays that grow, and their assembly into a `Trace`."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from warpbank.arch.uop import PREDICATES, Control, Memory
from warpbank.program.emulator.device import shared_size
from warpbank.program.emulator.layout import LINES, MAX_LINES, ROWS, SEGMENTS, SLICE, VALUES
from warpbank.program.isa import Instr, Kernel, Op, Space, unit_of
from warpbank.program.launch import Launch
from warpbank.program.trace.schema import CODE, DYNAMIC, LAUNCH, WARP, Trace

_MEMORY = {
    (Op.LD, Space.GLOBAL): Memory.LOAD_GLOBAL,
    (Op.LD, Space.SHARED): Memory.LOAD_SHARED,
    (Op.LD, Space.LOCAL): Memory.LOAD_LOCAL,
    (Op.LD, Space.CONST): Memory.LOAD_CONST,
    (Op.ST, Space.GLOBAL): Memory.STORE_GLOBAL,
    (Op.ST, Space.SHARED): Memory.STORE_SHARED,
    (Op.ST, Space.LOCAL): Memory.STORE_LOCAL,
    (Op.ATOM, Space.SHARED): Memory.ATOMIC_SHARED,
}
_CONTROL = {Op.BRA: Control.BRANCH, Op.EXIT: Control.EXIT, Op.BAR: Control.BARRIER}


def memory_operation(instr: Instr) -> Memory:
    """Memory operation that the load/store unit does for an instruction; a generic address is taken for a
    global one."""
    if instr.op is Op.SHFL:
        return Memory.SHUFFLE
    if instr.op is Op.MEMBAR:
        return Memory.FENCE
    if instr.op not in (Op.LD, Op.ST, Op.ATOM):
        return Memory.NONE
    space = Space.GLOBAL if instr.space is Space.GENERIC else instr.space
    if instr.op is Op.ATOM and space is Space.GLOBAL:
        return Memory.ATOMIC_GLOBAL if instr.registers_written() else Memory.REDUCE_GLOBAL
    return _MEMORY.get((instr.op, space), Memory.NONE)


def code_rows(instrs: list[Instr]) -> np.ndarray:
    """The static rows of a kernel's instructions."""
    rows = np.zeros(len(instrs), CODE)
    for row, instr in zip(rows, instrs, strict=True):
        sources, written = instr.registers_read(), instr.registers_written()
        row["unit"], row["memory"] = unit_of(instr), memory_operation(instr)
        row["control"] = _CONTROL.get(instr.op, Control.NONE)
        row["sources"][: len(sources)] = sources
        row["source_count"] = len(sources)
        row["destination"], row["count"] = (written[0], len(written)) if written else (0, 0)
        row["predicates_read"] = sum(1 << p for p in instr.predicates_read())
        row["predicates_written"] = sum(1 << p for p in set(instr.predicates_written()))
        row["size"] = instr.size if instr.op in (Op.LD, Op.ST, Op.ATOM) else 0
        row["opcode"], row["dtype"] = instr.op, instr.dtype
        row["aux"] = instr.aux & 0xFF  # of an MMA the length of its products
    return rows


def check_traceable(kernel: Kernel) -> None:
    """Check that a kernel names real registers only, as a trace does: 0..254, P0..P6."""
    instrs = kernel.instructions()
    registers = max((r for i in instrs for r in (*i.registers_read(), *i.registers_written())), default=0)
    predicates = max((p for i in instrs for p in (*i.predicates_read(), *i.predicates_written())), default=0)
    if registers > 254 or predicates >= PREDICATES:
        raise ValueError(
            f"kernel {kernel.name} is on virtual registers; a trace can be made only after register "
            "allocation"
        )


class Recorder:
    """Trace recorder, which owns the arrays that the compiled loops write."""

    def __init__(self, tracing: bool) -> None:
        room = 2 * SLICE if tracing else 1
        self.dynamic = np.zeros(room, DYNAMIC)
        self.values = np.zeros((4 * room, 32), np.uint32)
        self.lines = np.zeros(MAX_LINES * room, np.uint64)
        self.segments = np.zeros((room, 3), np.int64)

    def grow(self, state: np.ndarray) -> None:
        """Make room for at least one more slice wherever there is none. Memory is extended in place, mostly
        without a copy."""
        rows, values, lines, segments = (int(state[i]) for i in (ROWS, VALUES, LINES, SEGMENTS))
        if rows + SLICE > len(self.dynamic):
            self.dynamic.resize(rows * 5 // 4 + 4 * SLICE, refcheck=False)
        if values + 4 * SLICE > len(self.values):
            self.values.resize((values * 5 // 4 + 16 * SLICE, 32), refcheck=False)
        if lines + MAX_LINES * SLICE > len(self.lines):
            self.lines.resize(lines * 5 // 4 + 2 * MAX_LINES * SLICE, refcheck=False)
        if segments >= len(self.segments):
            self.segments.resize((2 * segments + SLICE, 3), refcheck=False)

    def assemble(
        self, state: np.ndarray, launches: list[Launch], kernels: Mapping[str, Kernel], text: list[str]
    ) -> Trace:
        """The finished trace: dynamic rows sorted into warps. The recorder is empty afterwards."""
        rows, values, lines, segments = (int(state[i]) for i in (ROWS, VALUES, LINES, SEGMENTS))
        names = list(kernels)
        instrs = [kernels[name].instructions() for name in names]
        first_pc = np.cumsum([0] + [len(i) for i in instrs])[:-1].tolist()
        table = np.zeros(len(launches), LAUNCH)
        warps = np.zeros(sum(prod(launch.grid) * -(-prod(launch.block) // 32) for launch in launches), WARP)
        first_warp = 0
        for number, launch in enumerate(launches):
            kernel, ctas, threads = kernels[launch.entry], prod(launch.grid), prod(launch.block)
            per_cta = -(-threads // 32)
            table[number] = (
                names.index(launch.entry),
                launch.grid,
                launch.block,
                kernel.registers,
                shared_size(kernel, launch),
                ctas,
                per_cta,
                first_warp,
            )
            mine = warps[first_warp : first_warp + ctas * per_cta]
            mine["launch"] = number
            mine["cta"] = np.repeat(np.arange(ctas), per_cta)
            mine["index"] = np.tile(np.arange(per_cta), ctas)
            mine["mask"] = 0xFFFFFFFF
            if threads % 32:
                mine["mask"][per_cta - 1 :: per_cta] = (1 << threads % 32) - 1
            first_warp += ctas * per_cta
        pieces = self.segments[:segments]
        warps["length"] = np.bincount(pieces[:, 0], weights=pieces[:, 2], minlength=len(warps)).astype(
            np.uint32
        )
        warps["first"] = np.cumsum(warps["length"], dtype=np.uint64) - warps["length"]
        pieces = pieces[np.argsort(pieces[:, 0], kind="stable")]
        places = np.cumsum(pieces[:, 2]) - pieces[:, 2]
        order = np.arange(rows) + np.repeat(pieces[:, 1] - places, pieces[:, 2])
        # As opaque rows: numpy would copy a structured row field by field.
        dynamic = self.dynamic.view(f"V{DYNAMIC.itemsize}")[order].view(DYNAMIC)
        self.values.resize((values, 32), refcheck=False)
        self.lines.resize(lines, refcheck=False)
        trace = Trace(
            meta={},
            kernels=names,
            first_pc=first_pc,
            text=text,
            ptx_line=np.array([i.line for listing in instrs for i in listing], np.uint32),
            code=np.concatenate([code_rows(i) for i in instrs]) if instrs else np.zeros(0, CODE),
            launches=table,
            warps=warps,
            dynamic=dynamic,
            values=self.values,
            lines=self.lines,
        )
        self.__init__(False)  # type: ignore[misc]
        return trace
