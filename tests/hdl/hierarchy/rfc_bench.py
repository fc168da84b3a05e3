"""The register file caches without prefetch beside golden's: warps that come and go, straight code, results
when they like."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.golden_main import golden_main
from tests.hdl.bench import Log, make_uop, seen, simulate, uop_record
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import MAX_SOURCES, MOVE, TO_BANKS
from warpbank.golden.hierarchy.rfc import Rfc as GoldenRfc
from warpbank.golden.hierarchy.sw_rfc import SwRfc as GoldenSwRfc
from warpbank.golden.interfaces import Arrival
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.registry import build_registers
from warpbank.program.strand_cache import Step, assign

#: Registers that the warps use, more than the cache has entries for; instructions of a block.
REGISTERS, LENGTH = 20, 14
_MODELS: dict[str, Any] = {"rfc": GoldenRfc, "sw_rfc": GoldenSwRfc}


def machine(*overrides: str) -> SmConfig:
    """A machine of four warps with 32 rows per bank for each."""
    return with_overrides(
        preset("tiny"),
        [
            "lanes=2",
            "sub_core.warps=4",
            "sub_core.rows=128",
            "sub_core.cache.registers=8",
            *(f"sub_core.{override}" for override in overrides),
        ],
    )


RFCS: dict[str, SmConfig] = {
    "fast": machine("active_warps=2", "collectors=3"),
    "slow": machine("active_warps=3", "bank_latency=280", "cache.replacement=lru", "collectors=3"),
    "one": machine("active_warps=1", "bank_latency=630", "banks=1", "collectors=1"),
    "many": machine("active_warps=4", "banks=8", "cache.registers=16", "cache.replacement=lru"),
}


@dataclass(frozen=True)
class Instruction:
    """One of a block: the compiler's view, the lanes that execute it (0: none does, so that it is not
    issued), and its hints."""

    step: Step
    lanes: int
    near: int = 0
    write_back: int = 0
    dead: int = 0


class Warp:
    """One slot of the scheduler: what program order says of its registers."""

    def __init__(self, lanes: int) -> None:
        self.live = False  # has a warp that has not issued its last uop
        self.active = False
        self.launched = lanes
        self.code: deque[Instruction] = deque()
        self.known = [0] * REGISTERS  # lanes with a value that may be read
        self.pending = self.distant = 0  # registers with a result to come; of these, from far away
        self.written = [0] * REGISTERS  # lanes that an issued uop has written
        self.aside = 0  # registers whose newest value the compiler has kept out of the banks
        self.dead = 0  # registers that were read for the last time: nobody has to keep their value
        self.packed = 0  # registers that the RTL says are compressed in the banks
        self.reads: Counter[int] = Counter()  # operands to come
        self.state: list[Value] = []
        self.seq = 0

    @property
    def idle(self) -> bool:
        """Nothing of it is under way."""
        return not self.live and not self.active and not self.pending and not +self.reads

    @property
    def waits(self) -> bool:
        """Its next uop needs a result that comes from far away: its strand has ended."""
        return bool(self.code) and bool(_touched(self.code[0].step) & self.distant)


def _mask(registers: tuple[int, ...]) -> int:
    return sum(1 << register for register in registers)


def _touched(step: Step) -> int:
    return _mask(step.sources) | _mask(step.written)


class Bench:
    """One run: warps execute random straight code with the hints that the compiler gives it, as a scoreboard
    lets them.

    Parameters
    ----------
    scheme : with rfc or sw-rfc, and any storage.
    name : of the machine.
    seed : of all choices.
    build : makes the RTL.
    """

    def __init__(self, scheme: str, name: str, seed: int, build: Any = build_registers) -> None:
        self.rng = random.Random(seed)
        chosen = parse_scheme(scheme)
        self.software = chosen.units.hierarchy.compiled
        self.config = config = RFCS[name]
        self.core = core = config.sub_core
        self.log = Log()
        self.rtl = build(config, chosen, True)
        self.quiet = 0
        self.parts = chosen.units.storage.arguments.get("parts", 1)
        self.encodes = chosen.units.storage.encodes
        self.model = _MODELS[chosen.hierarchy](
            config,
            golden_main(
                config, self.log.probe, chosen.mapping, chosen.storage, lambda warp: self.warps[warp].pending
            ),
            lambda warp: bool(self.quiet >> warp & 1),
            self.log.probe,
        )
        self.warps = [Warp(config.lane_mask) for _ in range(core.warps)]
        self.results: list[deque[TraceUop]] = [deque() for _ in range(UNITS)]
        # By collector, of each slot that waits: uop, register, value.
        self.missing: list[dict[int, tuple[TraceUop, int, Value]]] = [{} for _ in range(core.collectors)]
        self.happened: Counter[str] = Counter()

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
                self.log.probe.cycle = cycle
                await self._cycle(ctx, f"cycle {cycle}")

        simulate(self.rtl, bench)
        return self

    async def _cycle(self, ctx: Any, where: str) -> None:
        rtl, model = self.rtl, self.model
        may_activate = model.may_activate
        assert ctx.get(rtl.may_activate) == may_activate, where
        self.quiet = sum(1 << number for number, warp in enumerate(self.warps) if not +warp.reads)
        ctx.set(rtl.quiet, self.quiet)
        pending = [warp.pending for warp in self.warps]
        model.begin()
        waits = self._write(ctx, where)
        self._land(ctx, where)
        gone = self._gone()
        for asks in rtl.owed:
            ctx.set(asks.pending, pending[ctx.get(asks.warp)] >> ctx.get(asks.register) & 1)
        arrived = model.step()
        self._deliver(ctx, arrived, where)
        self._note(ctx)
        self._issue(ctx, gone)
        self._start(ctx)
        self._come_and_go(ctx, may_activate, gone)
        events = self.log.take()
        here = seen(ctx, rtl.events)
        assert here == sorted([*events, *waits]), f"{where}: {set(here) ^ {*events, *waits}}"
        self.happened.update(name for name, _ in here)
        await ctx.tick()

    # --- Results and operands.

    def _write(self, ctx: Any, where: str) -> list[tuple[str, tuple[int, ...]]]:
        """Units offer results of uops that have their operands, in rotating order."""
        rng, first = self.rng, self.rng.randrange(UNITS)
        collecting = {id(uop) for slots in self.missing for uop, *_ in slots.values()}
        ctx.set(self.rtl.first, first)
        taken, waits = {}, []
        for unit in [*range(first, UNITS), *range(first)]:
            queue, port = self.results[unit], self.rtl.result[unit]
            offered = bool(queue) and id(queue[0]) not in collecting and rng.random() < 0.5
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
                    "near": uop.near >> MAX_SOURCES & 1,
                },
            )
            ctx.set(self.rtl.keep[unit].value, pack(value))
            taken[unit] = self.model.write(uop, register, value)
            if taken[unit]:
                self._written(uop, unit)
            else:
                waits.append(("write_wait", (unit, self.model.bank_of(unit, uop.warp, register))))
        for unit, expected in taken.items():
            assert ctx.get(self.rtl.result[unit].ready) == expected, where
            assert ctx.get(self.rtl.keep[unit].valid) == expected, where
        for unit, (finished, result) in enumerate(zip(self.rtl.finished, self.rtl.result, strict=False)):
            ctx.set(finished.valid, taken.get(unit, False))
            ctx.set(finished.warp, ctx.get(result.payload.warp))
            ctx.set(finished.register, ctx.get(result.payload.register))
        return waits

    def _land(self, ctx: Any, where: str) -> None:
        """Results that are there are free of hazards: golden's and the RTL's."""
        found = sorted(
            (ctx.get(port.warp), 1 << ctx.get(port.register))
            for port in self.rtl.landed
            if ctx.get(port.valid)
        )
        assert found == sorted(self.model.landing), where
        for number, mask in self.model.landing:
            self.warps[number].pending &= ~mask
            self.warps[number].distant &= ~mask
        self.model.landing.clear()

    def _note(self, ctx: Any) -> None:
        """Keep what the RTL says of registers that were written into banks."""
        for port in self.rtl.stored:
            if ctx.get(port.valid):
                warp, bit = self.warps[ctx.get(port.warp)], 1 << ctx.get(port.register)
                warp.packed = warp.packed & ~bit | (bit if ctx.get(port.compressed) else 0)

    def _written(self, uop: TraceUop, unit: int) -> None:
        warp = self.warps[uop.warp]
        self.happened["partial"] += uop.part
        self.happened["inactive"] += not warp.active
        uop.written += 1
        if uop.written == uop.count:
            self.results[unit].popleft()

    def _deliver(self, ctx: Any, arrived: list[Arrival], where: str) -> None:
        """Operands arrive: golden's, and on the lanes that read them the newest values."""
        found = {
            number: (ctx.get(port.slot), ctx.get(port.value))
            for number, port in enumerate(self.rtl.deliver)
            if ctx.get(port.valid)
        }
        assert found == {collector: (slot, pack(value)) for collector, slot, _, value, _ in arrived}, where
        for collector, slot, _, value, _ in arrived:
            uop, register, expected = self.missing[collector].pop(slot)
            warp, moves = self.warps[uop.warp], bool(uop.seq & MOVE)
            lanes = uop.lane_mask & warp.written[register]
            if moves and (warp.aside | warp.dead) >> register & 1:
                lanes = 0  # the move is about what the banks have, which nobody reads any more
            for lane in range(self.config.lanes):
                if lanes >> lane & 1:
                    assert value[lane] == expected[lane], f"{where}: R{register} of warp {uop.warp} is old"
            warp.reads[register] -= 1
            if moves:
                uop.values = [value]
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

    # --- Code.

    def _block(self, warp: Warp) -> list[Instruction]:
        """Straight code, under one mask but for guards."""
        rng = self.rng
        mask = (
            warp.launched
            if rng.random() < 0.6
            else warp.launched & rng.randrange(1, warp.launched + 1) or warp.launched
        )
        found: list[Instruction] = []
        if rng.random() < 0.3:
            found += [Instruction(Step(*step, True, False, False, 0), mask) for step in self._crowd()]
        for _ in range(LENGTH):
            certain = rng.random() < 0.8
            lanes = mask if certain else mask & rng.getrandbits(self.config.lanes)
            here = [register for register, known in enumerate(warp.known) if lanes and known & lanes == lanes]
            sources = tuple(rng.sample(here, min(len(here), rng.choice((0, 1, 2, 2, 3, 6)))))
            count, first = rng.choice((0, 1, 1, 1, 1, 2)), rng.randrange(REGISTERS - 1)
            written = tuple(range(first, first + count))
            found.append(
                Instruction(
                    Step(sources, written, certain, count == 1 and rng.random() < 0.15, False, 0), lanes
                )
            )
            for register in written:
                warp.known[register] |= lanes
        needed = rng.getrandbits(REGISTERS) & rng.getrandbits(REGISTERS)
        warp.known = [known if needed >> register & 1 else 0 for register, known in enumerate(warp.known)]
        return self._hinted(self._liveness(found, needed, mask == warp.launched), warp.distant)

    def _crowd(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Sources and results: six registers are read at once, and another one then comes to the place of the
        last of them."""
        registers = tuple(range(6))
        other = registers[-1] + self.core.cache.registers
        if other >= REGISTERS:
            return []
        return [
            *(((), (register,)) for register in registers),
            (registers, ()),
            ((), (other,)),
            ((other,), ()),
        ]

    def _liveness(self, code: list[Instruction], needed: int, whole: bool) -> list[Instruction]:
        """What somebody may read behind each instruction; only writes of all of a warp's lanes end that."""
        found = []
        for instruction in reversed(code):
            step = instruction.step
            found.append(replace(instruction, step=replace(step, after=needed)))
            if step.certain and whole:
                needed &= ~_mask(step.written)
            needed |= _mask(step.sources)
        return found[::-1]

    def _hinted(self, code: list[Instruction], distant: int) -> list[Instruction]:
        """With the compiler's word: what goes into the cache, and where operands are; or which are read for
        the last time. `distant`: registers whose result may still come from far away where the code
        begins."""
        if self.software:
            coming = frozenset(register for register in range(REGISTERS) if distant >> register & 1)
            near, write_back = assign(
                [instruction.step for instruction in code], self.core.cache.registers, coming
            )
            return [
                replace(instruction, near=int(hint), write_back=int(where))
                for instruction, hint, where in zip(code, near, write_back, strict=True)
            ]
        return [
            replace(
                instruction,
                dead=sum(
                    1 << slot
                    for slot, register in enumerate(instruction.step.sources)
                    if not instruction.step.after >> register & 1
                ),
            )
            for instruction in code
        ]

    # --- What issues.

    def _issue(self, ctx: Any, gone: int) -> None:
        """A uop whose registers are there, or nothing."""
        rng, rtl = self.rng, self.rtl
        for port in (rtl.issue.valid, rtl.read.valid):
            ctx.set(port, 0)
        for warp in self.warps:
            while warp.active and warp.code and not warp.code[0].lanes:
                warp.code.popleft()
        ready = [
            number
            for number, warp in enumerate(self.warps)
            if warp.active and not gone >> number & 1 and self._may(warp)
        ]
        free = [number for number, slots in enumerate(self.missing) if not slots]
        if ready and free and rng.random() < 0.9:
            self._uop(ctx, rng.choice(ready), rng.choice(free))

    @staticmethod
    def _may(warp: Warp) -> bool:
        if not warp.code:
            return False
        step = warp.code[0].step
        return not _touched(step) & warp.pending and not any(
            warp.reads[register] for register in step.written
        )

    def _uop(self, ctx: Any, number: int, collector: int) -> None:
        """A warp's next uop, or the move that must go before it."""
        rng, warp = self.rng, self.warps[number]
        code = warp.code[0]
        step, lanes = code.step, code.lanes
        uop = make_uop(
            number,
            warp.seq + 1,
            unit=rng.randrange(UNITS),
            sources=step.sources,
            destination=(*step.written, 0)[0],
            count=len(step.written),
            values=[self.value() for _ in step.written],
            lane_mask=lanes,
            near=code.near,
            write_back=code.write_back,
            dead=code.dead,
            part=int(lanes != warp.launched),
        )
        move = self.model.before(uop)
        assert (move is not None) == bool(uop.part and warp.packed & _mask(step.written))
        if move is not None:
            self.happened["move"] += 1
            warp.packed &= ~(1 << move.destination)
            self._send(
                ctx,
                make_uop(
                    number,
                    move.seq,
                    unit=move.unit,
                    sources=move.sources,
                    destination=move.destination,
                    count=1,
                    lane_mask=self.config.lane_mask,
                ),
                collector,
            )
            return
        warp.code.popleft()
        warp.seq += 1
        warp.distant |= _mask(step.written) if step.distant else 0
        self._send(ctx, uop, collector)
        written = _mask(step.written)
        aside = self.software and code.near >> MAX_SOURCES & 1 and not code.write_back & TO_BANKS
        whole = 0 if uop.part else written
        warp.aside = warp.aside | written if aside else warp.aside & ~whole
        read_last = sum(1 << register for slot, register in enumerate(step.sources) if code.dead >> slot & 1)
        warp.dead = (warp.dead | read_last) & ~whole
        for register, value in zip(step.written, uop.values, strict=True):
            warp.state[register] = merge(warp.state[register], value, lanes)
            warp.written[register] |= lanes

    def _send(self, ctx: Any, uop: TraceUop, collector: int) -> None:
        """A uop or move issues, and asks for its operands."""
        rtl, warp = self.rtl, self.warps[uop.warp]
        for slot, register in enumerate(uop.sources):
            self.missing[collector][slot] = (uop, register, warp.state[register])
            warp.reads[register] += 1
        warp.pending |= ((1 << uop.count) - 1) << uop.destination
        if uop.count:
            self.results[uop.unit].append(uop)
        record = uop_record(uop)
        ctx.set(rtl.issue.valid, 1)
        ctx.set(rtl.issue.payload, {"warp": uop.warp, "uop": record})
        ctx.set(rtl.read.valid, 1)
        ctx.set(
            rtl.read.payload,
            {
                "collector": collector,
                "warp": uop.warp,
                "source_valid": record["source_valid"],
                "sources": record["sources"],
                "dead": uop.dead,
                "near": uop.near & (1 << MAX_SOURCES) - 1,
            },
        )
        self.model.issue(uop)
        for slot, register in enumerate(uop.sources):
            self.model.read(collector, slot, uop, register)

    # --- Warps.

    def _start(self, ctx: Any) -> None:
        """A slot in which nothing is left to do may receive a new warp."""
        rows = self.core.rows // self.core.warps
        self.started = [
            number for number, warp in enumerate(self.warps) if warp.idle and self.rng.random() < 0.2
        ]
        ctx.set(self.rtl.start.warps, sum(1 << number for number in self.started))
        ctx.set(self.rtl.start.rows, rows)
        for number in self.started:
            packed = self.warps[number].packed  # of the slot: the banks keep what its last warp left
            warp = self.warps[number] = Warp(self.rng.randrange(1, self.config.lane_mask + 1))
            warp.packed = packed
            warp.live, warp.state = True, [self.value() for _ in range(REGISTERS)]
            warp.code.extend(self._block(warp))
            self.model.start(number, rows)
            self.happened["start"] += 1

    def _gone(self) -> int:
        """Active warps that are not any more: they wait for a distant result or have ended; with tags,
        whenever one likes."""
        found = 0
        for number, warp in enumerate(self.warps):
            if not warp.active:
                continue
            if not warp.code and self.rng.random() < 0.5:
                warp.code.extend(self._block(warp))
            if warp.waits or not warp.code or (not self.software and self.rng.random() < 0.02):
                found |= (self.rng.random() < 0.5) << number
        return found

    def _come_and_go(self, ctx: Any, may_activate: int, gone: int) -> None:
        rng, rtl = self.rng, self.rtl
        ended = 0
        for number, warp in enumerate(self.warps):
            if gone >> number & 1:
                warp.active = False
                if not warp.code:
                    warp.live = False
                    ended |= 1 << number
                self.model.deactivate(number, not warp.live)
                self.happened["stall"] += warp.live
        ctx.set(rtl.deactivate, gone)
        ctx.set(rtl.ended, ended)
        come = [
            number
            for number, warp in enumerate(self.warps)
            if may_activate >> number & 1 and warp.live and not warp.active and number not in self.started
        ]
        comes = bool(come) and rng.random() < 0.7
        ctx.set(rtl.activate, comes)
        if comes:
            number = rng.choice(come)
            ctx.set(rtl.activated, number)
            self.warps[number].active = True
            self.model.activate(number)
            self.happened["again"] += self.warps[number].seq > 0


def lockstep(scheme: str, machine: str, seed: int, build: Any = build_registers, cycles: int = 250) -> None:
    """Compare every cycle of a run."""
    Bench(scheme, machine, seed, build).run(cycles)
