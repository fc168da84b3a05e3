"""Random structured PTX kernels: branches, loops, predication, 32- and 64-bit arithmetic, every memory space,
barriers.

A program is drawn through a `choose(low, high)` function, so that hypothesis can drive and shrink it. Every
thread writes only what it owns (or adds to counters), so the result does not depend on the order in which
warps run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from warpbank.program.launch import Job, Launch

Choose = Callable[[int, int], int]
T = TypeVar("T")

WORDS, WIDE, FLOATS, PREDICATES = 8, 4, 4, 3
#: Bytes every thread writes at the end: all its registers.
RECORD = 4 * WORDS + 8 * WIDE + 4 * FLOATS
INPUT_WORDS = 256
COUNTERS = 8

_BINARY = (
    "add.s32",
    "sub.s32",
    "mul.lo.s32",
    "mul.hi.u32",
    "mul.hi.s32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "min.s32",
    "max.u32",
    "shl.b32",
    "shr.u32",
    "shr.s32",
    "div.u32",
    "rem.s32",
)
_UNARY = ("neg.s32", "not.b32", "abs.s32", "popc.b32", "clz.b32", "brev.b32")
_WIDE = ("add.s64", "sub.s64", "mul.lo.s64", "and.b64", "or.b64", "xor.b64", "min.s64", "max.u64")
_FLOAT = ("add.rn.f32", "sub.rn.f32", "mul.rn.f32", "min.f32", "max.f32")
#: What a program's statements are made of; a few more opcodes stand in the frame around them.
OPCODES = (
    *_BINARY,
    *_UNARY,
    *_WIDE,
    *_FLOAT,
    "mad.lo.s32",
    "mad.wide.s32",
    "prmt.b32",
    "lop3.b32",
    "bfe.u32",
    "bfe.s32",
    "bfi.b32",
    "shl.b64",
    "shr.u64",
    "shr.s64",
    "mul.wide.u32",
    "mul.wide.s32",
    "cvt.u64.u32",
    "cvt.s64.s32",
    "cvt.u32.u64",
    "fma.rn.f32",
    "neg.ftz.f32",
    "cvt.rn.f32.s32",
    "cvt.rzi.s32.f32",
    "selp.b32",
    "ld.const.u16",
    "ld.const.s8",
    "ld.local.u8",
    "ld.local.s16",
    "st.shared.u32",
    "ld.shared.u64",
    "red.global.add.u32",
    "bar.sync",
    "bra.uni",
)
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


class _Writer:
    """Draws one program."""

    def __init__(self, choose: Choose, threads: int) -> None:
        self.choose = choose
        self.threads = threads
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.choose(0, len(options) - 1)]

    def r(self) -> str:
        return f"%r{self.choose(0, WORDS - 1)}"

    def d(self) -> str:
        return f"%d{self.choose(0, WIDE - 1)}"

    def f(self) -> str:
        return f"%f{self.choose(0, FLOATS - 1)}"

    def p(self) -> str:
        return f"%p{self.choose(0, PREDICATES - 1)}"

    def source(self) -> str:
        return (
            self.r()
            if self.choose(0, 2)
            else str(self.pick((0, 1, -1, 7, 31, 255, 65535, -2147483648, 0x12345678)))
        )

    def label(self) -> str:
        self.labels += 1
        return f"$L{self.labels}"

    def emit(self, text: str) -> None:
        self.lines.append(f"\t{text};")

    def simple(self) -> None:
        """One statement without control flow, perhaps guarded."""
        guard = self.pick(("", "", "", f"@{self.p()} ", f"@!{self.p()} "))
        kind = self.choose(0, 17)
        if kind <= 3:
            op = self.pick(_BINARY)
            if op.startswith(
                ("div", "rem")
            ):  # a division by zero has no defined result: make the divisor odd and not -1
                self.emit(f"and.b32 %t0, {self.r()}, 4095")
                self.emit("or.b32 %t0, %t0, 1")
                self.emit(f"{guard}{op} {self.r()}, {self.r()}, %t0")
            else:
                self.emit(f"{guard}{op} {self.r()}, {self.r()}, {self.source()}")
        elif kind == 4:
            self.emit(f"{guard}{self.pick(_UNARY)} {self.r()}, {self.r()}")
        elif kind == 5:
            op = self.pick(("mad.lo.s32", "prmt.b32", "lop3.b32"))
            tail = f", {self.choose(0, 255)}" if op == "lop3.b32" else ""
            self.emit(f"{guard}{op} {self.r()}, {self.r()}, {self.source()}, {self.r()}{tail}")
        elif kind == 6:
            position, length = self.choose(0, 40), self.choose(0, 40)
            if self.choose(0, 1):
                self.emit(
                    f"{guard}bfe.{self.pick(('u32', 's32'))} {self.r()}, {self.r()}, {position}, {length}"
                )
            else:
                self.emit(f"{guard}bfi.b32 {self.r()}, {self.r()}, {self.r()}, {position}, {length}")
        elif kind <= 8:
            self.emit(f"{guard}{self.pick(_WIDE)} {self.d()}, {self.d()}, {self.d()}")
        elif kind == 9:
            amount = self.pick((self.r(), "3", "32", "40", "63", "64"))
            self.emit(
                f"{guard}{self.pick(('shl.b64', 'shr.u64', 'shr.s64'))} {self.d()}, {self.d()}, {amount}"
            )
        elif kind == 10:
            self.emit(
                f"{guard}{self.pick(('mul.wide.u32', 'mul.wide.s32'))} {self.d()}, {self.r()}, "
                f"{self.source()}"
            )
        elif kind == 11:
            self.emit(
                guard
                + self.pick(
                    (
                        f"cvt.u64.u32 {self.d()}, {self.r()}",
                        f"cvt.s64.s32 {self.d()}, {self.r()}",
                        f"cvt.u32.u64 {self.r()}, {self.d()}",
                        f"mov.b64 {{{self.r()}, %t0}}, {self.d()}",
                        f"mad.wide.s32 {self.d()}, {self.r()}, {self.r()}, {self.d()}",
                    )
                )
            )
        elif kind == 12:
            self.emit(f"{guard}{self.pick(_FLOAT)} {self.f()}, {self.f()}, {self.f()}")
        elif kind == 13:
            self.emit(
                guard
                + self.pick(
                    (
                        f"fma.rn.f32 {self.f()}, {self.f()}, {self.f()}, {self.f()}",
                        # Without .ftz a GPU makes every NaN its canonical one, and we keep its other bits.
                        f"neg.ftz.f32 {self.f()}, {self.f()}",
                        f"cvt.rn.f32.s32 {self.f()}, {self.r()}",
                        f"cvt.rzi.s32.f32 {self.r()}, {self.f()}",
                        f"mov.b32 {self.r()}, {self.f()}",
                    )
                )
            )
        elif kind == 14:
            self.emit(f"{guard}selp.b32 {self.r()}, {self.r()}, {self.source()}, {self.p()}")
        elif kind == 15:
            self.compare(self.p())
        else:
            self.memory(guard)

    def compare(self, target: str) -> None:
        how = self.pick(_COMPARE)
        match self.choose(0, 3):
            case 0:
                self.emit(f"setp.{how}.{self.pick(('s64', 'u64'))} {target}, {self.d()}, {self.d()}")
            case 1:
                self.emit(
                    f"setp.{how}.{self.pick(('and', 'or', 'xor'))}.s32 {target}, {self.r()}, "
                    f"{self.source()}, {self.p()}"
                )
            case 2:
                self.emit(f"setp.{how}.f32 {target}, {self.f()}, {self.f()}")
            case _:
                unsigned = (
                    how if how in ("eq", "ne") else {"lt": "lo", "le": "ls", "gt": "hi", "ge": "hs"}[how]
                )
                self.emit(f"setp.{unsigned}.u32 {target}, {self.r()}, {self.source()}")

    def memory(self, guard: str) -> None:
        match self.choose(0, 6):
            case 0:
                self.emit(f"and.b32 %t0, {self.r()}, {INPUT_WORDS - 1}")
                self.emit("mul.wide.u32 %a0, %t0, 4")
                self.emit("add.s64 %a0, %a0, %in")
                self.emit(f"{guard}ld.global.u32 {self.r()}, [%a0]")
            case 1:
                self.emit(f"and.b32 %t0, {self.r()}, 60")
                self.emit("cvt.u64.u32 %a0, %t0")
                self.emit("mov.u64 %a1, table")
                self.emit("add.s64 %a0, %a0, %a1")
                self.emit(f"{guard}ld.const.{self.pick(('u32', 'u16', 's8'))} {self.r()}, [%a0]")
            case 2:
                self.emit(f"{guard}st.local.u32 [%frame+{4 * self.choose(0, 7)}], {self.r()}")
            case 3:
                self.emit(
                    f"{guard}ld.local.{self.pick(('u32', 'u8', 's16'))} {self.r()}, "
                    f"[%frame+{4 * self.choose(0, 7)}]"
                )
            case 4:
                self.emit(f"{guard}st.shared.u32 [%own+{4 * self.choose(0, 1)}], {self.r()}")
            case 5:
                self.emit(f"{guard}ld.shared.u64 {self.d()}, [%own]")
            case _:
                self.emit(
                    f"{guard}red.global.add.u32 [%counters+{4 * self.choose(0, COUNTERS - 1)}], {self.r()}"
                )

    def statements(self, depth: int, uniform: bool) -> None:
        for _ in range(self.choose(2, 10)):
            kind = self.choose(0, 11)
            if depth == 0 or kind <= 7:
                self.simple()
            elif kind == 8:
                self.branch(depth, with_else=False)
            elif kind == 9:
                self.branch(depth, with_else=True)
            elif kind == 10:
                self.loop(depth)
            elif uniform:
                self.exchange()

    def branch(self, depth: int, *, with_else: bool) -> None:
        predicate, other, end = self.p(), self.label(), self.label()
        self.compare(predicate)
        self.emit(f"@{self.pick(('', '!'))}{predicate} bra {other}")
        self.statements(depth - 1, uniform=False)
        if with_else:
            self.emit(f"bra.uni {end}")
        self.lines.append(f"{other}:")
        if with_else:
            self.statements(depth - 1, uniform=False)
            self.lines.append(f"{end}:")

    def loop(self, depth: int) -> None:
        """A loop whose trip count, 1 to 4, differs between threads; perhaps with a break."""
        counter, head, out = f"%c{self.loops}", self.label(), self.label()
        self.loops += 1
        self.emit(f"and.b32 {counter}, {self.r()}, 3")
        self.lines.append(f"{head}:")
        self.statements(depth - 1, uniform=False)
        if self.choose(0, 2) == 0:
            self.compare("%q")
            self.emit(f"@%q bra {out}")
        self.emit(f"sub.s32 {counter}, {counter}, 1")
        self.emit(f"setp.ge.s32 %q, {counter}, 0")
        self.emit(f"@%q bra {head}")
        self.lines.append(f"{out}:")

    def exchange(self) -> None:
        """All threads of the CTA pass a word through shared memory."""
        self.emit("bar.sync 0")
        self.emit(f"st.shared.u32 [%own], {self.r()}")
        self.emit("bar.sync 0")
        self.emit(f"ld.shared.u32 {self.r()}, [%neighbour]")
        self.emit("bar.sync 0")


def random_job(choose: Choose, seed: int, *, threads: int = 40, ctas: int = 2) -> Job:
    """A random kernel with its buffers: `threads` per CTA (not a multiple of 32: the last warp is
    partial)."""
    writer = _Writer(choose, threads)
    for _ in range(choose(2, 4)):
        writer.statements(depth=choose(0, 3), uniform=True)
        if choose(0, 2) == 0:
            writer.exchange()
        if (
            choose(0, 5) == 0
        ):  # some lanes leave early, after they stored nothing: their record stays as it was
            writer.compare("%q")
            writer.emit("@%q exit")
    rng = np.random.default_rng(seed)
    table = ", ".join(str(int(v)) for v in rng.integers(0, 2**31, 16))
    loads = [f"\tld.global.u32 %r{i}, [%a2+{4 * i}];" for i in range(WORDS)]
    loads += [f"\tld.global.u64 %d{i}, [%a2+{8 * i}];" for i in range(WIDE)]
    loads += [f"\tcvt.rn.f32.s32 %f{i}, %r{i};" for i in range(FLOATS)]
    loads += [f"\tsetp.gt.s32 %p{i}, %r{i}, {i * 1000};" for i in range(PREDICATES)]
    loads += [f"\tst.local.u32 [%frame+{4 * i}], %r{i};" for i in range(8)]
    stores = [f"\tst.global.u32 [%out+{4 * i}], %r{i};" for i in range(WORDS)]
    stores += [f"\tst.global.u64 [%out+{4 * WORDS + 8 * i}], %d{i};" for i in range(WIDE)]
    stores += [f"\tst.global.f32 [%out+{4 * WORDS + 8 * WIDE + 4 * i}], %f{i};" for i in range(FLOATS)]
    ptx = f"""
