"""Every committed PTX file lowers to legal code, the same each time, with address arithmetic as GPU compilers
emit it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.lowering.bench import check_legal
from warpbank.program.isa import Const, Op, Reg
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

PTX = sorted((Path(__file__).parents[3] / "workloads" / "ptx").glob("*.ptx"))


@pytest.mark.parametrize("path", PTX, ids=lambda p: p.stem)
def test_lowers(path: Path) -> None:
    module = parse(path.read_text(), path.name)
    for function in module.functions.values():
        if function.entry:
            for optimize in (True, False):
                kernel = lower(module, function.name, optimize=optimize)
                check_legal(kernel)
                assert kernel == lower(module, function.name, optimize=optimize)
                assert all(i.line for i in kernel.instructions())


def test_vectoradd_is_what_a_gpu_would_run() -> None:
    path = next(p for p in PTX if p.stem == "vectoradd")
    module = parse(path.read_text(), path.name)
    kernel = lower(module, next(f.name for f in module.functions.values() if f.entry))
    ops = [i.op for i in kernel.instructions()]
    assert ops.count(Op.IMADW) == 3
    assert Op.IADDC not in ops
    assert all(not isinstance(i.srcs[0], Reg) for i in kernel.instructions() if i.op == Op.MOV)
    assert any(isinstance(s, Const) and s.width == 2 for i in kernel.instructions() for s in i.srcs)
