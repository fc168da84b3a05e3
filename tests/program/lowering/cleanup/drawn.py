"""Random kernels over virtual registers, with all that a clean-up pass may change."""

from __future__ import annotations

import random

from tests.program.lowering.cleanup.lane import COMPARE, M32, M64
from tests.program.lowering.cleanup.notation import p, pd, v
from warpbank.program.isa import PT, Block, DType, Imm, Instr, Kernel, Op, Pred, Reg, Source, Space
from warpbank.program.isa.operands import VIRTUAL, VIRTUAL_PREDICATE


class Drawn:
    """A random kernel: straight code, branches over it, and loops of a few trips.

    Registers and predicates that are read have been written on every path.

    Parameters
    ----------
    pick : draws it.
    """

    #: Numbers of the single registers, of the pairs and of the predicates.
    SINGLES, PAIRS, PREDICATES = range(16), range(16, 32, 2), range(6)
    _BINARY = (Op.IADD, Op.ISUB, Op.IMUL, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR)
    _CONSTANTS = (
        0,
        1,
        2,
        4,
        8,
        16,
        31,
        32,
        33,
        0xFF,
        0xFFFF,
        0x7FFFFFFF,
        0x80000000,
        0x80008000,
        M32,
        M32 - 1,
    )

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.blocks: list[Block] = [Block("b0")]
        self.words: set[int] = set()
        self.flags: set[int] = set()
        for _ in range(3):
            self.emit(Op.LD, self.single(), Imm(self.pick.randrange(64)), space=Space.SHARED)
        self.compare()
        self.sequence(2)
        for word in sorted(self.words):
            if self.pick.random() < 0.4:
                self.emit(Op.ST, None, Imm(4 * word), v(word))
        self.emit(Op.EXIT, None)
        groups = {VIRTUAL + n: 1 for n in self.SINGLES} | {VIRTUAL + n: 2 for n in self.PAIRS}
        self.kernel = Kernel("k", self.blocks, groups, len(self.PREDICATES), next_register=VIRTUAL + 32)

    def emit(self, op: Op, dst: Reg | None, *srcs: Source, **more: object) -> Instr:
        """Write an instruction, often one under a guard if what it writes has a value already."""
        instr = Instr(op, dst=dst, srcs=srcs)
        for name, value in more.items():
            setattr(instr, name, value)
        words = {index - VIRTUAL for index in instr.registers_written()}
        flags = {index - VIRTUAL_PREDICATE for index in instr.predicates_written()}
        again = words <= self.words and flags <= self.flags and op != Op.EXIT
        if instr.guard is None and again and self.flags and self.pick.random() < 0.3:
            instr.guard = self.flag()
        if instr.guard is None:
            self.words |= words
            self.flags |= flags
        self.blocks[-1].instrs.append(instr)
        return instr

    def single(self) -> Reg:
        """A register to write."""
        fresh = [n for n in self.SINGLES if n not in self.words]
        return v(self.pick.choice(fresh if fresh and self.pick.random() < 0.7 else list(self.SINGLES)))

    def pair(self) -> Reg:
        """A pair to write."""
        return v(self.pick.choice(list(self.PAIRS)), 2)

    def flag(self) -> Pred:
        """A predicate to read."""
        return p(self.pick.choice(sorted(self.flags)), self.pick.random() < 0.5)

    def source(self) -> Source:
        """A word to read."""
        if self.pick.random() < 0.3:
            return Imm(self.pick.choice(self._CONSTANTS))
        return v(self.pick.choice(sorted(self.words)))

    def register(self) -> Reg:
        """A register to read."""
        return v(self.pick.choice(sorted(self.words)))

    def wide(self) -> Source:
        """Two words to read."""
        there = [n for n in self.PAIRS if {n, n + 1} <= self.words]
        if there and self.pick.random() < 0.8:
            return v(self.pick.choice(there), 2)
        return Imm(self.pick.choice((0, 1, 1 << 32, 2 << 32 | 4, M64)), 2)

    def fresh_flag(self) -> int:
        """A predicate to write."""
        return pd(self.pick.choice(list(self.PREDICATES)))

    def compare(self) -> None:
        """A comparison."""
        both = (self.fresh_flag(),) if self.pick.random() < 0.7 else (self.fresh_flag(), PT)
        self.emit(
            Op.ISETP,
            None,
            self.source(),
            self.source(),
            pdst=both,
            cmp=self.pick.choice(list(COMPARE)),
            dtype=self.pick.choice((DType.U32, DType.S32)),
        )

    def sequence(self, depth: int) -> None:
        """Some code, which branches and loops up to a depth."""
        for _ in range(self.pick.randint(2, 7)):
            kind = self.pick.random()
            if depth and kind < 0.12:
                self.branch(depth - 1)
            elif depth and kind < 0.2:
                self.loop(depth - 1)
            else:
                self.pick.choice(self._KINDS)(self)

    def _begin(self) -> Block:
        self.blocks.append(Block(f"b{len(self.blocks)}"))
        return self.blocks[-1]

    def branch(self, depth: int) -> None:
        """Code that a branch goes around."""
        jump = self.emit(Op.BRA, None, guard=self.flag(), target="")
        before = set(self.words), set(self.flags)
        self._begin()
        self.sequence(depth)
        self.words, self.flags = before
        jump.target = self._begin().label

    def loop(self, depth: int) -> None:
        """Code that runs again as long as a predicate holds."""
        top = self._begin().label
        self.sequence(depth)
        self.emit(Op.BRA, None, guard=self.flag(), target=top)
        self._begin()

    def binary(self) -> None:
        op = self.pick.choice(self._BINARY)
        dtype = self.pick.choice((DType.U32, DType.S32))
        flags = (self.fresh_flag(),) if op in (Op.IADD, Op.ISUB) and self.pick.random() < 0.3 else ()
        self.emit(op, self.single(), self.source(), self.source(), dtype=dtype, pdst=flags)

    def move(self) -> None:
        self.emit(Op.MOV, self.single(), self.source())

    def ternary(self) -> None:
        kind = self.pick.choice((Op.IMAD, Op.LOP3, Op.BFE))
        amounts = (self.source(), self.source())
        if kind == Op.BFE:
            amounts = (
                Imm(self.pick.choice((0, 0, 1, 8, 300))),
                Imm(self.pick.choice((0, 8, 16, 32, 40, 256))),
            )
        dtype = self.pick.choice((DType.U32, DType.S32))
        self.emit(kind, self.single(), self.source(), *amounts, aux=self.pick.randrange(256), dtype=dtype)

    def carry(self) -> None:
        """Sum or difference of pairs, word by word."""
        subtract = self.pick.random() < 0.3
        first, second = (Op.ISUB, Op.ISUBC) if subtract else (Op.IADD, Op.IADDC)
        flag, dst = self.fresh_flag(), self.pair()
        a, b = self.wide(), self.wide()
        words = [[_word(s, i) for s in (a, b)] for i in (0, 1)]
        self.emit(first, dst.word(0), *words[0], pdst=(flag,), guard=None)
        self.emit(second, dst.word(1), *words[1], psrc=(p(flag - VIRTUAL_PREDICATE),))

    def product(self) -> None:
        dtype = self.pick.choice((DType.U32, DType.S32))
        self.emit(Op.IMULW, self.pair(), self.source(), self.source(), dtype=dtype)

    def multiply_add(self) -> None:
        """Product and sum, of words or of pairs."""
        if self.pick.random() < 0.5:
            fresh = [n for n in self.SINGLES if n not in self.words] or list(self.SINGLES)
            product = v(self.pick.choice(fresh))
            self.emit(Op.IMUL, product, self.source(), self.source())
            self.sum(product)
            return
        product = self.pair()
        self.emit(
            Op.IMULW, product, self.source(), self.source(), dtype=self.pick.choice((DType.U32, DType.S32))
        )
        if product.index - VIRTUAL not in self.words:
            return
        flag, dst, addend = self.fresh_flag(), self.pair(), self.wide()
        words = [[product.word(i), _word(addend, i)] for i in (0, 1)]
        if self.pick.random() < 0.5:
            words = [each[::-1] for each in words]
        guard = self.flag() if self.pick.random() < 0.2 and {flag - VIRTUAL_PREDICATE} <= self.flags else None
        low = self.emit(Op.IADD, dst.word(0), *words[0], pdst=(flag,), guard=guard)
        self.emit(Op.IADDC, dst.word(1), *words[1], psrc=(p(flag - VIRTUAL_PREDICATE),), guard=low.guard)

    def sum(self, word: Reg) -> None:
        """The sum of a register and something else."""
        both = [word, self.source()]
        self.pick.shuffle(both)
        self.emit(Op.IADD, self.single(), *both)

    def double(self) -> None:
        """A double whose sign is changed, and a sum of it."""
        there = [n for n in self.PAIRS if {n, n + 1} <= self.words]
        if not there:
            return
        origin, made_of = v(self.pick.choice(there), 2), self.pair()
        change = self.pick.choice(((Op.XOR, 0x80000000), (Op.AND, 0x7FFFFFFF), (Op.XOR, 0x7FFFFFFF)))
        self.emit(Op.MOV, made_of.word(0), origin.word(self.pick.choice((0, 0, 0, 1))))
        self.emit(change[0], made_of.word(1), origin.word(1), Imm(change[1]))
        if {made_of.index - VIRTUAL, made_of.index + 1 - VIRTUAL} <= self.words:
            self.emit(
                Op.FADD,
                self.pair(),
                made_of,
                origin,
                dtype=DType.F64,
                neg=self.pick.randrange(4),
                abs=self.pick.randrange(4),
            )

    def select(self) -> None:
        pred = self.flag() if self.pick.random() < 0.7 else Pred(PT, self.pick.random() < 0.5)
        self.emit(Op.SEL, self.single(), self.source(), self.source(), psrc=(pred,))

    def logic(self) -> None:
        sources = [
            self.flag() if self.pick.random() < 0.7 else Pred(PT, True)
            for _ in range(self.pick.randint(1, 3))
        ]
        aux = self.pick.choice((0xF0, 0x0F, 0xC0, 0xFC, 0x3C, self.pick.randrange(256)))
        self.emit(Op.PLOP, None, pdst=(self.fresh_flag(),), psrc=tuple(sources), aux=aux)

    def sign(self) -> None:
        """A sign that is changed, and a sum of it."""
        word = self.single()
        if self.pick.random() < 0.5:
            self.emit(Op.XOR, word, self.register(), Imm(self.pick.choice((0x80000000, 0x80008000))))
        else:
            self.emit(Op.AND, word, self.register(), Imm(self.pick.choice((0x7FFFFFFF, 0x7FFF7FFF))))
        read = [word if word.index - VIRTUAL in self.words else self.register(), self.register()]
        self.emit(
            self.pick.choice((Op.FADD, Op.FMUL)),
            self.single(),
            *read,
            dtype=self.pick.choice((DType.F32, DType.F16X2, DType.BF16X2)),
            neg=self.pick.randrange(4),
            abs=self.pick.randrange(4),
        )

    def load(self) -> None:
        space = self.pick.choice((Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.CONST, Space.GENERIC))
        wide = space in (Space.GLOBAL, Space.GENERIC)
        size = self.pick.choice((1, 2, 4, 8))
        types = {1: (DType.U8, DType.S8), 2: (DType.U16, DType.S16)}.get(size, (DType.U32,))
        self.emit(
            Op.LD,
            self.pair() if size == 8 else self.single(),
            self.wide() if wide else self.source(),
            space=space,
            size=size,
            dtype=self.pick.choice(types),
            offset=self.pick.choice((0, 4, 8, 2)),
            volatile=space not in (Space.CONST, Space.GENERIC) and self.pick.random() < 0.1,
        )

    def store(self) -> None:
        self.emit(Op.ST, None, self.source(), self.source(), space=Space.SHARED, offset=8)

    def copy_pair(self) -> None:
        source, dst = self.wide(), self.pair()
        for i in (0, 1):
            self.emit(Op.MOV, dst.word(i), _word(source, i))

    def atomic(self) -> None:
        self.emit(Op.ATOM, self.single(), self.source(), self.source(), space=Space.SHARED)

    _KINDS = (
        binary,
        binary,
        binary,
        move,
        move,
        ternary,
        compare,
        carry,
        product,
        multiply_add,
        double,
        select,
        logic,
        sign,
        load,
        store,
        copy_pair,
        copy_pair,
        atomic,
    )


def _word(source: Source, i: int) -> Source:
    """A word of a source of two."""
    if isinstance(source, Imm):
        return Imm(source.value >> 32 * i & M32)
    assert isinstance(source, Reg)
    return source.word(i)
