"""The register file cache beside golden's, over any mapping and storage: warps that come and go, PREFETCHes,
uops, results when they like."""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

import numpy as np
import pytest

from tests.golden_main import golden_main
from tests.hdl.bench import Log, make_uop, seen, simulate, uop_record
from tests.hdl.hierarchy.mapping_bench import REGISTERS, Direct, Renamed
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.golden.hierarchy.ltrf import Ltrf as GoldenLtrf
from warpbank.golden.interfaces import Arrival
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.registry import HIERARCHIES, build_registers


def machine(*overrides: str) -> SmConfig:
    """A machine with 16 rows per bank for each warp."""
    return with_overrides(
        preset("tiny"),
        [
            "lanes=2",
            "sub_core.warps=4",
            "sub_core.rows=64",
            "sub_core.cache.registers=8",
            *(f"sub_core.{override}" for override in overrides),
        ],
    )


LTRFS: dict[str, SmConfig] = {
    "fast": machine("cache.crossing=1", "collectors=3"),
    "slow": machine("bank_latency=280", "active_warps=3"),
    "one": machine("bank_latency=630", "active_warps=1", "banks=1", "collectors=1"),
    "dirty": machine("bank_latency=280", "active_warps=3", "cache.write_back=dirty"),
    "bit": machine("cache.crossing=1", "active_warps=4", "cache.prefetch=bit", "collectors=3"),
    "many": machine("bank_latency=125", "active_warps=4", "banks=8"),
}


