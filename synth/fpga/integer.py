"""Integer unit of the demonstrator: one lane of what `warpbank.program.isa` calls integer, bit and predicate
instructions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from warpbank.hdl.typed import Record
from warpbank.program.isa import (
    SHF_LEFT_CLAMP,
    SHF_LEFT_HI64,
    SHF_LEFT_WRAP,
    SHF_RIGHT_CLAMP,
    SHF_RIGHT_LO64,
    BoolOp,
    Cmp,
)
from warpbank.synth.fpga.image import Do


@dataclass(frozen=True)
class Lane:
    """Inputs of a lane: operand words, and up to three predicates."""

    a: Value
    b: Value
    c: Value
    c_high: Value
    q0: Value
    q1: Value
    q2: Value


def arithmetic(
    m: Module, micro: Record, lane: Lane, name: str, operations: frozenset[Do] = frozenset(Do)
) -> tuple[Signal, Signal, Signal]:
    """Arithmetic of one lane, all but products: the operations of `operations`. Combinational. Returns the
    result and the predicates p0 and p1 (p1: the comparison the other way round)."""
    a, b = lane.a, lane.b
    result, p0, p1 = Signal(32, name=f"result_{name}"), Signal(name=f"p0_{name}"), Signal(name=f"p1_{name}")
    less = Signal(name=f"less_{name}")
    equal = a == b
    # With the sign bits turned over, signed numbers compare as unsigned ones.
    flip = micro.signed << 31
    m.d.comb += less.eq((a ^ flip) < (b ^ flip))
    total = Signal(33, name=f"sum_{name}")
    minus = (micro.do == Do.SUB) | (micro.do == Do.SUBC)
    carry = Mux((micro.do == Do.ADDC) | (micro.do == Do.SUBC), lane.q0, minus)
    m.d.comb += total.eq(a + (b ^ minus.replicate(32)) + carry)
    compared = Signal(name=f"compared_{name}")
    with m.Switch(micro.cmp):
        for cmp, value in (
            (Cmp.EQ, equal),
            (Cmp.NE, ~equal),
            (Cmp.LT, less),
            (Cmp.LE, less | equal),
            (Cmp.GT, ~less & ~equal),
            (Cmp.GE, ~less),
        ):
            with m.Case(cmp):
                m.d.comb += compared.eq(value)
    wide = Signal(name=f"wide_comparison_{name}")  # the comparison of pairs, from that of their low words, q0
    with m.Switch(micro.cmp):
        with m.Case(Cmp.EQ):
            m.d.comb += wide.eq(equal & lane.q0)
        with m.Case(Cmp.NE):
            m.d.comb += wide.eq(~equal | lane.q0)
        with m.Case(Cmp.LT, Cmp.LE):
            m.d.comb += wide.eq(less | equal & lane.q0)
        with m.Case(Cmp.GT, Cmp.GE):
            m.d.comb += wide.eq(~less & ~equal | equal & lane.q0)
    shifted = _shifted(m, micro, a, b, lane.c, name)
    choices: list[tuple[tuple[Do, ...], Value]] = [
        ((Do.ADD, Do.ADDC, Do.SUB, Do.SUBC), total[:32]),
        ((Do.MOV,), a),
        ((Do.SEL,), Mux(lane.q0, a, b)),
        ((Do.MIN,), Mux(less, a, b)),
        ((Do.MAX,), Mux(less, b, a)),
        ((Do.ABS,), Mux(a[31], -a, a)),
        ((Do.AND,), a & b),
        ((Do.OR,), a | b),
        ((Do.XOR,), a ^ b),
        ((Do.NOT,), ~a),
        ((Do.SHL, Do.SHR, Do.SHF), shifted),
    ]
    with m.Switch(micro.do):
        for cases, value in choices:
            if operations.intersection(cases):
                with m.Case(*cases):
                    m.d.comb += result.eq(value)
    with m.Switch(micro.do):
        with m.Case(Do.SETP):
            _combine(m, micro, compared, lane.q0, p0, p1)
        if Do.SETPX in operations:
            with m.Case(Do.SETPX):
                _combine(m, micro, wide, lane.q1, p0, p1)
        with m.Case(Do.PLOP):
            m.d.comb += p0.eq(micro.aux.bit_select(Cat(lane.q2, lane.q1, lane.q0), 1))
        with m.Default():
            m.d.comb += p0.eq(total[32])  # of sums; nothing else names a predicate
    return result, p0, p1


def _combine(m: Module, micro: Record, compared: Value, q: Value, p0: Signal, p1: Signal) -> None:
    """A comparison joined with a predicate."""
    with m.Switch(micro.boolop):
        for how, join in (
            (BoolOp.AND, lambda x: x & q),
            (BoolOp.OR, lambda x: x | q),
            (BoolOp.XOR, lambda x: x ^ q),
        ):
            with m.Case(how):
                m.d.comb += [p0.eq(join(compared)), p1.eq(join(~compared))]


def _amount(b: Value, most: int) -> Value:
    """min(b, most), `most` a power of two."""
    width = most.bit_length()
    return Mux(b >= most, Const(most, width), b[:width])


def _shifted(m: Module, micro: Record, a: Value, b: Value, c: Value, name: str) -> Signal:
    """The shifts and the funnel shifts of `warpbank.program.isa`, which all take 32 bits out of 96. Shifting
    (high, low) left by n and taking the high word is the same as shifting (high, low, 0) right by 64 - n and
    taking the low one."""
    low, high, amount = (
        Signal(width, name=f"{part}_{name}") for part, width in (("low", 32), ("high", 32), ("amount", 7))
    )
    left, sign = Signal(name=f"left_{name}"), Signal(name=f"sign_{name}")
    mode = micro.aux[:3]
    with m.Switch(micro.do):
        with m.Case(Do.SHL):
            m.d.comb += [left.eq(1), high.eq(a), amount.eq(_amount(b, 32))]
        with m.Case(Do.SHR):
            m.d.comb += [
                sign.eq(micro.signed & a[31]),
                low.eq(a),
                high.eq(sign.replicate(32)),
                amount.eq(_amount(b, 32)),
            ]
        with m.Default():
            m.d.comb += [low.eq(a), high.eq(b), sign.eq(micro.signed & b[31])]
            m.d.comb += left.eq(
                reduce(or_, (mode == kind for kind in (SHF_LEFT_WRAP, SHF_LEFT_CLAMP, SHF_LEFT_HI64)))
            )
            with m.Switch(mode):
                with m.Case(SHF_LEFT_CLAMP, SHF_RIGHT_CLAMP):
                    m.d.comb += amount.eq(_amount(c, 32))
                with m.Case(SHF_LEFT_HI64, SHF_RIGHT_LO64):
                    m.d.comb += amount.eq(_amount(c, 64))
                with m.Default():
                    m.d.comb += amount.eq(c[:5])
    wide, by, shifted = (
        Signal(96, name=f"wide_{name}"),
        Signal(7, name=f"by_{name}"),
        Signal(32, name=f"shifted_{name}"),
    )
    m.d.comb += [
        wide.eq(Mux(left, Cat(Const(0, 32), low, high), Cat(low, high, sign.replicate(32)))),
        by.eq(Mux(left, 64 - amount, amount)),
        shifted.eq(wide >> by),
    ]
    return shifted


def product(m: Module, micro: Record, a: Value, b: Value, c: Value, name: str) -> Signal:
    """Product a * b + c, 64 bits, of one lane; a cycle later. `c` is 64 bits. The upper word alone is asked
    for by MULHI, which adds c to it."""
    long_a, long_b = Cat(a, micro.signed & a[31]).as_signed(), Cat(b, micro.signed & b[31]).as_signed()
    found = Signal(64, name=f"product_{name}", reset_less=True)
    m.d.sync += found.eq((long_a * long_b)[:64] + c)
    return found
