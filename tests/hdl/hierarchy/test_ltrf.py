"""The register file cache over every mapping and storage moves, reads, writes and frees what golden's does,
values and their metadata included."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Const, Mux, Signal
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop, simulate, uop_record
from tests.hdl.hierarchy.ltrf_bench import LTRFS, lockstep, with_unit
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.ltrf_events import LOOKUPS
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.probe import event_ports
from warpbank.hdl.registry import build_registers

#: Mappings and storages, as a scheme string names them behind the cache.
MAPPINGS = ("", "+renaming")
STORAGES = ("", "+gscalar", "+gscalar-half", "+bdi")
RESTS = tuple(mapping + storage for mapping in MAPPINGS for storage in STORAGES)


@pytest.mark.parametrize(("machine", "rest"), [("fast", ""), ("bit", "+renaming"), ("dirty", "+gscalar")])
def test_the_first_cycles_equal_golden(machine: str, rest: str) -> None:
    """A short run, which most wrong changes do not outlive."""
    lockstep(machine, 1, rest, cycles=60)


@pytest.mark.quick("+gscalar")
@pytest.mark.parametrize("rest", RESTS)
@settings(FEW, max_examples=2)
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(rest: str, machine: str, seed: int) -> None:
    lockstep(machine, seed, rest, cycles=120)


@pytest.mark.long
@pytest.mark.parametrize("machine", LTRFS)
@pytest.mark.parametrize("rest", RESTS)
def test_more_seeds(rest: str, machine: str, drawn: random.Random) -> None:
    lockstep(machine, drawn.getrandbits(32), rest, cycles=600 if "renaming" in rest else 400)


#: What happens on every machine, whatever mapping and storage there are.
MOVES = ["cache_fill", "write_back", "cache_write", "write", "stall", "again", "partial", "inactive"]
#: Rest of the scheme -> machines and seeds, their cycles, and what happens in them; odd seeds have liveness.
HAPPENINGS: dict[str, tuple[list[tuple[str, int]], int, list[str]]] = {
    "": (
        [("fast", 3), ("slow", 2)],
        300,
        [
            *(*MOVES, "prefetch", "row_free", "cache_grant", "start", "waits for a move"),
            *("sets off as it is offered", "leaves with what was written"),
        ],
    ),
    "+gscalar": (
        [("fast", 3), ("fast", 4)],
        300,
        [*MOVES, "array_read", "array_write", "divergent metadata", "scalar metadata"],
    ),
    "+renaming": (
        [("slow", 0), ("one", 1)],
        400,
        [
            *("fetch", "write_back", "cache_write", "write", "map", "unmap", "lookup", "unwritten"),
            *("lacking", "pbr", "again", "held back", "moving at a launch"),
        ],
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "rest", [pytest.param(rest, marks=[pytest.mark.long] * bool(rest)) for rest in HAPPENINGS]
)
def test_what_matters_happens(rest: str) -> None:
    runs, cycles, names = HAPPENINGS[rest]
    happened: Counter[str] = Counter()
    for machine, seed in runs:
        happened += lockstep(machine, seed, rest, cycles=cycles).happened
    few = {name: happened[name] for name in names if happened[name] < (1 if rest == "+renaming" else 2)}
    assert not few
    assert not happened["interval_read"]


class KeepsValidBits(WarpControlBlocks):
    """The valid bits are not cleared when a warp stalls: when it is active again, the cache seems to hold its
    working set."""

    def _row(self, m: Any, row: int) -> None:
        super()._row(m, row)
        with m.If(self._loading[row]):
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


class PrefetchesForTheIssuer(WarpControlBlocks):
    """An extra bit that is served beside a uop gives its bit-vector to that uop's warp."""

    def _is(self, row: int, warp: Any) -> Any:
        wrong = warp is self.prefetching
        return super()._is(row, Mux(self.issue.valid, self.issue.payload.warp, warp) if wrong else warp)


