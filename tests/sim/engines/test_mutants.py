"""Broken RTL does not pass: the operand check of both engines names kernel, warp, pc, register and lane."""

from __future__ import annotations

import re
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

import warpbank.hdl.sub_core
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.hdl import registry
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.storage.banks import Banks
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.model import Build
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.engines.rtl import RtlEngine
from warpbank.sim.engines.verilator import VerilatorEngine

BASELINE = parse_scheme("baseline")
#: Small, quick to build, and with all that the hazards need: one bank that four collectors wait for.
MACHINE = with_overrides(
    preset("tiny"),
    [
        "sub_core.execute.alu.latency=1",
        "sub_core.banks=1",
        "sub_core.collectors=4",
        "sub_core.warps=2",
        "lsu.pending=2",
    ],
)
NAMED = re.compile(
    r"Operand mismatch in kernel hand, CTA \d+, warp \d+ \(sub-core 0, slot [01]\), pc \d+ \(op\d+\): "
    r"register R\d+, "
    r"lane [0-3]: expected 0x[0-9a-f]{8}, found 0x[0-9a-f]{8}\."
)


class Broken(Banks):
    """Banks with something wrong, at one of three places."""

    def data(self, m: Module, value: Value) -> Value:
        """What a read finds."""
        return value

    def mask(self, m: Module, bank: Any) -> Value:
        """Lanes that a write writes."""
        return bank.mask

    def enable(self, m: Module, bank: Any) -> Value:
        """Whether a write is done."""
        return bank.write

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, bank in enumerate(self.bank):
            memory = m.submodules[f"bank_{number}"] = Memory(
                shape=self._config.value_width, depth=self._config.sub_core.rows, init=[]
            )
            read, write = memory.read_port(), memory.write_port(granularity=32)
            lanes = len(bank.mask)
            m.d.comb += [
                read.addr.eq(bank.row),
                read.en.eq(bank.read),
                bank.data.eq(self.data(m, read.data)),
                write.addr.eq(bank.row),
                write.data.eq(bank.value),
                write.en.eq(self.enable(m, bank).replicate(lanes) & self.mask(m, bank)),
                bank.written.eq(bank.write),
                bank.stored.eq(bank.write),
            ]
        return m


class SwappedLanes(Broken):
    """Lanes 1 and 2 change places at a read."""

    def data(self, m: Module, value: Value) -> Value:
        return Cat(value[:32], value[64:96], value[32:64], value[96:])


class DroppedMask(Broken):
    """A partial write overwrites the whole row."""

    def mask(self, m: Module, bank: Any) -> Value:
        return Const(-1, len(bank.mask))


class StaleRow(Broken):
    """Every eighth write is lost: the row keeps what it held."""

    def enable(self, m: Module, bank: Any) -> Value:
        count = Signal(3, init=1)
        m.d.sync += count.eq(count + bank.write)
        return Mux(count == 0, 0, bank.write)


class NoWar(Scoreboard):
    """WAR hazards pass."""

    def _reads(self, m: Module) -> Value:
        return Const(0, self._config.sub_core.warps)


def war_trace() -> Trace:
    """A slow reader of R6, and a quick writer behind it."""
    slow, quick = alu(8, 1, 2, 3, 4, 5, 6), alu(6)
    program = [
        *(alu(register) for register in range(1, 7)),
        alu(7, 6),
        slow,
        alu(9, 5, 4, 3, 2, 1, 6),
        quick,
        alu(10, 6),
    ]
    return TraceBuilder().launch([program]).build()


@pytest.fixture(params=["pysim", "verilator"])
def engine(request: pytest.FixtureRequest) -> RtlEngine:
    """Both engines; a variant of Verilator's model has the test's name."""
    return PysimEngine() if request.param == "pysim" else VerilatorEngine(Build(variant=request.node.name))


def caught(engine: RtlEngine, trace: Trace) -> OperandMismatch:
    """The mismatch that ends the run."""
    with pytest.raises(OperandMismatch) as found:
        engine.run(trace, MACHINE, BASELINE)
    assert NAMED.fullmatch(str(found.value))
    return found.value


def small_trace() -> Trace:
    """Partial writes, wide results, several CTAs."""
    return random_trace(3, ctas=2, warps=2, length=25)


@pytest.mark.parametrize("broken", [DroppedMask, StaleRow])
def test_banks(broken: type[Banks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.STORAGES, "plain", broken)
    caught(PysimEngine(), small_trace())


@pytest.mark.quick("pysim")
def test_war(engine: RtlEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warpbank.hdl.sub_core, "Scoreboard", NoWar)
    found = caught(engine, war_trace())
    assert found.register == 6


@pytest.mark.long
def test_both_engines_name_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.STORAGES, "plain", SwappedLanes)
    found = [
        caught(engine, small_trace())
        for engine in (PysimEngine(), VerilatorEngine(Build(variant="swapped-lanes")))
    ]
    assert len({str(mismatch) for mismatch in found}) == 1
    assert found[0].lane in (1, 2)


@pytest.mark.long
def test_the_sound_machine_passes() -> None:
    for trace in (small_trace(), war_trace()):
        assert PysimEngine().run(trace, MACHINE, BASELINE).operand_mismatches == 0
