"""Compressors and decompressors equal golden's, on values that resemble real ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const, Mux
from hypothesis import given, strategies

import warpbank.golden.storage.bdi as golden_bdi
from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.sub_core_bench import pack
from tests.similar import similar
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.golden.storage.compressor import Compressor as GoldenCompressor
from warpbank.golden.storage.decompressor import Decompressor as GoldenDecompressor
from warpbank.golden.values import Value
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor, Delta
from warpbank.hdl.storage.compressor import BroadcastCompressor, Compressor
from warpbank.hdl.storage.decompressor import Decompressor

STEPS = 120
#: Values and the lanes that are active.
Inputs = Sequence[tuple[Value, int]]
LANES = strategies.sampled_from((1, 2, 4, 6, 32))


def machine(lanes: int) -> SmConfig:
    return with_overrides(preset("tiny"), [f"lanes={lanes}"])


def one_bit_apart(lanes: int) -> list[tuple[Value, int]]:
    """Values of which one lane differs from all others in one bit: each bit of each lane, and all lanes
    active. Behind the last bit comes the first again, so that all leave the pipeline."""
    values = []
    for bit in [*range(32), 0]:
        for lane in range(lanes):
            value = np.full(lanes, 0x5AC3_963C, np.uint32)
            value[lane] ^= np.uint32(1 << bit)
            values.append((value, (1 << lanes) - 1))
    return values


def carries(lanes: int) -> list[tuple[Value, int]]:
    """Values whose lane 1 differs from the others by a number at the edge of what a byte, two bytes and none
    hold, from bases whose halves it carries into and borrows from."""
    edges = [
        sign * edge + step for sign in (-1, 1) for edge in (0, 128, 1 << 16, 1 << 15) for step in (-1, 0, 1)
    ]
    values = []
    for base in (0, 0xFFFF, 0x1_0000, 0x7FFF, 0x8000, 0x5AC3_963C, 0xFFFF_FFFF, 0x8000_0000):
        for edge in edges:
            value = np.full(lanes, base, np.uint32)
            value[1] = (base + edge) & 0xFFFF_FFFF
            values.append((value, (1 << lanes) - 1))
    return [*values, values[0]]


def compressor(lanes: int, parts: int, seed: int, unit: Any = Compressor, inputs: Inputs = ()) -> None:
    rng = random.Random(seed)
    rtl, model = unit(machine(lanes), parts), GoldenCompressor(lanes, parts)

    async def bench(ctx: Any) -> None:
        expected: tuple[Any, ...] | None = None
        for value, mask in inputs or (similar(rng, lanes) for _ in range(STEPS)):
            enable = rng.random() < 0.8
            for port, setting in ((rtl.value, pack(value)), (rtl.mask, mask), (rtl.enable, enable)):
                ctx.set(port, setting)
            if expected is not None:
                found = (
                    ctx.get(rtl.data),
                    ctx.get(rtl.active),
                    tuple(map(ctx.get, rtl.enc)),
                    tuple(map(ctx.get, rtl.base)),
                    ctx.get(rtl.full),
                )
                assert found == expected
            if enable:
                code = model.compress(value, mask)
                expected = (pack(value), mask, code.enc, code.base, code.full)
            await ctx.tick()

    simulate(rtl, bench)


def broadcast(lanes: int, seed: int, unit: Any = BroadcastCompressor, inputs: Inputs = ()) -> None:
    """Encoding, FS and the shared bytes are golden's; the other bytes of the base are the leading lane's."""
    rng = random.Random(seed)
    rtl, model = unit(machine(lanes)), GoldenCompressor(lanes, 1)

    async def bench(ctx: Any) -> None:
        expected: tuple[int, int, int] | None = None
        leading = 0
        for value, mask in inputs or (similar(rng, lanes) for _ in range(STEPS)):
            enable = rng.random() < 0.8
            for port, setting in ((rtl.value, pack(value)), (rtl.mask, mask), (rtl.enable, enable)):
                ctx.set(port, setting)
            if expected is not None:
                enc, base = ctx.get(rtl.enc[0]), ctx.get(rtl.base[0])
                shared = sum(0xFF << 8 * byte for byte in range(4) if enc >> byte & 1)
                assert (enc, base & shared, ctx.get(rtl.full)) == (
                    expected[0],
                    expected[1] & shared,
                    expected[2],
                )
                assert base == leading
            if enable:
                code = model.compress(value, mask)
                expected = code.enc[0], code.base[0], code.full
                leading = next((int(value[lane]) for lane in range(lanes) if mask >> lane & 1), 0)
            await ctx.tick()

    simulate(rtl, bench)


def decompressor(lanes: int, parts: int, seed: int, unit: Any = Decompressor) -> None:
    rng = random.Random(seed)
    rtl, model = unit(machine(lanes), parts), GoldenDecompressor(lanes, parts)

    async def bench(ctx: Any) -> None:
        expected: int | None = None
        for _ in range(STEPS):
            (data, _), enable = similar(rng, lanes), rng.random() < 0.8
            enc = tuple(rng.choice((0, 8, 12, 14, 15)) for _ in range(parts))
            base = tuple(rng.getrandbits(32) for _ in range(parts))
            for port, setting in (
                (rtl.data, pack(data)),
                (rtl.enable, enable),
                *zip(rtl.enc, enc, strict=True),
                *zip(rtl.base, base, strict=True),
            ):
                ctx.set(port, setting)
            assert expected is None or ctx.get(rtl.value) == expected
            if enable:
                expected = pack(model.decompress(data, enc, base))
            await ctx.tick()

    simulate(rtl, bench)


def bdi_compressor(lanes: int, seed: int, unit: Any = BdiCompressor, inputs: Inputs = ()) -> None:
    rng = random.Random(seed)
    rtl, model = unit(machine(lanes)), golden_bdi.BdiCompressor(lanes)

    async def bench(ctx: Any) -> None:
        expected: tuple[int, int] | None = None
        for value, mask in inputs or (similar(rng, lanes) for _ in range(STEPS)):
            enable = rng.random() < 0.8
            for port, setting in ((rtl.value, pack(value)), (rtl.mask, mask), (rtl.enable, enable)):
                ctx.set(port, setting)
            if expected is not None:
                kind = Delta(ctx.get(rtl.kind))
                assert (kind.value, ctx.get(rtl.packed)) == expected
                assert ctx.get(rtl.packs) == (kind is not Delta.RAW)
            if enable:
                expected = model.compress(value, mask)
            await ctx.tick()

    simulate(rtl, bench)


def bdi_decompressor(lanes: int, seed: int, unit: Any = BdiDecompressor, inputs: Inputs = ()) -> None:
    rng = random.Random(seed)
    rtl, model = unit(machine(lanes)), golden_bdi.BdiDecompressor(lanes)

    async def bench(ctx: Any) -> None:
        expected: int | None = None
        for value, mask in inputs or (similar(rng, lanes) for _ in range(STEPS)):
            kind, packed = golden_bdi.BdiCompressor(lanes).compress(value, mask)
            enable = rng.random() < 0.8
            for port, setting in ((rtl.kind, Delta(int(kind))), (rtl.packed, packed), (rtl.enable, enable)):
                ctx.set(port, setting)
            assert expected is None or ctx.get(rtl.value) == expected
            if enable:
                expected = pack(model.decompress(kind, packed))
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(lanes=LANES, parts=strategies.sampled_from((1, 2)), seed=SEEDS)
def test_compressor(lanes: int, parts: int, seed: int) -> None:
    compressor(lanes, min(parts, lanes), seed)


@FEW
@given(lanes=LANES, seed=SEEDS)
def test_broadcast(lanes: int, seed: int) -> None:
    broadcast(lanes, seed)


@pytest.mark.parametrize("lanes", [2, 4])
def test_every_bit_of_every_lane_is_compared(lanes: int) -> None:
    for parts in (1, 2):
        compressor(lanes, parts, 0, inputs=one_bit_apart(lanes))
    broadcast(lanes, 0, inputs=one_bit_apart(lanes))
    bdi_compressor(lanes, 0, inputs=one_bit_apart(lanes))


def test_differences_carry_into_the_upper_half_of_the_base() -> None:
    bdi_compressor(2, 0, inputs=carries(2))
    bdi_decompressor(2, 0, inputs=carries(2))


@FEW
@given(lanes=LANES, parts=strategies.sampled_from((1, 2)), seed=SEEDS)
def test_decompressor(lanes: int, parts: int, seed: int) -> None:
    decompressor(lanes, min(parts, lanes), seed)


@FEW
@given(lanes=LANES, seed=SEEDS)
def test_bdi_compressor(lanes: int, seed: int) -> None:
    bdi_compressor(lanes, seed)


@FEW
@given(lanes=LANES, seed=SEEDS)
def test_bdi_decompressor(lanes: int, seed: int) -> None:
    bdi_decompressor(lanes, seed)


class Garbage(Compressor):
    """Inactive lanes are compared as well."""

    def _counted(self, data: Any, active: Any, lane: int, bit: int) -> Any:
        return data[32 * lane + bit]


class AnyHalves(Compressor):
    """Two scalar halves are taken for one scalar."""

    def _full(self, ors: Any, ands: Any) -> Any:
        return self.enc[0][0] & self.enc[-1][0]


class NoFullScalar(Compressor):
    """FS never holds."""

    def _full(self, ors: Any, ands: Any) -> Any:
        return Const(0)


@pytest.mark.parametrize("unit", [Garbage, AnyHalves, NoFullScalar])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: compressor(4, 2, seed, unit))


class NoBorrow(BdiCompressor):
    """The upper halves of a lane and the base are to be equal if the difference is positive."""

    def _near(self, borrows: Any, negative: Any, same: Any, more: Any, less: Any) -> Any:
        return Mux(negative, Mux(borrows, same, less), same)


class AnyNeighbour(BdiCompressor):
    """A lane one 64 K above or below is taken for one nearby."""

    def _near(self, borrows: Any, negative: Any, same: Any, more: Any, less: Any) -> Any:
        return same | Mux(borrows, more, less)


@pytest.mark.parametrize("unit", [NoBorrow, AnyNeighbour])
def test_mutants_of_differences_are_caught(unit: Any) -> None:
    with pytest.raises(AssertionError):
        bdi_compressor(2, 0, unit, carries(2))


class NoCarry(BdiDecompressor):
    """The sum of the lower halves does not carry."""

    def _upper(self, carries: Any, negative: Any, same: Any, above: Any, below: Any) -> Any:
        return Mux(negative, below, same)


def test_a_mutant_of_sums_is_caught() -> None:
    with pytest.raises(AssertionError):
        bdi_decompressor(2, 0, NoCarry, carries(2))


class WithoutBus(BroadcastCompressor):
    """Inactive lanes are compared as they are."""

    def _seen(self, active: Any, lane: Any, bus: Any) -> Any:
        return lane


class BusForAll(BroadcastCompressor):
    """Active lanes see the bus as well."""

    def _seen(self, active: Any, lane: Any, bus: Any) -> Any:
        return bus


@pytest.mark.parametrize("unit", [WithoutBus, BusForAll])
def test_mutants_of_broadcast_are_caught(unit: Any) -> None:
    assert fails(lambda seed: broadcast(4, seed, unit))


@pytest.mark.parametrize("unit", [Compressor, Decompressor])
def test_bad_sizes(unit: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"{unit.__name__} needs the machine's configuration, an SmConfig, not 3\."
    ):
        unit(3)
    with pytest.raises(
        ValueError, match=r"3 lanes cannot be \w+ in 2 equal parts; 1 and, for an even number, 2 work"
    ):
        unit(machine(3), 2)


@pytest.mark.parametrize("unit", [BdiCompressor, BdiDecompressor, BroadcastCompressor])
def test_needs_a_configuration(unit: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"{unit.__name__} needs the machine's configuration, an SmConfig, not 3\."
    ):
        unit(3)
