"""The arbiter grants, and counts conflicts, as golden's does."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from golden.collector.arbiter import Arbiter as Golden
from hdl.collector.arbiter import Arbiter
from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, machines, seen, simulate


def lockstep(machine: str, seed: int, unit: Any = Arbiter, cycles: int = 300) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    log = Log()
    rtl, model = unit(config, probe=True), Golden(core.banks, log.probe)
    missing = [0] * core.collectors

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            written = rng.getrandbits(core.banks) & rng.getrandbits(core.banks)
            ctx.set(rtl.written, written)
            grants = model.step(written)
            expected = {collector: (bank, slot) for bank, _, collector, slot, _ in grants}
            found = {number: (ctx.get(grant.bank), ctx.get(grant.slot)) for number, grant in enumerate(rtl.grant)
                     if ctx.get(grant.valid)}
            assert found == expected, f"cycle {cycle}"
            assert {bank: ctx.get(port.row) for bank, port in enumerate(rtl.read) if ctx.get(port.valid)} == {
                bank: row for bank, row, *_ in grants}
            assert seen(ctx, rtl.events) == log.take(), f"cycle {cycle}"
            for collector in expected:
                missing[collector] -= 1
            # A collector may be allocated again in the cycle in which its uop is dispatched, long after its last grant.
            free = [number for number, count in enumerate(missing) if not count and number not in expected]
            valid = bool(free) and rng.random() < 0.7
            ctx.set(rtl.request.valid, valid)
            if valid:
                collector = rng.choice(free)
                slots = rng.randrange(7)
                banks, rows = ([rng.randrange(count) for _ in range(6)] for count in (core.banks, core.rows))
                ctx.set(rtl.request.collector, collector)
                ctx.set(rtl.request.slots, (1 << slots) - 1)
                ctx.set(rtl.request.banks, banks)
                ctx.set(rtl.request.rows, rows)
                for slot in range(slots):
                    model.request(banks[slot], rows[slot], collector, slot)
                missing[collector] = slots
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class AlwaysReading(Arbiter):
    """The first bank reads, whether it was granted or not."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [port.valid.eq(1) for port in self.read[:1]]
        return m


def test_a_mutant_is_caught() -> None:
    with pytest.raises(AssertionError):
        lockstep("tiny", 1, AlwaysReading)


@pytest.mark.parametrize("groups", [0, -1, 2.5])
def test_groups_must_be_a_number(groups: Any) -> None:
    with pytest.raises(TypeError, match="Arbiter needs a number of groups of at least 1, not"):
        Arbiter(MACHINES["tiny"], groups)
