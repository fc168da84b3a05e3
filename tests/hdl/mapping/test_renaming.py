"""The whole mapping against golden's, under an honest front end: registers are written before they are read,
and not after they were declared dead."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Const
from hypothesis import Phase, given, settings

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate, uop_record
from tests.hdl.wrapped import wrapped
from tests.thinned import examples
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, Control
from warpbank.golden.mapping.renaming import COUNTED
from warpbank.golden.mapping.renaming import Renaming as Golden
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import RenamingTable
from warpbank.program.release.words import unpack

#: Machines of the size that a simulator of exported Verilog is built for quickly; the demand is above the
#: physical registers.
SMALL: dict[str, SmConfig] = {
    "two_banks": with_overrides(preset("tiny"), ["sub_core.warps=2", "sub_core.rows=8", "lanes=1"]),
    "one_bank": with_overrides(
        preset("tiny"),
        ["sub_core.warps=3", "sub_core.banks=1", "sub_core.rows=14", "sub_core.collectors=3", "lanes=1"],
    ),
}


def with_flags(config: SmConfig, policy: str = "consolidate", rows: int | None = None) -> SmConfig:
    """The machine with release flags, and with fewer rows."""
    core = config.sub_core
    mapping = replace(core.mapping, policy=policy, release_flags="on")
    return replace(config, sub_core=replace(core, mapping=mapping, rows=rows or core.rows))


class FrontEnd:
    """Uops of every warp, sound with regard to their flags, and what of them is in flight."""

    def __init__(
        self, rng: random.Random, config: SmConfig, entries: int, top: int, counts: tuple[int, ...]
    ) -> None:
        self.rng, self.config, self.top, self.counts = rng, config, top, counts
        warps = config.sub_core.warps
        self.live: list[set[int]] = [
            set() for _ in range(warps)
        ]  # written and not declared dead, in program order
        self.first: list[Any] = [None] * warps
        self.ending: set[int] = set()  # warps that have had their last uop
        self.writing: list[set[int]] = [set() for _ in range(warps)]
        self.collecting: list[Any] = [None] * entries  # [warp, slot -> register still to be read, requested]
        self.seq = 0

    def uop(self, warp: int) -> Any:
        """The warp's next uop."""
        rng = self.rng
        self.seq += 1
        live = sorted(self.live[warp])
        if live and rng.random() < 0.15:
            named = rng.sample(live, min(len(live), rng.randint(1, 9)))
            return make_uop(
                warp,
                self.seq,
                unit=6,
                control=Control.PBR,
                collects=False,
                releases=sum(1 << register for register in named),
            )
        sources = rng.sample(live, min(len(live), rng.randint(0, 6)))
        if rng.random() < 0.05 and len(sources) < 6:
            sources += rng.sample([r for r in range(self.top) if r not in sources], 1)
        count = rng.choice(self.counts)
        destination = rng.randrange(self.top - count)
        dead = sum(
            1 << slot
            for slot, register in enumerate(sources)
            if rng.random() < 0.4 and not destination <= register < destination + count
        )
        return make_uop(
            warp, self.seq, sources=tuple(sources), destination=destination, count=count, dead=dead
        )

    def hazard(self, warp: int) -> bool:
        uop = self.first[warp]
        writes = set(range(uop.destination, uop.destination + uop.count))
        reads = {r for entry in self.collecting if entry and entry[0] == warp for r in entry[1].values()}
        return bool((writes | set(uop.sources)) & self.writing[warp] or writes & reads)

    def issue(self, warp: int, entry: int) -> None:
        """The warp's first uop issues."""
        uop = self.first[warp]
        self.first[warp] = None
        if self.rng.random() < 0.1:
            self.ending.add(warp)
        gone = {uop.sources[slot] for slot in range(len(uop.sources)) if uop.dead >> slot & 1}
        gone |= {register for register in range(256) if uop.releases >> register & 1}
        self.live[warp] -= gone
        writes = set(range(uop.destination, uop.destination + uop.count))
        self.live[warp] |= writes
        self.writing[warp] |= writes
        if uop.sources:
            self.collecting[entry] = [warp, dict(enumerate(uop.sources)), False]


