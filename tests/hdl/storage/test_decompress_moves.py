"""Decompress moves go before the same uops as golden's, and are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Mux, Signal
from hypothesis import given, settings
from hypothesis.strategies import booleans

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate, uop_record
from tests.thinned import examples
from warpbank.arch.config import with_overrides
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES
from warpbank.golden.storage.decompress_moves import DecompressMoves as Golden
from warpbank.golden.stream import TraceUop
from warpbank.hdl.storage.decompress_moves import LOW, DecompressMoves

REGISTERS = 8
#: The first registers of the two groups that a run draws from: the lowest, the highest, some of two words.
BASES = ((0, 128), (120, 248), (28, 156))


def places_of(
    rng: random.Random, warps: int, bases: tuple[int, ...], banks: int, renames: bool
) -> list[tuple[int, int]]:
    """A warp and a register per bank, all different: anywhere, or those that the bank has."""
    registers = [base + register for base in bases for register in range(REGISTERS)]
    places = [(warp, register) for warp in range(warps) for register in registers]
    if renames:
        return rng.sample(places, banks)
    return [rng.choice([(w, r) for w, r in places if (w + r) % banks == bank]) for bank in range(banks)]


def lockstep(
    machine: str,
    seed: int,
    unit: Any = DecompressMoves,
    cycles: int = 200,
    renames: bool = False,
    staged: bool = False,
) -> None:
    """`staged`: there is an issue stage, and a warp's first uop stands there a cycle before it issues."""
    rng = random.Random(seed)
    config = with_overrides(MACHINES[machine], [f"sub_core.front_end.issue_stages={int(staged)}"])
    core = config.sub_core
    log = Log()
    rtl = unit(config, core.banks, probe=True, renames=renames)
    model = Golden(core.warps, config.lanes)
    moved, bases = [0, 0], BASES[seed % len(BASES)]  # uops without and with a move
    last: tuple[int, int] | None = None  # moved, or written first of all, in the cycle before

    def draw(cycle: int, close: tuple[int, int] | None) -> TraceUop:
        """The uop of a cycle; often one that writes what was just written or moved, or a register that stands
        in one column with it."""
        warp, count = rng.randrange(core.warps), rng.randrange(MAX_DESTINATIONS + 1)
        destination = rng.choice(bases) + rng.randrange(REGISTERS - max(1, count) + 1)
        beside = (close[1] + rng.choice((0, 0, MAX_DESTINATIONS))) if close is not None else 0
        if close is not None and beside + count <= 256 and rng.random() < 0.4:
            warp, destination = close[0], beside
        return make_uop(
            warp,
            cycle,
            destination=destination,
            count=count,
            sources=(1, 3),
            lane_mask=rng.getrandbits(config.lanes),
            part=rng.random() < 0.8,
            fresh=int(rng.random() < 0.2),
            collects=rng.random() < 0.9,
        )

    def show(ctx: Any, owner: int, uop: TraceUop) -> None:
        """Let a uop be a warp's first one; the others' are still those that they issued last."""
        registers = [place & 255 for place in range(uop.destination, uop.destination + MAX_DESTINATIONS)]
        ctx.set(rtl.first[owner].registers, [0] * MAX_SOURCES + registers)
        ctx.set(rtl.first[owner].destination, uop.destination)
        ctx.set(rtl.first[owner].count, uop.count if uop.collects else 0)
        partial = ctx.get(rtl.partial) & ~(1 << owner) | (uop.part and not uop.fresh) << owner
        ctx.set(rtl.partial, partial)

    def compare(ctx: Any, goes: TraceUop, first: int, cycle: int) -> None:
        """Compare what issues with what golden lets issue; `first`: first register that the uop writes."""
        names = ("seq", "pc", "unit", "destination", "count", "collects", "part", "write_back")
        found = {name: ctx.get(getattr(rtl.goes, name)) for name in (*names, "source_valid", "mask")}
        assert found == {
            **{name: int(getattr(goes, name)) for name in names},
            "source_valid": (1 << len(goes.sources)) - 1,
            "mask": goes.lane_mask,
        }, f"cycle {cycle}"
        assert ctx.get(rtl.goes.sources[0]) == goes.sources[0]
        writes = ctx.get(rtl.writes)
        assert [place for place in range(MAX_DESTINATIONS) if writes >> place & 1] == [
            register - first for register in range(goes.destination, goes.destination + goes.count)
        ], f"cycle {cycle}"

    async def bench(ctx: Any) -> None:
        nonlocal last
        uop, before = draw(0, None), -1
        if staged:  # it has been looked up before it issues
            for owner in range(core.warps):
                show(ctx, owner, uop)
            await ctx.tick()
        for cycle in range(cycles):
            places = places_of(rng, core.warps, bases, len(rtl.stored), renames)
            if last is not None and last not in places and rng.random() < 0.5:
                places[sum(last) % core.banks] = last
            for port, (owner, register) in zip(rtl.stored, places, strict=True):
                valid, compressed = rng.random() < 0.5, rng.random() < 0.5
                for name, value in (
                    ("valid", valid),
                    ("warp", owner),
                    ("register", register),
                    ("compressed", compressed),
                ):
                    ctx.set(getattr(port, name), value)
                if valid:
                    model.note(owner, register, compressed)
            if not staged and cycle:
                uop = draw(cycle, last)
            warp, destination, count = uop.warp, uop.destination, uop.count
            # With a stage no warp issues twice in a row; what does not issue stays where it is.
            issues = rng.random() < 0.8 and not (staged and warp == before)
            coming = draw(cycle + 1, (warp, destination)) if staged and issues else uop
            before = warp if issues else -1
            record = {**uop_record(uop), "part": int(uop.part), "fresh": uop.fresh}
            if coming.warp != warp:
                show(ctx, coming.warp, coming)
            show(ctx, warp, uop)
            ctx.set(rtl.warp, warp)
            ctx.set(rtl.uop, record)
            ctx.set(rtl.issues, issues)
            missing = rng.getrandbits(count) if renames and rng.random() < 0.5 else 0
            # Beyond the uop's destinations the mapping may say anything.
            beyond = rng.getrandbits(MAX_DESTINATIONS) << count & (1 << MAX_DESTINATIONS) - 1
            ctx.set(rtl.missing[warp], missing | beyond if renames else 0)
            move = model.before(uop, missing) if issues else None
            assert ctx.get(rtl.inserts) == (move is not None), f"cycle {cycle}"
            goes = uop if move is None else move
            if issues:
                compare(ctx, goes, destination, cycle)
            last = None
            if move is not None:
                last = warp, move.destination
                log.probe.emit("move", warp, move.seq, move.destination)
            elif issues and missing:
                last = warp, destination + missing.bit_length() - 1
            if issues:
                model.issue(goes, missing)
            moved[move is not None] += issues
            assert seen(ctx, rtl.events) == log.take(), f"cycle {cycle}"
            uop = coming
            await ctx.tick()

    simulate(rtl, bench)
    assert all(moved), f"seed {seed}: {moved}"


