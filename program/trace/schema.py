"""Trace schema: static machine code and, per warp in program order, what each executed instruction did.

A trace is everything the cycle-accurate simulation of a job needs, so that no arithmetic has to be simulated:
which instruction, which lanes, which memory lines, and the values every destination received.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpbank.program.hints import Hints
from warpbank.program.release.words import FlagWord
from warpbank.program.trace.spool import let_go

#: Raised whenever a field below changes meaning; a file of another version is not read.
SCHEMA_VERSION = 2

#: One row per machine instruction; a pc is a row number. Several kernels of one job stand one after the
#: other.
CODE = np.dtype(
    [
        ("unit", "u1"),  # arch.uop.Unit
        ("memory", "u1"),  # arch.uop.Memory (for generic addresses: of the first access; see DYNAMIC.memory)
        ("control", "u1"),  # arch.uop.Control
        ("sources", "u1", (6,)),  # distinct registers read, the first `source_count`; never RZ
        ("source_count", "u1"),
        ("destination", "u1"),  # first register written
        ("count", "u1"),  # registers written, 0..4
        ("predicates_read", "u1"),  # bit mask P0..P6
        ("predicates_written", "u1"),
        ("size", "u1"),  # bytes per lane of a memory access
        ("opcode", "u1"),  # program.isa.Op
        ("dtype", "u1"),  # program.isa.DType
        ("aux", "u1"),  # low byte of program.isa.Instr.aux
    ]
)

#: One row per launch.
LAUNCH = np.dtype(
    [
        ("kernel", "u4"),  # index into Trace.kernels
        ("grid", "u4", (3,)),
        ("block", "u4", (3,)),
        ("registers", "u2"),  # per thread
        ("shared_bytes", "u4"),  # per CTA, static and dynamic
        ("ctas", "u4"),
        ("warps_per_cta", "u4"),
        ("first_warp", "u4"),  # rows of WARP: CTA-major, then warp index
    ]
)

#: One row per warp that ran.
WARP = np.dtype(
    [
        ("launch", "u4"),
        ("cta", "u4"),  # linear CTA index in its grid
        ("index", "u4"),  # warp index in its CTA
        ("first", "u8"),  # first row of DYNAMIC
        ("length", "u4"),  # rows
        ("mask", "u4"),  # lanes that exist (the last warp of a CTA may be partial)
    ]
)

#: One row per executed warp instruction; of a program that runs several times, of its first run.
DYNAMIC = np.dtype(
    [
        ("pc", "u4"),
        ("mask", "u4"),  # lanes that executed: active and guard true; may be 0
        ("value", "u8"),  # first row of `values`; CODE.count rows if mask is not 0, none otherwise
        ("line", "u8"),  # first row of `lines`
        ("line_count", "u1"),  # distinct 128-byte lines touched in global or local memory, 0..64
        ("passes", "u1"),  # shared memory: bank-conflict passes, at least 1; 0: not a shared access
        ("memory", "u1"),  # arch.uop.Memory of this execution (generic addresses resolved; NONE if mask is 0)
        ("flags", "u1"),  # FLAG_*
        ("barrier", "u1"),  # barrier id of an arrival
        ("barrier_warps", "u1"),  # warps that must arrive; 0: all warps of the CTA that have not exited
    ]
)

#: This instruction completes its warp's arrival at `barrier` (the last of its lanes to get there; normally
#: the BAR itself).
FLAG_ARRIVE = 1
#: The warp waits at `barrier` until it opens (not set for bar.arrive).
FLAG_WAIT = 2
#: Every lane of the warp has exited: the warp's last instruction.
FLAG_LAST = 4
#: The warp enters an interval with this instruction, whose extra bit prefetches (LTRF); not part of the file.
FLAG_ENTER = 8


@dataclass
class Trace:
    """Trace of a whole job.

    Parameters
    ----------
    meta : job name, size, content digest, tool versions, max_registers and what else made it; JSON-able.
    kernels : entry names, indexed by LAUNCH.kernel.
    first_pc : per kernel, the pc of its first instruction.
    text : one line of disassembly per pc.
    ptx_line : line of the PTX per pc (u4).
    code, launches, warps, dynamic : arrays of the dtypes above.
    values : (n, 32) u4. Result registers in order of writing; lanes outside the mask hold 0.
    lines : u8, in lane order of first touch. The low `arch.uop.LINE_WIDTH` bits are the line's number (byte
        address // 128), those above them the mask of its 32-byte sectors that were touched. Local memory has
        its own range of numbers.
    hints : what a compiler pass tells the register file, per pc; not part of the file.
    flag_words : per pc of a flag instruction (register renaming), what it holds; not part of the file.
    exempt : per kernel, the registers that are not renamed, as a bit mask; empty: none. Not part of the file.
    working_sets : per pc of a PREFETCH, or of an instruction that may have the extra bit, the registers that
        its interval names as a bit mask; not part of the file.
    """

    meta: dict[str, Any]
    kernels: list[str]
    first_pc: list[int]
    text: list[str]
    ptx_line: np.ndarray
    code: np.ndarray
    launches: np.ndarray
    warps: np.ndarray
    dynamic: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    hints: Hints | None = None
    flag_words: dict[int, FlagWord] = field(default_factory=dict)
    exempt: tuple[int, ...] = ()
    working_sets: dict[int, int] = field(default_factory=dict)

    @property
    def immediates(self) -> np.ndarray:
        """Immediate data per pc, 32 bytes: the bit-vector of the interval that a PREFETCH, or an
        instruction with the extra bit, enters; bit r (byte r // 8) is register r."""
        found = np.zeros((len(self.code), 32), np.uint8)
        for pc, registers in self.working_sets.items():
            found[pc] = np.frombuffer(registers.to_bytes(32, "little"), np.uint8)
        return found

    def let_go(self) -> None:
        """Give back the memory of what has been read of arrays that lie in files
        (`warpbank.program.trace.spool`); they are read again where they are asked for."""
        for array in (self.dynamic, self.warps, self.lines):
            let_go(array)

    @property
    def warp_instructions(self) -> int:
        """Executed warp instructions. Warps may share rows of `dynamic` (`warpbank.program.trace.repeat`)."""
        return int(self.warps["length"].sum(dtype=np.uint64))
