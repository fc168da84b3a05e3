"""The register file below the collectors: reads, writes, conflicts and values as golden's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.golden_main import golden_main
from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate
from tests.hdl.sub_core_bench import pack
from tests.thinned import examples
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.hierarchy.flat import Flat as Golden
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.registry import build_registers


def lockstep(machine: str, seed: int, build: Any = build_registers, cycles: int = 200) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    log = Log()
    rtl = build(config, parse_scheme("baseline"), True)
    model = Golden(golden_main(config, log.probe))
    rows = core.rows // core.warps
    registers = min(12, rows * core.banks)
    missing = [0] * core.collectors

    async def bench(ctx: Any) -> None:
        ctx.set(rtl.start.warps, (1 << core.warps) - 1)
        ctx.set(rtl.start.rows, rows)
        for warp in range(core.warps):
            model.start(warp, rows)
        await ctx.tick()
        ctx.set(rtl.start.warps, 0)
        for cycle in range(cycles):
            waits = _write(ctx)
            found = {
                number: (ctx.get(port.slot), ctx.get(port.value))
                for number, port in enumerate(rtl.deliver)
                if ctx.get(port.valid)
            }
            arrived = model.step()
            assert found == {collector: (slot, pack(value)) for collector, slot, _, value, _ in arrived}, (
                f"cycle {cycle}"
            )
            for collector, *_ in arrived:
                missing[collector] -= 1
            assert seen(ctx, rtl.events) == sorted([*log.take(), *waits]), f"cycle {cycle}"
            _read(ctx)
            await ctx.tick()

    def _write(ctx: Any) -> list[tuple[str, tuple[int, ...]]]:
        """Offer a result of each unit; golden is offered them in rotating order."""
        first = rng.randrange(UNITS)
        ctx.set(rtl.first, first)
        taken, waits, values = {}, [], {}
        for unit in [*range(first, UNITS), *range(first)]:
            valid = rng.random() < 0.3
            port = rtl.result[unit]
            ctx.set(port.valid, valid)
            if not valid:
                continue
            warp, register, mask = (
                rng.randrange(core.warps),
                rng.randrange(registers),
                rng.getrandbits(config.lanes),
            )
            ctx.set(port.payload, {"warp": warp, "seq": unit, "register": register, "mask": mask})
            value = np.array([rng.getrandbits(32) for _ in range(config.lanes)], np.uint32)
            uop = make_uop(warp, unit, lane_mask=mask)
            taken[unit] = model.write(uop, register, value)
            values[unit] = value
            if not taken[unit]:
                waits.append(("write_wait", (unit, model.bank_of(unit, warp, register))))
        for unit, expected in taken.items():
            assert ctx.get(rtl.result[unit].ready) == expected
        for number, port in enumerate(rtl.write):
            assert ctx.get(rtl.landed[number].valid) == ctx.get(port.valid)
            if ctx.get(port.valid):
                ctx.set(port.value, pack(values[ctx.get(port.seq)]))
        return waits

    def _read(ctx: Any) -> None:
        free = [number for number, count in enumerate(missing) if not count]
        valid = bool(free) and rng.random() < 0.6
        ctx.set(rtl.read.valid, valid)
        if valid:
            collector, warp = rng.choice(free), rng.randrange(core.warps)
            sources = rng.sample(range(registers), rng.randrange(min(7, registers + 1)))
            ctx.set(
                rtl.read.payload,
                {
                    "collector": collector,
                    "warp": warp,
                    "source_valid": (1 << len(sources)) - 1,
                    "sources": [*sources, *(0 for _ in range(6 - len(sources)))],
                },
            )
            for slot, register in enumerate(sources):
                model.read(collector, slot, make_uop(warp, 0), register)
            missing[collector] = len(sources)

    simulate(rtl, bench)


@settings(FEW, max_examples=examples(8, 4))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class ReadsBeforeWrites(MainRegisterFile):
    """The arbiter does not hear of writes."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.arbiter.written.eq(0)
        return m


def test_a_mutant_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.hdl.registry.MainRegisterFile", ReadsBeforeWrites)
    assert fails(lambda seed: lockstep("tiny", seed))