.version 7.0
.target sm_75
.address_size 64
.const .align 4 .b32 table[16] = {{{table}}};
.visible .entry random(.param .u64 p_out, .param .u64 p_in, .param .u64 p_counters)
{{
	.reg .pred %p<{PREDICATES}>, %q;
	.reg .b32 %r<{WORDS}>, %t<4>, %c<{writer.loops + 1}>;
	.reg .b64 %d<{WIDE}>, %a<4>, %in, %out, %counters, %own, %neighbour, %frame;
	.reg .f32 %f<{FLOATS}>;
	.local .align 8 .b8 depot[32];
	.shared .align 8 .b8 slots[{8 * threads}];
	ld.param.u64 %in, [p_in];
	ld.param.u64 %out, [p_out];
	ld.param.u64 %counters, [p_counters];
	mov.u32 %t0, %tid.x;
	mov.u32 %t1, %ctaid.x;
	mov.u32 %t2, %ntid.x;
	mov.u64 %frame, depot;
	mov.u64 %a0, slots;
	mul.wide.u32 %a1, %t0, 8;
	add.s64 %own, %a0, %a1;
	sub.s32 %t3, {threads - 1}, %t0;
	mul.wide.u32 %a1, %t3, 8;
	add.s64 %neighbour, %a0, %a1;
	st.shared.u64 [%own], %a1;
	mad.lo.s32 %t1, %t1, %t2, %t0;
	mul.wide.u32 %a1, %t1, {RECORD};
	add.s64 %out, %out, %a1;
	mul.wide.u32 %a1, %t1, 8;
	add.s64 %a2, %in, %a1;
{chr(10).join(loads)}
{chr(10).join(writer.lines)}
{chr(10).join(stores)}
	ret;
}}
"""
    data = rng.integers(-(2**31), 2**31, INPUT_WORDS + 2 * threads * ctas, dtype=np.int64).astype(np.int32)
    small = rng.random(len(data)) < 0.3
    data[small] = rng.integers(-4, 5, int(small.sum()))
    buffers = {
        "out": np.zeros(threads * ctas * RECORD, np.uint8),
        "in": data,
        "counters": np.zeros(COUNTERS, np.uint32),
    }
    launch = Launch("random", (ctas, 1, 1), (threads, 1, 1), ("out", "in", "counters"))
    return Job("random", "tiny", ptx, f"random-{seed}.ptx", buffers, [launch])
