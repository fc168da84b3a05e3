"""Trace builder from Accel-Sim's `.traceg` files, without values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import prod
from pathlib import Path

import numpy as np

from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, Control, Memory, Unit
from warpbank.program.accelsim.addresses import WINDOW, global_lines, local_lines, shared_passes
from warpbank.program.accelsim.lines import Block, Executed, Header, Reader, Static
from warpbank.program.accelsim.sass import GENERIC, Meaning, group, meaning
from warpbank.program.errors import TraceError
from warpbank.program.isa import DType, Op
from warpbank.program.runner import tool_versions
from warpbank.program.trace.schema import (
    CODE,
    DYNAMIC,
    FLAG_ARRIVE,
    FLAG_LAST,
    FLAG_WAIT,
    LAUNCH,
    WARP,
    Trace,
)

_SHARED = {
    Memory.LOAD_GLOBAL: Memory.LOAD_SHARED,
    Memory.STORE_GLOBAL: Memory.STORE_SHARED,
    Memory.ATOMIC_GLOBAL: Memory.ATOMIC_SHARED,
}
_LOCAL = {Memory.LOAD_GLOBAL: Memory.LOAD_LOCAL, Memory.STORE_GLOBAL: Memory.STORE_LOCAL}
_GLOBAL = (Memory.LOAD_GLOBAL, Memory.STORE_GLOBAL, Memory.ATOMIC_GLOBAL, Memory.REDUCE_GLOBAL)
_LOCAL_KINDS = (Memory.LOAD_LOCAL, Memory.STORE_LOCAL)
_SHARED_KINDS = (Memory.LOAD_SHARED, Memory.STORE_SHARED, Memory.ATOMIC_SHARED)
#: Barriers that hardware has.
_BARRIERS = 16
#: Most lines of an instruction.
_MAX_LINES = 64
_EXIT = Static(0, -1, "EXIT", (), ())
_OPS = {
    Unit.ALU: Op.MOV,
    Unit.FMA: Op.FFMA,
    Unit.SFU: Op.MUFU,
    Unit.TENSOR: Op.MMA,
    Unit.FP64: Op.FFMA,
    Unit.LSU: Op.LD,
    Unit.CONTROL: Op.NOP,
}
_CONTROLS = {Control.BRANCH: Op.BRA, Control.EXIT: Op.EXIT, Control.BARRIER: Op.BAR}
_ACCESSES = {
    Memory.STORE_GLOBAL: Op.ST,
    Memory.STORE_SHARED: Op.ST,
    Memory.STORE_LOCAL: Op.ST,
    Memory.ATOMIC_GLOBAL: Op.ATOM,
    Memory.ATOMIC_SHARED: Op.ATOM,
    Memory.REDUCE_GLOBAL: Op.ATOM,
    Memory.SHUFFLE: Op.SHFL,
    Memory.FENCE: Op.MEMBAR,
}


def read_accelsim(paths: Iterable[Path]) -> Trace:
    """Trace of these Accel-Sim kernels, one launch each, in order.

    It has no values: all results are zero, `meta["values"]` is False. `meta["unknown"]` lists opcodes of
    which nothing is known; they count as arithmetic on single registers.

    Raises TraceError that names file and line.
    """
    builder = _Builder()
    names = list(paths)
    for path in names:
        builder.add(path)
    return builder.trace(names)


class _Builder:
    """Collects kernels."""

    def __init__(self) -> None:
        self._code: list[tuple[object, ...]] = []
        self._text: list[str] = []
        self._lines_of_code: list[int] = []
        self._dynamic: list[tuple[int, ...]] = []
        self._warps: list[tuple[int, ...]] = []
        self._launches: list[tuple[object, ...]] = []
        self._lines: list[int] = []
        self._kernels: list[str] = []
        self._first_pc: list[int] = []
        self._unknown: dict[str, None] = {}
        self._highest = -1
        self._digest = hashlib.sha256()

    def add(self, path: Path) -> None:
        """One file: a launch."""
        reader = Reader(path)
        header = reader.header
        first_warp = len(self._warps)
        per_block = -(-prod(header.block) // 32)
        self._first_pc.append(len(self._code))
        self._rows: dict[Static, tuple[list[int], Meaning]] = {}
        self._highest = -1
        blocks = 0
        for block in reader.blocks():
            beyond = [number for number in block.warps if number >= per_block]
            if beyond:
                raise reader.fail(f"warp {beyond[0]} stands in a thread block of {per_block} warps")
            self._block(header, block, per_block)
            blocks += 1
        if not blocks:
            raise TraceError(f"{path} holds no thread block; it may be cut off")
        registers = max(header.registers, self._highest + 1, 1)
        self._launches.append(
            (
                len(self._kernels),
                header.grid,
                header.block,
                registers,
                header.shared_bytes,
                blocks,
                per_block,
                first_warp,
            )
        )
        self._kernels.append(header.name)
        self._digest.update(path.read_bytes())

    def _block(self, header: Header, block: Block, per_block: int) -> None:
        threads = prod(header.block)
        for index in range(per_block):
            executed = block.warps.get(index, [])
            lanes = min(32, threads - 32 * index)
            mask = (1 << lanes) - 1
            if not executed or not executed[-1].static.opcode.startswith("EXIT"):
                executed = [*executed, Executed(_EXIT, mask, [], 0)]
            first, number = len(self._dynamic), len(self._warps)
            for instruction in executed:
                self._execute(header, instruction, number)
            *last, flags, barrier, warps = self._dynamic[-1]
            self._dynamic[-1] = (*last, flags | FLAG_LAST, barrier, warps)
            self._warps.append(
                (len(self._launches), block.number, index, first, len(self._dynamic) - first, mask)
            )

    def _execute(self, header: Header, executed: Executed, warp: int) -> None:
        """Rows of `dynamic` for one instruction: one, unless it reads too many registers for a uop."""
        if executed.static not in self._rows:
            self._rows[executed.static] = self._enter(executed.static)
        pcs, known = self._rows[executed.static]
        memory = known.memory
        lines: list[int] = []
        passes = 0
        if executed.addresses and executed.static.opcode.partition(".")[0] in GENERIC:
            memory = _resolved(memory, executed.addresses[0], header)
        if executed.mask == 0:
            memory = Memory.NONE
        elif memory in _SHARED_KINDS:
            lanes = (lane for lane in range(32) if executed.mask >> lane & 1)
            accesses = zip(lanes, executed.addresses, strict=False)
            passes = max(1, shared_passes(accesses, known.size, memory is Memory.ATOMIC_SHARED))
        elif memory in _GLOBAL:
            lines = global_lines(executed.addresses, known.size)
        elif memory in _LOCAL_KINDS:
            lines = local_lines(executed.addresses, known.size, warp)
        flags = barrier = 0
        if known.control is Control.BARRIER and executed.mask:
            flags = FLAG_ARRIVE | (0 if "ARV" in executed.static.opcode else FLAG_WAIT)
            barrier = executed.immediate if 0 <= executed.immediate < _BARRIERS else 0
        lines = lines[:_MAX_LINES]
        at = len(self._lines)
        self._lines += lines
        for pc in pcs[:-1]:
            self._dynamic.append((pc, executed.mask, 0, at, 0, 0, 0, 0, 0, 0))
        self._dynamic.append((pcs[-1], executed.mask, 0, at, len(lines), passes, memory, flags, barrier, 0))

    def _enter(self, static: Static) -> tuple[list[int], Meaning]:
        """Rows of `code` for an instruction."""
        known = meaning(static.opcode, len(static.sources))
        if not known.known:
            self._unknown[static.opcode.partition(".")[0]] = None
        written = [r for first in static.destinations[:1] for r in group(first, max(known.destination, 1))]
        read: list[int] = []
        for place, first in enumerate(static.sources):
            read += group(first, known.sources[place] if place < len(known.sources) else 1)
        read = list(dict.fromkeys(read))
        self._highest = max([self._highest, *written, *read])
        memory = known.memory
        if memory is Memory.ATOMIC_GLOBAL and not written:
            memory = Memory.REDUCE_GLOBAL
        op = _CONTROLS.get(known.control, _ACCESSES.get(memory, _OPS[known.unit]))
        dtype = DType.F64 if known.unit is Unit.FP64 else DType.U32
        parts = [read[at : at + MAX_SOURCES] for at in range(0, max(len(read), 1), MAX_SOURCES)]
        pcs: list[int] = []
        for place, part in enumerate(parts):
            last = place == len(parts) - 1
            results = written if last else []
            pcs.append(len(self._code))
            sources = (*part, *(0 for _ in range(MAX_SOURCES - len(part))))
            self._code.append(
                (
                    known.unit,
                    memory if last else 0,
                    known.control,
                    sources,
                    len(part),
                    results[0] if results else 0,
                    min(len(results), MAX_DESTINATIONS),
                    0,
                    0,
                    known.size,
                    op,
                    dtype,
                    0,
                )
            )
            self._text.append(_text(static) + ("" if last else f" (part {place + 1})"))
            self._lines_of_code.append(static.line)
        return pcs, known

    def trace(self, paths: list[Path]) -> Trace:
        """What was collected."""
        checked = {"buffers": 0, "elements": 0, "wrong": 0}
        meta = {
            "name": paths[0].name.partition(".")[0],
            "size": "trace",
            "key": self._digest.hexdigest()[:32],
            "memory": checked,
            "max_registers": max(int(launch[3]) for launch in self._launches),  # type: ignore[call-overload]
            "versions": tool_versions(),
            "values": False,
            "unknown": sorted(self._unknown),
        }
        return Trace(
            meta,
            self._kernels,
            self._first_pc,
            self._text,
            np.array(self._lines_of_code, np.uint32),
            np.array(self._code, CODE),
            np.array(self._launches, LAUNCH),
            np.array(self._warps, WARP),
            np.array(self._dynamic, DYNAMIC),
            np.zeros((MAX_DESTINATIONS, 32), np.uint32),
            np.array(self._lines, np.uint64),
        )


def _text(static: Static) -> str:
    registers = ", ".join("RZ" if r == 255 else f"R{r}" for r in (*static.destinations, *static.sources))
    return f"{static.opcode} {registers}".strip()


def _resolved(memory: Memory, address: int, header: Header) -> Memory:
    """What a generic access is, by where its first lane goes."""
    if header.shared_base and header.shared_base <= address < header.shared_base + WINDOW:
        return _SHARED[memory]
    if header.local_base and header.local_base <= address < header.local_base + WINDOW:
        return _LOCAL.get(memory, memory)
    return memory
