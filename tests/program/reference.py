"""An independent reading of PTX for tests: one thread at a time, plain Python integers, straight from the
parsed text.

It knows only what `random_ptx` writes. It shares nothing with the lowering, the allocator or the emulator, so
that an error in one of them cannot hide in it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from fractions import Fraction

import numpy as np

from warpbank.program.launch import Job
from warpbank.program.ptx.ast import (
    Address,
    Immediate,
    Instruction,
    Label,
    Negated,
    Register,
    Special,
    Symbol,
    Vector,
)
from warpbank.program.ptx.parser import parse

M32, M64 = 2**32 - 1, 2**64 - 1
_SPACES = ("global", "shared", "local", "const", "param")
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _f(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits & M32))[0]


def _bits(value: float) -> int:
    """Bits of a float32; every NaN is the canonical one."""
    if value != value:
        return 0x7FFFFFFF
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def _negated(bits: int) -> int:
    """neg.ftz: subnormal numbers become zeros, every NaN the canonical one."""
    if bits & 0x7F800000 == 0:
        bits &= 0x80000000
    return 0x7FFFFFFF if bits & 0x7FFFFFFF > 0x7F800000 else bits ^ 0x80000000


def _fma(a: float, b: float, c: float) -> int:
    """a * b + c with one rounding."""
    if not all(np.isfinite(v) for v in (a, b, c)):
        with np.errstate(invalid="ignore", over="ignore"):
            return _bits(float(np.float64(a) * np.float64(b) + np.float64(c)))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return _bits(
            float(np.float64(a) * np.float64(b) + np.float64(c))
        )  # exact, so only the sign of zero is at stake
    return _round_f32(exact)


def _round_f32(exact: Fraction) -> int:
    """Nearest float32, ties to even, of a number that is not zero."""
    sign, exact = (0x80000000, -exact) if exact < 0 else (0, exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, -126) - 23)
    units = round(exact / quantum)  # Fraction rounds half to even
    if units * quantum >= Fraction(2) ** 128:
        return sign | 0x7F800000
    return sign | _bits(float(units * quantum))


def _minmax(op: str, a: int, b: int) -> int:
    x, y = _f(a), _f(b)
    if x != x or y != y:
        return 0x7FFFFFFF if x != x and y != y else _bits(y) if x != x else _bits(x)
    if x == y:  # -0 is below +0
        return (a | b) if op == "min" else (a & b)
    return _bits(min(x, y) if op == "min" else max(x, y))


def _binary(op: str, kind: str, a: int, b: int) -> int:
    bits = int(kind[1:])
    mask = (1 << bits) - 1
    if kind[0] == "f":
        x, y = np.float32(_f(a)), np.float32(_f(b))
        with np.errstate(all="ignore"):
            match op:
                case "add":
                    return _bits(float(x + y))
                case "sub":
                    return _bits(float(x - y))
                case "mul":
                    return _bits(float(x * y))
                case _:
                    return _minmax(op, a, b)
    if kind[0] == "s" and op not in ("add", "sub", "mul"):
        a = _signed(a, bits)
        b = _signed(b, bits) if op != "shr" else b
    else:
        a &= mask
        b &= mask
    match op:
        case "add":
            return (a + b) & mask
        case "sub":
            return (a - b) & mask
        case "mul":
            return (a * b) & mask
        case "mulhi":
            return (a * b >> bits) & mask
        case "and":
            return a & b & mask
        case "or":
            return (a | b) & mask
        case "xor":
            return (a ^ b) & mask
        case "min":
            return min(a, b) & mask
        case "max":
            return max(a, b) & mask
        case "shl":
            return (a << min(b & M32, bits)) & mask
        case "shr":
            return (a >> min(b & M32, bits)) & mask
        case "div":
            return (a // b) & mask
        case "rem":
            return (a - b * int(Fraction(a, b))) & mask
    raise AssertionError(op)


def _bfe(kind: str, a: int, position: int, length: int) -> int:
    msb = 31
    sign = 0 if kind[0] == "u" or length == 0 else (a >> min(position + length - 1, msb)) & 1
    out = 0
    for i in range(32):
        bit = (a >> (position + i)) & 1 if i < length and position + i <= msb else sign
        out |= bit << i
    return out


def _bfi(a: int, b: int, position: int, length: int) -> int:
    for i in range(length):
        if position + i <= 31:
            b = b & ~(1 << (position + i)) | ((a >> i) & 1) << (position + i)
    return b


def _prmt(a: int, b: int, selector: int) -> int:
    data = (a | b << 32).to_bytes(8, "little")
    out = 0
    for i in range(4):
        pick = selector >> (4 * i) & 15
        byte = data[pick & 7]
        out |= ((0xFF if byte & 0x80 else 0) if pick & 8 else byte) << (8 * i)
    return out


def _compare(how: str, kind: str, a: int, b: int) -> bool:
    x: float
    y: float
    if kind[0] == "f":
        x, y = _f(a), _f(b)
        if x != x or y != y:
            return False
    else:
        bits = int(kind[1:])
        x, y = (
            (_signed(a, bits), _signed(b, bits))
            if kind[0] == "s"
            else (a & (1 << bits) - 1, b & (1 << bits) - 1)
        )
    how = _UNSIGNED.get(how, how)
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[how]


class _Thread:
    """One thread: its registers and its program counter."""

    def __init__(self, machine: Machine, ctaid: int, tid: int) -> None:
        self.machine, self.ctaid, self.tid = machine, ctaid, tid
        self.registers: dict[str, int] = {}
        self.local = bytearray(32)

    def value(self, operand: object) -> int:
        match operand:
            case Register(name):
                return self.registers[name]
            case Negated(register):
                return self.registers[register.name] ^ 1
            case Immediate(value, _):
                return value
            case Special(name):
                return {"%tid.x": self.tid, "%ctaid.x": self.ctaid, "%ntid.x": self.machine.threads}[name]
            case Symbol():
                return operand.offset  # every space has one variable, at its start
        raise AssertionError(operand)

    def run(self) -> Generator[None, None, None]:
        """Executes to the end, yielding at every barrier."""
        pc, body = 0, self.machine.body
        while pc < len(body):
            statement = body[pc]
            pc += 1
            if not isinstance(statement, Instruction):
                continue
            if statement.guard and self.registers[statement.guard[0]] == int(statement.guard[1]):
                continue
            match statement.opcode:
                case "bra":
                    target = statement.operands[0]
                    assert isinstance(target, Symbol)
                    pc = self.machine.labels[target.name]
                case "bar":
                    yield
                case "exit" | "ret":
                    return
                case _:
                    self.execute(statement)

    def execute(self, i: Instruction) -> None:
        op, mods = i.opcode, i.modifiers
        kind = mods[-1]
        out, *operands = i.operands
        if op in ("ld", "st", "red"):
            self.memory(i)
            return
        if op == "mov" and isinstance(out, Vector):
            low, high = out.elements
            value = self.value(operands[0])
            assert isinstance(low, Register)
            assert isinstance(high, Register)
            self.registers[low.name], self.registers[high.name] = value & M32, value >> 32
            return
        values = [self.value(o) for o in operands]
        assert isinstance(out, Register)
        self.registers[out.name] = self.result(op, mods, kind, values)

    def result(self, op: str, mods: tuple[str, ...], kind: str, v: list[int]) -> int:
        mask = M64 if kind.endswith("64") else M32
        match op:
            case "mov":
                return v[0] & mask
            case "neg":
                return _negated(v[0]) if kind == "f32" else -v[0] & M32
            case "not":
                return ~v[0] & M32
            case "abs":
                return abs(_signed(v[0], 32)) & M32
            case "popc":
                return v[0].bit_count()
            case "clz":
                return 32 - v[0].bit_length()
            case "brev":
                return int(f"{v[0]:032b}"[::-1], 2)
            case "mad":
                if mods[0] == "wide":
                    return (_signed(v[0], 32) * _signed(v[1], 32) + v[2]) & M64
                return (v[0] * v[1] + v[2]) & M32
            case "mul" if mods[0] == "wide":
                a, b = (_signed(v[0], 32), _signed(v[1], 32)) if kind == "s32" else (v[0] & M32, v[1] & M32)
                return a * b & M64
            case "mul" if mods[0] == "hi":
                return _binary("mulhi", kind, v[0], v[1])
            case "fma":
                return _fma(_f(v[0]), _f(v[1]), _f(v[2]))
            case "prmt":
                return _prmt(v[0], v[1] & M32, v[2])
            case "lop3":
                a, b, c = v[0], v[1] & M32, v[2]
                return sum(
                    (v[3] >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32)
                )
            case "bfe":
                return _bfe(kind, v[0], v[1] & 255, v[2] & 255)
            case "bfi":
                return _bfi(v[0], v[1], v[2] & 255, v[3] & 255)
            case "selp":
                return (v[0] if v[2] else v[1]) & M32
            case "setp":
                truth = _compare(mods[0], kind, v[0], v[1])
                if mods[1] in ("and", "or", "xor"):
                    truth = {
                        "and": truth and bool(v[2]),
                        "or": truth or bool(v[2]),
                        "xor": truth != bool(v[2]),
                    }[mods[1]]
                return int(truth)
            case "cvt":
                return self.convert(mods, v[0])
        return _binary(op, kind, v[0], v[1])

    def convert(self, mods: tuple[str, ...], value: int) -> int:
        match mods[-2:]:
            case ("u64", "u32"):
                return value & M32
            case ("s64", "s32"):
                return _signed(value, 32) & M64
            case ("u32", "u64"):
                return value & M32
            case ("f32", "s32"):
                return _bits(float(np.float32(_signed(value, 32))))
            case ("s32", "f32"):
                x = _f(value)
                return 0 if x != x else int(max(-(2.0**31), min(2.0**31 - 1, x))) & M32
        raise AssertionError(mods)

    def memory(self, i: Instruction) -> None:
        space = next(m for m in i.modifiers if m in _SPACES)
        kind, size = i.modifiers[-1], int(i.modifiers[-1][1:]) // 8
        place, other = (i.operands[1], i.operands[0]) if i.opcode == "ld" else (i.operands[0], i.operands[1])
        assert isinstance(place, Address)
        if space == "param":
            assert isinstance(place.base, Symbol)
            assert isinstance(other, Register)
            self.registers[other.name] = self.machine.parameters[place.base.name]
            return
        memory, start = self.machine.space(space, self.value(place.base) + place.offset, self)
        if i.opcode == "ld":
            raw = int.from_bytes(memory[start : start + size], "little")
            assert isinstance(other, Register)
            self.registers[other.name] = _signed(raw, 8 * size) & M32 if kind[0] == "s" else raw
        else:
            value = self.value(other)
            if i.opcode == "red":
                value += int.from_bytes(memory[start : start + 4], "little")
            memory[start : start + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


class Machine:
    """A launch of a random job: its memories and its threads."""

    def __init__(self, job: Job) -> None:
        module = parse(job.ptx, job.ptx_path)
        function = module.functions[job.launches[0].entry]
        assert function.body is not None
        self.body = function.body
        self.labels = {s.name: n for n, s in enumerate(self.body) if isinstance(s, Label)}
        self.threads = job.launches[0].block[0]
        self.ctas = job.launches[0].grid[0]
        self.buffers = {name: bytearray(array.tobytes()) for name, array in job.buffers.items()}
        self.const = module.variables["table"].init or b""
        names = [a for a in job.launches[0].args if isinstance(a, str)]
        self.parameters = {p.name: (n + 1) << 32 for n, p in enumerate(function.parameters)}
        self.order = names
        self.shared = bytearray(8 * self.threads)

    def space(self, name: str, address: int, thread: _Thread) -> tuple[bytearray, int]:
        address &= M64
        match name:
            case "global":
                return self.buffers[self.order[(address >> 32) - 1]], address & M32
            case "shared":
                return self.shared, address
            case "local":
                return thread.local, address
        return bytearray(self.const), address

    def run(self) -> dict[str, bytes]:
        """Runs every CTA, every thread up to the next barrier, and gives the final buffers."""
        for cta in range(self.ctas):
            self.shared = bytearray(8 * self.threads)
            running = [_Thread(self, cta, tid).run() for tid in range(self.threads)]
            while running:
                running = [t for t in running if next(t, self) is not self]
        return {name: bytes(data) for name, data in self.buffers.items()}


def interpret(job: Job) -> dict[str, bytes]:
    """Final contents of the job's buffers."""
    return Machine(job).run()
