"""Variables of the module: addresses in their initial values, and how many of them there may be."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.program.emulator import run_job
from warpbank.program.errors import PtxError
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """
.visible .entry k(.param .u64 p_out)
{
    .reg .b32 %r<5>;  .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p_out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    mov.u64 %rd3, ways;
    add.s64 %rd4, %rd3, %rd2;
    ld.const.u64 %rd5, [%rd4];
    ld.u32 %r2, [%rd5];
    mul.wide.u32 %rd6, %r1, 4;
    add.s64 %rd1, %rd1, %rd6;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


def _run(text: str, threads: int, symbols: dict[str, np.ndarray] | None = None) -> list[int]:
    launch = Launch("k", (1, 1, 1), (threads, 1, 1), ("out",))
    job = Job("k", "tiny", text, "k.ptx", {"out": np.zeros(threads, np.uint32)}, [launch], {}, symbols or {})
    return run_job(job, {"k": lower(parse(text, "k.ptx"), "k")}).buffers["out"].tolist()


def test_constants_hold_addresses_of_globals() -> None:
    """The third entry leads through a global variable that the kernel never names."""
    text = (
        HEAD
        + ".global .align 4 .b32 apart[4] = {50, 60, 70, 80};\n.const .align 4 .b32 near[2] = {7, 8};\n"
        + ".const .align 8 .u64 ways[3] = {generic(apart), generic(near)+4, generic(apart)+12};\n"
        + KERNEL
    )
    assert _run(text, 3) == [50, 8, 80]
    assert _run(text, 3, {"near": np.array([1, 2], np.uint32)}) == [50, 2, 80]


def test_constant_memory_holds_64_kib_of_variables() -> None:
    ways = ".global .align 4 .b32 apart = 5;\n.const .align 8 .u64 ways[1] = {generic(apart)};\n"
    assert _run(HEAD + ways + ".const .align 4 .b8 much[65528];\n" + KERNEL, 1) == [5]
    with pytest.raises(PtxError, match="may take"):
        _run(HEAD + ways + ".const .align 4 .b8 much[75528];\n" + KERNEL, 1)
