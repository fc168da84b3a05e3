"""The shipped kernels as other LLVMs print them: what changes is the dialect of PTX, not what the kernels
compute.

`llvm/<version>/` holds what `warpbank compile` gave with the ziglang wheels 0.14.1 (LLVM 19), 0.15.2 (20) and
0.16.0 (21). The last one's compiler crashes on nbody and sgemm, so these two are not there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpbank import workloads
from warpbank.program.emulator.check import check_expected
from warpbank.program.runner import Options, execute

FILES = sorted(Path(__file__).parent.glob("llvm/*/*.ptx"))


def test_the_files_are_there() -> None:
    assert {path.parent.name for path in FILES} == {"19", "20", "21"}
    assert len(FILES) >= 3 * len(workloads.names()) - 2


@pytest.mark.quick("[a-k]*-20", "[a-k]*-19", "[l-z]*-21")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.stem}-{path.parent.name}")
def test_result_is_right(path: Path) -> None:
    job = replace(workloads.get(path.stem).job("tiny"), ptx=path.read_text(), ptx_path=str(path))
    for options in (Options(), Options(max_registers=24)):
        check = check_expected(job, execute(job, options).buffers)
        assert check.passed, f"{options}: {check.first}"
