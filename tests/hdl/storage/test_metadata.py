"""Metadata of values that somebody else keeps are those of golden's banks; rows that are read after their
release."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.storage import test_gscalar
from tests.hdl.storage.test_gscalar import MODELS, Half, bits
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.golden.storage.metadata import Fill
from warpbank.golden.values import packed
from warpbank.hdl.layouts import NO_METADATA
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.hdl.storage.metadata import MetadataWriter, metadata_layout


def notes(lanes: int, seed: int, unit: Any, wrapped: Any = None) -> set[bool]:
    """Compare what a storage's metadata writer notes with what golden's banks would. Returns which kinds of
    writes it was given; `wrapped` takes the writer's place."""
    rng = random.Random(seed)
    config = with_overrides(preset("tiny"), [f"lanes={lanes}"])
    storage = unit(config)
    writer = storage.noter() if wrapped is None else wrapped(config, storage.parts)
    model = MODELS[unit](config.sub_core, lanes)
    seen: set[bool] = set()

    async def bench(ctx: Any) -> None:
        expected = None
        for cycle in range(80):
            if expected is not None:
                note = writer.note
                found = ctx.get(note.divergent), ctx.get(note.enc).as_bits(), ctx.get(note.full)
                base = tuple(ctx.get(note.base[part]) for part in range(storage.parts))
                assert (*found, base) == (*bits(expected), expected.base), f"cycle {cycle}"
            value, mask = similar(rng, lanes)
            takes, fill = rng.random() < 0.6, rng.choice((Fill.WHOLE, Fill.PART))
            ctx.set(writer.enable, takes)
            ctx.set(writer.value, pack(value))
            ctx.set(writer.mask, mask)
            ctx.set(writer.part, fill is Fill.PART)
            if takes:
                expected = model.describe(packed(value), mask, fill)
                seen.add(fill is Fill.PART)
            await ctx.tick()

    simulate(writer, bench)
    return seen


@FEW
@given(lanes=strategies.sampled_from((2, 4, 8)), seed=SEEDS, unit=strategies.sampled_from(tuple(MODELS)))
def test_a_writer_notes_what_the_banks_would(lanes: int, seed: int, unit: Any) -> None:
    assert notes(lanes, seed, unit) == {False, True}


@pytest.mark.parametrize("unit", MODELS)
def test_without_a_probe_there_are_no_events(unit: Any) -> None:
    config = preset("tiny")
    assert "events" not in unit(config).signature.members
    assert "events" in unit(config, probe=True).signature.members


class TakesAll(MetadataWriter):
    """A writer that takes what it is shown, enabled or not."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.writer = writer = GScalar(self._config, parts=self._parts).noter()
        m.d.comb += [
            writer.enable.eq(1),
            writer.value.eq(self.value),
            writer.mask.eq(self.mask),
            writer.part.eq(self.part),
            self.note.eq(writer.note),
        ]
        return m


def test_a_writer_that_takes_all_is_caught() -> None:
    assert fails(lambda seed: notes(4, seed, GScalar, TakesAll))


def test_a_writer_is_as_wide_as_a_value() -> None:
    config = with_overrides(preset("tiny"), ["lanes=4"])
    for unit, parts in ((GScalar, 1), (Half, 2), (BdiBanks, 1)):
        writer = unit(config).noter()
        members = {name: len(getattr(writer, name)) for name in ("enable", "value", "mask", "part")}
        assert members == {"enable": 1, "value": 128, "mask": 4, "part": 1}
        assert writer.note.shape() == metadata_layout(parts)


def test_plain_banks_have_no_metadata() -> None:
    assert metadata_layout(0) is NO_METADATA
    assert NO_METADATA.size == 0


@pytest.mark.parametrize("unit", [*MODELS])
def test_rows_that_are_read_after_their_release(unit: Any) -> None:
    """Some reads find poison, in every lane; the others what was written since."""
    assert sum(test_gscalar.lockstep(4, seed, unit, poison=2) for seed in range(2))


def test_reports_are_made_on_request() -> None:
    config = preset("tiny")
    assert "events" not in GScalar(config).signature.members
    assert "events" in GScalar(config, True).signature.members
    assert not GScalar(config).freed
