"""The register file cache moves, reads, writes and frees what golden's does, values included."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Mux
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop, simulate, uop_record
from tests.hdl.hierarchy.ltrf_bench import LTRFS, Bench, lockstep, with_unit
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.probe import event_ports
from warpbank.hdl.registry import build_registers


@settings(FEW, max_examples=4)
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed, cycles=120)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("machine", LTRFS)
def test_more_seeds(machine: str, seed: int) -> None:
    lockstep(machine, seed, cycles=400)


def test_what_matters_happens() -> None:
    happened: Counter[str] = Counter()
    for machine, plus in (("fast", True), ("slow", False)):
        happened += Bench(machine, 3, plus).run(300).happened
    for name in (
        "prefetch",
        "cache_fill",
        "write_back",
        "cache_write",
        "write",
        "row_free",
        "cache_grant",
        "start",
        "stall",
        "again",
        "partial",
        "inactive",
        "waits for a move",
    ):
        assert happened[name] >= 2, f"{name} happened {happened[name]} times"
    assert not happened["interval_read"]


class KeepsValidBits(WarpControlBlocks):
    """The valid bits are not cleared when a warp stalls: when it is active again, the cache seems to hold its
    working set."""

    def _row(self, m: Any, row: int) -> None:
        super()._row(m, row)
        with m.If(self.activate & (self._offsets.head == row)):
            m.d.sync += self._placed[row].eq(self._back[0])


class LosesAPlace(WarpControlBlocks):
    """The first place of a row is never given back."""

    def _find_places(self, m: Any) -> None:
        super()._find_places(m)
        for places, back in zip(self._places, self.back, strict=True):
            m.d.comb += places.back.eq(back & ~1)


class TwiceInACycle(WarpControlBlocks):
    """Two registers that come in one cycle are given one place."""

    def _find_places(self, m: Any) -> None:
        super()._find_places(m)
        for setting in list(self.setting)[1:]:
            with m.If(~self.leaves & self.setting[0].valid):
                m.d.comb += setting.entry.eq(self.setting[0].entry)


class Early(WarpControlBlocks):
    """A warp may issue as soon as its registers have places: they are on their way."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        rows = [
            held & ~leaving & (placed == working)
            for held, leaving, placed, working in zip(
                self._held, self._leaving, self._placed, self._working, strict=True
            )
        ]
        mask: Any = 0
        for owner, row in zip(self._owner, rows, strict=True):
            mask = mask | Mux(row, 1 << owner, 0)
        m.d.comb += self.may_issue.eq(mask)


def with_blocks(blocks: type[WarpControlBlocks]) -> Any:
    """Makes register files with these control blocks."""

    def build(config: Any, scheme: Scheme, probe: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warpbank.hdl.hierarchy.ltrf.WarpControlBlocks", blocks)
            return build_registers(config, scheme, probe)

    return build


@pytest.mark.parametrize("blocks", [KeepsValidBits, LosesAPlace, TwiceInACycle, Early])
def test_mutants_are_caught(blocks: type[WarpControlBlocks]) -> None:
    assert fails(lambda seed: lockstep("fast", seed, with_blocks(blocks)))


class OutOfTurn(Ltrf):
    """A result does not wait for its register's way in."""

    def _find_results(self, m: Any) -> None:
        super()._find_results(m)
        for writer, offer, find in zip(self._all, self._offers, self._finds, strict=True):
            m.d.comb += offer.valid.eq(writer.valid & ~find.placed)


def test_a_mutant_of_the_cache_is_caught() -> None:
    assert fails(lambda seed: lockstep("slow", seed, with_unit(OutOfTurn)))


def interval_reads(build: Any) -> int:
    """`interval_read` events of the RTL alone: a warp prefetches eight registers and reads three where
    `may_issue` lets it."""
    rtl = build(LTRFS["slow"], parse_scheme("ltrf"), True)
    ports = [port for port in event_ports(rtl.events) if port.name == "interval_read"]
    found = 0

    async def bench(ctx: Any) -> None:
        nonlocal found
        ctx.set(rtl.quiet, -1)
        steps = [(rtl.start.warps, 1), (rtl.activate, 1), (rtl.prefetch, 1), (rtl.read.valid, 1)]
        ctx.set(rtl.start.rows, 16)
        ctx.set(rtl.working, 0xFF)
        ctx.set(rtl.issue.payload, {"warp": 0, "uop": uop_record(make_uop(0, 1))})
        ctx.set(rtl.read.payload, {"source_valid": 7, "sources": [5, 6, 7, 0, 0, 0]})
        for _ in range(200):
            if steps and (len(steps) > 2 or ctx.get(rtl.may_issue)):
                ctx.set(steps[0][0], 1)
                await ctx.tick()
                ctx.set(steps.pop(0)[0], 0)
            else:
                await ctx.tick()
            found += sum(ctx.get(port.valid) for port in ports)
        assert not steps

    simulate(rtl, bench)
    return found


def test_no_read_inside_an_interval_goes_to_the_main_register_file() -> None:
    assert interval_reads(build_registers) == 0


def test_a_read_inside_an_interval_is_reported() -> None:
    assert interval_reads(with_blocks(Early)) > 0
