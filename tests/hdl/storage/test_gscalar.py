"""Compressing banks keep what golden's keep, find what golden's note, and activate as many arrays."""

from __future__ import annotations

import random
from collections import deque
from functools import partial
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Signal
from amaranth.lib.memory import Memory
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.golden.storage.arrays import WORD_LANES, groups
from warpbank.golden.storage.bdi_banks import BdiBanks as GoldenBdi
from warpbank.golden.storage.gscalar import GScalar as Golden
from warpbank.golden.storage.metadata import Fill, Metadata
from warpbank.golden.values import packed
from warpbank.hdl.main.poison import POISON
from warpbank.hdl.storage import bdi_banks, gscalar
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.hdl.storage.metadata import CompressedBanks, metadata_layout

ROWS = 5
#: What makes a storage, and the model of it.
Half = partial(GScalar, parts=2)
MODELS: dict[Any, Any] = {GScalar: Golden, Half: partial(Golden, parts=2), BdiBanks: GoldenBdi}


def bits(note: Metadata) -> tuple[int, int, int]:
    """D, encoding and FS as the RTL has them."""
    return note.divergent, sum(enc << 4 * part for part, enc in enumerate(note.enc)), note.full


def _bases(unit: Any) -> tuple[type, ...]:
    """The classes that a mutant is made from."""
    return unit.__mro__ if isinstance(unit, type) else ()


