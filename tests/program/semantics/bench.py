"""Many PTX instructions in one kernel, each on a table of operands, through the whole program side.

Every case runs twice: on virtual registers, and on 16 registers per thread, where everything spills. With
`pytest --gpu` it runs a third time, on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne

import numpy as np

from tests.hardware import form as hardware
from tests.program.emulator.exact import BF16, F16, F32, F64, Format, decode
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import Options, execute

M16, M32, M64 = 2**16 - 1, 2**32 - 1, 2**64 - 1
THREADS = 128
#: Cases of one kernel on a GPU: a static shared array of each fits the 48 KB of a CTA.
ON_GPU = 10
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
OPTIONS = (Options(allocate=False), Options(max_registers=16))
EMULATED = ("virtual", "allocated")
#: Relations of two numbers, as PTX names them.
RELATIONS = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"

#: Operands that integer code goes wrong on.
INTEGERS = (
    0,
    1,
    2,
    7,
    8,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x12345678,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x1_0000_0000,
    0x7FFFFFFF_FFFFFFFF,
    0x80000000_00000000,
    M64,
    M64 - 1,
    0x0123456789ABCDEF,
    0xFEDCBA9876543210,
    0x8000_0000_8000_0000,
    0xFFFF_8000_FFFF_7FFF,
)


def edges(f: Format) -> tuple[int, ...]:
    """Bits of a format's zeros, subnormals, halves, extremes, infinities and NaN, of both signs."""
    one = f.bias << f.fraction
    positive = [
        0,
        1,
        (1 << f.fraction) - 1,
        1 << f.fraction,
        one,
        one - 1,
        one + 1,
        one - (1 << f.fraction),
        one | 1 << (f.fraction - 1),
        (f.bias + 1) << f.fraction | 1 << (f.fraction - 2),
        f.infinity - 1,
        f.infinity,
        f.infinity | 1 << (f.fraction - 1),
        (f.bias + 7) << f.fraction,
        (f.bias + 15) << f.fraction,
    ]
    return tuple(p | sign << (f.bits - 1) for p in positive for sign in (0, 1))


@dataclass(frozen=True)
class Case:
    """A few lines of PTX and what they compute.

    Parameters
    ----------
    code : on %a %b %c (64 bits), %ra %rb %rc (their low words) and %ha %hb %hc (low halves); scratch: %s
        (32), %l (64) and %q (pred). The result is in %d (64), %r (32), %h (16) or %p (pred), the first of
        them that it names.
    expect : the result's bits from the three operands.
    operands : tables for a, b, c; the last one serves for those that have none.
    number : the result is a float of this type: one NaN is as good as another.
    ulps : units in the last place by which it may be off.
    lenient : not run on a GPU: NVIDIA's assembler refuses it and our reader does not, or the driver's
        compiler makes something else of it than the manual says.
    hardware : error that the manual allows a GPU: units in the last place, or an absolute difference.
    """

    code: str
    expect: Callable[[int, int, int], int]
    operands: Sequence[Sequence[int]] = (INTEGERS,)
    number: str = ""
    ulps: int = 0
    lenient: bool = False
    hardware: tuple[int, float] = (0, 0.0)

    @property
    def result(self) -> str:
        return next(name for name in "drhp" if re.search(rf"%{name}\b", self.code))


_STORE = {"d": "", "r": "cvt.u64.u32 %d, %r;", "h": "cvt.u64.u16 %d, %h;", "p": "selp.b64 %d, 1, 0, %p;"}


def text_of(cases: Sequence[Case]) -> str:
    """PTX of a kernel that runs the cases one after the other, each on its rows of the operands."""
    lines = [
        HEAD + ".visible .entry k(.param .u64 p, .param .u64 q) {",
        ".reg .b64 %in, %out, %at; .reg .b32 %t;",
        "ld.param.u64 %in, [p]; ld.param.u64 %out, [q]; mov.u32 %t, %tid.x;",
        "mul.wide.u32 %at, %t, 24; add.s64 %in, %in, %at; mul.wide.u32 %at, %t, 8; add.s64 %out, %out, %at;",
    ]
    for i, case in enumerate(cases):
        lines += [
            "{ .reg .b64 %a, %b, %c, %d, %l; .reg .b32 %ra, %rb, %rc, %r, %s; .reg .b16 %ha, %hb, %hc, %h; "
            ".reg .pred %p, %q;",
            *(
                f"ld.global.b64 %{x}, [%in+{24 * THREADS * i + 8 * n}]; cvt.u32.u64 %r{x}, %{x}; cvt.u16.u64 "
                f"%h{x}, %{x};"
                for n, x in enumerate("abc")
            ),
            case.code,
            _STORE[case.result],
            f"st.global.b64 [%out+{8 * THREADS * i}], %d; }}",
        ]
    return "\n".join([*lines, "ret; }"])


