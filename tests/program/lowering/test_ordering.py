"""Memory orders: what an access may name together, and the fences that stand for it."""

from __future__ import annotations

import pytest

from tests.program.lowering.test_refusals import body
from warpbank.program.errors import PtxError
from warpbank.program.isa import Op
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

ENDS = {
    "ld": ".u32 %r1, [%rd1]; st.u32 [%rd2], %r1;",
    "ldu": ".u32 %r1, [%rd1]; st.u32 [%rd2], %r1;",
    "st": ".u32 [%rd1], %r1;",
    "atom": ".add.u32 %r1, [%rd1], %r2;",
    "red": ".add.u32 [%rd1], %r1;",
    "membar": ";",
    "fence": ";",
}


def lowered(access: str) -> list[Op]:
    """Accesses and fences of `ld.volatile.global` and the like."""
    opcode = access.partition(".")[0]
    code = lower(parse(body(access + ENDS[opcode]), "some.ptx"), "k").instructions()
    found = [instr for instr in code if instr.op in (Op.LD, Op.ST, Op.ATOM, Op.MEMBAR)]
    assert all(instr.volatile for instr in found if instr.op is Op.MEMBAR)
    return [instr.op for instr in found]


@pytest.mark.parametrize(
    ("access", "ops"),
    [
        ("ld.weak.global.ca", [Op.LD, Op.ST]),
        ("ld.global.ca.nc", [Op.LD, Op.ST]),
        ("ld.relaxed.cluster", [Op.LD, Op.ST]),
        ("ld.acquire.sys.shared", [Op.LD, Op.MEMBAR, Op.ST]),
        ("ld.mmio.relaxed.sys.global", [Op.LD, Op.ST]),
        ("ld.local.L1::evict_last.L2::64B", [Op.LD, Op.ST]),
        ("ldu.global", [Op.LD, Op.ST]),
        ("st.global.wt", [Op.ST]),
        ("st.mmio.relaxed.sys", [Op.ST]),
        ("st.release.cta.shared", [Op.MEMBAR, Op.ST]),
        ("atom.release.global", [Op.MEMBAR, Op.ATOM]),
        ("atom.acquire.gpu", [Op.ATOM, Op.MEMBAR]),
        ("atom.acq_rel.cta.shared", [Op.MEMBAR, Op.ATOM, Op.MEMBAR]),
        ("atom.cluster", [Op.ATOM]),
        ("red.relaxed.sys", [Op.ATOM]),
        ("membar.gl", [Op.MEMBAR]),
        ("membar.proxy.alias", [Op.MEMBAR]),
        ("fence.acq_rel.gpu", [Op.MEMBAR]),
        ("fence.cluster", [Op.MEMBAR]),
        ("fence.sc.sys", [Op.MEMBAR]),
        ("fence.proxy.async.global", [Op.MEMBAR]),
        ("fence.mbarrier_init.op_restrict.release.cluster", [Op.MEMBAR]),
    ],
)
def test_an_order_becomes_fences(access: str, ops: list[Op]) -> None:
    assert lowered(access) == ops


@pytest.mark.parametrize("access", ["volatile", "relaxed.gpu", "acquire.gpu"])
def test_a_load_with_an_order_stays_though_nobody_reads_it(access: str) -> None:
    code = lower(parse(body(f"ld.{access}.global.u32 %r1, [%rd1];"), "some.ptx"), "k").instructions()
    assert [instr.op for instr in code if instr.op is Op.LD] == [Op.LD]
    weak = lower(parse(body("ld.weak.global.u32 %r1, [%rd1];"), "some.ptx"), "k").instructions()
    assert [instr.op for instr in weak if instr.op is Op.LD] == []


