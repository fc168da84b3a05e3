"""Bench of the clean-up passes: a reader of machine code that shares nothing with the emulator, and random
kernels over virtual registers.

The reader runs one lane. What it cannot know (memory, constants, results of floating-point instructions) are
numbers that it makes of the operands, so that two kernels leave one trace if, and almost surely only if, they
do what the other does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from hashlib import blake2b

from warpbank.program.isa import (
    PT,
    ZERO,
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
    Source,
    Space,
)

M32, M64 = 2**32 - 1, 2**64 - 1
#: Steps after which a run is cut off.
STEPS = 300
_VIRTUAL, _PREDICATE = 256, 8
_WINDOWS = {1: Space.SHARED, 2: Space.LOCAL, 3: Space.CONST}
_COMPARE: dict[Cmp, Callable[[int, int], bool]] = {
    Cmp.EQ: int.__eq__,
    Cmp.NE: int.__ne__,
    Cmp.LT: int.__lt__,
    Cmp.LE: int.__le__,
    Cmp.GT: int.__gt__,
    Cmp.GE: int.__ge__,
}


def v(number: int, width: int = 1) -> Reg:
    """A virtual register."""
    return Reg(_VIRTUAL + number, width)


def p(number: int, negated: bool = False) -> Pred:
    """A virtual predicate."""
    return Pred(_PREDICATE + number, negated)


def pd(number: int) -> int:
    """The index of a virtual predicate that is written."""
    return _PREDICATE + number


def kernel(text: str, quads: Sequence[int] = ()) -> Kernel:
    """Kernel of a text over virtual registers: singles v0 to v15, pairs from v16 on.

    A line, or a part up to a semicolon, is an instruction or the label of a block:
    `@!p0 IADD.S32 v1 p1 = v2, 5`. Behind a dot stand types, spaces, comparisons, sizes in bytes, `x` and the
    number of a table, or V for volatile; `v16:2` and `7:2` have two words, rz is no register, `c8` is a
    place in the constant bank, `>b1` a target, `+4` an offset; `-v1` and `|v1|` change signs.
    """
    blocks = [Block("b0")]
    for line in filter(None, map(str.strip, text.replace(";", "\n").splitlines())):
        if line.endswith(":"):
            blocks.append(Block(line[:-1]))
        else:
            blocks[-1].instrs.append(_instr(line))
    groups = {_VIRTUAL + n: 4 for n in quads} | {
        _VIRTUAL + n: 2 for n in range(16, 32, 2) if n & ~3 not in quads
    }
    groups |= {_VIRTUAL + n: 1 for n in range(16)}
    return Kernel("k", blocks, groups, 16, next_register=_VIRTUAL + 32)


def _instr(line: str) -> Instr:
    """One instruction of a text."""
    guard = None
    if line.startswith("@"):
        name, line = line[1:].split(None, 1)
        guard = _predicate(name)
    head, _, rest = line.partition(" ")
    name, *modifiers = head.split(".")
    instr = Instr(Op[name], guard=guard)
    for each in modifiers:
        if each in DType.__members__:
            instr.dtype = DType[each]
        elif each in Space.__members__:
            instr.space = Space[each]
        elif each in Cmp.__members__:
            instr.cmp = Cmp[each]
        elif each == "V":
            instr.volatile = True
        elif each.startswith("x"):
            instr.aux = int(each[1:], 16)
        else:
            instr.size = int(each)
    results, found, sources = rest.partition("=")
    for each in results.replace(",", " ").split() if found else []:
        if each.startswith("v"):
            instr.dst = _register(each)
        else:
            instr.pdst = (*instr.pdst, _predicate(each).index)
    for each in (sources if found else rest).replace(",", " ").split():
        if each.startswith(">"):
            instr.target = each[1:]
        elif each.startswith("+"):
            instr.offset = int(each[1:], 0)
        elif each.lstrip("!").startswith("p"):
            instr.psrc = (*instr.psrc, _predicate(each))
        else:
            bit = 1 << len(instr.srcs)
            instr.neg |= bit if each.startswith("-") else 0
            instr.abs |= bit if "|" in each else 0
            instr.srcs = (*instr.srcs, _operand(each.strip("-|")))
    return instr


def _predicate(name: str) -> Pred:
    number = name.lstrip("!")[1:]
    return Pred(PT if number == "t" else _PREDICATE + int(number), name.startswith("!"))


def _register(name: str) -> Reg:
    number, _, width = name[1:].partition(":")
    return v(int(number), int(width or 1))


def _operand(name: str) -> Source:
    if name == "rz":
        return ZERO
    if name.startswith("v"):
        return _register(name)
    number, _, width = name.lstrip("c").partition(":")
    return (Const if name.startswith("c") else Imm)(int(number, 0), int(width or 1))


def becomes(
    change: Callable[[Kernel], bool], before: str, after: str | None = None, quads: Sequence[int] = ()
) -> None:
    """Assert that a pass makes one text of another, or leaves it, and says which."""
    code, wanted = kernel(before, quads), kernel(before if after is None else after, quads)
    found = deepcopy(code)
    changed = change(found)
    assert found.blocks == wanted.blocks, f"{text(code)}\nbecame\n{text(found)}\nnot\n{text(wanted)}"
    assert changed == (code.blocks != wanted.blocks)


def made(*what: object) -> int:
    """A number of 32 bits made of what decides it."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=4).digest(), "little")


