"""PTX that NVIDIA's assembler takes and we refuse, and the reverse:
`python -m bench.acceptance --ptxas PATH`.

Lines are drawn at random: an instruction, a type and registers, right or wrong for each other. With
`--floats` they are the float instructions and conversions with every modifier, type and rounding; with
`--accesses` loads, stores, atomics and fences with every order, scope, state space and cache operator.
`ptxas` is part of the CUDA toolkit, and of the wheel `nvidia-cuda-nvcc`, which needs no GPU. What it takes
and we refuse may be somebody's program. What we take and it refuses is a mistake that nobody tells its writer
of.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path
from typing import Annotated

import typer

from bench import command_line
from warpbank.program.errors import PtxError
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

#: GPU that the assembler works for -> version of PTX.
VERSIONS = {"sm_80": "8.0", "sm_100": "8.6"}
#: Registers a kernel declares, by type: three of each.
REGISTERS = {
    "h": "b16",
    "r": "b32",
    "rd": "b64",
    "u": "u32",
    "sd": "s64",
    "hf": "f16",
    "hh": "f16x2",
    "f": "f32",
    "fd": "f64",
    "p": "pred",
}
TYPES = [
    *(f"{kind}{bits}" for kind in "usb" for bits in (8, 16, 32, 64)),
    *("f16", "f16x2", "bf16", "f32", "f64", "pred"),
]
#: Registers for addresses: of 64 bits, or of 32 for shared memory alone.
WIDE, NARROW = ([name for name, kind in REGISTERS.items() if kind[1:] == bits] for bits in ("64", "32"))
#: Forms of a line. T, S: types. A to E: names of registers, with a number behind each; D and E for addresses.
FORMS = """
    add.T A1, B2, C3;  sub.T A1, B2, C3;  mul.lo.T A1, B2, C3;  mul.hi.T A1, B2, C3;  mul.wide.T A1, B2, C3;
    mul.rn.T A1, B2, C3;  div.T A1, B2, C3;  div.rn.T A1, B2, C3;  rem.T A1, B2, C3;  min.T A1, B2, C3;
    max.T A1, B2, C3;  and.T A1, B2, C3;  or.T A1, B2, C3;  xor.T A1, B2, C3;  shl.T A1, B2, C3;
    shr.T A1, B2, C3;  add.cc.T A1, B2, C3;  addc.T A1, B2, C3;  mul24.lo.T A1, B2, C3;
    add.T A1, B2, 5;  add.T A1, B2, 0f3F800000;  and.T A1, B2, -1;  mov.T A1, 5;
    mov.T A1, B2;  neg.T A1, B2;  abs.T A1, B2;  not.T A1, B2;  cnot.T A1, B2;  popc.T A1, B2;  clz.T A1, B2;
    brev.T A1, B2;  bfind.T A1, B2;  rcp.rn.T A1, B2;  sqrt.rn.T A1, B2;  rsqrt.approx.T A1, B2;
    sin.approx.T A1, B2;  ex2.approx.T A1, B2;  lg2.approx.T A1, B2;  mov.T A1, {B1, B2};  mov.T {A1, A2}, B1;
    ld.global.T A1, [D2];  ld.shared.T A1, [E2];  ld.global.v2.T {A1, A3}, [D2];  st.global.T [D1], B2;
    st.shared.v2.T [E1], {B2, B3};  setp.eq.T p1, A1, B2;  setp.lt.T p1, A1, B2;  set.gt.u32.T A1, B2, B3;
    set.gt.f32.T A1, B2, B3;  selp.T A1, B2, C3, p1;  slct.T.s32 A1, A2, A3, B2;  slct.T.f32 A1, A2, A3, B2;
    bfe.T A1, A2, B2, C3;  bfi.T A1, A2, A3, B2, C3;  shf.l.wrap.T A1, A2, B3, C2;  prmt.T A1, A2, B3, C2;
    lop3.T A1, A2, B3, C2, 3;  mad.lo.T A1, B2, C3, A2;  mad.wide.T A1, B2, C3, A2;  fma.rn.T A1, B2, C3, A2;
    sad.T A1, B2, C3, A2;  match.any.sync.T A1, B2, -1;  shfl.sync.bfly.T A1, B2, 1, 31, -1;
    atom.global.add.T A1, [rd2], B2;  atom.shared.exch.T A1, [r2], B2;  atom.global.min.T A1, [rd2], B2;
    mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {A1, A2}, {B1, B2}, {C1}, {A1, A2};
    red.global.or.T [D2], B2;  cvt.T.S A1, B2;  cvt.rn.T.S A1, B2;  cvt.rzi.T.S A1, B2;