@pytest.mark.parametrize(
    ("access", "why"),
    [
        ("ld.volatile.weak", ".volatile does not go with .weak: take one of them"),
        ("ld.relaxed.gpu.global.ca", ".relaxed does not go with .ca: take one of them"),
        ("ld.relaxed.global", ".relaxed needs a scope: one of .cta .cluster .gpu .sys"),
        ("st.release", ".release needs a scope"),
        ("ld.gpu", ".gpu is the scope of .relaxed or .acquire: name one of them"),
        ("st.volatile.sys", ".sys is the scope of .relaxed or .release: name one of them"),
        ("ld.volatile.local", "ld with an order reaches memory that other threads see, not .local"),
        ("ld.acquire.gpu.const", "memory that other threads see, not .const"),
        ("atom.local", "atom with an order reaches memory that other threads see, not .local"),
        ("ldu.shared", "ldu loads from .global, not from .shared: take ld"),
        ("ldu.volatile", "modifier .volatile is not supported on ldu"),
        ("ldu.ca", "modifier .ca is not supported on ldu"),
        ("ldu.gpu", "modifier .gpu is not supported on ldu"),
        ("ld.mmio", ".mmio goes with .relaxed.sys"),
        ("ld.mmio.relaxed.gpu", ".mmio goes with .relaxed.sys"),
        ("ld.mmio.acquire.sys", ".mmio goes with .relaxed.sys"),
        ("ld.mmio.relaxed.sys.shared", ".mmio goes with .relaxed.sys, on .global or generic addresses"),
        ("ld.nc", ".nc goes with .global and .ca, .cg or .cs alone"),
        ("ld.shared.nc", ".nc goes with .global"),
        ("ld.weak.global.nc", ".nc goes with .global"),
        ("ld.volatile.global.nc", ".nc goes with .global"),
        ("ld.global.lu.nc", ".nc goes with .global and .ca, .cg or .cs alone"),
        ("st.global.nc", "modifier .nc is not supported on st"),
        ("ld.global.wb", "modifier .wb is not supported on ld"),
        ("ld.global.ca.cg", "modifier .cg is not supported on ld"),
        ("ld.release.gpu", ".gpu is the scope of .relaxed or .acquire"),
        ("ld.release", "modifier .release is not supported on ld"),
        ("ld.gl", "modifier .gl is not supported on ld"),
        ("st.acquire", "modifier .acquire is not supported on st"),
        ("st.global.ca", "modifier .ca is not supported on st"),
        ("atom.volatile", "modifier .volatile is not supported on atom"),
        ("atom.weak", "modifier .weak is not supported on atom"),
        ("atom.mmio.relaxed", "modifier .mmio is not supported on atom"),
        ("red.acquire", "modifier .acquire is not supported on red"),
        ("membar", "one of .cta, .gl, .sys is needed"),
        ("membar.gpu", "one of .cta, .gl, .sys is needed"),
        ("membar.cta.gl", "modifier .gl is not supported on membar"),
        ("membar.sc.gl", "modifier .sc is not supported on membar"),
        ("fence.sc", "one of .cta, .cluster, .gpu, .sys is needed"),
        ("fence.relaxed.gpu", "modifier .relaxed is not supported on fence"),
        ("fence.sc.acq_rel.gpu", "modifier .acq_rel is not supported on fence"),
    ],
)
def test_what_ptx_does_not_have_together(access: str, why: str) -> None:
    with pytest.raises(PtxError) as refused:
        lowered(access)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("prefetch [%rd1];", "one of .L1, .L2, .L2::evict_last, .L2::evict_normal, .tensormap is needed"),
        ("prefetch.global.L1 %rd1;", "an address in brackets is expected"),
        ("prefetch.shared.L1 [%rd1];", "no cache holds .shared memory: prefetch takes .global or generic"),
        ("prefetch.L1.L2 [%rd1];", "modifier .L2 is not supported on prefetch"),
        ("prefetchu.L2 [%rd1];", "one of .L1 is needed"),
        ("discard.global.L1 [%rd1], 128;", "one of .L2 is needed"),
        ("applypriority.global.L2 [%rd1], 128;", "one of .L2::evict_normal is needed"),
        ("nanosleep %r1;", "an operand type such as .b32 is needed"),
        ("nanosleep.u64 %rd1;", "it takes a .u32"),
        ("brkpt 5;", "it takes 0 operands, not 1"),
        ("pmevent;", "it takes 1 operands, not 0"),
    ],
)
def test_hints_that_ptx_does_not_have(line: str, why: str) -> None:
    with pytest.raises(PtxError) as refused:
        lower(parse(body(line), "some.ptx"), "k")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        "prefetch.global.L2::evict_last [%rd1];",
        "prefetch.tensormap [%rd1];",
        "prefetch.local.L1 [%rd1];",
        "prefetchu.L1 [%rd1];",
        "discard.L2 [%rd1], 128;",
        "applypriority.global.L2::evict_normal [%rd1], 128;",
        "nanosleep.u32 20;",
        "pmevent 7;",
        "brkpt;",
    ],
)
def test_hints_make_no_code(line: str) -> None:
    code = lower(parse(body(line), "some.ptx"), "k", optimize=False).instructions()
    assert [instr.op for instr in code] == [
        instr.op for instr in lower(parse(body(""), "some.ptx"), "k", optimize=False).instructions()
    ]
