"""Where golden says a register is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, machines, simulate
from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.golden.interfaces import Home
from warpbank.golden.mapping.direct import Direct as Golden
from warpbank.golden.probe import Probe
from warpbank.hdl.layouts import Collection
from warpbank.hdl.mapping.direct import Direct


class KeepsRows(Golden):
    """A warp that ended keeps the rows of its launch until another one starts in its slot: what a collector
    evicts for it then lies among the rows of other warps."""

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        super().__init__(config, probe)
        self._of = [0] * config.warps

    def start(self, warp: int, rows: int) -> None:
        self._of[warp] = rows

    def home(self, warp: int, register: int) -> Home | None:
        self._rows = self._of[warp]
        return super().home(warp, register)


def run(machine: str, seed: int, kind: type[Golden] = Golden) -> None:
    """Start warps of launches with other numbers of rows, and compare where registers are."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = Direct(config, Collection(core.collectors), 2), kind(core, Log().probe)

    async def bench(ctx: Any) -> None:
        for _ in range(20):
            rows = rng.randrange(core.rows // core.warps + 1)
            started = rng.randrange(core.warps)
            ctx.set(rtl.start.warps, 1 << started)
            ctx.set(rtl.start.rows, rows)
            await ctx.tick()
            ctx.set(rtl.start.warps, 0)
            ctx.set(rtl.start.rows, 0)
            model.start(started, rows)
            for port in rtl.locate:
                warp, register = rng.randrange(core.warps), rng.randrange(min(255, max(1, rows * core.banks)))
                ctx.set(port.warp, warp)
                ctx.set(port.register, register)
                assert (ctx.get(port.bank), ctx.get(port.row)) == model.home(warp, register)
            warp, top = rng.randrange(core.warps), min(255, max(1, rows * core.banks))
            sources = [rng.randrange(top) for _ in range(MAX_SOURCES)]
            ctx.set(rtl.read.valid, 1)
            ctx.set(rtl.read.payload, {"warp": warp, "sources": sources, "source_valid": 5, "collector": 0})
            request = rtl.request
            assert (ctx.get(request.valid), ctx.get(request.slots)) == (1, 5)
            found = [
                (ctx.get(request.banks[slot]), ctx.get(request.rows[slot])) for slot in range(MAX_SOURCES)
            ]
            assert found == [model.home(warp, register) for register in sources]
            assert ctx.get(rtl.mapped) == 3
            assert not ctx.get(rtl.lacking)

    simulate(rtl, bench)


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    run(machine, seed)


def test_rows_of_an_ended_launch_are_seen() -> None:
    with pytest.raises(AssertionError):
        run("tiny", 1, KeepsRows)


@pytest.mark.parametrize("writers", [0, -1, "two"])
def test_writers_must_be_a_number(writers: Any) -> None:
    with pytest.raises(TypeError, match="Direct needs a number of writers of at least 1, not"):
        Direct(MACHINES["tiny"], Collection(2), writers)
