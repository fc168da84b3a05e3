"""The demonstrator's integer unit computes what the emulator's definition of each operation says."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from warpbank.program.isa import BoolOp, Cmp
from warpbank.synth.fpga.image import MICRO, OPERANDS, Do
from warpbank.synth.fpga.integer import Lane, arithmetic, product

M32, M64 = 2**32 - 1, 2**64 - 1


class OneLane(wiring.Component):
    """One lane of both units, with ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "micro": In(MICRO),
                **{name: In(32) for name in OPERANDS},
                **{f"q{i}": In(1) for i in range(3)},
                "result": Out(32),
                "p0": Out(1),
                "p1": Out(1),
                "product": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = {name: getattr(self, name) for name in OPERANDS}
        result, p0, p1 = arithmetic(m, self.micro, Lane(**words, q0=self.q0, q1=self.q1, q2=self.q2), "lane")
        third = Signal(64)
        m.d.comb += [
            self.result.eq(result),
            self.p0.eq(p0),
            self.p1.eq(p1),
            third.eq(self.c | self.c_high << 32),
            self.product.eq(product(m, self.micro, self.a, self.b, third, "lane")),
        ]
        return m


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def compare(cmp: int, a: int, b: int) -> bool:
    return (a == b, a != b, a < b, a <= b, a > b, a >= b)[cmp]


def join(boolop: int, one: int, other: int) -> int:
    return {BoolOp.AND: one & other, BoolOp.OR: one | other, BoolOp.XOR: one ^ other}[BoolOp(boolop)]


def funnel(mode: int, low: int, high: int, amount: int, arithmetic_: bool) -> int:
    both = high << 32 | low
    if mode in (0, 1, 4):
        by = amount & 31 if mode == 0 else min(amount, 32 if mode == 1 else 64)
        return both << by >> 32 & M32
    by = amount & 31 if mode == 2 else min(amount, 32 if mode == 3 else 64)
    return (signed(both, 64) if mode == 5 and arithmetic_ else both) >> by & M32


def expected(
    do: Do, f: dict[str, int], a: int, b: int, c: int, q: tuple[int, ...]
) -> tuple[int | None, int | None, int | None]:
    """Result and predicates; None: of no meaning."""
    left, right = (signed(a), signed(b)) if f["signed"] else (a, b)
    if do in (Do.ADD, Do.ADDC, Do.SUB, Do.SUBC):
        carry = {Do.ADD: 0, Do.ADDC: q[0], Do.SUB: 1, Do.SUBC: q[0]}[do]
        total = a + (b if do in (Do.ADD, Do.ADDC) else b ^ M32) + carry
        return total & M32, total >> 32, None
    if do is Do.SETP:
        found = compare(f["cmp"], left, right)
        return None, join(f["boolop"], found, q[0]), join(f["boolop"], not found, q[0])
    if do is Do.SETPX:
        strict = {Cmp.LT: left < right, Cmp.LE: left < right, Cmp.GT: left > right, Cmp.GE: left > right}
        ordered = strict.get(Cmp(f["cmp"])) or (a == b and q[0])
        found = {Cmp.EQ: a == b and q[0], Cmp.NE: a != b or q[0]}.get(Cmp(f["cmp"]), ordered)
        return None, join(f["boolop"], int(bool(found)), q[1]), join(f["boolop"], int(not found), q[1])
    if do is Do.PLOP:
        return None, f["aux"] >> (q[0] << 2 | q[1] << 1 | q[2]) & 1, None
    result = {
        Do.MOV: a,
        Do.SEL: a if q[0] else b,
        Do.MIN: min(left, right),
        Do.MAX: max(left, right),
        Do.ABS: abs(signed(a)),
        Do.AND: a & b,
        Do.OR: a | b,
        Do.XOR: a ^ b,
        Do.NOT: ~a,
        Do.SHL: a << min(b, 32),
        Do.SHR: left >> min(b, 32),
        Do.SHF: funnel(f["aux"], a, b, c, bool(f["signed"])),
    }[do]
    return result & M32, None, None


def word(rng: random.Random) -> int:
    return rng.choice((0, 1, 31, 32, 33, 63, 64, M32, 1 << 31, rng.getrandbits(32), rng.getrandbits(6)))


def run(bench: Any) -> None:
    unit = OneLane()
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)

    async def testbench(ctx: Any) -> None:
        await bench(ctx, unit)

    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize(
    "do", [do for do in Do if do.name not in ("NOTHING", "GIVEN", "MEMORY", "MUL", "MULHI", "MULW")]
)
def test_arithmetic(do: Do) -> None:
    rng = random.Random(int(do))

    async def bench(ctx: Any, unit: OneLane) -> None:
        for number in range(150):
            f = {
                "do": int(do),
                "signed": rng.getrandbits(1),
                "cmp": rng.randrange(6),
                "boolop": rng.randrange(3),
                "aux": rng.randrange(6) if do is Do.SHF else rng.getrandbits(8),
            }
            a, b, c = (word(rng) for _ in range(3))
            b = a if rng.random() < 0.2 else b
            q = tuple(rng.getrandbits(1) for _ in range(3))
            for name, value in (("a", a), ("b", b), ("c", c), ("q0", q[0]), ("q1", q[1]), ("q2", q[2])):
                ctx.set(getattr(unit, name), value)
            ctx.set(unit.micro, f)
            await ctx.delay(1e-9)
            for name, value in zip(("result", "p0", "p1"), expected(do, f, a, b, c, q), strict=True):
                if value is not None:
                    case = f"seed {int(do)}, {number}: {name} of {do.name} {f} {a:x} {b:x} {c:x} {q}"
                    assert ctx.get(getattr(unit, name)) == value, case

    run(bench)


def test_products() -> None:
    rng = random.Random(1)

    async def bench(ctx: Any, unit: OneLane) -> None:
        for _ in range(200):
            a, b, c, c_high, is_signed = word(rng), word(rng), word(rng), word(rng), rng.getrandbits(1)
            for name, value in (("a", a), ("b", b), ("c", c), ("c_high", c_high)):
                ctx.set(getattr(unit, name), value)
            ctx.set(unit.micro, {"do": int(Do.MULW), "signed": is_signed})
            await ctx.tick()
            x, y = (signed(a), signed(b)) if is_signed else (a, b)
            assert ctx.get(unit.product) == (x * y + (c_high << 32 | c)) & M64, f"seed 1: {a:x} {b:x}"

    run(bench)
