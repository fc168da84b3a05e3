"""Structural check of machine code, cheap enough to run after every pass: what `warpbank.program.isa` demands
of each instruction."""

from __future__ import annotations

from warpbank.program.isa import (
    PT,
    RZ,
    VIRTUAL,
    VIRTUAL_PREDICATE,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Space,
)


class MachineCodeError(Exception):
    """Error of code that breaks the rules of the instruction set: our mistake, or PTX whose types no rule has
    refused, of which `lower` makes a PtxError.

    Parameters
    ----------
    message : the instruction and its fault.
    line : of the PTX that the instruction was made of; 0 where none was.
    why : the fault alone.
    """

    def __init__(self, message: str, line: int = 0, why: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.why = why or message


#: Number of source operands, fewest and most.
_SOURCES: dict[Op, tuple[int, int]] = {
    **dict.fromkeys(
        (Op.NOP, Op.S2R, Op.VOTE, Op.ACTIVEMASK, Op.PLOP, Op.BRA, Op.EXIT, Op.MEMBAR, Op.TRAP), (0, 0)
    ),
    **dict.fromkeys(
        (Op.MOV, Op.IABS, Op.NOT, Op.CLZ, Op.POPC, Op.BREV, Op.BFIND, Op.MUFU, Op.CVT, Op.FRCP, Op.FSQRT),
        (1, 1),
    ),
    **dict.fromkeys((Op.LD, Op.MATCH, Op.REDUX), (1, 1)),
    **dict.fromkeys(
        (Op.SEL, Op.IADD, Op.IADDC, Op.ISUB, Op.ISUBC, Op.IMUL, Op.IMULHI, Op.IMULW, Op.IDIV, Op.IREM), (2, 2)
    ),
    **dict.fromkeys(
        (Op.IMIN, Op.IMAX, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.ISETP, Op.ISETPX, Op.FSETP, Op.ST),
        (2, 2),
    ),
    **dict.fromkeys((Op.FADD, Op.FMUL, Op.FMIN, Op.FMAX, Op.FDIV), (2, 2)),
    **dict.fromkeys(
        (Op.IMAD, Op.IMADHI, Op.IMADW, Op.SAD, Op.DP4A, Op.LOP3, Op.SHF, Op.BFE, Op.PRMT, Op.FNS, Op.FFMA),
        (3, 3),
    ),
    Op.SHFL: (3, 3),
    Op.BFI: (4, 4),
    Op.ATOM: (2, 3),
    Op.BAR: (1, 2),
    Op.MMA: (3, 5),
}
#: Instructions without a register result, and those that may have one.
_NO_RESULT = frozenset(
    {Op.NOP, Op.ISETP, Op.ISETPX, Op.FSETP, Op.PLOP, Op.ST, Op.BRA, Op.EXIT, Op.MEMBAR, Op.TRAP}
)
_MAYBE_RESULT = frozenset({Op.ATOM, Op.VOTE, Op.BAR})
_TYPED = frozenset(
    {Op.FADD, Op.FMUL, Op.FFMA, Op.FMIN, Op.FMAX, Op.FDIV, Op.FRCP, Op.FSQRT, Op.MUFU, Op.IDIV, Op.IREM}
)


def _words(dtype: DType) -> int:
    return max(1, dtype.bits // 32)


def result_width(instr: Instr) -> int:
    """Words of an instruction's register result, if it has one."""
    op = instr.op
    if op in (Op.IMULW, Op.IMADW):
        return 2
    if op in _TYPED or op in (Op.CVT, Op.ATOM):
        return _words(instr.dtype)
    if op is Op.LD:
        return max(1, instr.size // 4)
    if op is Op.MMA:
        return 1 if instr.stype is DType.F16 else 2  # two accumulators, or one of f64
    if op is Op.MOV and instr.dst is not None:
        return instr.dst.width
    return 1


def source_widths(instr: Instr) -> list[int]:
    """Words of each source operand; 0 where an address decides."""
    op, n = instr.op, len(instr.srcs)
    if op in _TYPED or op is Op.FSETP:
        return [_words(instr.dtype)] * n
    if op is Op.CVT:
        return [_words(instr.stype)]
    if op is Op.IMADW:
        return [1, 1, 2]
    if op is Op.LD:
        return [0]
    if op is Op.ST:
        return [0, max(1, instr.size // 4)]
    if op is Op.ATOM:
        return [0] + [_words(instr.dtype)] * (n - 1)
    if op is Op.MATCH:
        return [_words(instr.dtype)]
    if op is Op.MMA:
        pairs = instr.dtype is DType.F64 or (instr.dtype is DType.F16 and instr.aux & 0xFF == 4)
        return [2 if pairs else 1] * (n - 1) + [result_width(instr)]
    if op is Op.MOV:
        return [result_width(instr)]
    return [1] * n


def verify(kernel: Kernel) -> Kernel:
    """The kernel itself, if it keeps the rules; raises `MachineCodeError` naming the instruction
    otherwise."""
    labels = [b.label for b in kernel.blocks]
    if not labels or len(set(labels)) < len(labels):
        raise MachineCodeError(f"kernel {kernel.name}: no blocks, or two with one label")
    pc = 0
    for block in kernel.blocks:
        for i, instr in enumerate(block.instrs):
            why = _fault(kernel, instr, i == len(block.instrs) - 1, set(labels))
            if why:
                raise MachineCodeError(
                    f"kernel {kernel.name}, block {block.label}, pc {pc}, {instr.op.name} "
                    f"(line {instr.line}): {why}",
                    instr.line,
                    why,
                )
            pc += 1
    last = next((b.instrs[-1] for b in reversed(kernel.blocks) if b.instrs), None)
    if last is None or last.op not in (Op.BRA, Op.EXIT, Op.TRAP) or last.guard is not None:
        raise MachineCodeError(f"kernel {kernel.name}: control runs off the end of the code")
    return kernel


def _fault(kernel: Kernel, instr: Instr, is_last: bool, labels: set[str]) -> str:
    if instr.op in (Op.BRA, Op.EXIT) and not is_last:
        return "does not end its block"
    if (instr.op is Op.BRA) != (instr.target is not None) or (
        instr.target is not None and instr.target not in labels
    ):
        return f"branches to {instr.target!r}, which is not a block"
    fewest, most = _SOURCES[instr.op]
    if not fewest <= len(instr.srcs) <= most:
        return f"has {len(instr.srcs)} sources"
    for source, width in zip(instr.srcs, source_widths(instr), strict=True):
        why = _operand_fault(kernel, source, width or _address_width(instr, source))
        if why:
            return why
    if instr.dst is None:
        if instr.op not in _NO_RESULT | _MAYBE_RESULT:
            return "has no destination"
    elif instr.op in _NO_RESULT:
        return "has a destination"
    else:
        why = _operand_fault(kernel, instr.dst, result_width(instr))
        if why:
            return why
    if instr.op in (Op.LD, Op.ST, Op.ATOM) and instr.size not in (1, 2, 4, 8, 16):
        return f"accesses {instr.size} bytes"
    if instr.op is Op.LD and instr.size < 4 and instr.dtype.bits != 8 * instr.size:
        return f"loads {instr.size} bytes as {instr.dtype.name}"
    written = instr.predicates_written()
    if len(set(written)) < len(written):
        return "writes a predicate twice"
    for p in [*instr.psrc, *([instr.guard] if instr.guard else []), *(Pred(p) for p in instr.pdst)]:
        limit = kernel.predicates if kernel.allocated else VIRTUAL_PREDICATE + kernel.predicates
        if p.index != PT and not (0 if kernel.allocated else VIRTUAL_PREDICATE) <= p.index < limit:
            # Code without any register has no groups, and looks allocated.
            if kernel.allocated and VIRTUAL_PREDICATE <= p.index < VIRTUAL_PREDICATE + kernel.predicates:
                continue
            return f"predicate {p} does not exist"
    return ""


def _address_width(instr: Instr, source: object) -> int:
    """Global and generic addresses are 64 bits wide, the others 32."""
    if isinstance(source, Imm):
        return source.width
    return 2 if instr.space in (Space.GLOBAL, Space.GENERIC) else 1


def _operand_fault(kernel: Kernel, operand: Reg | Imm | Const, width: int) -> str:
    if isinstance(operand, Imm):
        fits = 0 <= operand.value < 1 << 32 * width
        return "" if fits else f"immediate {operand} is wider than {32 * width} bits"
    if operand.width != width and not (isinstance(operand, Reg) and operand.index == RZ):
        return f"operand {operand} is not {32 * width} bits wide"
    if isinstance(operand, Const):
        return "" if operand.offset >= 0 and operand.offset % 4 == 0 else f"constant {operand} is misaligned"
    if operand.index == RZ:
        return ""
    if operand.index % operand.width:
        return f"register {operand} is misaligned"
    if kernel.allocated:
        fits = 0 <= operand.index <= kernel.registers - operand.width
        return "" if fits else f"register {operand} is beyond the {kernel.registers} of the kernel"
    for base in (operand.index, operand.index & ~1, operand.index & ~3):
        if base >= VIRTUAL and kernel.groups.get(base, 0) >= operand.index - base + operand.width:
            return ""
    return f"register {operand} is in no group"
