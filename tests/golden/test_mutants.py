"""Broken register files must not pass: the operand check names kernel, warp, pc, register and lane."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import warpbank.golden.sub_core
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Hazard
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.golden import registry, values
from warpbank.golden.collector.ocu import Ocu
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.interfaces import Home
from warpbank.golden.mapping.direct import Direct
from warpbank.golden.sm import OperandMismatch, simulate
from warpbank.golden.storage import banks, gscalar
from warpbank.golden.storage.banks import Banks
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu

BASELINE = parse_scheme("baseline")


class SwappedLanes(Banks):
    """Two lanes change places at a read."""

    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        value = self.read(bank, row).copy()
        value[[1, 2]] = value[[2, 1]]
        return value, EMPTY


class DroppedMask(Banks):
    """A partial write overwrites the whole row."""

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        super().write(bank, row, self._all, value)


class StaleRow(Banks):
    """Every seventh write is lost."""

    count = 0

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        self.count += 1
        if self.count % 7:
            super().write(bank, row, mask, value)


class NeighbourLane(Banks):
    """A mask bit writes the lane above, too."""

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        super().write(bank, row, (mask | mask << 1) & self._all, value)


class SharedRows(Direct):
    """The rows of a warp are ignored: warps overwrite each other."""

    def home(self, warp: int, register: int) -> Home | None:
        return register & self._bank_mask, register >> self._shift


class NoWar(Scoreboard):
    """WAR hazards pass."""

    def hazard(self, uop: TraceUop) -> Hazard:
        return Hazard.SCOREBOARD if self.writes[uop.warp] & uop.hazard else Hazard.NONE


class NoRaw(Scoreboard):
    """Only WAW and WAR count."""

    def hazard(self, uop: TraceUop) -> Hazard:
        return (
            Hazard.SCOREBOARD if (self.writes[uop.warp] | self.reads[uop.warp]) & uop.writes else Hazard.NONE
        )


class NoWaw(Scoreboard):
    """WAW hazards pass: an old slow result comes after a young quick one."""

    def hazard(self, uop: TraceUop) -> Hazard:
        sources = sum(1 << register for register in uop.sources)
        return (
            Hazard.SCOREBOARD
            if self.writes[uop.warp] & sources or self.reads[uop.warp] & uop.writes
            else Hazard.NONE
        )


class WrongSlot(Ocu):
    """The first two operands of a uop change places."""

    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        uop = self._uops[collector]
        assert uop is not None
        super().deliver(collector, 1 - slot if slot < 2 <= len(uop.sources) else slot, tag, value, metadata)


@pytest.mark.parametrize("broken", [SwappedLanes, DroppedMask, StaleRow, NeighbourLane])
@pytest.mark.parametrize("machine", ["tiny", "turing"])
def test_storage(broken: type[Banks], machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "Banks", broken)
    with pytest.raises(OperandMismatch):
        simulate(random_trace(3), preset(machine), BASELINE)


def test_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.MAPPINGS, "direct", SharedRows)
    with pytest.raises(OperandMismatch):
        simulate(random_trace(3), preset("tiny"), BASELINE)


def test_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.COLLECTORS, "ocu", WrongSlot)
    trace = TraceBuilder().launch([[alu(1), alu(2), alu(3, 1, 2)]]).build()
    with pytest.raises(OperandMismatch):
        simulate(trace, preset("turing"), BASELINE)


@pytest.mark.parametrize("broken", [NoWar, NoRaw, NoWaw])
def test_scoreboard(broken: type[Scoreboard], monkeypatch: pytest.MonkeyPatch) -> None:
    config = with_overrides(
        preset("tiny"), ["sub_core.execute.alu.latency=1", "sub_core.banks=1", "sub_core.collectors=4"]
    )
    first = [alu(11, unit=Unit.SFU), alu(11), *(alu(register) for register in range(1, 7)), alu(7, 6)]
    slow, quick = alu(8, 1, 2, 3, 4, 5, 6), alu(6)
    program = [*first, slow, alu(9, 5, 4, 3, 2, 1, 6), quick, alu(10, 6), alu(12, 11)]
    trace = TraceBuilder().launch([program]).build()
    simulate(trace, config, BASELINE)
    monkeypatch.setattr(warpbank.golden.sub_core, "Scoreboard", broken)
    with pytest.raises(OperandMismatch):
        simulate(trace, config, BASELINE)


def test_the_message_names_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "Banks", SwappedLanes)
    trace = TraceBuilder().launch([[alu(1), alu(2, 1)]]).build()
    with pytest.raises(OperandMismatch) as caught:
        simulate(trace, preset("turing"), BASELINE)
    value = trace.values[0]
    assert str(caught.value) == (
        "Operand mismatch in kernel hand, CTA 0, warp 0 (sub-core 0, slot 0), pc 1 (op1): register R1, "
        f"lane 1: expected {value[1]:#010x}, found {value[2]:#010x}."
    )
    assert (caught.value.register, caught.value.lane, caught.value.expected) == (1, 1, value[1])


def test_lanes_never_written_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    class Garbage(Banks):
        def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
            value = self.read(bank, row)
            return np.where(value == 0, np.uint32(0xDEAD), value), EMPTY

    monkeypatch.setattr(banks, "Banks", Garbage)
    program = [alu(1, mask=3), alu(2, 1, 9), alu(3, 1, mask=1)]
    result = simulate(TraceBuilder().launch([program]).build(), preset("turing"), BASELINE)
    assert result.operands_checked == 3


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the register file takes for the bits of some lanes lacks the highest lane."""
    caches = (values.packed_lanes, gscalar._enable)
    whole = values.lane_bits
    monkeypatch.setattr(values, "lane_bits", lambda mask, lanes: whole(mask & ~(1 << lanes - 1), lanes))
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("scheme", ["gscalar", "bdi"])
def test_the_checker_does_not_share_what_the_register_file_forgets(scheme: str) -> None:
    with pytest.raises(OperandMismatch):
        simulate(random_trace(3), preset("turing"), parse_scheme(scheme))