def _payload(uop: Any) -> dict[str, int]:
    registers = [register for register in range(256) if uop.releases >> register & 1]
    if not registers:
        return {}
    wide = any(register > 63 for register in registers)
    width = 8 if wide else 6
    registers = registers[: 54 // width]
    uop.releases = sum(1 << register for register in registers)
    filled = registers + registers[:1] * (54 // width - len(registers))
    word = sum(register << width * place for place, register in enumerate(filled))
    assert unpack(word << 4, width)[1] == filled
    return {"release": word, "wide": wide}


def lockstep(
    machine: str,
    seed: int,
    policy: str = "consolidate",
    unit: Any = Renaming,
    cycles: int = 150,
    small: bool = True,
    stages: int = 0,
    alone: bool = False,
    widths: tuple[int, ...] = (0, 1, 1, 1, 2, 4),
) -> dict[str, int]:
    """`alone`: not even one CTA's registers fit, so that one warp is served first. `widths`: numbers of
    registers that a uop may write. `stages`: of the look-up of names, on a machine with an issue stage if
    there are any. What first uops lack, and where results go, is looked up a cycle ahead then."""
    rng = random.Random(seed)
    config = with_flags(SMALL[machine] if machine in SMALL else MACHINES[machine], policy)
    core = config.sub_core
    top = rng.choice([count for count in (6, 12, 100) if count <= core.warp_registers])
    if alone or (small and rng.random() < 0.6):  # a file smaller than the demand
        config = with_flags(
            MACHINES[machine], policy, max(4, -(-(top + rng.randrange(top * core.warps)) // core.banks))
        )
    if stages:
        config = with_overrides(
            config, ["sub_core.front_end.issue_stages=1", f"sub_core.mapping.lookup_stages={stages}"]
        )
    core = config.sub_core
    entries = core.collectors
    slots = (
        core.warps if rng.random() < 0.5 else rng.randint(1, core.warps)
    )  # warp slots that the launch uses
    log = Log()
    rtl, model = unit(config, Collection(entries), 2, probe=True), Golden(core, log.probe)
    front = FrontEnd(rng, config, entries, top, widths)
    counts = {"short": 0, "choosing": 0, "map": 0, "unmap": 0, "exempt": 0}
    exempt, new = 0, (1 << core.warps) - 1  # warps that have issued, or had no uop, in the cycle before
    asked: dict[int, tuple[int, int]] = {}  # results that were looked up then
    entered: tuple[int, set[int]] = 0, set()  # what the uop that issued then writes

    async def bench(ctx: Any) -> None:
        nonlocal exempt, new, entered
        fits = [
            mask
            for mask in (sum(1 << r for r in rng.sample(range(top), rng.randrange(3))),)
            if mask.bit_count() * slots + top <= core.warp_registers
        ]
        exempt = fits[0] if fits else 0
        ctx.set(rtl.launch, 1)
        ctx.set(rtl.start.registers, top)
        ctx.set(rtl.start.exempt, exempt)
        ctx.set(rtl.start.slots, slots)
        kept = (
            rng.randrange(core.warp_registers - exempt.bit_count() * slots)
            if rng.random() < 0.5 and not alone
            else 0
        )
        ctx.set(rtl.start.kept, kept)
        await ctx.tick()
        model.launch(top, exempt, slots, kept)
        ctx.set(rtl.launch, 0)
        for field in (rtl.start.registers, rtl.start.exempt, rtl.start.slots, rtl.start.kept):
            ctx.set(field, 0)
        for _ in range(COUNTED + (stages > 0)):
            model.look([[]] * core.warps, 0)
            await ctx.tick()
            model.edge()
        here = (1 << slots) - 1
        for cycle in range(cycles):
            for warp in range(slots):
                if front.first[warp] is None and warp not in front.ending and rng.random() < 0.7:
                    front.first[warp] = front.uop(warp)
                uop = front.first[warp]
                ctx.set(rtl.hazards[warp].destination, uop.destination if uop else 0)
                ctx.set(rtl.hazards[warp].count, uop.count if uop else 0)
                for number in range(uop.count if uop else 0):
                    ctx.set(rtl.hazards[warp].registers[MAX_SOURCES + number], uop.destination + number)
            if rng.random() < 0.2:
                here = rng.getrandbits(slots)
            ctx.set(rtl.here, here)
            if rng.random() < 0.1:
                model.serve(rng.getrandbits(slots))
            ctx.set(rtl.start.served, model.reserve.members)
            model.look([[first] if first else [] for first in front.first], here, new)
            short, choosing = model.lacking, model.choosing
            model.settle(here)
            for warp, first in enumerate(front.first):
                if first is not None and not (stages and new >> warp & 1):
                    assert ctx.get(rtl.missing[warp]) == model.missing(first), f"cycle {cycle}, warp {warp}"
            barred = short | choosing | (new if stages else 0)
            new = sum(1 << warp for warp in range(core.warps) if front.first[warp] is None)
            assert (ctx.get(rtl.lacking), ctx.get(rtl.choosing)) == (short, choosing), f"cycle {cycle}"
            counts["short"] += short.bit_count()
            counts["choosing"] += choosing.bit_count()
            pending = [
                (warp, register)
                for warp, mine in enumerate(front.writing)
                for register in sorted(mine - (entered[1] if warp == entered[0] else set()))
            ]
            for number in range(2 * (stages > 0)):
                if number in asked and asked[number] in pending:
                    found = ctx.get(rtl.locate[number].bank), ctx.get(rtl.locate[number].row)
                    assert found == model.home(*asked[number]), f"cycle {cycle}"
                    counts["located"] = counts.get("located", 0) + 1
                changes = bool(pending) and (rng.random() < 0.5 or asked.get(number) not in pending)
                if changes:
                    asked[number] = rng.choice(pending)
                elif asked.get(number) not in pending:  # it has been written, and may be renamed
                    asked.pop(number, None)
                ctx.set(rtl.upcoming[number].changes, changes)
                warp, register = asked[number] if changes else (rng.randrange(slots), rng.randrange(top))
                ctx.set(rtl.upcoming[number].warp, warp)
                ctx.set(rtl.upcoming[number].register, register)
            for number in range(2 * (stages == 0)):
                warp, register = rng.randrange(slots), rng.randrange(top)
                ctx.set(rtl.locate[number].warp, warp)
                ctx.set(rtl.locate[number].register, register)
                place = model.home(warp, register)
                assert ctx.get(rtl.mapped) >> number & 1 == (place is not None)
                counts["exempt"] += exempt >> register & 1
                if place is not None:
                    assert (ctx.get(rtl.locate[number].bank), ctx.get(rtl.locate[number].row)) == place
            done = _finish(ctx)
            entered = 0, set()
            issued = _issue(ctx, barred)
            named = model.edge()
            assert ctx.get(rtl.request.valid) == bool(named)
            if named:
                for _, slot, _, place in named:
                    assert ctx.get(rtl.blank) >> slot & 1 == (place is None)
                    found = ctx.get(rtl.request.banks[slot]), ctx.get(rtl.request.rows[slot])
                    assert found == ((slot % core.banks, 0) if place is None else place)
            events = log.take()
            assert seen(ctx, rtl.events) == events, f"cycle {cycle}"
            freed = [(ctx.get(port.bank), ctx.get(port.row)) for port in rtl.released if ctx.get(port.valid)]
            assert sorted(freed) == sorted(fields[-2:] for name, fields in events if name == "unmap")
            for name, _ in events:
                counts[name] = counts.get(name, 0) + 1
            done()
            issued()
            if named:
                front.collecting[named[0][0]][2] = True
            _check(model, core.warp_registers)
            await ctx.tick()

    def _finish(ctx: Any) -> Any:
        """Operands and results arrive."""
        read, written = [], []
        for number, port in enumerate(rtl.done):
            entry = front.collecting[number]
            slots = 0
            if entry and entry[2] and rng.random() < 0.5:
                slot = rng.choice(sorted(entry[1]))
                slots = 1 << slot
                read.append((number, slot))
                model.operand_read(entry[0], entry[1][slot])
            ctx.set(port.slots, slots)
        pending = [(warp, register) for warp, mine in enumerate(front.writing) for register in sorted(mine)]
        rng.shuffle(pending)
        for number in range(UNITS):
            valid = bool(pending) and rng.random() < 0.2
            ctx.set(rtl.finished[number].valid, valid)
            if valid:
                warp, register = pending.pop()
                ctx.set(rtl.finished[number].warp, warp)
                ctx.set(rtl.finished[number].register, register)
                model.result_written(warp, 1 << register)
                written.append((warp, register))

        def after() -> None:
            for number, slot in read:
                del front.collecting[number][1][slot]
                if not front.collecting[number][1]:
                    front.collecting[number] = None
            for warp, register in written:
                front.writing[warp].discard(register)

        return after

    def _issue(ctx: Any, short: int) -> Any:
        """One uop issues, if one may."""
        free = [number for number, entry in enumerate(front.collecting) if entry is None]
        may = [
            warp
            for warp in range(core.warps)
            if front.first[warp] is not None
            and not short >> warp & 1
            and not front.hazard(warp)
            and (free or not front.first[warp].collects)
        ]
        ctx.set(rtl.issue.valid, 0)
        ctx.set(rtl.slide, 0)
        ctx.set(rtl.read.valid, 0)
        ends = 0
        for warp in range(core.warps):
            busy = front.writing[warp] or any(entry and entry[0] == warp for entry in front.collecting)
            if (
                warp in front.ending
                and front.first[warp] is None
                and not busy
                and not model.release.ended >> warp & 1
            ):
                ends |= 1 << warp
                model.end(warp)
                front.live[warp] = set()
                front.ending.remove(warp)
        ctx.set(rtl.end, ends)
        may = [warp for warp in may if not ends >> warp & 1]
        if not may or rng.random() < 0.2:
            return lambda: None
        warp = rng.choice(may)
        uop = front.first[warp]
        uop.releases &= ~sum(1 << register for register in front.writing[warp]) | model.release.dying[warp]
        payload = _payload(uop)
        if not payload:
            uop.control = Control.NONE
        record = {**uop_record(uop), **payload}
        ctx.set(rtl.issue.payload, {"warp": warp, "uop": record})
        entry = rng.choice(free) if free else 0
        ctx.set(rtl.issue.valid, uop.collects)
        ctx.set(rtl.slide, not uop.collects)
        ctx.set(rtl.entry, entry)
        if uop.sources:
            ctx.set(rtl.read.valid, 1)
            sources = [*uop.sources, *(0 for _ in range(6 - len(uop.sources)))]
            ctx.set(
                rtl.read.payload,
                {
                    "collector": entry,
                    "warp": warp,
                    "sources": sources,
                    "source_valid": record["source_valid"],
                },
            )
            for slot, register in enumerate(uop.sources):
                model.ask(entry, slot, warp, register, 0)
        model.issue(uop)
        nonlocal new, entered
        new |= 1 << warp
        entered = warp, set(range(uop.destination, uop.destination + uop.count))
        return lambda: front.issue(warp, entry)

    simulate(rtl, bench)
    return counts


def _check(model: Golden, registers: int) -> None:
    """No physical register is in two places, or lost."""
    owners = model.table.owners()
    mapped = sum(mask.bit_count() for mask in model.table.mapped)
    assert len(owners) == mapped == sum(model.reserve.held) + sum(count for _, count in model.uncounted)
    reserved = model.exempt.reserved
    taken = {number for number in range(registers) if model.availability.taken >> number & 1}
    assert taken == set(owners) | set(range(reserved))


#: An example is a small machine of its own: few of them, and no shrinking.
FEWER = settings(FEW, max_examples=3, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@pytest.mark.parametrize("stages", [0, 2])
@pytest.mark.parametrize(("machine", "policy"), [("tiny", "consolidate"), ("single", "wear_level")])
def test_the_first_cycles_equal_golden(machine: str, policy: str, stages: int) -> None:
    """A short run, which most wrong changes do not outlive."""
    lockstep(machine, 1, policy, cycles=80, stages=stages)


@pytest.mark.parametrize("stages", [0, 2])
def test_one_warp_is_served_first(stages: int) -> None:
    assert lockstep("tiny", 2, cycles=80, stages=stages, alone=True)["short"]


@pytest.mark.parametrize("stages", [0, 2])
def test_each_uop_takes_four_registers(stages: int) -> None:
    assert lockstep("tiny", 1, cycles=40, stages=stages, widths=(4,))["short"]


@pytest.mark.quick("consolidate")
@pytest.mark.parametrize("policy", ["consolidate", "wear_level"])
@settings(FEWER, max_examples=examples(3, 2))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(policy: str, machine: str, seed: int) -> None:
    lockstep(machine, seed, policy)


@pytest.mark.quick("2")
@pytest.mark.parametrize("stages", [1, 2])
@settings(FEWER, max_examples=examples(3, 2))
@given(machine=machines, seed=SEEDS)
def test_equals_golden_with_stages(stages: int, machine: str, seed: int) -> None:
    lockstep(machine, seed, stages=stages)


@pytest.mark.long
def test_everything_happens_with_stages() -> None:
    counts: dict[str, int] = {}
    for seed in range(3):
        for name, count in lockstep("tiny", seed, stages=2).items():
            counts[name] = counts.get(name, 0) + count
    assert all(counts[name] for name in ("short", "choosing", "map", "unmap", "lookup", "located")), counts


@pytest.mark.long
def test_everything_happens() -> None:
    counts: dict[str, int] = {}
    for seed in range(3):
        for name, count in lockstep("tiny", seed).items():
            counts[name] = counts.get(name, 0) + count
    assert all(
        counts[name] for name in ("short", "choosing", "map", "unmap", "lookup", "unwritten", "exempt")
    ), counts


class LateTable(RenamingTable):
    """A register keeps its physical register when it is released."""

    def elaborate(self, platform: object) -> Any:
        self.drop = [_Deaf(port) for port in self.drop]
        return super().elaborate(platform)


class _Deaf:
    """A port of the table that is never valid."""

    def __init__(self, port: Any) -> None:
        self.warp, self.register, self.physical, self.valid = (
            port.warp,
            port.register,
            port.physical,
            Const(0, 1),
        )


class RenamesExempt(Exempt):
    """Registers are exempt, but nobody is told."""

    def elaborate(self, platform: object) -> Any:
        hears, self.mask = self.mask, Const(0, len(self.mask))
        m = super().elaborate(platform)
        self.mask = hears
        return m


class KnownForEver(Renaming):
    """A warp lacks registers for the uop that it has issued."""

    def _known(self, m: Any, warp: int, found: Any, issues: Any) -> Any:
        return super()._known(m, warp, found, Const(0, 1))


class LosesNothing(Renaming):
    """Registers that are released while a first uop is looked at count as if they were there."""

    def _loses(self, warp: int, hazards: Any) -> Any:
        return Const(0, 4)


class TakesNothing(Renaming):
    """What was taken in the cycle before counts as free."""

    def _taken(self, m: Any) -> Any:
        super()._taken(m)
        return Const(1, 5)


class KeepsForNobody(Renaming):
    """All warps may take the last registers, with stages."""

    def _too_few(self, m: Any) -> Any:
        served, self.reserve.served = self.reserve.served, Const(-1, len(self.reserve.served))
        found = super()._too_few(m)
        self.reserve.served = served
        return found


class CountsEarly(Renaming):
    """What was taken two cycles before counts as counted, with stages."""

    def _uncounted(self, m: Any) -> Any:
        super()._uncounted(m)
        return Const(0)


class DrainsEarly(Renaming):
    """The registers of a warp begin to die in the cycle in which it drains, with stages."""

    def _drained(self, m: Any) -> Any:
        super()._drained(m)
        return self.end


def located_once(config: Any, collection: Any, writers: int, probe: bool) -> Any:
    """Results are where the first one was."""
    inner = Renaming(config, collection, writers, probe=probe)
    return wrapped(inner, upcoming=lambda value, _: value & 0 if len(value) == 1 else value)


@pytest.mark.quick("KnownForEver", "located_once")
@pytest.mark.parametrize(
    "unit", [KnownForEver, LosesNothing, TakesNothing, CountsEarly, DrainsEarly, KeepsForNobody, located_once]
)
def test_mutants_with_stages_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit=unit, cycles=100, stages=2))


def _broken(**classes: Any) -> Any:
    return type("Broken", (Renaming,), classes)


@pytest.mark.quick("classes1")
@pytest.mark.parametrize("classes", [{"table_class": LateTable}, {"exempt_class": RenamesExempt}])
def test_mutants_are_caught(classes: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit=_broken(**classes), cycles=60))