"""
_LINES = [form.strip() for form in FORMS.replace("\n", " ").split(";") if form.strip()]
_ERROR = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
#: Lines that the assembler is given at a time.
_BATCH = 2000
#: Float instructions, with how many operands.
FLOATS = {
    **dict.fromkeys(("add", "sub", "mul", "div", "min", "max", "copysign"), 3),
    **dict.fromkeys(("fma", "mad"), 4),
    **dict.fromkeys(("neg", "abs", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), 2),
}
#: Their types, with registers of each.
FLOAT_TYPES = {"f16": "h", "f16x2": "r", "bf16": "h", "bf16x2": "r", "f32": "f", "f32x2": "rd", "f64": "fd"}
ROUNDINGS = ("", ".rn", ".rz", ".rm", ".rp", ".approx", ".full")
MODIFIERS = (".ftz", ".sat", ".relu", ".noftz", ".NaN", ".xorsign.abs")


def floats() -> list[str]:
    """Float instructions with every rounding, type, and none, one or two modifiers."""
    modifiers = ["", *MODIFIERS, *map("".join, combinations(MODIFIERS, 2))]
    return [
        f"{name}{rounding}{modifier}.{kind} {', '.join(f'%{register}{n % 4}' for n in range(count))};"
        for name, count in FLOATS.items()
        for kind, register in FLOAT_TYPES.items()
        for rounding in ROUNDINGS
        for modifier in modifiers
    ]


#: Types of which one is converted to another, with registers of each.
CONVERTED = {
    "f16": "h",
    "bf16": "h",
    "f16x2": "r",
    "bf16x2": "r",
    "f32": "f",
    "f64": "fd",
    "tf32": "r",
    "e4m3x2": "h",
    "e5m2x2": "h",
    "u8": "r",
    "u16": "h",
    "s32": "r",
    "s64": "rd",
}
PAIRED = ("f16x2", "bf16x2", "e4m3x2", "e5m2x2")
LIMITS = (
    "",
    ".ftz",
    ".sat",
    ".relu",
    ".satfinite",
    ".relu.satfinite",
    ".satfinite.relu",
    ".ftz.sat",
    ".sat.relu",
)


def conversions() -> list[str]:
    """Conversions between every two types with every rounding and some modifiers; two singles make a pair."""
    return [
        f"cvt{rounding}{limits}.{to}.{source} %{CONVERTED[to]}1, %{CONVERTED[source]}2{third};"
        for to in CONVERTED
        for source in CONVERTED
        for rounding in ("", ".rn", ".rz", ".rna", ".rni", ".rm")
        for limits in LIMITS
        for third in ("", *([", %f3"] if to in PAIRED and source == "f32" else []))
    ]


#: Memory orders, scopes, state spaces and cache operators of an access.
ORDERS = ("", ".weak", ".volatile", ".relaxed", ".acquire", ".release", ".acq_rel", ".sc", ".mmio.relaxed")
SCOPES = ("", ".cta", ".cluster", ".gpu", ".sys", ".gl")
SPACES = ("", ".global", ".shared", ".local", ".const")
CACHES = ("", ".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".ca.nc", ".cg.nc", ".cs.nc", ".cv.nc", ".wb", ".wt")
ACCESSES = {
    **dict.fromkeys(("ld", "ldu"), ".u32 %r1, [%rd2];"),
    "st": ".u32 [%rd2], %r1;",
    "atom": ".add.u32 %r1, [%rd2], %r3;",
    "red": ".add.u32 [%rd2], %r3;",
}


def accesses() -> list[str]:
    """Loads, stores, atomics and fences with every order, scope, state space and cache operator."""
    lines = [
        f"{opcode}{order}{scope}{space}{cache}{rest}"
        for opcode, rest in ACCESSES.items()
        for order in ORDERS
        for scope in SCOPES
        for space in SPACES
        for cache in CACHES
    ]
    return lines + [
        f"{fence}{order}{scope};" for fence in ("membar", "fence") for order in ORDERS for scope in SCOPES
    ]


def drawn(seed: int) -> Iterator[str]:
    """PTX lines, drawn at random without end."""
    rng = random.Random(seed)
    while True:
        line = rng.choice(_LINES)
        for letter in "TS":
            line = re.sub(rf"\.{letter}\b", f".{rng.choice(TYPES)}", line)
        bits = re.search(r"\.[usbf]f?(\d+)\b", line)
        likely = [name for name, kind in REGISTERS.items() if bits and kind.endswith(bits[1])]
        every = likely if likely and rng.random() < 0.5 else [*REGISTERS]
        for letter, names in (*((letter, every) for letter in "ABC"), ("D", WIDE), ("E", NARROW)):
            line = re.sub(rf"\b{letter}(\d)", rf"%{rng.choice(names)}\1", line)
        yield re.sub(r"(?<!%)\b(p|r|rd)(\d)", r"%\1\2", line) + ";"


def head(gpu: str) -> str:
    """First lines of PTX for a GPU."""
    return f".version {VERSIONS[gpu]}\n.target {gpu}\n.address_size 64\n"


def module(lines: list[str], gpu: str = "sm_80") -> str:
    """PTX with a kernel of one line for each of these."""
    registers = " ".join(f".reg .{kind} %{name}<4>;" for name, kind in REGISTERS.items())
    kernels = (
        f".visible .entry k{number}() {{ {registers} {line} ret; }}" for number, line in enumerate(lines)
    )
    return head(gpu) + "\n".join(kernels) + "\n"


def theirs(ptxas: Path, lines: list[str], gpu: str = "sm_80") -> dict[str, str]:
    """Map of lines that the assembler refuses to its words. It is asked again without them, until it refuses
    none: it may stop at one before it has seen the others."""
    refused: dict[str, str] = {}
    while True:
        left = [line for line in lines if line not in refused]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "lines.ptx"
            source.write_text(module(left, gpu))
            command = [ptxas, f"-arch={gpu}", "-O0", source, "-o", Path(folder) / "lines.cubin"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = _ERROR.findall(done.stderr)
        if done.returncode and not found:
            raise typer.BadParameter(f"{ptxas} says nothing of a line: {done.stderr.strip()[:300]}")
        if not found:
            return refused
        first = head(gpu).count("\n") + 1
        refused |= {left[int(number) - first]: words for number, words in reversed(found)}


def ours(line: str) -> str:
    """Reason for which we refuse a line; "" if we take it."""
    try:
        lower(parse(module([line]), "lines.ptx"), "k0")
    except PtxError as error:
        return str(error).partition(": ")[2]
    return ""


def main(
    ptxas: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="NVIDIA's assembler.")],
    count: Annotated[int, typer.Option(min=1, help="Lines that are drawn.")] = 20000,
    seed: Annotated[int, typer.Option(help="Seed of the lines.")] = 1,
    show: Annotated[int, typer.Option(min=0, help="Lines of either kind that are printed.")] = 20,
    all_floats: Annotated[
        bool,
        typer.Option(
            "--floats", help="Every float instruction, and conversions, instead of lines that are drawn."
        ),
    ] = False,
    all_accesses: Annotated[
        bool, typer.Option("--accesses", help="Every access to memory instead of lines that are drawn.")
    ] = False,
) -> None:
    """Count the lines on which the two do not agree, and print some."""
    every = [*([*floats(), *conversions()] if all_floats else ()), *(accesses() if all_accesses else ())]
    gpu = "sm_100" if every else "sm_80"
    lines = every or list(islice(drawn(seed), count))
    agree, taken, lost, let_through = 0, 0, [], []
    for start in range(0, len(lines), _BATCH):
        batch = list(dict.fromkeys(lines[start : start + _BATCH]))
        refused = theirs(ptxas, batch, gpu)
        taken += len(batch) - len(refused)
        for line in batch:
            reason = ours(line)
            if bool(reason) == (line in refused):
                agree += 1
            elif reason:
                lost.append(f"{line}  we: {reason}")
            else:
                let_through.append(f"{line}  ptxas: {refused[line]}")
    print(f"{taken} lines are taken by ptxas")
    for title, found in (("taken by ptxas alone", lost), ("taken by us alone", let_through)):
        asked = f"{agree + len(lost) + len(let_through)}{'' if every else f', seed {seed}'}"
        print(f"{title}: {len(found)} of {asked}")
        print("".join(f"    {line}\n" for line in found[:show]), end="")
    raise typer.Exit(1 if lost else 0)


if __name__ == "__main__":
    command_line.run(main)
