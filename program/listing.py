"""Listings of machine code as text, and the data behind `warpbank explain`: blocks, control flow, liveness.
Nothing here prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from warpbank.program.cfg import Cfg, Loop
from warpbank.program.divergence import Divergence
from warpbank.program.isa import (
    PT,
    Atomic,
    BoolOp,
    DType,
    Imm,
    Instr,
    Kernel,
    Mufu,
    Op,
    Pred,
    Reg,
    Rnd,
    Shuffle,
    Sreg,
    Vote,
)
from warpbank.program.isa.matrix import A_COLUMN, B_COLUMN, OTHER_SHIFT, PART_SHIFT, SATURATE
from warpbank.program.liveness import Live, members, thread_liveness

_COMPARES = (Op.ISETP, Op.ISETPX, Op.FSETP)
_MEMORY = (Op.LD, Op.ST, Op.ATOM)
_SIGNED = (
    Op.IMULHI,
    Op.IMULW,
    Op.IMADHI,
    Op.IMADW,
    Op.IDIV,
    Op.IREM,
    Op.IMIN,
    Op.IMAX,
    Op.SAD,
    Op.DP4A,
    Op.SHR,
    Op.SHF,
    Op.BFE,
    Op.BFIND,
    Op.REDUX,
)
_FLOATS = (Op.FADD, Op.FMUL, Op.FFMA, Op.FMIN, Op.FMAX, Op.FDIV, Op.FRCP, Op.FSQRT, Op.MUFU, Op.MMA)
_SHF = ("L.W", "L", "R.W", "R", "L.HI64", "R.LO64")
_PRMT = ("", "F4E", "B4E", "RC8", "ECL", "ECR", "RC16")
_BAR = ("SYNC", "ARV", "RED.POPC", "RED.AND", "RED.OR")


def _matrix(instr: Instr) -> list[str]:
    """Modifiers of an MMA: shape, type of B if it is another, piece, layouts."""
    aux = instr.aux
    other = aux >> OTHER_SHIFT & 0xFF
    part = aux >> PART_SHIFT & 15
    pieces = instr.dtype is DType.F64 or (instr.dtype is DType.F16 and aux & 0xFF == 4)
    found = [f"M8N8K{aux & 0xFF}", *([DType(other - 1).name] if other else [])]
    found += [f"P{part}"] * pieces + ["SAT"] * bool(aux & SATURATE)
    return found + ["ACOL"] * bool(aux & A_COLUMN) + ["BCOL"] * bool(aux & B_COLUMN)


def _aux(instr: Instr) -> list[str]:
    """Modifiers that `aux` stands for."""
    op, aux = instr.op, instr.aux
    if op is Op.MUFU:
        return [Mufu(aux).name]
    if op in (Op.ATOM, Op.REDUX):
        return [Atomic(aux).name]
    if op is Op.SHFL:
        return [Shuffle(aux).name]
    if op is Op.VOTE:
        return [Vote(aux).name]
    if op is Op.SHF:
        return [_SHF[aux]]
    if op is Op.PRMT:
        return [_PRMT[aux]] if aux else []
    if op is Op.BAR:
        return [_BAR[aux]]
    if op in (Op.LOP3, Op.PLOP):
        return [f"0x{aux:02x}"]
    if op is Op.MMA:
        return _matrix(instr)
    if op is Op.CVT:
        return ["INT"] if aux else []
    if op is Op.MATCH:
        return ["ALL" if aux else "ANY"]
    if op in (Op.FMIN, Op.FMAX):
        return ["NAN"] * (aux & 1) + ["XORSIGN"] * (aux >> 1 & 1)
    if op is Op.DP4A:
        return [("U" if not aux & 1 else "S") + ("U" if not aux & 2 else "S")]
    if op is Op.BFIND and aux:
        return ["SH"]
    return []


def mnemonic(instr: Instr) -> str:
    """Opcode with all its modifiers: LD.GLOBAL.64, FFMA.FTZ, ISETP.LT.U32.AND."""
    op = instr.op
    parts = [op.name]
    if op in _MEMORY:
        parts.append(instr.space.name)
        if op is Op.ATOM:
            parts += [*_aux(instr), instr.dtype.name]
        elif instr.size < 4:
            sign = "S" if instr.dtype in (DType.S8, DType.S16) else "U"
            parts.append(f"{sign}{8 * instr.size}" if op is Op.LD else str(8 * instr.size))
        elif instr.size > 4:
            parts.append(str(8 * instr.size))
        if instr.volatile:
            parts.append("VOLATILE")
        return ".".join(parts)
    if op in _COMPARES:
        parts += [instr.cmp.name, instr.dtype.name]
        if len(instr.psrc) > (op is Op.ISETPX):
            parts.append(BoolOp(instr.boolop).name)
    elif op is Op.CVT:
        parts += [instr.dtype.name, instr.stype.name]
    elif (
        op in _SIGNED
        or (op in _FLOATS and instr.dtype is not DType.F32)
        or (op is Op.MATCH and instr.dtype is DType.U64)
    ):
        parts.append(instr.dtype.name)
    parts += _aux(instr)
    if op is Op.CVT or (op in _FLOATS and instr.rnd is not Rnd.RN):
        parts.append(instr.rnd.name)
    if instr.ftz:
        parts.append("FTZ")
    if instr.sat:
        parts.append("SAT")
    return ".".join(parts)


def _source(instr: Instr, i: int) -> str:
    """A source operand with its modifiers; a memory address in brackets."""
    s = instr.srcs[i]
    if i == 0 and instr.op in _MEMORY:
        offset = "" if not instr.offset else f"{'+' if instr.offset > 0 else '-'}0x{abs(instr.offset):x}"
        if isinstance(s, Imm):
            return f"[0x{s.value + instr.offset & (1 << 64) - 1:x}]"
        return f"[{s}{offset}]"
    text = str(s)
    if instr.abs >> i & 1:
        text = f"|{text}|"
    return f"-{text}" if instr.neg >> i & 1 else text


def disassemble(instr: Instr) -> str:
    """Disassembly of one instruction: `@!P0 FFMA R4, R2, R3, R4`, `LD.GLOBAL.64 R2.64, [R4.64+0x10]`."""
    operands: list[str] = []
    if instr.dst is not None:
        operands.append(str(instr.dst))
    operands += [str(Pred(p)) for p in instr.pdst]
    if instr.op is Op.S2R:
        operands.append(
            "SR_" + Sreg(instr.aux).name.replace("_X", ".X").replace("_Y", ".Y").replace("_Z", ".Z")
        )
    operands += [_source(instr, i) for i in range(len(instr.srcs))]
    operands += [str(q) for q in instr.psrc]
    if instr.target is not None:
        operands.append(instr.target)
    guard = (
        ""
        if instr.guard is None or (instr.guard.index == PT and not instr.guard.negated)
        else f"@{instr.guard} "
    )
    return f"{guard}{mnemonic(instr)} {', '.join(operands)}".rstrip()


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction of a listing.

    Parameters
    ----------
    pc, text, line : its place, its disassembly, the PTX line it came from (0: none).
    live : 32-bit registers alive after it.
    dies : registers it reads that are not alive after it, as text.
    """

    pc: int
    text: str
    line: int
    live: int
    dies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockListing:
    """One block of a listing.

    Parameters
    ----------
    label, pc : its name, and the pc of its first instruction.
    predecessors, successors : labels; "exit" is the end of the thread.
    depth : loops around it.
    header : it is where a loop is entered.
    reconvergence : for a conditional branch, the label of the block where its lanes meet again ("exit": not
        before the end).
    divergent : that branch may part the lanes of a warp.
    live_in : registers alive at its start, as text.
    rows : its instructions.
    """

    label: str
    pc: int
    predecessors: tuple[str, ...]
    successors: tuple[str, ...]
    depth: int
    header: bool
    reconvergence: str | None
    divergent: bool
    live_in: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A kernel's machine code, ready to be shown.

    Parameters
    ----------
    name, registers, predicates, shared_bytes, local_bytes : of the kernel; registers is 0 before allocation.
    instructions : how many.
    pressure : most registers alive after an instruction.
    loops : one line each.
    blocks : in layout order.
    """

    name: str
    registers: int
    predicates: int
    shared_bytes: int
    local_bytes: int
    instructions: int
    pressure: int
    loops: tuple[str, ...]
    blocks: tuple[BlockListing, ...]


class _Alive(Protocol):
    """What thread and warp liveness have in common."""

    at_start: list[Live]

    def after(self, block: int) -> list[Live]: ...


def listing(kernel: Kernel, liveness: Callable[[Kernel, Cfg], _Alive] = thread_liveness) -> Listing:
    """The listing of a kernel.

    Parameters
    ----------
    liveness : which liveness to show: `thread_liveness` (the default) or `simt_liveness`.
    """
    cfg = Cfg(kernel)
    live = liveness(kernel, cfg)
    divergent = Divergence(kernel, cfg).divergent_branches
    labels = [*cfg.labels, "exit"]
    headers = {h for loop in cfg.loops for h in loop.headers}
    branches = cfg.branches()
    blocks = []
    for b, block in enumerate(kernel.blocks):
        rows = []
        for i, (instr, after) in enumerate(zip(block.instrs, live.after(b), strict=True)):
            dies = tuple(str(Reg(r)) for r in instr.registers_read() if not after.registers >> r & 1)
            rows.append(
                Row(cfg.starts[b] + i, disassemble(instr), instr.line, after.registers.bit_count(), dies)
            )
        at_start: Live = live.at_start[b]
        blocks.append(
            BlockListing(
                block.label,
                cfg.starts[b],
                tuple(labels[p] for p in cfg.predecessors[b]),
                tuple(labels[s] for s in cfg.successors[b]),
                cfg.depth(b),
                b in headers,
                labels[cfg.meets[b]] if b in branches else None,
                b in divergent,
                tuple(str(Reg(r)) for r in members(at_start.registers)),
                tuple(rows),
            )
        )
    loops = tuple(_loop_line(loop, labels) for loop in cfg.loops)
    pressure = max([row.live for block in blocks for row in block.rows], default=0)
    return Listing(
        kernel.name,
        kernel.registers,
        kernel.predicates,
        kernel.shared_bytes,
        kernel.local_bytes,
        cfg.starts[-1],
        pressure,
        loops,
        tuple(blocks),
    )


def _loop_line(loop: Loop, labels: list[str]) -> str:
    headers = ", ".join(labels[h] for h in loop.headers)
    kind = "" if loop.reducible else ", irreducible"
    return f"{'  ' * (loop.depth - 1)}loop at {headers}: {len(loop.blocks)} blocks, depth {loop.depth}{kind}"


def render(shown: Listing) -> list[str]:
    """A listing as lines of text."""
    lines = [
        f"{shown.name}: {shown.instructions} instructions, {shown.registers} registers, {shown.predicates} "
        f"predicates, {shown.shared_bytes} bytes shared, {shown.local_bytes} bytes local, at most "
        f"{shown.pressure} registers alive"
    ]
    for block in shown.blocks:
        lines += ["", flow_line(block)]
        if block.live_in:
            lines.append(f"    alive: {' '.join(block.live_in)}")
        width = max([len(row.text) for row in block.rows], default=0)
        for row in block.rows:
            dies = f"  last use of {' '.join(row.dies)}" if row.dies else ""
            lines.append(f"  {row.pc:5}  {row.text:<{width}}  ; {row.live:3} alive{dies}")
    return lines


def flow_line(block: BlockListing) -> str:
    """Block of the control flow graph as one line: where it comes from and leads to."""
    facts = [f"from {', '.join(block.predecessors) or 'nowhere'}", f"to {', '.join(block.successors)}"]
    if block.depth:
        facts.append(f"loop depth {block.depth}{' (header)' if block.header else ''}")
    if block.reconvergence is not None:
        facts.append(
            f"{'divergent' if block.divergent else 'uniform'} branch, lanes meet at {block.reconvergence}"
        )
    return f"{block.label}:  {'; '.join(facts)}"


def flow(kernel: Kernel) -> list[str]:
    """Control flow graph as text, one line per block."""
    return [flow_line(block) for block in listing(kernel).blocks]