@settings(FEW, max_examples=examples(8, 3))
@given(machine=machines, seed=SEEDS, renames=booleans(), staged=booleans())
def test_equals_golden(machine: str, seed: int, renames: bool, staged: bool) -> None:
    lockstep(machine, seed, renames=renames, staged=staged)


def test_the_bank_of_a_register_follows_from_its_warp() -> None:
    lockstep("per_warp", 1, cycles=60)


class Missing(DecompressMoves):
    """No move is ever inserted."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [self.inserts.eq(0), self.goes.eq(self.uop)]
        return m


class IgnoresFresh(DecompressMoves):
    """Dead values are moved, too."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        with m.If(self.uop.fresh):
            m.d.comb += self.inserts.eq(self.issues & self.uop.part & self.uop.collects)
        return m


class ForgetsMoves(DecompressMoves):
    """A register that was moved stays compressed in the table."""

    def _table(self, m: Any, cleared: Any, cleared_warp: Any, cleared_rows: Any) -> Any:
        return super()._table(m, Const(0, MAX_DESTINATIONS), cleared_warp, cleared_rows)


class MovesLast(DecompressMoves):
    """What is stored in the cycle after a register's move counts as before the move."""

    def _table(self, m: Any, cleared: Any, cleared_warp: Any, cleared_rows: Any) -> Any:
        rows = super()._table(m, cleared, cleared_warp, cleared_rows)
        table = Array(row for row, _ in rows)
        for column, row in enumerate(cleared_rows):
            with m.If(cleared[column]):
                m.d.sync += table[cleared_warp].bit_select(Cat(Const(column, LOW), row), 1).eq(0)
        return rows


class KeepsReleased(DecompressMoves):
    """What is known of a released value goes on to be known of the register's next one."""

    def _table(self, m: Any, cleared: Any, cleared_warp: Any, cleared_rows: Any) -> Any:
        moved = Signal()
        m.d.sync += moved.eq(self.inserts)
        return super()._table(m, Mux(moved, cleared, 0), cleared_warp, cleared_rows)


class LooksBack(DecompressMoves):
    """Moves by a look-up that is a cycle old when a warp has its turn in the issue stage."""

    def _looked(self, m: Any, warp: int, rows: Any) -> Any:
        return super()._looked(m, warp, (rows[0], rows[0]))


def test_a_stale_look_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, LooksBack, staged=True))


@pytest.mark.quick("Missing", "KeepsReleased")
@pytest.mark.parametrize("unit", [Missing, IgnoresFresh, ForgetsMoves, MovesLast, KeepsReleased])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit, renames=unit is KeepsReleased))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Moves needs the machine's configuration, an SmConfig, not 3"):
        DecompressMoves(3, 1)  # type: ignore[arg-type]
