"""The register file with a scalar bank: reads, writes, waits, values and what the scoreboard hears, as
golden's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const

from tests.golden_main import golden_main
from tests.hdl.bench import MACHINES, Log, fails, make_uop, seen, simulate
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import MOVE
from warpbank.golden.hierarchy.flat import Flat as Golden
from warpbank.golden.storage.scalar_file import ScalarFile as GoldenStorage
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.registry import build_registers
from warpbank.hdl.storage.scalar_rf import ScalarRf

SCHEME = parse_scheme("scalar-rf")
FOUR = with_overrides(preset("tiny"), ["sub_core.banks=4", "sub_core.collectors=3"])
CASES = {"tiny": MACHINES["tiny"], "odd": MACHINES["odd"], "single": MACHINES["single"], "four": FOUR}
REGISTERS = 6


def lockstep(machine: str, seed: int, build: Any = build_registers, cycles: int = 200) -> None:
    rng = random.Random(seed)
    config: SmConfig = CASES[machine]
    core = config.sub_core
    log = Log()
    rtl = build(config, SCHEME, True)
    main = golden_main(config, log.probe, storage="scalar_rf")
    model, storage = Golden(main), main.storage
    assert isinstance(storage, GoldenStorage)
    warps = min(2, core.warps)
    rows = core.rows // core.warps
    busy: set[tuple[int, int]] = set()  # registers with a write under way, or a read
    reading: dict[int, set[tuple[int, int]]] = {number: set() for number in range(core.collectors)}
    left = [0] * core.collectors
    heard: list[int] = []  # scalar or not, of every write that landed

    async def bench(ctx: Any) -> None:
        ctx.set(rtl.start.warps, (1 << core.warps) - 1)
        ctx.set(rtl.start.rows, rows)
        for warp in range(core.warps):
            model.start(warp, rows)
        await ctx.tick()
        ctx.set(rtl.start.warps, 0)
        for cycle in range(cycles):
            model.begin()
            landed = [(warp, mask.bit_length() - 1) for warp, mask in model.landing]
            model.landing.clear()
            waits = _write(ctx)
            ports = [port for port in rtl.landed if ctx.get(port.valid)]
            assert sorted((ctx.get(port.warp), ctx.get(port.register)) for port in ports) == sorted(landed), (
                f"cycle {cycle}"
            )
            for port in rtl.stored:
                if ctx.get(port.valid):
                    scalar = ctx.get(port.compressed)
                    assert (
                        scalar == storage.moves._compressed[ctx.get(port.warp)] >> ctx.get(port.register) & 1
                    )
                    heard.append(scalar)
            found = {
                number: (ctx.get(port.slot), ctx.get(port.value))
                for number, port in enumerate(rtl.deliver)
                if ctx.get(port.valid)
            }
            arrived = model.step()
            notes = {collector: note for collector, _, _, _, note in arrived}
            assert found == {collector: (slot, pack(value)) for collector, slot, _, value, _ in arrived}, (
                f"cycle {cycle}"
            )
            for number, port in enumerate(rtl.deliver):
                assert ctx.get(port.valid) == (number in notes)
                if number in notes:
                    assert (ctx.get(port.metadata.full), ctx.get(port.metadata.enc[0])) == (
                        notes[number].full,
                        *notes[number].enc,
                    )
            assert seen(ctx, rtl.events) == sorted([*log.take(), *waits]), f"cycle {cycle}"
            _read(ctx)
            busy.difference_update(landed)  # heard of at the clock edge
            for collector, *_ in arrived:
                left[collector] -= 1
                if not left[collector]:
                    reading[collector].clear()
            await ctx.tick()

    def _write(ctx: Any) -> list[tuple[str, tuple[int, ...]]]:
        """Offer a result of each unit; golden is offered them in rotating order."""
        first = rng.randrange(UNITS)
        ctx.set(rtl.first, first)
        taken, waits, values = {}, [], {}
        held = set().union(busy, *reading.values())
        for unit in [*range(first, UNITS), *range(first)]:
            place = rng.randrange(warps), rng.randrange(REGISTERS)
            valid = rng.random() < 0.4 and place not in held
            port = rtl.result[unit]
            ctx.set(port.valid, valid)
            if not valid:
                continue
            held.add(place)
            value, mask = similar(rng, config.lanes)
            part, seq = rng.random() < 0.2, unit | (MOVE if rng.random() < 0.1 else 0)
            ctx.set(
                port.payload, {"warp": place[0], "seq": seq, "register": place[1], "mask": mask, "part": part}
            )
            taken[unit] = model.write(make_uop(place[0], seq, lane_mask=mask, part=part), place[1], value)
            values[unit] = value
            if taken[unit]:
                busy.add(place)
            else:
                waits.append(("write_wait", (unit, model.bank_of(unit, *place))))
        for unit, expected in taken.items():
            assert ctx.get(rtl.result[unit].ready) == expected
        for port in rtl.write:
            if ctx.get(port.valid):
                ctx.set(port.value, pack(values[ctx.get(port.seq) & ~MOVE]))
        return waits

    def _read(ctx: Any) -> None:
        free = [number for number, count in enumerate(left) if not count]
        warp = rng.randrange(warps)
        chosen = rng.sample(range(REGISTERS), rng.randrange(REGISTERS))
        sources = [register for register in chosen if (warp, register) not in busy]
        valid = bool(free) and rng.random() < 0.6
        ctx.set(rtl.read.valid, valid)
        if valid:
            collector = rng.choice(free)
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
            left[collector] = len(sources)
            reading[collector] = {(warp, register) for register in sources}

    simulate(rtl, bench)
    assert {0, 1} <= set(heard), f"seed {seed}: only one kind of write"


@pytest.mark.quick("*-1")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("machine", CASES)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class Unheld(MainRegisterFile):
    """A stage takes a result while it waits for the scalar bank."""

    def _free(self, number: int) -> Any:
        return Const(1)


class Unheard(MainRegisterFile):
    """The scalar bank is read while it is written."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.arbiter.written[-1].eq(0)
        return m


@pytest.mark.parametrize("mutant", [Unheld, Unheard])
def test_mutants_are_caught(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.hdl.registry.MainRegisterFile", mutant)
    assert fails(lambda seed: lockstep("four", seed))


def test_what_it_cannot_be_built_with() -> None:
    with pytest.raises(ValueError, match="takes results only: no value that a collector evicts, no cache's"):
        ScalarRf(FOUR).arbiter(Collection(4, keeps=UNITS, evicts=1), False, False)
    with pytest.raises(ValueError, match="takes results only: no value that a collector evicts, no cache's"):
        ScalarRf(FOUR).arbiter(Collection(4), shared=True, probe=False)
    with pytest.raises(ValueError, match="nobody else says what its metadata are"):
        ScalarRf(FOUR, told=True)
    with pytest.raises(TypeError, match="ScalarRf needs the machine's configuration, an SmConfig, not 3"):
        ScalarRf(3)  # type: ignore[arg-type]