def lockstep(lanes: int, seed: int, unit: Any = GScalar, told: bool = False, poison: int = 0) -> int:
    """Rows are released as well, up to `poison` in a cycle. Returns how many reads were of such rows.
    `told`: notes come from outside, also with lanes that are not what they are about, and a row may be read
    right after it was written."""
    rng = random.Random(seed)
    config = with_overrides(preset("tiny"), [f"lanes={lanes}", "sub_core.banks=2"])
    rtl = unit(config, probe=True, poison=poison, told=told)
    model = next(made for each, made in MODELS.items() if each is unit or each in _bases(unit))
    model = model(config.sub_core, lanes)

    pattern = np.full(lanes, POISON, np.uint32)
    poisoned = 0

    async def bench(ctx: Any) -> None:
        nonlocal poisoned
        written: list[dict[int, int]] = [{} for _ in rtl.bank]  # lanes of a row that hold anything known
        due: dict[tuple[int, int], Any] = {}
        last = [-1] * len(rtl.bank)
        recent: deque[set[tuple[int, int]]] = deque(
            [set(), set()], 2
        )  # places accessed in this cycle and the one before
        freed: set[tuple[int, int]] = set()  # ... that were ever released
        given: dict[int, Metadata] = {}  # of what was written in the cycle before, by bank
        for cycle in range(60):
            recent.append(set())
            for bank, port in enumerate(rtl.bank):
                row, action = rng.randrange(ROWS), rng.choice(("read", "read", "write", "none"))
                if told and bank in given:
                    note = given.pop(bank)
                    ctx.set(
                        port.given,
                        {
                            "divergent": note.divergent,
                            "enc": list(note.enc),
                            "full": note.full,
                            "base": list(note.base),
                        },
                    )
                if action == "read" and row == last[bank] and not told:
                    action = "none"
                value, mask = similar(rng, lanes)
                fill = rng.choice(tuple(Fill))
                about = mask
                if fill is Fill.MOVED or (told and rng.random() < 0.5):
                    mask = (1 << lanes) - 1
                settings = {
                    "row": row,
                    "read": action == "read",
                    "write": action == "write",
                    "mask": mask,
                    "value": pack(value),
                    "part": fill is Fill.PART,
                    "moved": fill is Fill.MOVED,
                }
                for name, setting in settings.items():
                    ctx.set(getattr(port, name), setting)
                last[bank] = row if action == "write" else -1
                if action != "none":
                    recent[-1].add((bank, row))
                if action == "write":
                    content = packed(value)
                    model.keep(
                        bank, row, mask, content, model.describe(content, about if told else mask, fill)
                    )
                    note = given[bank] = model.note(bank, row)
                    arrays = model.arrays_written(note, mask), groups(mask, WORD_LANES)
                    due["array_write", cycle + 1, bank] = (*bits(note)[:2], *arrays)
                    due["compressed", cycle + 1, bank] = note.compressed
                    before = 0 if fill is Fill.WHOLE else written[bank].get(row, 0)
                    new = mask if fill is not Fill.WHOLE else about if told else mask
                    written[bank][row] = (1 << lanes) - 1 if (bank, row) in freed else before | new
                elif action == "read":
                    note, value = model.note(bank, row), model.read(bank, row)
                    poisoned += int((value == pattern).all())
                    due["array_read", cycle + 1, bank] = (
                        *bits(note)[:2],
                        model.arrays_read(note),
                        -(-lanes // WORD_LANES),
                    )
                    due["read", cycle + 3, bank] = note, value, written[bank].get(row, 0)
            for bank, port in enumerate(rtl.bank):
                for name in ("array_read", "array_write"):
                    event = getattr(rtl.events, name)[bank]
                    found = tuple(
                        ctx.get(getattr(event, field)) for field in ("divergent", "enc", "arrays", "plain")
                    )
                    assert (found if ctx.get(event.valid) else None) == due.get((name, cycle, bank)), (
                        f"{name} in {cycle}"
                    )
                if ("compressed", cycle, bank) in due:
                    assert ctx.get(port.compressed) == due["compressed", cycle, bank]
                if ("read", cycle, bank) in due:
                    note, value, known = due["read", cycle, bank]
                    data, seen = ctx.get(port.data), ctx.get(port.metadata)
                    assert (seen.divergent, seen.enc.as_bits(), seen.full) == bits(note)
                    assert tuple(seen.base[part] for part in range(rtl.parts)) == note.base
                    for lane in range(lanes):
                        if known >> lane & 1:
                            assert data >> 32 * lane & 0xFFFFFFFF == value[lane], (
                                f"lane {lane} of bank {bank} in cycle {cycle}"
                            )
            if poison:
                places = (
                    {(bank, row) for bank in range(len(rtl.bank)) for row in range(ROWS)}
                    - recent[0]
                    - recent[1]
                )
                chosen = rng.sample(sorted(places), rng.choice((0, 0, 1, 2)))
                for number, port in enumerate(rtl.freed):
                    ctx.set(port.valid, number < len(chosen))
                    if number < len(chosen):
                        bank, row = chosen[number]
                        ctx.set(port.bank, bank)
                        ctx.set(port.row, row)
                        model.poison(bank, row)
                        written[bank][row] = (1 << lanes) - 1
                        freed.add((bank, row))
            await ctx.tick()

    simulate(rtl, bench)
    return poisoned


@FEW
@given(lanes=strategies.sampled_from((2, 4, 8)), seed=SEEDS, unit=strategies.sampled_from(tuple(MODELS)))
def test_equals_golden(lanes: int, seed: int, unit: Any) -> None:
    lockstep(lanes, seed, unit)


@FEW
@given(lanes=strategies.sampled_from((2, 4, 8)), seed=SEEDS, unit=strategies.sampled_from(tuple(MODELS)))
def test_notes_from_outside(lanes: int, seed: int, unit: Any) -> None:
    lockstep(lanes, seed, unit, told=True)


def test_a_row_may_be_read_right_after_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """With notes from outside: a mutant whose array of notes is not transparent."""

    def ports(self: Any, memory: Memory) -> Any:
        put = memory.write_port()
        return memory.read_port(), put

    monkeypatch.setattr(CompressedBanks, "_ports", ports)
    assert fails(lambda seed: lockstep(4, seed, told=True))


class IgnoresD(GScalar):
    """Encoding bits are taken for compression, whatever D says."""

    def _kept(self, m: Any, note: Any, name: str) -> Signal:
        kept = Signal(4 * self.parts, name=f"kept_{name}")
        m.d.comb += kept.eq(note.enc.as_value())
        return kept


class PacksAll(BdiBanks):
    """All arrays are taken, whatever the kind."""

    def _needed(self, m: Any, kind: Any, name: str) -> Signal:
        needed: Signal = super()._needed(m, kind, name)
        return ~Signal.like(needed, name=f"none_{name}")


def test_a_note_is_as_wide_as_the_paper_s() -> None:
    """Section 5.1: 38 bits per register; with halves, another base and other encoding bits."""
    assert (metadata_layout(1).size, metadata_layout(2).size) == (38, 74)


@pytest.mark.parametrize("unit", [*MODELS])
def test_a_register_of_zeros_has_the_note_of_one(unit: Any) -> None:
    config = preset("tiny")
    rtl = unit(config)
    note = MODELS[unit](config.sub_core, config.lanes).describe(0, (1 << config.lanes) - 1, Fill.WHOLE)
    found = metadata_layout(rtl.parts).from_bits(rtl.zeros)
    assert (found.divergent, found.enc.as_bits(), found.full) == bits(note)
    assert tuple(found.base[part] for part in range(rtl.parts)) == note.base


@pytest.mark.parametrize("unit", [*MODELS])
def test_arrays_that_are_not_counted_are_not_enabled(unit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The enables of the memories themselves: as many arrays as the events say, and none in the other
    cycles."""
    made: list[Any] = []

    class Seen(Memory):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            made.append(self)

        def read_port(self, **settings: Any) -> Any:
            self.reads = super().read_port(**settings)
            return self.reads

        def write_port(self, **settings: Any) -> Any:
            self.writes = super().write_port(**settings)
            return self.writes

    for module in (gscalar, bdi_banks):
        monkeypatch.setattr(module, "Memory", Seen)
    lanes, rng = 8, random.Random(1)
    rtl = unit(with_overrides(preset("tiny"), [f"lanes={lanes}", "sub_core.banks=1"]), probe=True)
    counts: set[tuple[str, int]] = set()

    async def bench(ctx: Any) -> None:
        port = rtl.bank[0]
        for _ in range(150):
            value, mask = similar(rng, lanes)
            action, fill = rng.choice(("read", "write", "none")), rng.choice(tuple(Fill))
            for name, setting in {
                "row": rng.randrange(3),
                "read": action == "read",
                "write": action == "write",
                "mask": mask,
                "value": pack(value),
                "part": fill is Fill.PART,
                "moved": fill is Fill.MOVED,
            }.items():
                ctx.set(getattr(port, name), setting)
            _, *arrays = made  # the notes come first
            for event, ports in (
                (rtl.events.array_read[0], [memory.reads for memory in arrays]),
                (rtl.events.array_write[0], [memory.writes for memory in arrays]),
            ):
                enabled = sum(ctx.get(each.en) != 0 for each in ports)
                found = ctx.get(event.arrays) if ctx.get(event.valid) else 0
                assert enabled == found
                counts.add(("read" if event is rtl.events.array_read[0] else "write", found))
            await ctx.tick()

    simulate(rtl, bench)
    assert len(counts) > 5, f"seed 1: {counts}"


@pytest.mark.parametrize(("unit", "lanes"), [(IgnoresD, 4), (PacksAll, 8)])
def test_mutants_are_caught(unit: Any, lanes: int) -> None:
    assert fails(lambda seed: lockstep(lanes, seed, unit))


def test_bad_configurations() -> None:
    with pytest.raises(TypeError, match="GScalar needs the machine's configuration, an SmConfig, not 3"):
        GScalar(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="BdiBanks needs the machine's configuration, an SmConfig, not 3"):
        BdiBanks(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3 lanes cannot be compressed in 2 equal parts"):
        Half(with_overrides(preset("tiny"), ["lanes=3"]))