def with_blocks(blocks: type[WarpControlBlocks]) -> Any:
    """Makes register files with these control blocks."""

    def build(config: Any, scheme: Scheme, probe: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warpbank.hdl.hierarchy.ltrf.WarpControlBlocks", blocks)
            return build_registers(config, scheme, probe)

    return build


@pytest.mark.long
@pytest.mark.parametrize("blocks", [KeepsValidBits, LosesAPlace, TwiceInACycle, Early])
def test_mutants_of_the_control_blocks_are_caught(blocks: type[WarpControlBlocks]) -> None:
    assert fails(lambda seed: lockstep("fast", seed, build=with_blocks(blocks)))


@pytest.mark.long
def test_an_extra_bit_is_served_beside_a_uop() -> None:
    assert lockstep("bit", 1, cycles=300).happened["prefetch beside a uop"] > 5
    assert fails(lambda seed: lockstep("bit", seed, build=with_blocks(PrefetchesForTheIssuer)))


class WritesStayClean(Ltrf):
    """A result that the cache takes leaves its place clean."""

    def _keep_dirty(self, m: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self, "_chosen", [])
            super()._keep_dirty(m)


class OutOfTurn(Ltrf):
    """A result does not wait for its register's way in."""

    def _find_results(self, m: Any) -> None:
        super()._find_results(m)
        for in_main, find in zip(self._in_main, self._blocks.find[2 * LOOKUPS :], strict=True):
            m.d.sync += in_main.eq(~find.placed)


class WritesWhatSetsOff(Ltrf):
    """A result is written although its register has been chosen to set off since it was found."""

    def _find_results(self, m: Any) -> None:
        super()._find_results(m)
        m.d.comb += self._spoiled.eq(0)


class DoesNotAsk(Ltrf):
    """The testbench is not asked for a result that the cache writes and does not take."""

    def _land(self, m: Any) -> None:
        super()._land(m)
        for keep, result in zip(self.keep, self.result, strict=True):
            m.d.comb += keep.valid.eq(result.valid & result.ready)


class TakesTheNext(Ltrf):
    """A bank is written with what its writer offers in that cycle, not with what it offered before."""

    def _hold_values(self, m: Any) -> None:
        self._values, self._masks = self._payloads()


class IgnoresPart(Ltrf):
    """A result on some lanes is noted as if it were whole."""

    def _describe(self, m: Any) -> None:
        super()._describe(m)
        for number in range(UNITS):
            m.d.comb += getattr(m.submodules, f"noter_{number}").part.eq(0)


class OldNotes(Ltrf):
    """The note of a register is not replaced when a result comes into the cache."""

    def _keep_metadata(self, m: Any) -> None:
        super()._keep_metadata(m)
        for _, port in self._notes:
            m.d.comb += port.en.eq(0)


class Recompresses(Ltrf):
    """A register that leaves does not take its note along."""

    def _keep_metadata(self, m: Any) -> None:
        super()._keep_metadata(m)
        for told in self._main.given:
            m.d.comb += told.as_value().eq(0)


class ReleasesMoving(Release):
    """A register is released although it is on its way."""

    def _movers(self, warp: Any) -> list[Any]:
        return []


class KeepsZeros(Ltrf):
    """A register that comes without being carried gets no zeros."""

    def _write_cache(self, m: Any) -> None:
        super()._write_cache(m)
        before = Signal.like(self._cleared)
        m.d.sync += before.eq(self._cleared)
        for cleared, port in zip(before, self._cache_ports, strict=True):
            with m.If(cleared):
                m.d.comb += port.en.eq(0)


class MovesDying(Ltrf):
    """A register that is about to be released is carried like others."""

    def _has_content(self, number: int) -> Any:
        mapped = self._main.mapping.mapped
        return mapped[len(mapped) - len(self._main.mapping.content) + number]


class KeepsMoving(Ltrf):
    """What is on its way at a launch goes on."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        m.d.comb += self.engine.forget.eq(0)


class WantsAfterALaunch(Ltrf):
    """Registers in the cache are wanted after a launch has begun, too."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        m.d.comb += self._blocks.forget.eq(0)


class KeepsNotes(Ltrf):
    """Zeros that come into the cache are noted as what was there before."""

    def _keep_metadata(self, m: Any) -> None:
        cleared, self._cleared = self._cleared, Const(0, self._entries)
        super()._keep_metadata(m)
        self._cleared = cleared


@pytest.mark.quick("Recompresses-*")
@pytest.mark.parametrize(
    ("unit", "machine", "rest"),
    [
        (OutOfTurn, "slow", ""),
        *((unit, "slow", "") for unit in (WritesWhatSetsOff, DoesNotAsk, TakesTheNext)),
        (WritesStayClean, "dirty", ""),
        *((unit, "fast", "+gscalar") for unit in (IgnoresPart, OldNotes, Recompresses)),
        *((unit, "slow", "+renaming") for unit in (KeepsZeros, MovesDying)),
        (KeepsNotes, "fast", "+renaming+gscalar"),
    ],
)
def test_mutants_of_the_cache_are_caught(unit: Any, machine: str, rest: str) -> None:
    assert fails(lambda seed: lockstep(machine, seed, rest, with_unit(unit)))


@pytest.mark.parametrize(
    ("unit", "machine", "first"), [(KeepsMoving, "one", 1), (WantsAfterALaunch, "fast", 6)]
)
def test_what_goes_on_after_a_launch_is_caught(unit: type[Ltrf], machine: str, first: int) -> None:
    assert fails(lambda seed: lockstep(machine, seed + first, "+renaming", with_unit(unit), 450), seeds=4)


@pytest.mark.long
def test_a_release_on_the_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.hdl.mapping.renaming.Renaming.release_class", ReleasesMoving)
    assert fails(lambda seed: lockstep("slow", seed + 2, "+renaming", cycles=400), seeds=2)


@pytest.mark.quick("+gscalar-half")
@pytest.mark.parametrize("storage", STORAGES[1:])
def test_a_register_that_is_still_to_be_written_is_kept_as_it_is(storage: str) -> None:
    assert fails(lambda seed: lockstep("fast", seed, storage, answers=False))


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
