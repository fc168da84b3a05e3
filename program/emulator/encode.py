"""Kernel encoding as arrays: one row of numbers per instruction, every operand a row of the register file.

Registers are numbered densely (so code runs before and after allocation alike), and every immediate and
constant-bank operand gets a row of its own behind them, filled when the launch is known.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from warpbank.arch.uop import RZ
from warpbank.program.cfg import Cfg
from warpbank.program.emulator import layout as at
from warpbank.program.errors import ExecutionError
from warpbank.program.isa import PT, DType, Imm, Instr, Kernel, Op, Pred, Reg, Rnd, Source, Space

_ARITHMETIC = (Op.FADD, Op.FMUL, Op.FFMA, Op.FDIV, Op.FRCP, Op.FSQRT)
_FLOATS = (*_ARITHMETIC, Op.FMIN, Op.FMAX, Op.FSETP, Op.MUFU, Op.CVT)
_GROUPS = (
    (at.GROUP_MOVE, (Op.MOV, Op.SEL)),
    (at.GROUP_SPECIAL, (Op.S2R,)),
    (at.GROUP_INTEGER, [op for op in Op if Op.IADD <= op <= Op.DP4A]),
    (at.GROUP_BITS, [op for op in Op if Op.AND <= op <= Op.FNS]),
    (at.GROUP_COMPARE, (Op.ISETP, Op.ISETPX, Op.FSETP, Op.PLOP)),
    (at.GROUP_MUFU, (Op.MUFU,)),
    (at.GROUP_CONVERT, (Op.CVT,)),
    (at.GROUP_MEMORY, (Op.LD, Op.ST, Op.ATOM)),
    (at.GROUP_LANES, (Op.SHFL, Op.VOTE, Op.MATCH, Op.ACTIVEMASK, Op.REDUX)),
    (at.GROUP_TENSOR, (Op.MMA,)),
    (at.GROUP_CONTROL, (Op.NOP, Op.BRA, Op.EXIT, Op.BAR, Op.MEMBAR, Op.TRAP)),
)
_GROUP = {op: group for group, ops in _GROUPS for op in ops}


@dataclass
class Encoded:
    """An encoded kernel.

    Parameters
    ----------
    kernel, instrs : what was encoded.
    code : (instructions, COLUMNS) i8.
    first_constant : row of the first constant; registers stand before it.
    rows, predicates : rows of the register and predicate files.
    constants : operand -> its row.
    """

    kernel: Kernel
    instrs: list[Instr]
    code: np.ndarray
    first_constant: int
    rows: int
    predicates: int
    constants: dict[Source, int] = field(default_factory=dict)

    def fill_constants(self, registers: np.ndarray, bank: bytes) -> None:
        """Put the constants into their rows of every warp, given the launch's constant bank."""
        for source, row in self.constants.items():
            assert not isinstance(source, Reg)
            if isinstance(source, Imm):
                words = [(source.value >> (32 * i)) & 0xFFFFFFFF for i in range(source.width)]
            else:
                if source.offset + 4 * source.width > len(bank):
                    raise ExecutionError(
                        f"kernel {self.kernel.name} reads {source} from the constant bank, which ends at "
                        f"0x{len(bank):x}."
                    )
                words = list(struct.unpack_from(f"<{source.width}I", bank, source.offset))
            for i, word in enumerate(words):
                registers[:, row + i, :] = word


def _group(instr: Instr) -> int:
    """Which compiled function executes an instruction."""
    if instr.op not in _ARITHMETIC and instr.op not in (Op.FMIN, Op.FMAX):
        return _GROUP[instr.op]
    if instr.dtype not in (DType.F32, DType.F64):
        return at.GROUP_HALF
    if instr.rnd is not Rnd.RN and instr.op in _ARITHMETIC:
        return at.GROUP_ROUNDED
    return at.GROUP_F32 if instr.dtype is DType.F32 else at.GROUP_F64


