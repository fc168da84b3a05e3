"""Table of PTX features in docs/ptx.md: what the program side takes and what it refuses, by ISA version.

    python -m tests.ptx_features

Each feature has a probe, one line of PTX. The table says what happens when the probe is lowered, so it cannot
promise more than there is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpbank.program.errors import PtxError
from warpbank.program.launch import Texture
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse
from warpbank.program.textures import Bindings

PAGE = Path(__file__).parents[1] / "docs" / "ptx.md"
BEGIN, END = "<!-- begin: PTX features -->\n", "<!-- end: PTX features -->\n"
_BODY = """.version 8.8
.target sm_100
.address_size 64
.global .texref tex0; .global .texref tex1; .global .samplerref smp0; .global .surfref surf0;
.extern .func vprintf(.param .b64 a, .param .b64 b);
.func (.param .b32 r) callee(.param .b32 a) {{ st.param.b32 [r], 1; ret; }}
.visible .entry k(.param .u64 p) {{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;
.reg .b128 %q<3>; .shared .align 16 .b8 tile[64]; .param .b32 n; .param .b64 a; .param .b64 b;
{probe}
ret; }}
"""


def _registers(first: int, count: int, name: str = "r") -> str:
    return "{" + ", ".join(f"%{name}{first + i}" for i in range(count)) + "}"


def _mma(modifiers: str, *counts: int, name: str = "r") -> str:
    d, a, b = counts
    groups = [_registers(at, n, name) for at, n in ((0, d), (10, a), (20, b), (0, d))]
    return f"mma.sync.aligned.{modifiers} {', '.join(groups)};"


#: (ISA version that brought it, feature, probe).
FEATURES: tuple[tuple[str, str, str], ...] = (
    ("1.0", "arithmetic of 16, 32 and 64 bits, f32 and f64", "mad.lo.s64 %rd1, %rd2, %rd3, %rd4;"),
    ("1.0", "loads and stores of every space and vector", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"),
    ("1.0", "`bar.sync`", "bar.sync 0;"),
    ("1.0", "textures on linear memory: `tex.1d`", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1}];"),
    (
        "1.0",
        "textures on linear memory: `tex.2d`",
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, {%f1, %f2}];",
    ),
    ("1.0", "textures `tex.3d`", "tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, {%f1, %f2, %f3, %f4}];"),
    ("1.5", "samplers of their own", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, smp0, {%f1, %f2}];"),
    ("1.5", "`txq` of width and height", "txq.width.b32 %r1, [tex0];"),
    ("2.3", "arrays of textures", "tex.a1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1, %r2}];"),
    ("3.0", "cubes of textures", "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, {%f1, %f2, %f3, %f4}];"),
    (
        "3.1",
        "textures with levels of detail",
        "tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, {%f1, %f2}], %f5;",
    ),
    ("2.2", "`tld4`", "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex1, {%f1, %f2}];"),
    ("3.1", "texture objects in registers", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];"),
    ("1.1", "atomics in global memory", "atom.global.add.u32 %r1, [%rd1], %r2;"),
    ("1.2", "carries `add.cc`, `subc`", "add.cc.u32 %r1, %r2, %r3;"),
    ("1.2", "atomics in shared memory, of 64 bits", "atom.shared.cas.b64 %rd1, [tile], %rd2, %rd3;"),
    ("1.5", "surfaces `suld`, `sust`", "suld.b.1d.b32.trap {%r1}, [surf0, {%r2}];"),
    ("2.0", "bit fields, `prmt`, `popc`, `clz`, `brev`", "bfe.u32 %r1, %r2, 3, 4;"),
    ("2.0", "generic addresses, `cvta`, `isspacep`", "cvta.global.u64 %rd1, %rd2;"),
    ("2.0", "functions, `.param` in local memory", "call (n), callee, (n);"),
    ("2.0", "`bar.red`, `bar.arrive`", "bar.red.popc.u32 %r1, 0, %p1;"),
    ("2.0", "scalar video instructions", "vadd.u32.u32.u32 %r1, %r2, %r3;"),
    ("2.1", "calls through a register", "f: .calltargets callee; call (n), %rd1, (n), f;"),
    ("2.1", "`printf` (`vprintf`)", "call vprintf, (a, b);"),
    ("2.3", "32-bit addresses", ""),
    ("3.0", "`shfl`", "shfl.bfly.b32 %r1, %r2, 1, 31;"),
    ("3.0", "SIMD video instructions", "vadd2.u32.u32.u32 %r1, %r2, %r3, %r4;"),
    ("3.0", "`madc`", "madc.lo.u32 %r1, %r2, %r3, %r4;"),
    ("3.1", "`shf`, `ld.global.nc`", "ld.global.nc.u32 %r1, [%rd1];"),
    ("4.2", "f16 arithmetic", "fma.rn.f16x2 %r1, %r2, %r3, %r4;"),
    ("4.3", "`lop3`", "lop3.b32 %r1, %r2, %r3, %r4, 0x96;"),
    ("5.0", "`dp4a`, `dp2a`", "dp4a.s32.s32 %r1, %r2, %r3, %r4;"),
    ("6.0", "`.sync` shuffles, votes, `match`, `barrier`", "match.any.sync.b32 %r1, %r2, -1;"),
    ("6.0", "`fence`, acquire, release, scopes", "ld.acquire.gpu.global.u32 %r1, [%rd1];"),
    (
        "6.0",
        "`wmma` of f16",
        f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {_registers(0, 8)}, [%rd1];",
    ),
    ("6.0", "`brx.idx`", "t: .branchtargets x; brx.idx %r1, t; x:"),
    (
        "6.3",
        "`wmma` of int8",
        f"wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {_registers(0, 2)}, [%rd1];",
    ),
    (
        "6.3",
        "`wmma` of int4 and single bits",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r1}, [%rd1];",
    ),
    ("6.4", "`mma` m8n8k4 of f16", _mma("m8n8k4.row.col.f32.f16.f16.f32", 8, 2, 2)),
    ("6.5", "`mma` m16n8k8 of f16", _mma("m16n8k8.row.col.f32.f16.f16.f32", 4, 2, 1)),
    ("6.5", "`mma` m8n8k16 of int8", _mma("m8n8k16.row.col.s32.s8.s8.s32", 2, 1, 1)),
    ("6.5", "`mma` m8n8k32 of int4", _mma("m8n8k32.row.col.s32.s4.s4.s32", 2, 1, 1)),
    ("6.5", "`ldmatrix`", "ldmatrix.sync.aligned.m8n8.x2.trans.b16 {%r1, %r2}, [%rd1];"),
    ("6.5", "`cvt.pack`", "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;"),
    ("7.0", "`mma` m16n8k16 of f16 and bf16", _mma("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 4, 2)),
    ("7.0", "`mma` m16n8k4 and m16n8k8 of tf32", _mma("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2)),
    ("7.0", "`mma` m16n8k16 and m16n8k32 of int8", _mma("m16n8k32.row.col.s32.u8.s8.s32", 4, 4, 2)),
    (
        "7.0",
        "`mma` m8n8k4 of f64",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};",
    ),
    ("7.0", "`mma` of single bits", _mma("m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, 1, 1)),
    (
        "7.1",
        "`mma.sp` (sparse factors)",
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 %r1, %r2, %r3, %r4, %r5, 0;",
    ),
    (
        "7.0",
        "`wmma` of bf16, tf32, f64",
        f"wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {_registers(0, 4)}, [%rd1];",
    ),
    ("7.0", "`cvt` to tf32", "cvt.rna.tf32.f32 %r1, %f1;"),
    ("7.0", "`cp.async`, groups", "cp.async.ca.shared.global [tile], [%rd1], 16;"),
    ("7.0", "`mbarrier`", "mbarrier.init.shared.b64 [tile], %r1;"),
    ("7.0", "`redux`", "redux.sync.add.u32 %r1, %r2, -1;"),
    ("7.3", "`alloca`", "alloca.u64 %rd1, %rd2;"),
    ("7.8", "8-bit floats `e4m3x2`, `e5m2x2`", "cvt.rn.f16x2.e4m3x2 %r1, %h1;"),
    ("7.8", "`stmatrix`", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [tile], {%r1};"),
    (
        "7.8",
        "`mma` of f64, m16n8k4 to m16n8k16",
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%d1, %d2, %d3, %d4}, {%d5, %d6}, {%d7}, "
        "{%d1, %d2, %d3, %d4};",
    ),
    ("7.8", "clusters of CTAs", "mapa.shared::cluster.u32 %r1, %r2, %r3;"),
    ("7.8", "dependent launches", "griddepcontrol.wait;"),
    ("8.0", "`wgmma`", "wgmma.fence.sync.aligned;"),
    ("8.0", "bulk copies", "cp.async.bulk.commit_group;"),
    ("8.0", "`elect.sync`", "elect.sync %r1|%p1, -1;"),
    ("8.3", "128-bit atomics", "atom.global.exch.b128 %q1, [%rd1], %q2;"),
    ("8.4", "`mma` of 8-bit floats", _mma("m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 4, 2)),
    ("8.6", "`add.f32x2` and its kin", "add.rn.f32x2 %rd1, %rd2, %rd3;"),
    ("8.6", "floats of 4 and 6 bits", "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;"),
    ("8.6", "`tcgen05`", "tcgen05.fence::before_thread_sync;"),
)


#: Textures that the probes read.
_TEXTURES = Bindings(
    {
        "tex0": Texture("x", np.dtype("f4"), 1, 64),
        "tex1": Texture("x", np.dtype("f4"), 1, 8, 8, 32),
        "object": Texture("x", np.dtype("f4"), 1, 64),
    }
)


def refusal(probe: str) -> str:
    """Why a probe is refused; empty if it is lowered."""
    text = _BODY.format(probe=probe)
    if not probe:  # the one feature that is no instruction
        text = text.replace(".address_size 64", ".address_size 32")
    try:
        lower(parse(text, "probe.ptx"), "k", textures=_TEXTURES)
    except PtxError as error:
        why = str(error).partition(": ")[2]
        return why.partition("': ")[2] or why
    return ""


def table() -> str:
    """The table in Markdown, in the order of the versions."""
    rows = ["| ISA | feature | taken | what there is instead |", "|---|---|---|---|"]
    for version, feature, probe in sorted(FEATURES, key=lambda f: tuple(map(int, f[0].split(".")))):
        why = refusal(probe).replace("|", "\\|")
        rows.append(f"| {version} | {feature} | {'no' if why else 'yes'} | {why} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """The page with its table up to date."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + table() + END + tail


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
