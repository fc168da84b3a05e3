"""Trace builder from Accel-Sim's `.traceg` files, without values."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable
from math import prod
from pathlib import Path

import numpy as np

from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, RZ, Control, Memory, Unit
from warpbank.program.accelsim.addresses import WINDOW, global_lines, local_lines, shared_passes
from warpbank.program.accelsim.lines import Executed, Header, OnRead, Reader, Static
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
from warpbank.program.trace.spool import LIMIT, Spool

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


#: A row of `DYNAMIC` as bytes.
_ROW = struct.Struct("<IIQQBBBBBB")
assert _ROW.size == DYNAMIC.itemsize
_LINE = struct.Struct("<Q")
#: Rows of a warp that are kept until it ends, since its last one gets a flag.
_PENDING = 1 << 12
_HASHED = 1 << 20


def read_accelsim(paths: Iterable[Path], on_read: OnRead | None = None, *, limit: int = LIMIT) -> Trace:
    """Trace of these Accel-Sim kernels, one launch each, in order.

    It has no values: all results are zero, `meta["values"]` is False. `meta["unknown"]` lists opcodes of
    which nothing is known; they count as arithmetic on single registers. `meta["notes"]` has a sentence for
    each number of a header that cannot be meant. What grows with the length of a trace is kept in a file
    of the cache folder (`warpbank.program.trace.spool`) beyond `limit` bytes.

    Parameters
    ----------
    paths : the `.traceg` files.
    on_read : called with the bytes read so far, and how many all files have.
    limit : bytes of each array that may stay in memory.

    Raises TraceError that names file and line.
    """
    names = list(paths)
    builder = _Builder(limit)
    sizes = [path.stat().st_size if os.path.isfile(path) else 0 for path in names]
    for number, path in enumerate(names):
        before = sum(sizes[:number])

        def report(done: int, _: int, before: int = before) -> None:
            if on_read is not None:
                on_read(before + done, sum(sizes))

        builder.add(path, report)
    return builder.trace(names)


class _Builder:
    """Collects kernels; the sink of their readers (`warpbank.program.accelsim.lines.Sink`)."""

    def __init__(self, limit: int) -> None:
        self._code: list[tuple[object, ...]] = []
        self._text: list[str] = []
        self._lines_of_code: list[int] = []
        self._dynamic = Spool(DYNAMIC, limit)
        self._warps = Spool(WARP, limit)
        self._lines = Spool(np.dtype(np.uint64), limit)
        self._launches: list[tuple[object, ...]] = []
        self._kernels: list[str] = []
        self._first_pc: list[int] = []
        self._unknown: dict[str, None] = {}
        self._notes: list[str] = []
        self._highest = -1
        self._digest = hashlib.sha256()
        self._header = Header()
        self._per_block = 0
        self._rows: dict[Static, tuple[list[int], Meaning]] = {}
        self._extents: dict[int, tuple[int, int]] = {}  # by warp of the block: first row, rows
        self._warp = -1
        self._first = 0  # row of the warp's first instruction
        self._pending = bytearray()
        self._ended = False  # the warp's last instruction so far is an EXIT

    def add(self, path: Path, on_read: OnRead) -> None:
        """One file: a launch."""
        reader = Reader(path, on_read)
        header = self._header = reader.header
        first_warp = len(self._warps)
        per_block = self._per_block = -(-prod(header.block) // 32)
        self._first_pc.append(len(self._code))
        self._rows = {}
        self._highest = -1
        blocks = reader.read(self, per_block)
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
        self._notes += header.notes
        if blocks < prod(header.grid):
            self._notes.append(
                f"{path} has {blocks} of the {prod(header.grid)} thread blocks of its grid; the others were "
                "not recorded, and do not run"
            )
        with path.open("rb") as file:
            while part := file.read(_HASHED):
                self._digest.update(part)

    def _lanes(self, index: int) -> int:
        """Mask of the lanes that a warp of a thread block has."""
        return (1 << min(32, prod(self._header.block) - 32 * index)) - 1

    def warp(self, number: int) -> None:
        """A warp begins."""
        self._end_warp()
        self._warp = number
        self._first = len(self._dynamic)
        self._ended = False

    def _end_warp(self) -> None:
        """End the warp: with an EXIT if it has none, and with the flag in its last row."""
        if self._warp < 0:
            return
        if not self._ended:
            self._push(self._execute(Executed(_EXIT, self._lanes(self._warp), [], 0)))
        *row, flags, barrier, warps = _ROW.unpack_from(self._pending, len(self._pending) - _ROW.size)
        _ROW.pack_into(self._pending, len(self._pending) - _ROW.size, *row, flags | FLAG_LAST, barrier, warps)
        self._dynamic.append(self._pending)
        self._pending.clear()
        self._extents[self._warp] = self._first, len(self._dynamic) - self._first
        self._warp = -1

    def block(self, number: int) -> None:
        """A thread block ends: rows of its warps, those that executed nothing included."""
        self._end_warp()
        missing = [index for index in range(self._per_block) if index not in self._extents]
        for index in missing:
            self.warp(index)
            self._end_warp()
        launch = len(self._launches)
        rows = [
            (launch, number, index, *self._extents[index], self._lanes(index))
            for index in range(self._per_block)
        ]
        self._warps.append(np.array(rows, WARP).tobytes())
        self._extents.clear()

    def executed(self, instruction: Executed) -> bytes | None:
        """The warp executes an instruction."""
        static = instruction.static
        self._ended = static.opcode.startswith("EXIT")
        made = self._execute(instruction)
        self._push(made)
        return None if instruction.addresses or self._ended else made

    def again(self, kept: bytes) -> None:
        """The warp executes an instruction whose line came before."""
        self._ended = False
        self._push(kept)

    def _push(self, rows: bytes) -> None:
        pending = self._pending
        pending += rows
        if len(pending) >= _PENDING * _ROW.size:
            self._dynamic.append(pending[: -_ROW.size])
            del pending[: -_ROW.size]

    def _execute(self, executed: Executed) -> bytes:
        """Rows of `dynamic` for one instruction: one, unless it reads too many registers for a uop."""
        if executed.static not in self._rows:
            self._rows[executed.static] = self._enter(executed.static)
        pcs, known = self._rows[executed.static]
        memory = known.memory
        lines: list[int] = []
        passes = 0
        if executed.addresses and executed.static.opcode.partition(".")[0] in GENERIC:
            memory = _resolved(memory, executed.addresses[0], self._header)
        if executed.mask == 0:
            memory = Memory.NONE
        elif memory in _SHARED_KINDS:
            lanes = (lane for lane in range(32) if executed.mask >> lane & 1)
            accesses = zip(lanes, executed.addresses, strict=False)
            passes = max(1, shared_passes(accesses, known.size, memory is Memory.ATOMIC_SHARED))
        elif memory in _GLOBAL:
            lines = global_lines(executed.addresses, known.size)
        elif memory in _LOCAL_KINDS:
            warp = len(self._warps) + self._warp
            lanes = (lane for lane in range(32) if executed.mask >> lane & 1)
            lines = local_lines(zip(lanes, executed.addresses, strict=False), known.size, warp)
        flags = barrier = 0
        if known.control is Control.BARRIER and executed.mask:
            flags = FLAG_ARRIVE | (0 if "ARV" in executed.static.opcode else FLAG_WAIT)
            barrier = executed.immediate if 0 <= executed.immediate < _BARRIERS else 0
        lines = lines[:_MAX_LINES]
        at = len(self._lines) if lines else 0
        if lines:
            self._lines.append(b"".join(map(_LINE.pack, lines)))
        made = b"".join(_ROW.pack(pc, executed.mask, 0, at, 0, 0, 0, 0, 0, 0) for pc in pcs[:-1])
        return made + _ROW.pack(pcs[-1], executed.mask, 0, at, len(lines), passes, memory, flags, barrier, 0)

    def _enter(self, static: Static) -> tuple[list[int], Meaning]:
        """Rows of `code` for an instruction."""
        known = meaning(static.opcode, len(static.sources))
        if not known.known:
            self._unknown[static.opcode.partition(".")[0]] = None
        written = _written(static, known)
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
        """Collected trace."""
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
            "notes": self._notes,
        }
        return Trace(
            meta,
            self._kernels,
            self._first_pc,
            self._text,
            np.array(self._lines_of_code, np.uint32),
            np.array(self._code, CODE),
            np.array(self._launches, LAUNCH),
            self._warps.array(),
            self._dynamic.array(),
            np.zeros((MAX_DESTINATIONS, 32), np.uint32),
            self._lines.array(),
        )


def _written(static: Static, known: Meaning) -> list[int]:
    """Registers that an instruction writes: what its opcode tells of the first, or, where the trace lists
    more of a group (version 6), those."""
    if not static.destinations:
        return []
    first = static.destinations[0]
    by_opcode = list(group(first, max(known.destination, 1)))
    listed = [register for place, register in enumerate(static.destinations) if register == first + place]
    return max(by_opcode, listed[:MAX_DESTINATIONS], key=len) if first != RZ else []


def _text(static: Static) -> str:
    registers = ", ".join("RZ" if r == 255 else f"R{r}" for r in (*static.destinations, *static.sources))
    return f"{static.opcode} {registers}".strip()


def _resolved(memory: Memory, address: int, header: Header) -> Memory:
    """Memory of a generic access, by where its first lane goes."""
    if header.shared_base and header.shared_base <= address < header.shared_base + WINDOW:
        return _SHARED[memory]
    if header.local_base and header.local_base <= address < header.local_base + WINDOW:
        return _LOCAL.get(memory, memory)
    return memory