class _Rows:
    """Hands out rows of the register file and the predicate file."""

    def __init__(self, instrs: list[Instr]) -> None:
        words: set[int] = set()
        predicates: set[int] = set()
        for instr in instrs:
            for operand in (instr.dst, *instr.srcs):
                if isinstance(operand, Reg) and operand.index != RZ:
                    words.update(range(operand.index, operand.index + operand.width))
            predicates.update(instr.predicates_read() + instr.predicates_written())
        self.registers = {word: at.FIRST + i for i, word in enumerate(sorted(words))}
        self.predicates = {p: at.FIRST_PREDICATE + i for i, p in enumerate(sorted(predicates))}
        self.first_constant = self.rows = at.FIRST + len(words)
        self.constants: dict[Source, int] = {}

    def source(self, operand: Source) -> int:
        if isinstance(operand, Reg):
            return at.ZERO if operand.index == RZ else self.registers[operand.index]
        if isinstance(operand, Imm) and operand.value == 0:
            return at.ZERO
        if operand not in self.constants:
            self.constants[operand] = self.rows
            self.rows += operand.width
        return self.constants[operand]

    def query(self, operand: Pred | None) -> tuple[int, int]:
        """Row and inversion mask of a predicate source; a missing one is true."""
        if operand is None:
            return at.TRUE, 0
        row = at.TRUE if operand.index == PT else self.predicates[operand.index]
        return row, 0xFFFFFFFF if operand.negated else 0

    def result(self, index: int) -> int:
        return at.DISCARD if index == PT else self.predicates[index]


def encode(kernel: Kernel) -> Encoded:
    """Encode a kernel, before or after register allocation."""
    instrs = kernel.instructions()
    rows = _Rows(instrs)
    starts = kernel.block_starts()
    graph = Cfg(kernel)
    code = np.zeros((len(instrs), at.COLUMNS), np.int64)
    for pc, instr in enumerate(instrs):
        row = code[pc]
        row[at.GROUP], row[at.OP] = _group(instr), instr.op
        row[at.DTYPE], row[at.STYPE] = instr.dtype, instr.stype
        row[at.GUARD], row[at.GUARD_NOT] = rows.query(instr.guard)
        written = instr.registers_written()
        if written:
            row[at.DESTINATION], row[at.COUNT] = rows.registers[written[0]], len(written)
        elif instr.op is not Op.ATOM:
            row[at.DESTINATION] = at.OUT  # nothing is copied: COUNT is 0
        row[at.SOURCE : at.SOURCE + 5] = at.ZERO
        for i, operand in enumerate(instr.srcs):
            row[at.SOURCE + i] = rows.source(operand)
        row[at.SOURCES] = len(instr.srcs)
        row[at.PREDICATE : at.PREDICATE + 2] = at.DISCARD
        for i, index in enumerate(instr.pdst):
            row[at.PREDICATE + i] = rows.result(index)
        row[at.WRITES_PREDICATE] = bool(instr.predicates_written()) and instr.op is not Op.BAR
        for i in range(3):
            row[at.QUERY + i], row[at.QUERY_NOT + i] = rows.query(
                instr.psrc[i] if i < len(instr.psrc) else None
            )
        row[at.CMP], row[at.BOOLOP], row[at.RND] = instr.cmp, instr.boolop, instr.rnd
        row[at.FTZ], row[at.SAT], row[at.AUX] = instr.ftz, instr.sat, instr.aux
        row[at.NEG], row[at.ABS] = instr.neg, instr.abs
        if instr.op in _FLOATS:
            flushes = instr.ftz and instr.op is not Op.CVT  # CVT flushes by itself: its types differ
            row[at.MODIFIED] = (1 << len(instr.srcs)) - 1 if flushes else instr.neg | instr.abs
            row[at.FINISH] = instr.op not in (Op.CVT, Op.FSETP) and (instr.ftz or instr.sat)
        row[at.SPACE], row[at.SIZE], row[at.OFFSET] = instr.space, instr.size, instr.offset
        if instr.op in (Op.LD, Op.ST, Op.ATOM):
            address = instr.srcs[0]
            row[at.WIDE] = address.width == 2 or (
                isinstance(address, Imm) and instr.space in (Space.GLOBAL, Space.GENERIC)
            )
        row[at.TARGET] = row[at.MEET] = -1
        if instr.op is Op.BRA:
            row[at.TARGET] = starts[instr.target or ""]
            meet = graph.reconvergence(pc)
            row[at.MEET] = -1 if meet is None else meet
        row[at.TRACE_PC] = pc
    return Encoded(
        kernel,
        instrs,
        code,
        rows.first_constant,
        rows.rows + 4,  # a source may be read as wide as two rows beyond its own
        at.FIRST_PREDICATE + len(rows.predicates),
        rows.constants,
    )
