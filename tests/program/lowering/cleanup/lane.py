"""Reader of virtual machine code that runs one lane, and shares nothing with the emulator.

Memory, constants and results of floating-point instructions are numbers that it makes of the operands, so
that two kernels leave one trace if, and almost surely only if, they do what the other does.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from warpbank.program.isa import PT, Cmp, Const, DType, Imm, Instr, Kernel, Op, Pred, Source, Space

M32, M64 = 2**32 - 1, 2**64 - 1
#: Steps after which a run is cut off.
STEPS = 300
_WINDOWS = {1: Space.SHARED, 2: Space.LOCAL, 3: Space.CONST}
#: Comparisons of integers.
COMPARE: dict[Cmp, Callable[[int, int], bool]] = {
    Cmp.EQ: int.__eq__,
    Cmp.NE: int.__ne__,
    Cmp.LT: int.__lt__,
    Cmp.LE: int.__le__,
    Cmp.GT: int.__gt__,
    Cmp.GE: int.__ge__,
}


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
            self.mark(instr, COMPARE[instr.cmp](a, b), not COMPARE[instr.cmp](a, b))
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
