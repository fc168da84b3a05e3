"""Types of PTX: their widths, the constants that become numbers of them, and the registers that hold them."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from warpbank.program.isa import DType
from warpbank.program.lowering.operand_types import NAMED, holds, misnamed
from warpbank.program.lowering.types import TYPES, double_from_bits, float_bits, single_to_double


@pytest.mark.parametrize(
    ("value", "bits", "expected"),
    [
        (1.0, 64, 0x3FF0000000000000),
        (1.0, 32, 0x3F800000),
        (1.0, 16, 0x3C00),
        (-2.5, 16, 0xC100),
        (0.1, 32, 0x3DCCCCCD),
        (1e39, 32, 0x7F800000),
        (-1e39, 32, 0xFF800000),
        (65520.0, 16, 0x7C00),
        (-1e300, 16, 0xFC00),
        (1e39, 64, 0x48078287F49C4A1D),
        (math.inf, 32, 0x7F800000),
        (-0.0, 16, 0x8000),
    ],
)
def test_bits_of_a_number(value: float, bits: int, expected: int) -> None:
    assert float_bits(value, bits) == expected


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -(2.0**-149), 2.0**127, math.inf])
def test_numbers_of_their_bits(value: float) -> None:
    (double,) = struct.unpack("<Q", struct.pack("<d", value))
    (single,) = struct.unpack("<I", struct.pack("<f", value))
    assert np.float64(double_from_bits(double)).tobytes() == np.float64(value).tobytes()
    assert single_to_double(single) == double


@pytest.mark.parametrize(
    ("name", "words", "compute"),
    [
        ("u8", 1, DType.U32),
        ("s16", 1, DType.S32),
        ("b32", 1, DType.U32),
        ("s64", 2, DType.S64),
        ("u64", 2, DType.U64),
        ("b128", 4, DType.U32),
    ],
)
def test_an_integer_is_computed_in_words(name: str, words: int, compute: DType) -> None:
    assert (TYPES[name].words, TYPES[name].compute) == (words, compute)


@pytest.mark.parametrize(
    ("declared", "held"),
    [
        ("b32", "b32 u32 s32 f32 f16x2 bf16x2"),
        ("u32", "b32 u32 s32"),
        ("s32", "b32 u32 s32"),
        ("f32", "b32 f32"),
        ("f16x2", "b32 u32 s32 f16x2"),
        ("u16", "b16 u16 s16"),
        ("f16", "b16 f16"),
        ("u64", "b64 u64 s64"),
        ("f64", "b64 f64"),
    ],
)
def test_a_register_holds_its_kind_of_number(declared: str, held: str) -> None:
    bits = TYPES[declared].bits
    wanted = [name for name, ptx in TYPES.items() if ptx.bits == bits and holds(TYPES[declared], ptx)]
    assert sorted(wanted) == sorted(held.split())


def test_types_that_are_loaded_and_stored() -> None:
    integers = {f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)}
    for opcode in ("ld", "ldu", "st"):
        assert set(NAMED[opcode]) == integers | {"f32", "f64", "b128"}


def test_bits_hold_every_type_of_their_width() -> None:
    for name, ptx in TYPES.items():
        if name != "pred":
            assert holds(TYPES[f"b{ptx.bits}"], ptx)


@pytest.mark.parametrize(
    ("opcode", "modifiers", "wrong"),
    [
        ("add", ("u32",), ""),
        ("add", ("b32",), "b32"),
        ("add", ("sat", "pred"), "pred"),
        ("abs", ("u32",), "u32"),
        ("mov", ("v2", "b8"), "b8"),
        ("cvt", ("rn", "f32", "b32"), "b32"),
        ("cvt", ("pack", "sat", "s16", "s32", "b32"), ""),
        ("ld", ("global", "f16"), "f16"),
        ("bra", ("uni", "f16"), ""),
    ],
)
def test_types_that_an_instruction_must_not_name(opcode: str, modifiers: tuple[str, ...], wrong: str) -> None:
    advice = misnamed(opcode, modifiers)
    assert advice.startswith(f".{wrong} is no type of {opcode}: take one of ." if wrong else "")
    assert bool(advice) == bool(wrong)
    if wrong:
        assert advice.split(": take one of .")[1].split(" .") == list(NAMED[opcode])