def signed(value: int, bits: int = 32) -> int:
    """A number of some bits as its two's complement says."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


class Lane:
    """One lane that runs a kernel.

    Parameters
    ----------
    kernel : the code.
    seed : decides memory, constants and special registers.

    Attributes
    ----------
    trace : stores, barriers and whatever else others see, in order; "end" if the kernel ends.
    executed : how many instructions of each opcode ran.
    """

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self.seed = seed
        self.registers: dict[int, int] = {}
        self.predicates: dict[int, bool] = {}
        self.trace: list[object] = []
        self.executed: dict[Op, int] = {}
        starts = {block.label: i for i, block in enumerate(kernel.blocks)}
        block = at = 0
        for _ in range(STEPS):
            while block < len(kernel.blocks) and at == len(kernel.blocks[block].instrs):
                block, at = block + 1, 0
            if block == len(kernel.blocks):
                break
            instr = kernel.blocks[block].instrs[at]
            at += 1
            if instr.guard is not None and not self.holds(instr.guard):
                continue
            self.executed[instr.op] = self.executed.get(instr.op, 0) + 1
            if instr.op == Op.EXIT:
                break
            if instr.op == Op.BRA:
                assert instr.target is not None
                block, at = starts[instr.target], 0
            else:
                self.step(instr)
        else:
            return
        self.trace.append("end")

    def holds(self, pred: Pred) -> bool:
        """The value of a predicate operand."""
        value = True if pred.index == PT else self.predicates[pred.index]
        return value != pred.negated

    def word(self, source: Source, i: int = 0) -> int:
        """A word of a source."""
        if isinstance(source, Imm):
            return source.value >> 32 * i & M32
        if isinstance(source, Const):
            return made(self.seed, "constant", source.offset + 4 * i)
        return self.registers[source.index + i]

    def wide(self, source: Source) -> int:
        """A source of two words; of one its own value."""
        value = self.word(source)
        return value | self.word(source, 1) << 32 if source.width == 2 else value

    def modified(self, instr: Instr, i: int) -> tuple[int, ...]:
        """The words of a floating-point source, its sign as the modifiers say."""
        source = instr.srcs[i]
        words = [self.word(source, n) for n in range(source.width)]
        sign = {DType.F16X2: 0x80008000, DType.BF16X2: 0x80008000}.get(instr.dtype, 0x80000000)
        if instr.abs >> i & 1:
            words[-1] &= ~sign & M32
        if instr.neg >> i & 1:
            words[-1] ^= sign
        return tuple(words)

    def set(self, instr: Instr, value: int) -> None:
        """Give the destination its words."""
        assert instr.dst is not None
        for i in range(instr.dst.width):
            self.registers[instr.dst.index + i] = value >> 32 * i & M32

    def mark(self, instr: Instr, *values: bool) -> None:
        """Give the predicate destinations their values."""
        for index, value in zip(instr.pdst, values, strict=False):
            if index != PT:
                self.predicates[index] = value

    def step(self, instr: Instr) -> None:
        """Run one instruction that goes on to the next."""
        op = instr.op
        if op in (Op.LD, Op.ST, Op.ATOM):
            self.memory(instr)
        elif op in (Op.FADD, Op.FMUL, Op.FFMA, Op.FSETP, Op.MUFU, Op.CVT, Op.MMA):
            found = made(
                op.name, instr.dtype, instr.cmp, [self.modified(instr, i) for i in range(len(instr.srcs))]
            )
            if op == Op.FSETP:
                self.mark(instr, bool(found & 1), not found & 1)
            else:
                self.set(instr, found | made(found) << 32)
        elif op == Op.S2R:
            if instr.volatile:
                self.trace.append(("S2R", instr.aux))
            self.set(instr, made(self.seed, "special", instr.aux))
        elif op in (Op.BAR, Op.VOTE, Op.SHFL):
            self.trace.append(
                (op.name, instr.aux, [self.wide(s) for s in instr.srcs], *map(self.holds, instr.psrc))
            )
            value = made(self.trace)
            self.mark(instr, bool(value & 1))
            if instr.dst is not None:
                self.set(instr, value)
        elif op == Op.PLOP:
            index = 0
            for i in range(3):
                index = index << 1 | (self.holds(instr.psrc[i]) if i < len(instr.psrc) else True)
            self.mark(instr, bool(instr.aux >> index & 1))
        elif op == Op.ISETP:
            assert not instr.psrc
            a, b = (self.word(s) for s in instr.srcs)
            if instr.dtype == DType.S32:
                a, b = signed(a), signed(b)
            self.mark(instr, _COMPARE[instr.cmp](a, b), not _COMPARE[instr.cmp](a, b))
        else:
            self.compute(instr)

    def memory(self, instr: Instr) -> None:
        """Load, store or atomic. Nothing that is loaded was stored: loads read what the seed says."""
        space, address = instr.space, self.wide(instr.srcs[0]) + instr.offset
        if space == Space.GENERIC and address >> 32 in _WINDOWS:
            space = _WINDOWS[address >> 32]
        if space not in (Space.GLOBAL, Space.GENERIC):
            address &= M32
        if instr.op != Op.LD:
            values = [self.word(s, i) for s in instr.srcs[1:] for i in range(s.width)]
            self.trace.append((instr.op.name, instr.aux, space, address, instr.size, values))
            if instr.dst is not None:
                self.set(instr, made(len(self.trace)) | made(self.trace) << 32)
            return
        assert instr.dst is not None
        if instr.volatile:
            self.trace.append(("LD", space, address, instr.size))
        # A misaligned load ends a kernel with an error: its value must not come from anywhere else.
        aligned = space == Space.CONST and instr.size >= 4 and address % instr.size == 0
        where = "constant" if aligned else (space, instr.size)
        words = [made(self.seed, where, address + 4 * i) for i in range(instr.dst.width)]
        if instr.size < 4:
            words[0] &= (1 << 8 * instr.size) - 1
            if instr.dtype in (DType.S8, DType.S16):
                words[0] = signed(words[0], 8 * instr.size) & M32
        self.set(instr, sum(word << 32 * i for i, word in enumerate(words)))

    def compute(self, instr: Instr) -> None:
        """Integer arithmetic, logic and moves."""
        op = instr.op
        a, *rest = (self.word(s) for s in instr.srcs)
        b, c = [*rest, 0, 0][:2]
        is_signed = instr.dtype == DType.S32
        carry = int(self.holds(instr.psrc[0])) if instr.psrc else 0
        if op == Op.MOV:
            self.set(instr, self.wide(instr.srcs[0]))
        elif op == Op.SEL:
            self.set(instr, self.wide(instr.srcs[0 if carry else 1]))
        elif op in (Op.IADD, Op.IADDC):
            self.set(instr, a + b + carry)
            self.mark(instr, a + b + carry > M32)
        elif op in (Op.ISUB, Op.ISUBC):
            total = a + (b ^ M32) + (carry if op == Op.ISUBC else 1)
            self.set(instr, total)
            self.mark(instr, total > M32)
        elif op in (Op.IMUL, Op.IMAD):
            self.set(instr, a * b + c)
        elif op in (Op.IMULW, Op.IMADW):
            product = signed(a) * signed(b) if is_signed else a * b
            self.set(instr, product + (self.wide(instr.srcs[2]) if op == Op.IMADW else 0) & M64)
        elif op in (Op.AND, Op.OR, Op.XOR, Op.NOT):
            self.set(instr, {Op.AND: a & b, Op.OR: a | b, Op.XOR: a ^ b, Op.NOT: a ^ M32}[op])
        elif op == Op.SHL:
            self.set(instr, a << min(b, 32))
        elif op == Op.SHR:
            self.set(instr, (signed(a) if is_signed else a) >> min(b, 32) & M32)
        elif op == Op.BFE:
            self.set(instr, self.field(a, b & 0xFF, c & 0xFF, is_signed))
        elif op == Op.LOP3:
            bits = (instr.aux >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1 for i in range(32))
            self.set(instr, sum(bit << i for i, bit in enumerate(bits)))
        else:
            raise NotImplementedError(op)

    @staticmethod
    def field(value: int, first: int, length: int, is_signed: bool) -> int:
        """Bit field, bit by bit; above the word stand its signs or zeros."""
        sign = value >> 31 if is_signed else 0
        bits = [value >> i & 1 if i < 32 else sign for i in range(first, first + length)]
        if not bits:
            return 0
        top = bits[-1] if is_signed else 0
        return sum(bit << i for i, bit in enumerate((bits + [top] * 32)[:32]))


def check(kernel: Kernel, change: Callable[[Kernel], object], seeds: Sequence[int] = range(3)) -> Kernel:
    """The kernel after a change, which leaves every trace as it was."""
    after = deepcopy(kernel)
    changed = change(after)
    if changed is False:
        assert after.blocks == kernel.blocks
    for seed in seeds:
        old, new = Lane(kernel, seed).trace, Lane(after, seed).trace
        if old[-1:] != ["end"]:  # cut off after so many steps, which may have been fewer
            old, new = old[: len(new)], new[: len(old)]
        assert new == old, f"seed {seed}\n{text(kernel)}\nbecame\n{text(after)}"
    return after


def text(kernel: Kernel) -> str:
    """A kernel, an instruction per line."""
    lines = []
    for block in kernel.blocks:
        lines.append(f"{block.label}:")
        for i in block.instrs:
            sources = ", ".join(map(str, (*i.srcs, *i.psrc)))
            results = ", ".join([str(i.dst), *(str(Pred(x)) for x in i.pdst)])
            lines.append(
                f"  @{i.guard} {i.op.name}.{i.dtype.name} {results} = {sources} neg {i.neg} abs {i.abs}"
                f" aux {i.aux:#x} {i.space.name} size {i.size} offset {i.offset} {i.target or ''}"
            )
    return "\n".join(lines)


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
        groups = {_VIRTUAL + n: 1 for n in self.SINGLES} | {_VIRTUAL + n: 2 for n in self.PAIRS}
        self.kernel = Kernel("k", self.blocks, groups, len(self.PREDICATES), next_register=_VIRTUAL + 32)

    def emit(self, op: Op, dst: Reg | None, *srcs: Source, **more: object) -> Instr:
        """Write an instruction, often one under a guard if what it writes has a value already."""
        instr = Instr(op, dst=dst, srcs=srcs)
        for name, value in more.items():
            setattr(instr, name, value)
        words = {index - _VIRTUAL for index in instr.registers_written()}
        flags = {index - _PREDICATE for index in instr.predicates_written()}
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
            cmp=self.pick.choice(list(_COMPARE)),
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
        self.emit(second, dst.word(1), *words[1], psrc=(p(flag - _PREDICATE),))

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
        if product.index - _VIRTUAL not in self.words:
            return
        flag, dst, addend = self.fresh_flag(), self.pair(), self.wide()
        words = [[product.word(i), _word(addend, i)] for i in (0, 1)]
        if self.pick.random() < 0.5:
            words = [each[::-1] for each in words]
        guard = self.flag() if self.pick.random() < 0.2 and {flag - _PREDICATE} <= self.flags else None
        low = self.emit(Op.IADD, dst.word(0), *words[0], pdst=(flag,), guard=guard)
        self.emit(Op.IADDC, dst.word(1), *words[1], psrc=(p(flag - _PREDICATE),), guard=low.guard)

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
        if {made_of.index - _VIRTUAL, made_of.index + 1 - _VIRTUAL} <= self.words:
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
        read = [word if word.index - _VIRTUAL in self.words else self.register(), self.register()]
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
