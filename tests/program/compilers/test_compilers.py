"""PTX of Triton and Numba: what it computes, and the golden model on its traces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.program.compilers import make
from tests.program.compilers.jobs import NAMES, job
from warpbank.program.emulator.check import check_expected
from warpbank.program.options import CodeOrder
from warpbank.program.runner import Options, execute, wrong_memory
from warpbank.sim.experiment import Experiment, find_config, find_scheme, run

SEEDS = (5,)
#: The baseline, a scheme of each paper, and one of several.
SCHEMES = ("baseline", "bow-wr", "malekeh", "ltrf", "gscalar", "renaming", "bow-wr+renaming+gscalar-half")


def _seeded(seed: int) -> str:
    return f"seed{seed}"


def test_there_is_ptx_of_every_kernel() -> None:
    made = {f"triton.{name}.sm{gpu}" for name, *_, gpus in make.TRITON for gpu in gpus}
    assert made == {name for name in NAMES if name.startswith("triton.")}
    source = (Path(__file__).parent / "numba_kernels.py").read_text()
    kernels = {line[4:].partition("(")[0] for line in source.splitlines() if line.startswith("def ")}
    assert {f"numba.{name}.{level}" for name in kernels for level in ("O0", "O3")} == {*NAMES} - made


@pytest.mark.parametrize("order", CodeOrder)
@pytest.mark.parametrize("seed", SEEDS, ids=_seeded)
@pytest.mark.parametrize("name", NAMES)
def test_memory_is_what_numpy_says(name: str, seed: int, order: CodeOrder) -> None:
    made = job(name, seed)
    check = check_expected(made, execute(made, Options(code_order=order)).buffers)
    assert check.passed, wrong_memory(made, check)


@pytest.mark.quick(
    "triton.[bhlsv]*",
    "triton.matmul_f16.sm80-*-baseline",
    "triton.matmul_f16.sm75-*-renaming",  # a deadlock where one warp is served first
    "numba.[vw]*.O3-*",
    "numba.matmul.O3-*-ltrf",
)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", SEEDS, ids=_seeded)
@pytest.mark.parametrize("name", NAMES)
def test_every_operand_arrives(name: str, seed: int, scheme: str) -> None:
    """Golden compares each operand at dispatch with the program's value, and ends at the first wrong one."""
    report = run(Experiment(job(name, seed), find_config("turing", None, []), "turing", find_scheme(scheme)))
    assert report.result.counters["issue.uops"] > 0


@pytest.mark.parametrize("compiler", ["triton", "numba"])
def test_a_missing_compiler_is_named(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("triton", "numba_cuda"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit, match=rf"is not installed .*: pip install .*{compiler}.*=="):
        make.MAKERS[compiler]()
