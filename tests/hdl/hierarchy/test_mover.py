"""A mover carries registers as golden's does."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from warpbank.golden.hierarchy.mover import Move, Stage
from warpbank.golden.hierarchy.mover import Mover as Golden
from warpbank.golden.storage.metadata import EMPTY
from warpbank.hdl.hierarchy.mover import Mover


def lockstep(machine: str, seed: int, unit: Any = Mover, cycles: int = 300) -> None:
    """Orders, accesses and fills come when they like; values are numbers here."""
    rng = random.Random(seed)
    config = LTRFS[machine]
    core = config.sub_core
    rtl, model = unit(config), Golden(core.cache.crossing)
    most = -(-core.bank_latency // 100)
    ports = ("warp", "register", "entry", "offset", "row")

    async def bench(ctx: Any) -> None:
        taken_out: int | None = None
        for cycle in range(cycles):
            where, stage, move = f"cycle {cycle}", model.stage, model.move
            found = [ctx.get(port) for port in (rtl.idle, rtl.reads, rtl.writes, rtl.arrives, rtl.inbound)]
            assert found == [
                stage is Stage.IDLE,
                stage is Stage.FETCH,
                stage is Stage.STORE,
                stage is Stage.FILL,
                stage in (Stage.FETCH, Stage.SHIP_IN, Stage.FILL),
            ], where
            if move is not None:
                assert [ctx.get(getattr(rtl.move, port)) for port in ports] == [
                    getattr(move, port) for port in ports
                ], where
            if stage is Stage.STORE:
                assert move is not None
                assert ctx.get(rtl.carried) == move.value, where
            ctx.set(rtl.value, rng.getrandbits(32) if taken_out is None else taken_out)
            taken_out = None
            fetch, store = rng.choice(((1, 0), (0, 1), (0, 0))) if stage is Stage.IDLE else (0, 0)
            access = stage in (Stage.FETCH, Stage.STORE) and rng.random() < 0.5
            filled = stage is Stage.FILL and rng.random() < 0.5
            took = rng.randrange(1, most + 1)
            for port, value in (
                (rtl.fetch, fetch),
                (rtl.store, store),
                (rtl.access, access),
                (rtl.filled, filled),
                (rtl.cycles, took),
            ):
                ctx.set(port, value)
            order = {port: rng.getrandbits(len(getattr(rtl.order, port))) for port in ports}
            ctx.set(rtl.order, order)
            if fetch:
                model.fetch(Move(**order))
            elif store:
                taken_out = rng.getrandbits(32)
                model.store(Move(**order, value=taken_out))  # type: ignore[arg-type]
            elif stage is Stage.FETCH and access:
                model.fetched(0, EMPTY, took)  # type: ignore[arg-type]
            elif filled or access:
                model.done()
            elif stage in (Stage.SHIP_IN, Stage.SHIP_OUT):
                model.step()
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class TooFast(Mover):
    """The bank counts as read at once."""

    def elaborate(self, platform: object) -> Any:
        given, self.cycles = self.cycles, 1
        m = super().elaborate(platform)
        self.cycles = given
        return m


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("slow", seed, TooFast))
