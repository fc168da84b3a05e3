"""A whole sub-core against golden's, every event and operand of every cycle; presets elaborate; broken ones
are caught."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.back import rtlil
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warpbank.hdl.sub_core
from tests.hdl.bench import MACHINES, SEEDS
from tests.hdl.sub_core_bench import Divergence, replay
from warpbank.arch.config import PRESETS, preset, with_overrides
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.hdl import registry
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.sub_core import SubCore
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.trace.builder import TraceBuilder, alu

BASELINE = parse_scheme("baseline")


@pytest.mark.quick("tiny")
@pytest.mark.parametrize("machine", ["tiny", "odd", "per_warp"])
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=SEEDS, policy=st.sampled_from(["lrr", "gto"]))
def test_equals_golden(machine: str, seed: int, policy: str) -> None:
    config = with_overrides(MACHINES[machine], [f"sub_core.front_end.scheduler={policy}"])
    trace = random_trace(seed, ctas=2, length=12, warps=min(3, config.sub_core.warps))
    assert replay(trace, config) > 0


def test_turing_equals_golden() -> None:
    config = with_overrides(preset("turing"), ["lanes=4"])
    assert replay(random_trace(5, ctas=4, warps=5, length=8, barriers=1), config, number=1, cycles=400) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("policy", ["lrr", "gto"])
def test_presets_equal_golden(name: str, policy: str) -> None:
    config = with_overrides(preset(name), [f"sub_core.front_end.scheduler={policy}"])
    assert replay(random_trace(7, ctas=6, warps=6, length=15), config, cycles=1500) > 0


@pytest.mark.quick("False-tiny")
@pytest.mark.parametrize("name", [*MACHINES, pytest.param("turing", marks=pytest.mark.long)])
@pytest.mark.parametrize("probe", [False, True])
def test_elaborates_always_alike(name: str, probe: bool) -> None:
    config = MACHINES.get(name) or preset(name)
    first, second = (rtlil.convert(SubCore(config, BASELINE, probe), emit_src=False) for _ in range(2))
    assert first == second
    assert ("events__" in first) == probe


class SwappedLanes(Banks):
    """Two lanes change places at a read."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        for bank in self.bank:
            data = bank.data
            memory = getattr(m.submodules, f"bank_{list(self.bank).index(bank)}")
            found = memory.read_ports[0].data
            m.d.comb += [data[32:64].eq(found[64:96]), data[64:96].eq(found[32:64])]
        return m


class NoMask(Banks):
    """Every write is of all lanes."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        for number, bank in enumerate(self.bank):
            port = getattr(m.submodules, f"bank_{number}").write_ports[0]
            m.d.comb += port.en.eq(bank.write.replicate(len(port.en)))
        return m


class StaleRow(Banks):
    """Writes into odd rows are lost."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        for number, bank in enumerate(self.bank):
            port = getattr(m.submodules, f"bank_{number}").write_ports[0]
            with m.If(bank.row[0]):
                m.d.comb += port.en.eq(0)
        return m


class SharedRows(Direct):
    """Warps overwrite each other."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        for port in self.locate:
            m.d.comb += port.row.eq(port.register >> 1)
        return m


@pytest.mark.quick("SwappedLanes")
@pytest.mark.parametrize("mutant", [SwappedLanes, NoMask, StaleRow])
def test_broken_banks_show_in_operands(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.STORAGES, "plain", mutant)
    with pytest.raises(Divergence, match="operands of"):
        replay(random_trace(3, length=20), preset("tiny"))


def test_a_broken_mapping_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.MAPPINGS, "direct", SharedRows)
    with pytest.raises(Divergence):
        replay(random_trace(3, length=20), preset("tiny"))


def test_a_passed_war_hazard_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoWar(Scoreboard):
        def _reads(self, m: Any) -> Any:
            return super()._reads(m) & 0

    monkeypatch.setattr(warpbank.hdl.sub_core, "Scoreboard", NoWar)
    trace = TraceBuilder().launch([[alu(8, 1, 3, 5, 7), alu(5), alu(6, 5)]]).build()
    with pytest.raises(Divergence):
        replay(trace, preset("tiny"))


def test_an_unknown_unit_is_named() -> None:
    scheme = Scheme("made-up", "drum", "flat", "direct", "plain", "gto")
    with pytest.raises(ValueError, match=r"The RTL has no collector 'drum'; it has ocu, boc"):
        SubCore(preset("tiny"), scheme)


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="SubCore needs an SmConfig and a Scheme, not 'tiny' and 'baseline'"):
        SubCore("tiny", "baseline")  # type: ignore[arg-type]