def with_unit(unit: Any) -> Any:
    """Makes register files with this cache, with and without liveness."""

    def build(config: SmConfig, scheme: Scheme, probe: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(HIERARCHIES, "ltrf", unit)
            patch.setitem(HIERARCHIES, "ltrf_plus", unit)
            return build_registers(config, scheme, probe)

    return build


class Warp:
    """One slot of the scheduler: what program order says of its registers."""

    def __init__(self) -> None:
        self.live = False  # has a warp that has not issued its last uop
        self.waits = True  # not active
        self.working = 0
        self.known = self.pending = 0  # registers with a value; with a result to come
        self.reads: Counter[int] = Counter()  # operands to come
        self.state: list[Value] = []
        self.seq = 0

    @property
    def idle(self) -> bool:
        """Nothing of it is under way."""
        return not self.live and self.waits and not self.pending and not +self.reads


class Bench:
    """One run: uops read and write registers of their interval only, as a scoreboard lets them; dead bits are
    sound. Over a storage that encodes, values compress, metadata of operands is compared, and the scoreboard
    says what is still to be written.

    Parameters
    ----------
    scheme : with ltrf or ltrf-plus, any mapping and any storage.
    name : of the machine.
    seed : of all choices.
    build : makes the RTL.
    answers : the scoreboard says so; else registers that leave are compressed all the same.
    """

    def __init__(
        self, scheme: str, name: str, seed: int, build: Any = build_registers, answers: bool = True
    ) -> None:
        self.rng = random.Random(seed)
        chosen = parse_scheme(scheme)
        hooks = Renamed if chosen.units.mapping.renames else Direct
        self.config = config = hooks.machine(LTRFS[name])
        self.core = core = config.sub_core
        self.log = Log()
        self.answers = answers
        self.encodes = chosen.units.storage.encodes
        self.parts = chosen.units.storage.arguments.get("parts", 1)
        self.rtl = build(config, chosen, True)
        self.quiet = 0
        main = golden_main(
            config, self.log.probe, chosen.mapping, chosen.storage, lambda warp: self.warps[warp].pending
        )
        self.mapping: Any = main.mapping
        self.model = GoldenLtrf(
            config,
            main,
            lambda warp: bool(self.quiet >> warp & 1),
            self.log.probe,
            **chosen.units.hierarchy.arguments,
        )
        self.warps = [Warp() for _ in range(core.warps)]
        self.results: list[deque[TraceUop]] = [deque() for _ in range(UNITS)]
        self.offering = 0  # units whose next result was looked for in the cycle before
        self.found = [False] * UNITS  # and did not move then
        # By collector, of each slot that waits: warp, register, value.
        self.missing: list[dict[int, tuple[int, int, Value]]] = [{} for _ in range(core.collectors)]
        self.happened: Counter[str] = Counter()
        self.hooks = hooks(self)

    def value(self) -> Value:
        """Any value; one that compresses over a storage that encodes."""
        if not self.encodes:
            return np.array([self.rng.getrandbits(32) for _ in range(self.config.lanes)], np.uint32)
        value, _ = similar(self.rng, self.config.lanes)
        return np.full_like(value, value[0]) if self.rng.random() < 0.3 else value

    def run(self, cycles: int = 250) -> Bench:
        """Compare every cycle."""

        async def bench(ctx: Any) -> None:
            for cycle in range(cycles):
                await self._cycle(ctx, f"cycle {cycle}")

        simulate(self.rtl, bench)
        return self

    async def _cycle(self, ctx: Any, where: str) -> None:
        rtl, model = self.rtl, self.model
        for asks in rtl.owed:
            pending = self.warps[ctx.get(asks.warp)].pending
            ctx.set(asks.pending, self.answers and pending >> ctx.get(asks.register) & 1)
        self.hooks.begin(ctx, where)
        may_issue, may_activate = model.may_issue, model.may_activate
        assert ctx.get(rtl.may_issue) == may_issue, where
        assert ctx.get(rtl.may_activate) == may_activate, where
        self.quiet = sum(1 << number for number, warp in enumerate(self.warps) if not +warp.reads)
        ctx.set(rtl.quiet, self.quiet)
        waits = self._write(ctx)
        gone = self._gone()
        self.log.probe.cycle += 1
        try:
            arrived = model.step()
        except AssertionError as error:
            raise RuntimeError(f"{where}: golden fails: {error}") from error
        self._deliver(ctx, arrived, where)
        self._issue(ctx, may_issue & ~gone)
        self._start(ctx)
        self._come_and_go(ctx, may_activate, gone)
        self.hooks.edge(ctx)
        events = self.log.take()
        if self.config.takes_bits:  # the instruction buffers report them
            events = [event for event in events if event[0] != "prefetch"]
        here = seen(ctx, rtl.events)
        assert here == sorted([*events, *waits]), f"{where}: {set(here) ^ {*events, *waits}}"
        self.happened.update(name for name, _ in here)
        await ctx.tick()

    # --- Results and operands.

    def _write(self, ctx: Any) -> list[tuple[str, tuple[int, ...]]]:
        """Units offer results, in rotating order."""
        first = self.rng.randrange(UNITS)
        ctx.set(self.rtl.first, first)
        taken, asked, waits = {}, {}, []
        for unit in [*range(first, UNITS), *range(first)]:
            queue, port = self.results[unit], self.rtl.result[unit]
            offered = bool(self.offering >> unit & 1)
            ctx.set(port.valid, offered)
            if not offered:
                continue
            uop = queue[0]
            register, value = uop.destination + uop.written, uop.values[uop.written]
            ctx.set(
                port.payload,
                {
                    "warp": uop.warp,
                    "seq": uop.seq,
                    "register": register,
                    "mask": uop.lane_mask,
                    "part": uop.part,
                },
            )
            ctx.set(self.rtl.keep[unit].value, pack(value))
            moving = self.model.blocks.warps[uop.warp].moving >> register & 1
            self.happened["sets off as it is offered"] += moving and self.found[unit]
            bank, engaged = self.model._found[unit], self.model._cache_written
            taken[unit] = self.model.write(uop, register, value)
            early = not taken[unit] and bank >= 0 and not engaged >> bank & 1
            asked[unit] = taken[unit] or early
            self.happened["leaves with what was written"] += early
            if taken[unit]:
                self._written(uop, register, unit)
            else:
                waits.append(("write_wait", (unit, self.model.bank_of(unit, uop.warp, register))))
                self.happened["waits for a move"] += moving
        for unit, expected in taken.items():
            assert ctx.get(self.rtl.result[unit].ready) == expected
            assert ctx.get(self.rtl.keep[unit].valid) == asked[unit]
        self._look_ahead(ctx)
        return waits

    def _look_ahead(self, ctx: Any) -> None:
        """Some units' next results are looked for: they are offered in the next cycle."""
        self.offering = 0
        for unit, queue in enumerate(self.results):
            if not queue or self.rng.random() > 0.15:
                continue
            uop = queue[0]
            register = uop.destination + uop.written
            self.offering |= 1 << unit
            self.found[unit] = not self.model.blocks.warps[uop.warp].moving >> register & 1
            ctx.set(self.rtl.ahead[unit].warp, uop.warp)
            ctx.set(self.rtl.ahead[unit].register, register)
            self.model.find(uop, register)

    def _written(self, uop: TraceUop, register: int, unit: int) -> None:
        warp = self.warps[uop.warp]
        warp.pending &= ~(1 << register)
        self.hooks.written(unit, uop.warp, register)
        self.happened["partial"] += uop.lane_mask != self.config.lane_mask
        self.happened["inactive"] += warp.waits
        uop.written += 1
        if uop.written == uop.count:
            self.results[unit].popleft()

    def _deliver(self, ctx: Any, arrived: list[Arrival], where: str) -> None:
        """Operands arrive: golden's, and the newest values."""
        self.hooks.deliver(ctx, arrived)
        found = {
            number: (ctx.get(port.slot), ctx.get(port.value))
            for number, port in enumerate(self.rtl.deliver)
            if ctx.get(port.valid)
        }
        assert found == {collector: (slot, pack(value)) for collector, slot, _, value, _ in arrived}, where
        for collector, slot, _, value, _ in arrived:
            warp, register, expected = self.missing[collector].pop(slot)
            assert pack(value) == pack(expected), f"{where}: R{register} of warp {warp} is old"
            self.warps[warp].reads[register] -= 1
        if self.encodes:
            self._metadata(ctx, arrived, where)

    def _metadata(self, ctx: Any, arrived: list[Arrival], where: str) -> None:
        """What is known of the operands: golden's."""
        found, expected = {}, {}
        for number, port in enumerate(self.rtl.deliver):
            if ctx.get(port.valid):
                note = ctx.get(port.metadata)
                base = tuple(note.base[part] for part in range(self.parts))
                found[number] = (note.divergent, note.enc.as_bits(), note.full, base)
        for collector, _, _, _, known in arrived:
            enc = sum(bits << 4 * part for part, bits in enumerate(known.enc))
            expected[collector] = (known.divergent, enc, known.full, known.base)
            self.happened["divergent metadata"] += known.divergent
            self.happened["scalar metadata"] += known.full
        assert found == expected, where

    # --- What issues.

    def _issue(self, ctx: Any, may_issue: int) -> None:
        """A PREFETCH, a uop, or nothing; on a machine with extra bits also the PREFETCH of another warp."""
        rng, rtl = self.rng, self.rtl
        for port in (rtl.prefetch, rtl.issue.valid, rtl.read.valid):
            ctx.set(port, 0)
        ready = [number for number, warp in enumerate(self.warps) if may_issue >> number & 1 and warp.live]
        free = [number for number, slots in enumerate(self.missing) if not slots]
        if not ready or rng.random() < 0.1:
            return
        number = rng.choice(ready)
        if self.config.takes_bits:
            others = [other for other in ready if other != number and self.quiet >> other & 1]
            if others and rng.random() < 0.4:
                self.warps[others[0]].seq += 1
                self._prefetch(ctx, others[0])
                ready = []  # one in a cycle
        warp = self.warps[number]
        warp.seq += 1
        if ready and self.quiet >> number & 1 and (not warp.working or rng.random() < 0.2):
            self._prefetch(ctx, number)
        elif free and warp.working:
            self.happened["prefetch beside a uop"] += not ready
            self._uop(ctx, number, rng.choice(free))

    def _prefetch(self, ctx: Any, number: int) -> None:
        rng, rtl, warp = self.rng, self.rtl, self.warps[number]
        limit = self.core.cache.registers
        warp.working = sum(
            1 << register
            for register in rng.sample(range(REGISTERS), rng.choice((2, limit - 1, limit, limit)))
        )
        uop = make_uop(number, warp.seq, working_set=warp.working)
        ctx.set(rtl.prefetch, 1)
        ctx.set(rtl.prefetching, number)
        ctx.set(rtl.working, warp.working)
        ctx.set(rtl.issue.payload, {"warp": number, "uop": uop_record(uop)})
        self.model.prefetch(uop)

    def _uop(self, ctx: Any, number: int, collector: int) -> None:
        if self.hooks.instead(ctx, number, collector):
            return
        rng, rtl, warp = self.rng, self.rtl, self.warps[number]
        here = [register for register in range(REGISTERS) if (warp.working & ~warp.pending) >> register & 1]
        sources = [register for register in here if self.hooks.readable(number) >> register & 1]
        sources = rng.sample(sources, min(len(sources), rng.choice((0, 1, 2, 3, 3, 6))))
        free = [register for register in here if not warp.reads[register] and register not in sources]
        count, destination = self.hooks.destination(number, free)
        writes = ((1 << count) - 1) << destination
        whole = warp.known & writes != writes or rng.random() < 0.5
        mask = self.config.lane_mask if whole else rng.randrange(1, self.config.lane_mask + 1)
        dead = rng.getrandbits(len(sources)) & rng.getrandbits(len(sources)) if sources else 0
        uop = make_uop(
            number,
            warp.seq,
            unit=rng.randrange(UNITS),
            sources=tuple(sources),
            destination=destination,
            count=count,
            values=[self.value() for _ in range(count)],
            lane_mask=mask,
            dead=dead,
            part=mask != self.config.lane_mask,
        )
        for slot, register in enumerate(sources):
            self.missing[collector][slot] = (number, register, warp.state[register])
            warp.reads[register] += 1
            warp.known &= ~((dead >> slot & 1) << register)
        warp.pending |= writes
        warp.known |= writes
        for register, value in enumerate(uop.values, destination):
            warp.state[register] = merge(warp.state[register], value, mask)
        if count:
            self.results[uop.unit].append(uop)
        record = uop_record(uop)
        self.collector = collector
        ctx.set(rtl.issue.valid, 1)
        ctx.set(rtl.issue.payload, {"warp": number, "uop": record})
        ctx.set(rtl.read.valid, 1)
        ctx.set(
            rtl.read.payload,
            {
                "collector": collector,
                "warp": number,
                "source_valid": record["source_valid"],
                "sources": record["sources"],
            },
        )
        self.model.issue(uop)
        for slot, register in enumerate(sources):
            self.model.read(collector, slot, uop, register)
        self.hooks.issued(number)

    # --- Warps.

    def _start(self, ctx: Any) -> None:
        """A slot in which nothing is left to do may receive a new warp."""
        core = self.core
        rows = core.rows // core.warps
        starts = [
            number
            for number, warp in enumerate(self.warps)
            if warp.idle and self.hooks.may_start(number) and self.rng.random() < 0.2
        ]
        ctx.set(self.rtl.start.warps, sum(1 << number for number in starts))
        ctx.set(self.rtl.start.rows, rows)
        for number in starts:
            warp = self.warps[number]
            warp.live, warp.working, warp.known = True, 0, 0
            warp.state = [self.value() for _ in range(REGISTERS)]
            self.model.start(number, rows)
            self.hooks.start(number)
            self.happened["start"] += 1
        self.started = starts

    def _gone(self) -> int:
        """Active warps that are not any more: they wait, or they have ended."""
        closing, blocks = self.hooks.closing, self.model.blocks.warps
        return sum(
            1 << number
            for number, warp in enumerate(self.warps)
            if not warp.waits
            and self.rng.random() < (0.3 if closing else 0.04 if blocks[number].complete else 0.005)
        )

    def _come_and_go(self, ctx: Any, may_activate: int, gone: int) -> None:
        rng, rtl = self.rng, self.rtl
        ended = 0
        for number, warp in enumerate(self.warps):
            if gone >> number & 1:
                warp.waits = True
                if rng.random() < 0.3:
                    warp.live = False
                    ended |= 1 << number
                self.model.deactivate(number, not warp.live)
                self.happened["stall"] += warp.live
        ctx.set(rtl.deactivate, gone)
        ctx.set(rtl.ended, ended)
        come = [
            number
            for number, warp in enumerate(self.warps)
            if may_activate >> number & 1 and warp.live and warp.waits and number not in self.started
        ]
        comes = bool(come) and rng.random() < 0.7
        ctx.set(rtl.activate, comes)
        if comes:
            number = rng.choice(come)
            ctx.set(rtl.activated, number)
            self.warps[number].waits = False
            self.model.activate(number)
            self.happened["again"] += self.warps[number].working > 0
        for number, warp in enumerate(self.warps):
            if self.hooks.closing and warp.waits and not gone >> number & 1:
                warp.live = False


def lockstep(
    machine: str, seed: int, rest: str = "", build: Any = build_registers, cycles: int = 250, **given: Any
) -> Bench:
    """Compare every cycle of a run; every other seed with liveness. `rest`: rows that the scheme has
    besides."""
    scheme = ("ltrf-plus" if seed % 2 else "ltrf") + rest
    return Bench(scheme, machine, seed, build, **given).run(cycles)
