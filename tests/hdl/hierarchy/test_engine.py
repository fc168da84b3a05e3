"""The transfer engine carries registers as golden's does, values included."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from amaranth.sim import SimulatorContext
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, Log, fails, simulate
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.sub_core_bench import pack
from warpbank.golden.hierarchy.engine import Engine as Golden
from warpbank.golden.hierarchy.engine import Transfer
from warpbank.golden.values import Value
from warpbank.hdl.hierarchy.engine import Engine
from warpbank.hdl.hierarchy.link import Link
from warpbank.hdl.hierarchy.port import Port

#: Registers of a warp in each bank.
ROWS = 3
#: A register's value, and the note that goes with it.
Noted = tuple[Value, int]


def word(noted: Noted) -> int:
    """What crosses: the value, and the note above it."""
    value, note = noted
    return pack(value) | note << 32 * len(value)


class Main:
    """Banks of the main register file as the engine sees them: open when the test says so.

    Attributes
    ----------
    closed : mask of the banks that somebody else uses in this cycle.
    cycles : what a read takes that begins in this cycle.
    asked : accesses of this cycle, by bank: (whether a write, transfer's row, warp, register, what is read or
        written).
    """

    def __init__(self, config: Any, rng: random.Random, noted: int) -> None:
        self.closed, self.cycles = 0, 1
        self.asked: dict[int, tuple[bool, int, int, int, Noted]] = {}
        self.storage = self
        self.content = {
            (bank, row, warp): np.array([rng.getrandbits(32) for _ in range(config.lanes)], np.uint32)
            for bank in range(config.sub_core.banks)
            for row in range(ROWS)
            for warp in range(config.sub_core.warps)
        }
        self.notes = {place: rng.getrandbits(noted) for place in self.content}

    def accesses(self) -> int:
        """A cycle's accesses begin."""
        self.asked.clear()
        return self.closed

    def close(self) -> None:
        """They are over."""

    def fetch(self, bank: int, row: int, warp: int, register: int) -> tuple[int, Value, int]:
        """Read a register."""
        value, note = self.content[bank, row, warp], self.notes[bank, row, warp]
        self.asked[bank] = False, row, warp, register, (value, note)
        return self.cycles, value, note

    def store(self, bank: int, row: int, warp: int, register: int, value: Value, note: int) -> None:
        """Write a register."""
        self.content[bank, row, warp], self.notes[bank, row, warp] = value, note
        self.asked[bank] = True, row, warp, register, (value, note)

    def encode(self, value: Value, packed: bool) -> int:
        """Note of a register that is kept as it is: none."""
        assert not packed
        return 0