def _rows(case: Case, seed: int) -> np.ndarray:
    """Operands of every thread: each value of each table at least once if there is room, in an order drawn
    once and for all."""
    rng = np.random.default_rng(seed)
    columns = []
    for i in range(3):
        table = np.array([v & M64 for v in case.operands[min(i, len(case.operands) - 1)]], np.uint64)
        column = np.concatenate([rng.permutation(table) for _ in range(-(-THREADS // len(table)))])[:THREADS]
        columns.append(column)
    return np.stack(columns, 1)


def _ordered(bits: int, f: Format) -> int:
    """Floats as integers in their order."""
    sign = 1 << (f.bits - 1)
    return sign - bits if bits & sign else bits


def _same(case: Case, found: int, wanted: int, on_gpu: bool) -> bool:
    if not case.number:
        return found == wanted
    ulps, absolute = case.hardware if on_gpu else (0, 0.0)
    f = FORMATS[case.number]
    magnitude = (1 << (f.bits - 1)) - 1
    if (found & magnitude) > f.infinity or (wanted & magnitude) > f.infinity:
        return (found & magnitude) > f.infinity and (wanted & magnitude) > f.infinity
    if abs(_ordered(found, f) - _ordered(wanted, f)) <= max(case.ulps, ulps):
        return True
    finite = max(found & magnitude, wanted & magnitude) < f.infinity
    return finite and abs(decode(found, f).value - decode(wanted, f).value) <= absolute


def failures(cases: Sequence[Case]) -> list[str]:
    """A line for every case and form that goes wrong."""
    operands = [_rows(case, i) for i, case in enumerate(cases)]
    return _failures(cases, operands, _emulated(_job(cases, operands))) + _failures_on_gpu(cases, operands)


def _job(cases: Sequence[Case], operands: Sequence[np.ndarray]) -> Job:
    buffers = {"in": np.stack(operands), "out": np.zeros((len(cases), THREADS), np.uint64)}
    launch = Launch("k", (1, 1, 1), (THREADS, 1, 1), ("in", "out"))
    return Job("cases", "tiny", text_of(cases), "cases.ptx", buffers, [launch])


def _failures_on_gpu(cases: Sequence[Case], operands: Sequence[np.ndarray]) -> list[str]:
    """The cases that are PTX to NVIDIA, a few at a time, so that their shared memory fits a CTA's."""
    pairs = [pair for pair in zip(cases, operands, strict=True) if not pair[0].lenient]
    wrong: list[str] = []
    for at in range(0, len(pairs), ON_GPU):
        some, rows = zip(*pairs[at : at + ON_GPU], strict=True)
        wrong += _failures(some, rows, hardware.forms(_job(some, rows)))
    return wrong


def _failures(
    cases: Sequence[Case], operands: Sequence[np.ndarray], forms: Sequence[tuple[str, dict[str, np.ndarray]]]
) -> list[str]:
    wrong = []
    for form, buffers in forms:
        for case, rows, values in zip(cases, operands, buffers["out"], strict=True):
            bits = {"d": 64, "r": 32, "h": 16, "p": 1}[case.result]
            for (a, b, c), value in zip(rows.tolist(), values.tolist(), strict=True):
                wanted = case.expect(a, b, c) & (1 << bits) - 1
                if not _same(case, value, wanted, form not in EMULATED):
                    wrong.append(
                        f"{form}: {case.code} a={a:#x} b={b:#x} c={c:#x}: {value:#x}, expected {wanted:#x}"
                    )
                    break
    return wrong


def run(
    text: str,
    buffers: dict[str, np.ndarray],
    *,
    args: tuple[object, ...] | None = None,
    block: tuple[int, int, int] = (32, 1, 1),
    grid: tuple[int, int, int] = (1, 1, 1),
    dynamic: int = 0,
    lenient: bool = False,
) -> list[dict[str, np.ndarray]]:
    """Final buffers of kernel `k` of a file without its head, once per form; `lenient` is `Case.lenient`."""
    given = tuple(buffers) if args is None else args
    job = Job("one", "tiny", HEAD + text, "one.ptx", buffers, [Launch("k", grid, block, given, dynamic)])  # type: ignore[arg-type]
    forms = _emulated(job) + ([] if lenient else hardware.forms(job))
    return [buffers for _, buffers in forms]


def _emulated(job: Job) -> list[tuple[str, dict[str, np.ndarray]]]:
    """(Name, final buffers) of the forms in which the emulator runs a job."""
    return [(form, execute(job, options).buffers) for form, options in zip(EMULATED, OPTIONS, strict=True)]


def s(value: int, bits: int) -> int:
    """The low bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value
