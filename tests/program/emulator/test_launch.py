"""Arguments, symbols, module variables, launches that do not fit, and the comparison with expected memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from warpbank.program.emulator import run_job
from warpbank.program.emulator.check import check_expected
from warpbank.program.emulator.jit import source_stamp
from warpbank.program.errors import ExecutionError, LaunchError
from warpbank.program.isa import (
    CONST_PARAMETERS,
    CONST_WINDOW,
    GLOBAL_BASE,
    VIRTUAL,
    Block,
    Const,
    GlobalVariable,
    Imm,
    Instr,
    Kernel,
    Op,
    Parameter,
    Pred,
    Reg,
    Space,
)
from warpbank.program.launch import Argument, Expected, Job, Launch, Pointer

ROOT = Path(__file__).resolve().parents[3]


def copier(*sources: tuple[int, int], name: str = "k", **fields: object) -> Kernel:
    """A kernel of one pointer parameter, then others, that stores words of its constant bank: (offset,
    width)."""
    instrs = []
    place = 0
    for offset, width in sources:
        instrs += [Instr(Op.MOV, dst=Reg(2 * i, 1), srcs=(Const(offset + 4 * i),)) for i in range(width)]
        instrs += [
            Instr(Op.ST, srcs=(Const(CONST_PARAMETERS, 2), Reg(2 * i)), offset=place + 4 * i)
            for i in range(width)
        ]
        place += 4 * width
    instrs.append(Instr(Op.EXIT))
    given = {"parameters": [Parameter("out", CONST_PARAMETERS, 8, "u64")]} | fields
    return Kernel(name, [Block("entry", instrs)], {}, 0, registers=8, **given)  # type: ignore[arg-type]


def job(*launches: Launch, buffers: dict[str, np.ndarray] | None = None, **fields: object) -> Job:
    if buffers is None:
        buffers = {"out": np.zeros(8, np.uint32)}
    return Job("test", "tiny", "", "test.ptx", buffers, list(launches), **fields)  # type: ignore[arg-type]


def launch(*args: Argument, entry: str = "k", **fields: object) -> Launch:
    given = {"grid": (1, 1, 1), "block": (1, 1, 1)} | fields
    return Launch(entry, args=args or ("out",), **given)  # type: ignore[arg-type]


def test_arguments_of_every_kind() -> None:
    parameters = [
        Parameter("out", CONST_PARAMETERS, 8, "u64"),
        Parameter("pointer", CONST_PARAMETERS + 8, 8, "u64"),
        Parameter("half", CONST_PARAMETERS + 16, 2, "u16"),
        Parameter("single", CONST_PARAMETERS + 20, 4, "f32"),
        Parameter("struct", CONST_PARAMETERS + 24, 12, "b8"),
    ]
    code = copier(
        (CONST_PARAMETERS + 8, 2),
        (CONST_PARAMETERS + 16, 2),
        (CONST_PARAMETERS + 24, 3),
        parameters=parameters,
    )
    struct = np.array([7, 8, 9], np.uint32).tobytes()
    args = ("out", Pointer("in", 12), np.uint16(0xBEEF), np.float32(1.0), struct)
    done = run_job(
        job(launch(*args), buffers={"in": np.zeros(4), "out": np.zeros(7, np.uint32)}), {"k": code}
    )
    address = GLOBAL_BASE + 12
    assert done.buffers["out"].tolist() == [address & 0xFFFFFFFF, address >> 32, 0xBEEF, 0x3F800000, 7, 8, 9]


def test_dimensions_are_in_the_constant_bank() -> None:
    done = run_job(job(launch(grid=(2, 3, 4), block=(5, 6, 7), dynamic_shared=64)), {"k": copier((0, 7))})
    assert done.buffers["out"][:7].tolist() == [5, 6, 7, 2, 3, 4, 64]


def test_buffers_are_never_modified_and_keep_their_shape() -> None:
    before = np.zeros((2, 4), ">i2")
    after = run_job(job(launch(), buffers={"out": before}), {"k": copier((0, 1))}).buffers["out"]
    assert not before.any()
    assert (after.dtype, after.shape) == (before.dtype, before.shape)
    assert after.tobytes()[:4] == b"\x01\0\0\0"


def variable_kernel(name: str) -> Kernel:
    """Adds 1 to the module variable `count`; stores count, the word `table` points at, and a .const
    symbol."""
    slots = {"count": 0x200, "table": 0x208}
    instrs = [
        Instr(Op.LD, dst=Reg(0), srcs=(Const(0x200, 2),)),
        Instr(Op.IADD, dst=Reg(0), srcs=(Reg(0), Imm(1))),
        Instr(Op.ST, srcs=(Const(0x200, 2), Reg(0))),
        Instr(Op.ST, srcs=(Const(CONST_PARAMETERS, 2), Reg(0))),
        Instr(Op.LD, dst=Reg(2, 2), srcs=(Const(0x208, 2),), size=8),
        Instr(Op.LD, dst=Reg(0), srcs=(Reg(2, 2),), space=Space.GENERIC),
        Instr(Op.ST, srcs=(Const(CONST_PARAMETERS, 2), Reg(0)), offset=4),
        Instr(Op.LD, dst=Reg(2, 2), srcs=(Const(0x208, 2),), size=8, offset=8),
        Instr(Op.LD, dst=Reg(0), srcs=(Reg(2, 2),), space=Space.GENERIC),
        Instr(Op.ST, srcs=(Const(CONST_PARAMETERS, 2), Reg(0)), offset=8),
        Instr(Op.EXIT),
    ]
    return Kernel(
        name,
        [Block("entry", instrs)],
        {},
        0,
        registers=4,
        constants=bytearray(0x220),
        parameters=[Parameter("out", CONST_PARAMETERS, 8, "u64")],
        globals={
            "count": GlobalVariable(8, 4, bytes([5, 0, 0, 0, 6])),
            "table": GlobalVariable(16, 8, b"", ((0, "count", 4), (8, "c", 4))),
        },
        global_slots=slots,
        symbols={"c": (0x210, 16)},
    )


def test_module_variables_are_shared_and_persist() -> None:
    """Two kernels, three launches, one variable; pointers in a variable's initial value; a symbol the host
    fills."""
    kernels = {"k": variable_kernel("k"), "l": variable_kernel("l")}
    whole = job(launch(), launch(entry="l"), launch(), symbols={"c": np.array([11, 22], np.uint32)})
    assert run_job(whole, kernels).buffers["out"][:3].tolist() == [8, 6, 22]
    filled = job(launch(), symbols={"count": np.array([100], np.uint32)})
    assert run_job(filled, kernels).buffers["out"][:2].tolist() == [101, 6]
    assert CONST_WINDOW % 2**32 == 0


@pytest.mark.parametrize(
    ("wrong", "parts"),
    [
        (job(launch(entry="q")), ("no kernel 'q'", "test.ptx", "k")),
        (job(launch(grid=(0, 1, 1))), ("kernel k", "grid (0, 1, 1)", "at least 1")),
        (job(launch(block=(8, 0, 1))), ("block (8, 0, 1)", "at least 1")),
        (job(launch(block=(32, 32, 2))), ("2048 threads", "1024")),
        (job(launch("out", "out")), ("has 1 parameters", "gives 2")),
        (job(launch("in")), ("parameter out", "buffer 'in'", "has out")),
        (job(launch(np.uint32(3))), ("parameter out", "takes 8 bytes (u64)", "has 4")),
        (job(launch(), symbols={"s": np.zeros(1)}), ("symbol 's'",)),
    ],
)
def test_launches_that_do_not_fit(wrong: Job, parts: tuple[str, ...]) -> None:
    with pytest.raises(LaunchError) as caught:
        run_job(wrong, {"k": copier((0, 1))})
    for part in parts:
        assert part in str(caught.value)


def test_required_block_and_symbol_size() -> None:
    with pytest.raises(LaunchError, match=r"insists on \(64, 1, 1\)"):
        run_job(job(launch()), {"k": copier((0, 1), required_block=(64, 1, 1))})
    with pytest.raises(LaunchError, match="16 bytes; it holds 8"):
        run_job(job(launch(), symbols={"s": np.zeros(2)}), {"k": copier((0, 1), symbols={"s": (0x180, 8)})})


def test_a_constant_beyond_the_bank() -> None:
    with pytest.raises(ExecutionError, match="constant bank, which ends at 0x168"):
        run_job(job(launch()), {"k": copier((0x168, 1))})


def test_no_trace_on_virtual_registers() -> None:
    block = Block("entry", [Instr(Op.MOV, dst=Reg(VIRTUAL), srcs=(Imm(1),)), Instr(Op.EXIT)])
    code = Kernel("k", [block], {VIRTUAL: 1}, 0)
    run_job(job(Launch("k", (1, 1, 1), (1, 1, 1), ())), {"k": code})
    with pytest.raises(ValueError, match="virtual registers"):
        run_job(job(Launch("k", (1, 1, 1), (1, 1, 1), ())), {"k": code}, trace=True)
    guarded = Block("entry", [Instr(Op.EXIT, guard=Pred(9)), Instr(Op.EXIT)])
    with pytest.raises(ValueError, match="virtual registers"):
        run_job(job(Launch("k", (1, 1, 1), (1, 1, 1), ())), {"k": Kernel("k", [guarded], {}, 2)}, trace=True)


# ---- expected memory


def expecting(**expected: Expected) -> Job:
    return job(expected=expected)


def test_integers_exactly() -> None:
    wanted = expecting(a=Expected(np.arange(6).reshape(2, 3), rtol=1.0, atol=10.0))
    good = check_expected(wanted, {"a": np.arange(6).reshape(2, 3)})
    assert (good.passed, good.buffers, good.elements, good.wrong, good.first) == (True, 1, 6, 0, None)
    bad = check_expected(wanted, {"a": np.array([[0, 1, 2], [3, 5, 7]])})
    assert (bad.passed, bad.wrong) == (False, 2)
    assert str(bad.first) == "a[1, 1]: expected 4, found 5"


def test_floats_within_tolerance() -> None:
    value = np.array([1.0, 100.0, 0.0, np.inf, np.nan, np.inf, 1.0], np.float32)
    found = np.array([1.01, 101.0, 0.005, np.inf, np.nan, 3e38, np.nan], np.float32)
    check = check_expected(expecting(a=Expected(value, rtol=0.01, atol=0.005)), {"a": found})
    assert check.wrong == 2
    assert check.first is not None
    assert check.first.index == (5,)
    exact = check_expected(expecting(a=Expected(value)), {"a": value})
    assert exact.passed


def test_expectations_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="does not have"):
        check_expected(expecting(a=Expected(np.zeros(1))), {})
    with pytest.raises(ValueError, match="shape"):
        check_expected(expecting(a=Expected(np.zeros(1))), {"a": np.zeros(2)})


# ---- compilation


def test_the_stamp_is_stable() -> None:
    assert source_stamp() == source_stamp()
    assert len(source_stamp()) == 64


@pytest.mark.long
def test_arithmetic_on_a_processor_without_fma(tmp_path: Path) -> None:
    """The fused operations fall back to the C library's, which must round once as well."""
    environment = dict(
        os.environ, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="", NUMBA_CACHE_DIR=str(tmp_path)
    )
    tests = ["tests/program/emulator/test_floating.py", "tests/program/emulator/test_convert.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_more_memory_than_there_is_is_a_sentence() -> None:
    with pytest.raises(LaunchError, match=r"test.ptx: buffers, .* take 1\d{15} bytes together"):
        run_job(job(launch(dynamic_shared=10**15)), {"k": copier((0, 1))})