class Bench:
    """Transfers of any registers between any places, as long as a place has one register and a register that
    comes has left before.

    Parameters
    ----------
    name : of the machine.
    seed : of all choices.
    unit : makes the RTL.
    noted : bits of a register's note.
    """

    def __init__(self, name: str, seed: int, unit: Any = Engine, noted: int = 0) -> None:
        self.rng = random.Random(seed)
        self.noted = noted
        self.config = config = LTRFS[name]
        self.core = core = config.sub_core
        self.unit: Any = unit
        self.main = Main(config, self.rng, noted)
        blank: Value = np.zeros(config.lanes, np.uint32)
        self.values = [[blank] * core.active_warps for _ in range(core.cache.registers)]
        self.notes = [[0] * core.active_warps for _ in range(core.cache.registers)]
        log = Log()
        content: Any = (self.main, self.values, self.notes)
        self.model = Golden(core, *content, self._left, self._arrived, log.probe)
        self.log = log
        #: What is in each place of the cache: bank, row and warp of the main register file; None while it
        #: moves.
        self.places: dict[tuple[int, int], tuple[int, int, int] | None] = {}
        self.coming: set[tuple[int, int, int]] = set()
        self.happened: Counter[str] = Counter()
        self.reading: dict[int, Noted] = {}  # by bank of the cache, read in the cycle before
        self.came: dict[int, Transfer] = {}  # by bank of the cache, in the cycle before
        # By bank of the main register file: what it reads now, given out before; what its output holds.
        self.accessed: dict[int, Noted] = {}
        self.read: dict[int, Noted] = {}

    def _left(self, transfer: Transfer) -> None:
        del self.places[transfer.entry, transfer.offset]

    def _arrived(self, transfer: Transfer) -> None:
        self.happened["stored" if transfer.out else "fetched"] += 1
        if not transfer.out:
            home = self._home(transfer)
            self.places[transfer.entry, transfer.offset] = home
            self.coming.discard(home)

    def _home(self, transfer: Transfer) -> tuple[int, int, int]:
        return (transfer.register + transfer.warp) % self.core.banks, transfer.row, transfer.warp

    def run(self, cycles: int = 200) -> Bench:
        self.rtl = self.unit(self.config, 0, self.noted)

        async def bench(ctx: Any) -> None:
            for cycle in range(cycles):
                self._cycle(ctx, f"cycle {cycle}", self.rng.choice((0.3, 0.8, 1.0)))
                await ctx.tick()

        simulate(self.rtl, bench)
        return self

    def _cycle(self, ctx: Any, where: str, eager: float) -> None:
        rng, rtl, model, main = self.rng, self.rtl, self.model, self.main
        self._rows(ctx, where)
        due = {transfer.entry: transfer for transfer in model._due}
        for entry, port in enumerate(rtl.cache):
            ctx.set(port.data, word(self.reading.get(entry, (self.values[entry][0], 0))))
            transfer = due.get(entry)
            assert ctx.get(port.reads) == (transfer is not None and transfer.out), where
            assert ctx.get(port.fills) == (transfer is not None and not transfer.out), where
            if transfer is not None:
                assert ctx.get(port.transfer.offset) == transfer.offset, where
            came = self.came.get(entry)
            if came is not None:
                assert came.value is not None
                note: Any = came.metadata
                assert ctx.get(port.word) == word((came.value, note)), f"{where}: {came}"
        self.came = {entry: transfer for entry, transfer in due.items() if not transfer.out}
        self.reading = {
            entry: (self.values[entry][transfer.offset], self.notes[entry][transfer.offset])
            for entry, transfer in due.items()
            if transfer.out
        }
        for bank, noted in self.read.items():
            ctx.set(rtl.bank[bank].data, word(noted))
        self.read |= self.accessed
        self.accessed.clear()
        main.closed = sum((rng.random() < 0.2) << bank for bank in range(self.core.banks))
        main.cycles = rng.randint(1, -(-self.core.bank_latency // 100))
        room = [ctx.get(order.room) for order in rtl.order]
        self.log.probe.cycle += 1
        model.step()
        assert room == [model.room >> bank & 1 for bank in range(self.core.banks)], where
        self._banks(ctx, where)
        assert [ctx.get(port.next) for port in rtl.cache] == [
            model.taken >> entry & 1 for entry in range(self.core.cache.registers)
        ], where
        self._push(ctx, eager)
        forgets = rng.random() < 0.01
        ctx.set(rtl.forget, forgets)
        if forgets:
            model.forget()

    def _rows(self, ctx: Any, where: str) -> None:
        """Rows that are concerned, and registers whose move somebody wants."""
        inbound = outbound = 0
        for link, unit in zip(self.model.links, self.rtl.links, strict=True):
            there = [each for each in (*link.queue, link.ahead, link.crossing) if each is not None]
            wanted = [(each.warp, each.register) for each in there if not (each.out and each.void)]
            if isinstance(ctx, SimulatorContext):  # exported Verilog shows its ports alone
                mask = ctx.get(unit.wanted)
                assert sorted(wanted) == sorted(
                    (ctx.get(transfer.warp), ctx.get(transfer.register))
                    for place, transfer in enumerate(unit.transfers)
                    if mask >> place & 1
                ), where
            for transfer in there:
                if not transfer.out:
                    inbound |= 1 << transfer.offset
                elif transfer is not link.crossing or transfer in self.model._due:
                    outbound |= 1 << transfer.offset
        assert (ctx.get(self.rtl.inbound), ctx.get(self.rtl.outbound)) == (inbound, outbound), where

    def _banks(self, ctx: Any, where: str) -> None:
        """The engine asks for the banks that golden's uses, for the same registers."""
        for bank, port in enumerate(self.rtl.bank):
            wants, opened = ctx.get(port.reads) | ctx.get(port.writes), not self.main.closed >> bank & 1
            ctx.set(port.granted, wants and opened)
            ctx.set(port.cycles, self.main.cycles)
            asked = self.main.asked.get(bank)
            assert bool(wants and opened) == (asked is not None), f"{where}: bank {bank}"
            if asked is None:
                continue
            write, row, warp, register, noted = asked
            assert ctx.get(port.writes) == write, where
            found = [ctx.get(getattr(port.transfer, name)) for name in ("row", "warp", "register")]
            assert found == [row, warp, register], where
            if write:
                assert ctx.get(port.word) == word(noted), f"{where}: R{register} of warp {warp}"
            else:
                self.accessed[bank] = noted

    def _push(self, ctx: Any, eager: float) -> None:
        """Some registers set off."""
        rng, core = self.rng, self.core
        for bank, order in enumerate(self.rtl.order):
            ctx.set(order.push, 0)
            if not self.model.room >> bank & 1 or rng.random() > eager:
                continue
            leaving = [place for place, home in self.places.items() if home is not None and home[0] == bank]
            if leaving and rng.random() < 0.6:
                place = rng.choice(leaving)
                home = self.places[place]
                assert home is not None
                self.places[place] = None
                transfer = self._transfer(True, home, place)
                transfer.plain = bool(self.noted) and rng.random() < 0.3
            else:
                inside = {home for home in self.places.values() if home is not None} | self.coming
                homes = [home for home in self.main.content if home[0] == bank and home not in inside]
                free = [
                    (entry, offset)
                    for entry in range(core.cache.registers)
                    for offset in range(core.active_warps)
                    if (entry, offset) not in self.places
                ]
                if not homes or not free:
                    continue
                home, place = rng.choice(homes), rng.choice(free)
                self.happened["again"] += any(
                    each is not None and each.out and self._home(each) == home
                    for each in (*self.model.links[bank].queue, self.model.links[bank].crossing)
                )
                self.places[place] = None
                self.coming.add(home)
                transfer = self._transfer(False, home, place)
            self.model.push(bank, transfer)
            ctx.set(order.push, 1)
            names = ("out", "warp", "register", "entry", "offset", "row", "plain")
            ctx.set(order.transfer, {name: int(getattr(transfer, name)) for name in names})

    def _transfer(self, out: bool, home: tuple[int, int, int], place: tuple[int, int]) -> Transfer:
        bank, row, warp = home
        register = row * self.core.banks + (bank - warp) % self.core.banks
        return Transfer(out, warp, register, *place, row)


def lockstep(name: str, seed: int, unit: Any = Engine, cycles: int = 200, noted: int = 0) -> Counter[str]:
    return Bench(name, seed, unit, noted).run(cycles).happened


@settings(FEW, max_examples=5)
@given(name=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(name: str, seed: int) -> None:
    lockstep(name, seed)


@pytest.mark.parametrize(("name", "noted"), [("fast", 3), ("slow", 1), ("slow", 6), ("many", 40)])
def test_notes_go_with_their_values(name: str, noted: int) -> None:
    lockstep(name, 3, noted=noted)


def test_what_matters_happens() -> None:
    happened = lockstep("slow", 1) + lockstep("fast", 2)
    assert happened["again"] >= 2, "no register came back while it was still leaving"
    assert min(happened["stored"], happened["fetched"]) > 50


class Overtakes(Link):
    """A fetch does not wait for the store of its register."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        head = self._heads[0]
        m.d.comb += self.reads.eq(self._valid[0] & ~head.out & ~self.writes & (~self._full | self.starts))
        return m


class LosesABeat(Link):
    """The last beat of a register that leaves is lost."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        with m.If(self.beats & (self._left == 1)):
            m.d.sync += self._word.eq(self._word >> len(self.sent))
        return m


class TakesTooEarly(Link):
    """A register that comes is taken from its bank as the link begins, and not as its first beat crosses."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.sent.eq(self._word[: len(self.sent)])
        with m.If(self.starts & ~self.offered.out):
            m.d.sync += self._word.eq(self.data)
        return m


class LosesTheFirst(Port):
    """The first beat of a register that has come is not kept until the bank of the cache is written."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.word.eq(self._word)
        return m


class TakesTwo(Port):
    """A port takes a transfer while another one crosses."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.comes.eq(1)
        return m


def with_part(name: str, part: Any) -> Any:
    """Makes engines with this link or port."""
    return type("Engine", (Engine,), {name: part})


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("link_class", part) for part in (Overtakes, LosesABeat, TakesTooEarly)),
        *(("port_class", part) for part in (LosesTheFirst, TakesTwo)),
    ],
)
def test_mutants_are_caught(name: str, part: Any) -> None:
    assert fails(lambda seed: lockstep("slow", seed, with_part(name, part)))


@pytest.mark.parametrize(("name", "crossing"), [("fast", 1), ("slow", 4)])
def test_every_link_carries_a_register_in_as_many_cycles_as_it_has_beats(name: str, crossing: int) -> None:
    """Fetches from all banks into different banks of the cache, one after the other."""
    bench = Bench(name, 0)
    core = bench.core
    bench.rng.random = lambda: 1.0  # type: ignore[method-assign]  # no bank is closed
    model = bench.model
    arrived: list[int] = []
    for number in range(3):
        for bank in range(core.banks):
            model.push(bank, Transfer(False, 0, bank, bank, 0, number))
    now: list[Transfer] = []
    model._arrived = now.append
    for cycle in range(40):
        bench.log.probe.cycle = cycle
        model.step()
        arrived += [cycle] * len(now)
        now.clear()
    first, second, third = (arrived[number * core.banks] for number in range(3))
    assert second - first == third - second == max(crossing, 1)
    assert arrived == sorted([first, second, third] * core.banks)
