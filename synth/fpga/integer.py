"""The demonstrator's integer unit: one lane of what `program.isa` calls integer, bit and predicate instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from program.isa import SHF_LEFT_CLAMP, SHF_LEFT_HI64, SHF_LEFT_WRAP, SHF_RIGHT_CLAMP, SHF_RIGHT_LO64, BoolOp, Cmp

from .image import Do


@dataclass(frozen=True)
class Lane:
    """What a lane reads: operand words, and up to three predicates."""

    a: Value
    b: Value
    c: Value
    c_high: Value
    q0: Value
    q1: Value
    q2: Value


def arithmetic(m: Module, micro: Any, lane: Lane, name: str) -> tuple[Signal, Signal, Signal]:
    """Everything but products, for one lane. Combinational. Returns the result and the predicates p0 and p1 (p1: the comparison
    the other way round)."""
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
        for cmp, value in ((Cmp.EQ, equal), (Cmp.NE, ~equal), (Cmp.LT, less), (Cmp.LE, less | equal), (Cmp.GT, ~less & ~equal),
                           (Cmp.GE, ~less)):
            with m.Case(cmp):
                m.d.comb += compared.eq(value)
    wide = Signal(name=f"wide_{name}")  # the comparison of pairs, from that of their low words, q0
    with m.Switch(micro.cmp):
        with m.Case(Cmp.EQ):
            m.d.comb += wide.eq(equal & lane.q0)
        with m.Case(Cmp.NE):
            m.d.comb += wide.eq(~equal | lane.q0)
        with m.Case(Cmp.LT, Cmp.LE):
            m.d.comb += wide.eq(less | equal & lane.q0)
        with m.Case(Cmp.GT, Cmp.GE):
            m.d.comb += wide.eq(~less & ~equal | equal & lane.q0)
    with m.Switch(micro.do):
        with m.Case(Do.ADD, Do.ADDC, Do.SUB, Do.SUBC):
            m.d.comb += [result.eq(total[:32]), p0.eq(total[32])]
        with m.Case(Do.SETP):
            _combine(m, micro, compared, lane.q0, p0, p1)
        with m.Case(Do.SETPX):
            _combine(m, micro, wide, lane.q1, p0, p1)
        with m.Case(Do.PLOP):
            m.d.comb += p0.eq(micro.aux.bit_select(Cat(lane.q2, lane.q1, lane.q0), 1))
        for do, value in (
            (Do.MOV, a), (Do.SEL, Mux(lane.q0, a, b)), (Do.MIN, Mux(less, a, b)), (Do.MAX, Mux(less, b, a)),
            (Do.ABS, Mux(a[31], -a, a)), (Do.AND, a & b), (Do.OR, a | b), (Do.XOR, a ^ b), (Do.NOT, ~a),
            (Do.SHL, _left(a, b)), (Do.SHR, _right(a, b, micro.signed)), (Do.SHF, _funnel(micro, a, b, lane.c)),
        ):
            with m.Case(do):
                m.d.comb += result.eq(value)
    return result, p0, p1


def _combine(m: Module, micro: Any, compared: Value, q: Value, p0: Signal, p1: Signal) -> None:
    """A comparison joined with a predicate."""
    with m.Switch(micro.boolop):
        for how, join in ((BoolOp.AND, lambda x: x & q), (BoolOp.OR, lambda x: x | q), (BoolOp.XOR, lambda x: x ^ q)):
            with m.Case(how):
                m.d.comb += [p0.eq(join(compared)), p1.eq(join(~compared))]


def _amount(b: Value, most: int) -> Value:
    """min(b, most), `most` a power of two."""
    width = most.bit_length()
    return Mux(b >= most, Const(most, width), b[:width])


def _left(a: Value, b: Value) -> Value:
    return (a << _amount(b, 32))[:32]


def _right(a: Value, b: Value, signed: Value) -> Value:
    sign = signed & a[31]
    return (Cat(a, sign.replicate(32)) >> _amount(b, 32))[:32]


def _funnel(micro: Any, low: Value, high: Value, c: Value) -> Value:
    """The funnel shifts of `program.isa`, by mode."""
    both = Cat(low, high)
    sign = micro.signed & high[31]
    modes = {
        SHF_LEFT_WRAP: (both << c[:5])[32:64],
        SHF_LEFT_CLAMP: (both << _amount(c, 32))[32:64],
        SHF_LEFT_HI64: (both << _amount(c, 64))[32:64],
        SHF_RIGHT_LO64: (Cat(both, sign.replicate(64)) >> _amount(c, 64))[:32],
        SHF_RIGHT_CLAMP: (both >> _amount(c, 32))[:32],
    }
    right_wrap = (both >> c[:5])[:32]
    return Array([modes.get(mode, right_wrap) for mode in range(8)])[micro.aux[:3]]


def product(m: Module, micro: Any, a: Value, b: Value, c: Value, name: str) -> Signal:
    """a * b + c, 64 bits, of one lane; a cycle later. `c` is 64 bits. The upper word alone is asked for by MULHI, which adds c to
    it."""
    long_a, long_b = Cat(a, micro.signed & a[31]).as_signed(), Cat(b, micro.signed & b[31]).as_signed()
    found = Signal(64, name=f"product_{name}", reset_less=True)
    m.d.sync += found.eq((long_a * long_b)[:64] + c)
    return found
