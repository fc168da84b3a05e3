"""Runs single PTX instructions on tables of operands: the bench that the semantic tests stand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from warpbank.program.emulator import run_job
from warpbank.program.isa import Kernel, Op, Reg, Space
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

M8, M16, M32, M64 = 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1
THREADS = 128

#: Operands that integer arithmetic goes wrong on.
INTEGERS = (
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    47,
    63,
    64,
    65,
    100,
    127,
    128,
    200,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x12345678,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x1_0000_0000,
    0xFFFFFFFF_00000000,
    0x7FFFFFFF_FFFFFFFF,
    0x80000000_00000000,
    M64,
    M64 - 1,
    0x0123456789ABCDEF,
    0xFEDCBA9876543210,
    0x8000_0000_8000_0000,
    0xFFFF_8000_FFFF_7FFF,
)
#: Bits of singles: zeros, ones, halves, subnormals, extremes, infinities, NaN.
SINGLES = (
    0,
    0x80000000,
    0x3F800000,
    0xBF800000,
    0x3F000000,
    0xBF000000,
    0x3FC00000,
    0xC0200000,
    0x1,
    0x80000001,
    0x007FFFFF,
    0x00800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0x4F000000,
    0xCF000000,
    0x4F800000,
    0x42C80000,
    0x3DCCCCCD,
    0x40490FDB,
    0xC2F6E979,
    0x477FFF00,
    0x33800000,
)
_HEAD = """
.visible .entry {name}(.param .u64 p_in, .param .u64 p_out)
{{
    .reg .pred %p<9>;  .reg .b16 %h<12>;  .reg .b32 %r<20>;  .reg .b64 %rd<20>;
    .reg .pred %pd, %pe;  .reg .b16 %ha, %hb, %hc, %hd;  .reg .b32 %ra, %rb, %rc, %rout, %rt;
    .reg .b64 %a, %b, %c, %d, %in, %out, %at;
    ld.param.u64 %in, [p_in];  ld.param.u64 %out, [p_out];
    mov.u32 %rt, %tid.x;
    mul.wide.u32 %at, %rt, 24;
    add.s64 %in, %in, %at;
    ld.global.b64 %a, [%in];  ld.global.b64 %b, [%in+8];  ld.global.b64 %c, [%in+16];
    cvt.u32.u64 %ra, %a;  cvt.u32.u64 %rb, %b;  cvt.u32.u64 %rc, %c;
    cvt.u16.u64 %ha, %a;  cvt.u16.u64 %hb, %b;  cvt.u16.u64 %hc, %c;
    mov.b64 %d, 0;  mov.b32 %rout, 0;  mov.b16 %hd, 0;  setp.eq.u32 %pd, 0, 1;
    setp.eq.u32 %pe, 0, 1;
"""
_TAIL = """
    mul.wide.u32 %at, %rt, 8;
    add.s64 %out, %out, %at;
    st.global.b64 [%out], %d;
    ret;
}}
"""
#: How the result in the register of each kind becomes 64 bits.
_RESULTS = {
    "d": "",
    "r": "cvt.u64.u32 %d, %rout;",
    "h": "cvt.u64.u16 %d, %hd;",
    "p": "selp.b64 %d, 1, 0, %pd;",
    "pq": "selp.b64 %d, 1, 0, %pd;  @%pe or.b64 %d, %d, 2;",
}


@dataclass(frozen=True)
class Case:
    """One instruction (or a few lines) and what it computes.

    Parameters
    ----------
    line : PTX on %a %b %c (64 bits), %ra.. (their low words), %ha.. (low halves); result in %d, %rout, %hd or
        %pd, as it names.
    expect : of the three 64-bit operands.
    operands : a table of operand values.
    """

    line: str
    expect: Callable[[int, int, int], int]
    operands: Sequence[int] = INTEGERS

    @property
    def result(self) -> str:
        if "%pe" in self.line:
            return "pq"
        for name, kind in (("%d", "d"), ("%rout", "r"), ("%hd", "h"), ("%pd", "p")):
            if any(word.strip(",;{}[]|") == name for word in self.line.replace("|", " ").split()):
                return kind
        raise ValueError(self.line)


def operand_rows(case: Case, seed: int) -> np.ndarray:
    """THREADS triples drawn from the case's table, the same for every run."""
    rng = np.random.default_rng(seed)
    table = np.array(case.operands, dtype=np.uint64)
    return table[rng.integers(0, len(table), (THREADS, 3))]


def run(cases: Sequence[Case], *, optimize: bool = True) -> list[np.ndarray]:
    """The results of every case, one per thread."""
    entries = [
        _HEAD.format(name=f"case{i}") + case.line + "\n" + _RESULTS[case.result] + _TAIL.format()
        for i, case in enumerate(cases)
    ]
    text = ".version 8.0\n.target sm_80\n.address_size 64\n" + "\n".join(entries)
    module = parse(text, "cases.ptx")
    buffers: dict[str, np.ndarray] = {}
    launches = []
    for i, case in enumerate(cases):
        buffers[f"in{i}"] = operand_rows(case, i)
        buffers[f"out{i}"] = np.zeros(THREADS, np.uint64)
        launches.append(Launch(f"case{i}", (1, 1, 1), (THREADS, 1, 1), (f"in{i}", f"out{i}")))
    kernels = {f"case{i}": lower(module, f"case{i}", optimize=optimize) for i in range(len(cases))}
    for kernel in kernels.values():
        check_legal(kernel)
    job = Job("cases", "tiny", text, "cases.ptx", buffers, launches)
    done = run_job(job, kernels)
    return [done.buffers[f"out{i}"] for i in range(len(cases))]


def failures(cases: Sequence[Case], *, optimize: bool = True) -> list[str]:
    """A line for every case that goes wrong."""
    found = []
    for i, (case, values) in enumerate(zip(cases, run(cases, optimize=optimize), strict=True)):
        for (a, b, c), value in zip(operand_rows(case, i).tolist(), values.tolist(), strict=True):
            wanted = case.expect(a, b, c) & M64
            if wanted != value:
                found.append(f"{case.line}  a={a:#x} b={b:#x} c={c:#x}: {value:#x}, expected {wanted:#x}")
                break
    return found


def check_legal(kernel: Kernel) -> None:
    """What `warpbank.program.isa` asks of code over virtual registers."""
    words = {base + i: (base, width) for base, width in kernel.groups.items() for i in range(width)}
    labels = [b.label for b in kernel.blocks]
    assert len(set(labels)) == len(labels)
    for block in kernel.blocks:
        for i in block.instrs[:-1]:
            assert i.op not in (Op.BRA, Op.EXIT)
        for i in block.instrs:
            for reg in (*(r for r in i.srcs if isinstance(r, Reg)), *((i.dst,) if i.dst else ())):
                assert reg.index % reg.width == 0
                base, width = words[reg.index]
                assert base <= reg.index
                assert reg.index + reg.width <= base + width
            if i.op == Op.BRA:
                assert i.target in labels
            if i.op in (Op.LD, Op.ST, Op.ATOM) and i.space in (Space.SHARED, Space.LOCAL, Space.CONST):
                assert i.srcs[0].width == 1


def s(value: int, bits: int) -> int:
    """The low bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value
