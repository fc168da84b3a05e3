"""Constant folding: known operands make instructions simpler, neutral elements are dropped."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.program.isa import PT, Cmp, DType, Imm, Instr, Op, Pred, Source
from warpbank.program.lowering.cleanup.facts import Facts, sign_from, zero_above

_MASK = 0xFFFFFFFF


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _shift_right(instr: Instr, a: int, b: int) -> int:
    return (_signed(a) if instr.dtype == DType.S32 else a) >> b & _MASK


def _field(instr: Instr, a: int, b: int, c: int) -> int:
    """PTX bfe."""
    position, length = b & 0xFF, c & 0xFF
    signed = instr.dtype == DType.S32
    if length == 0:
        return 0
    value = (_signed(a) if signed else a) >> position & (1 << length) - 1
    if signed and value >> length - 1:
        value -= 1 << length
    return value & _MASK


def _table(instr: Instr, a: int, b: int, c: int) -> int:
    result = 0
    for i in range(8):
        if instr.aux >> i & 1:
            result |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return result & _MASK


_EVALUATE: dict[Op, Callable[..., int]] = {
    Op.IADD: lambda i, a, b: a + b & _MASK,
    Op.ISUB: lambda i, a, b: a - b & _MASK,
    Op.IMUL: lambda i, a, b: a * b & _MASK,
    Op.IMAD: lambda i, a, b, c: a * b + c & _MASK,
    Op.AND: lambda i, a, b: a & b,
    Op.OR: lambda i, a, b: a | b,
    Op.XOR: lambda i, a, b: a ^ b,
    Op.NOT: lambda i, a: ~a & _MASK,
    Op.SHL: lambda i, a, b: a << min(b, 32) & _MASK,
    Op.SHR: _shift_right,
    Op.BFE: _field,
    Op.LOP3: _table,
}

_COMPARE: dict[Cmp, Callable[[int, int], bool]] = {
    Cmp.EQ: lambda a, b: a == b,
    Cmp.NE: lambda a, b: a != b,
    Cmp.LT: lambda a, b: a < b,
    Cmp.LE: lambda a, b: a <= b,
    Cmp.GT: lambda a, b: a > b,
    Cmp.GE: lambda a, b: a >= b,
}


def fold(instr: Instr, facts: Facts) -> list[Instr] | None:
    """Simpler replacement of an instruction; None: leave it. Its predicate results are made by instructions
    of their own."""
    if instr.op == Op.IADDC and instr.psrc[0].index == PT:
        return _resolve_carry(instr, Op.IADD, int(not instr.psrc[0].negated))
    if instr.op == Op.ISUBC and instr.psrc[0].index == PT and not instr.psrc[0].negated:
        return [instr.copy(op=Op.ISUB, psrc=())]
    if instr.op == Op.SEL and instr.psrc[0].index == PT:
        return [_move(instr, instr.srcs[1 if instr.psrc[0].negated else 0])]
    if instr.op == Op.SEL and instr.srcs[0] == instr.srcs[1]:
        return [_move(instr, instr.srcs[0])]
    if instr.op == Op.ISETP and not instr.psrc and all(isinstance(s, Imm) for s in instr.srcs):
        return _constant_compare(instr)
    if instr.op not in _EVALUATE:
        return None
    carry = instr.pdst[0] if instr.pdst else None
    values = [s.value & _MASK for s in instr.srcs if isinstance(s, Imm)]
    if len(values) == len(instr.srcs):
        made = [_move(instr, Imm(_EVALUATE[instr.op](instr, *values)))]
        if carry is not None:
            over = values[0] + values[1] > _MASK if instr.op == Op.IADD else values[0] >= values[1]
            made.append(_constant(instr, carry, over))
        return made
    kept = _neutral(instr, facts)
    if kept is None:
        return None
    made = [_move(instr, kept)]
    if carry is not None:
        made.append(_constant(instr, carry, instr.op == Op.ISUB))
    return made


def _resolve_carry(instr: Instr, op: Op, carry: int) -> list[Instr] | None:
    """a + b + carry with a known carry: without one an addition, with one if a constant can take it in."""
    if not carry:
        return [instr.copy(op=op, psrc=())]
    for i in (0, 1):
        source = instr.srcs[i]
        if isinstance(source, Imm) and source.value & _MASK != _MASK:
            srcs = list(instr.srcs)
            srcs[i] = Imm((source.value & _MASK) + 1)
            return [instr.copy(op=op, psrc=(), srcs=tuple(srcs))]
    return None


def _move(instr: Instr, source: Source) -> Instr:
    return Instr(Op.MOV, dst=instr.dst, srcs=(source,), guard=instr.guard, line=instr.line)


def _constant(instr: Instr, predicate: int, value: bool) -> Instr:
    return Instr(
        Op.PLOP, pdst=(predicate,), psrc=(Pred(PT, not value),), aux=0xF0, guard=instr.guard, line=instr.line
    )


def _constant_compare(instr: Instr) -> list[Instr]:
    """A comparison of two constants."""
    a, b = (s.value & _MASK for s in instr.srcs if isinstance(s, Imm))
    if instr.dtype == DType.S32:
        a, b = _signed(a), _signed(b)
    holds = _COMPARE[instr.cmp](a, b)
    return [_constant(instr, p, holds != bool(i)) for i, p in enumerate(instr.pdst)]


def _neutral(instr: Instr, facts: Facts) -> Source | None:
    """The source that an instruction merely copies, or the zero it makes."""
    a = instr.srcs[0]
    b = instr.srcs[1] if len(instr.srcs) > 1 else None
    op = instr.op
    if op in (Op.AND, Op.OR, Op.XOR, Op.IADD, Op.IMUL) and isinstance(a, Imm):
        a, b = b if b is not None else a, a
    if op == Op.BFE:
        return _needless_field(instr, facts)
    if not isinstance(b, Imm):
        return None
    constant = b.value & _MASK
    if op in (Op.IADD, Op.ISUB, Op.OR, Op.XOR, Op.SHL, Op.SHR) and constant == 0:
        return a
    if op == Op.IMUL and constant == 1:
        return a
    if op in (Op.IMUL, Op.AND) and constant == 0:
        return Imm(0)
    if op == Op.SHL and constant >= 32:
        return Imm(0)
    if op == Op.AND:
        ones = constant.bit_length()
        if constant == (1 << ones) - 1 and zero_above(facts, a) <= ones:
            return a
    return None


def _needless_field(instr: Instr, facts: Facts) -> Source | None:
    """The source of a BFE that extends what is extended already."""
    a, position, length = instr.srcs
    if not (isinstance(position, Imm) and isinstance(length, Imm)) or position.value & 0xFF:
        return None
    bits = length.value & 0xFF
    known = sign_from(facts, a) if instr.dtype == DType.S32 else zero_above(facts, a)
    return a if known <= bits else None
