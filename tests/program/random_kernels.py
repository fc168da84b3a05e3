"""Random machine code, and a reading of it one lane at a time: the material of the tests of liveness,
allocation and scheduling.

The kernels are not structured: any block may go to any other. Registers are groups of one, two and four
words, written whole or word by word, under guards or not, and read before they are written now and then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.program.graphs import kernel_of
from warpbank.program.cfg import always
from warpbank.program.isa import (
    PT,
    RZ,
    VIRTUAL_PREDICATE,
    Block,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Space,
    Sreg,
)

M32 = 0xFFFF_FFFF


def random_kernel(
    seed: int, blocks: int = 6, length: int = 8, groups: int = 12, predicates: int = 5, barriers: float = 0.0
) -> Kernel:
    """A kernel made from a seed. barriers: how often an instruction is a CTA barrier."""
    rng = Random(seed)
    kinds = ["fall", "jump", "branch", "branch", "branch", "maybe_exit"]
    kernel = kernel_of(
        [(rng.choice(kinds), rng.randrange(blocks + 1)) for _ in range(rng.randint(1, blocks))]
    )
    kernel.predicates = 0
    registers = [kernel.new_register(rng.choice((1, 1, 1, 2, 2, 4))) for _ in range(rng.randint(2, groups))]
    tests = [kernel.new_predicate() for _ in range(rng.randint(1, predicates))]
    maker = _Maker(rng, registers, tests, barriers)
    for b, block in enumerate(kernel.blocks):
        end = [i for i in block.instrs if i.op in (Op.BRA, Op.EXIT)]
        for last in end:
            if last.guard is not None:
                last.guard = maker.predicate()
        start = [maker.define(r) for r in registers if rng.random() < 0.7] if b == 0 else []
        block.instrs = start + [maker.instr() for _ in range(rng.randint(0, length))] + end
    kernel.blocks[-1].instrs[:-1] += [maker.store(r) for r in registers]
    return kernel


class _Maker:
    def __init__(self, rng: Random, registers: list[Reg], predicates: list[int], barriers: float) -> None:
        self.rng, self.registers, self.predicates, self.barriers = rng, registers, predicates, barriers

    def predicate(self) -> Pred:
        return Pred(self.rng.choice(self.predicates), self.rng.random() < 0.5)

    def target(self, width: int) -> Reg | None:
        fits = [r for r in self.registers if r.width >= width]
        if not fits:
            return None
        group = self.rng.choice(fits)
        return Reg(group.index + self.rng.randrange(0, group.width, width), width)

    def source(self) -> Reg | Imm | Const:
        draw = self.rng.random()
        if draw < 0.1:
            return Imm(self.rng.randrange(8))
        if draw < 0.15:
            return Const(0x160 + 4 * self.rng.randrange(4))
        if draw < 0.18:
            return Reg(RZ)
        return self.target(1) or Imm(0)

    def define(self, register: Reg) -> Instr:
        rng = self.rng
        if register.width == 1:
            return rng.choice(
                [
                    Instr(Op.MOV, dst=register, srcs=(Imm(rng.randrange(1 << 16)),)),
                    Instr(Op.MOV, dst=register, srcs=(Const(0x160 + 4 * rng.randrange(4)),)),
                    Instr(Op.S2R, dst=register, aux=int(rng.choice((Sreg.LANEID, Sreg.CTAID_X, Sreg.TID_X)))),
                    self.load(register),
                ]
            )
        return self.load(register)

    def load(self, register: Reg) -> Instr:
        return Instr(
            Op.LD,
            dst=register,
            srcs=(self.source(),),
            size=4 * register.width,
            space=Space.SHARED,
            offset=16 * self.rng.randrange(4),
        )

    def store(self, register: Reg) -> Instr:
        return Instr(
            Op.ST,
            srcs=(Imm(0), register),
            size=4 * register.width,
            space=Space.SHARED,
            offset=16 * self.rng.randrange(4),
        )

    def instr(self) -> Instr:
        rng = self.rng
        if rng.random() < self.barriers:
            return Instr(Op.BAR, srcs=(Imm(0),))
        made = self._instr()
        if rng.random() < 0.3 and made.op is not Op.NOP:
            made.guard = (
                Pred(rng.choice(made.pdst), rng.random() < 0.5)
                if made.pdst and rng.random() < 0.3
                else self.predicate()
            )
        return made

    def _instr(self) -> Instr:
        rng = self.rng
        single = self.target(1) or Reg(RZ)
        pair = self.target(2)
        quad = self.target(4)
        kind = rng.randrange(12)
        if kind == 0:
            return self.define(rng.choice(self.registers))
        if kind in (1, 2):
            wide = rng.choice([w for w in (single, pair) if w])
            return Instr(Op.MOV, dst=wide, srcs=(self.target(wide.width) or single,))
        if kind == 3 and pair:
            return Instr(Op.IMULW, dst=pair, srcs=(self.source(), self.source()))
        if kind == 4 and quad:
            return rng.choice([self.load(quad), self.store(quad)])
        if kind == 5:
            return self.store(rng.choice([w for w in (single, pair) if w]))
        if kind in (6, 7):
            p = rng.sample(self.predicates, min(len(self.predicates), rng.randint(1, 2)))
            q = (self.predicate(),) if rng.random() < 0.5 else ()
            return Instr(
                Op.ISETP,
                srcs=(self.source(), self.source()),
                pdst=tuple(p),
                psrc=q,
                cmp=rng.choice((Cmp.LT, Cmp.NE)),
            )
        if kind == 8:
            return Instr(Op.SEL, dst=single, srcs=(self.source(), self.source()), psrc=(self.predicate(),))
        if kind == 9:
            return Instr(
                Op.IADD,
                dst=single,
                srcs=(self.source(), self.source()),
                pdst=(rng.choice([*self.predicates, PT]),),
            )
        return Instr(rng.choice((Op.IADD, Op.XOR)), dst=single, srcs=(self.source(), self.source()))


@dataclass
class Lane:
    """One thread's state. An undefined value is None, and so is whatever is computed from one."""

    lane: int = 0
    registers: dict[int, int | None] = field(default_factory=dict)
    predicates: dict[int, bool | None] = field(default_factory=dict)
    local: dict[int, int | None] = field(default_factory=dict)
    memory: dict[int, int | None] = field(default_factory=dict)
    stores: list[tuple[int, tuple[int | None, ...]]] = field(default_factory=list)

    def words(self, s: Reg | Imm | Const) -> list[int | None]:
        if isinstance(s, Imm):
            return [s.value >> (32 * i) & M32 for i in range(s.width)]
        if isinstance(s, Const):
            return [(s.offset + 4 * i) * 0x9E37 & M32 for i in range(s.width)]
        return [0] * s.width if s.index == RZ else [self.registers.get(s.index + i) for i in range(s.width)]

    def holds(self, p: Pred) -> bool | None:
        value = True if p.index == PT else self.predicates.get(p.index)
        return None if value is None else value != p.negated

    def execute(self, instr: Instr) -> None:
        """One instruction whose guard may be undefined (then its results are)."""
        runs: bool | None = True if always(instr) else self.holds(instr.guard)  # type: ignore[arg-type]
        if runs is False:
            return
        results, tests = self.compute(instr, runs)
        if instr.dst is not None and instr.dst.index != RZ:
            for i, value in enumerate(results):
                self.registers[instr.dst.index + i] = value if runs else None
        for p, test in zip(instr.pdst, tests, strict=False):
            if p != PT:
                self.predicates[p] = test if runs else None

    def compute(self, instr: Instr, runs: bool | None) -> tuple[list[int | None], list[bool | None]]:
        sources = [self.words(s) for s in instr.srcs]
        flags = [self.holds(q) for q in instr.psrc]
        op = instr.op
        if op is Op.MOV:
            return sources[0], []
        if op is Op.S2R:
            return [self.lane if instr.aux in (Sreg.LANEID, Sreg.TID_X) else 7 * instr.aux], []
        if op is Op.SEL:
            return [None] if flags[0] is None else sources[0 if flags[0] else 1], []
        if op is Op.LD:
            space = self.local if instr.space is Space.LOCAL else self.memory
            at = sources[0][0]
            return [
                None if at is None else space.get(at % 256 + instr.offset + 4 * i, self._fresh(instr, at, i))
                for i in range(instr.size // 4)
            ], []
        if op is Op.ST:
            at = sources[0][0]
            assert at is not None
            space = self.local if instr.space is Space.LOCAL else self.memory
            for i, value in enumerate(sources[1]):
                space[at + instr.offset + 4 * i] = value if runs else None
            if instr.space is not Space.LOCAL:
                self.stores.append(
                    (at + instr.offset, tuple(sources[1]) if runs else (None,) * len(sources[1]))
                )
            return [], []
        if op in (Op.NOP, Op.BRA, Op.EXIT, Op.BAR):
            return [], []
        if any(w is None for s in sources for w in s) or None in flags:
            return [None] * (instr.dst.width if instr.dst else 0), [None] * len(instr.pdst)
        a, b = sources[0][0], sources[1][0]
        assert a is not None
        assert b is not None
        if op is Op.IADD:
            return [(a + b) & M32], [a + b > M32]
        if op is Op.XOR:
            return [a ^ b], []
        if op is Op.IMULW:
            return [a * b & M32, a * b >> 32], []
        assert op is Op.ISETP
        test = a < b if instr.cmp is Cmp.LT else a != b
        other = flags[0] if flags else True
        return [], [test and other, not test and other]

    def _fresh(self, instr: Instr, at: int, i: int) -> int | None:
        if instr.space is Space.LOCAL:
            return None
        return (at * 31 + instr.offset + i * 17 + self.lane * 101) & 0xFF


def run_lane(kernel: Kernel, lane: int = 0, steps: int = 400) -> tuple[Lane, list[str]]:
    """Run one thread; its final state and the labels of the blocks that it went through. A branch or store on
    an undefined predicate ends the run, as does the limit of blocks."""
    state, trail = Lane(lane), []
    index = {b.label: i for i, b in enumerate(kernel.blocks)}
    at = 0
    while at < len(kernel.blocks) and len(trail) < steps:
        block = kernel.blocks[at]
        trail.append(block.label)
        following = at + 1
        for instr in block.instrs:
            if instr.op in (Op.BRA, Op.EXIT):
                taken = True if always(instr) else state.holds(instr.guard)  # type: ignore[arg-type]
                if taken is None:
                    return state, trail
                if taken:
                    following = index[instr.target] if instr.op is Op.BRA else len(kernel.blocks)  # type: ignore[index]
                break
            observed = instr.op is Op.ST and instr.space is not Space.LOCAL
            if observed and instr.guard is not None and state.holds(instr.guard) is None:
                return state, trail
            state.execute(instr)
        at = following
    return state, trail


def same_behaviour(one: Kernel, other: Kernel, lanes: tuple[int, ...] = (0, 1, 5)) -> None:
    """Assert that every thread stores the same defined values in the same order."""
    for lane in lanes:
        a, trail_a = run_lane(one, lane)
        b, trail_b = run_lane(other, lane)
        n = len(trail_a)
        assert trail_a == trail_b[:n]  # what is undefined before may be anything after
        for (at, values), (there, others) in zip(a.stores, b.stores, strict=False):
            assert at == there
            assert all(x is None or x == y for x, y in zip(values, others, strict=True)), (at, values, others)
        assert len(b.stores) >= len(a.stores)


__all__ = ["VIRTUAL_PREDICATE", "Block", "DType", "Lane", "random_kernel", "run_lane", "same_behaviour"]
