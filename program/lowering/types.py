"""PTX types and their names, as the lowering needs them."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from warpbank.program.isa import DType


@dataclass(frozen=True, slots=True)
class PtxType:
    """PTX scalar type.

    Parameters
    ----------
    name : without its dot.
    bits : width; a predicate has 1.
    kind : "s", "u", "b" (untyped bits, unsigned), "f" (float, brain floats and packed pairs included) or
        "pred".
    dtype : the machine type for arithmetic in it; sub-word integers keep their own (loads extend by it).
    """

    name: str
    bits: int
    kind: str
    dtype: DType

    @property
    def signed(self) -> bool:
        """Whether it is a signed integer type."""
        return self.kind == "s"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f"

    @property
    def packed(self) -> bool:
        """Whether it is a pair of 16-bit floats in one register."""
        return self.name in ("f16x2", "bf16x2")

    @property
    def words(self) -> int:
        """32-bit registers that hold one value."""
        return max(1, self.bits // 32)

    @property
    def compute(self) -> DType:
        """The 32- or 64-bit integer type that arithmetic on this integer type runs in."""
        if self.bits == 64:
            return DType.S64 if self.signed else DType.U64
        return DType.S32 if self.signed else DType.U32


def _integers() -> dict[str, PtxType]:
    made = {}
    for bits in (8, 16, 32, 64):
        for kind in "sub":
            dtype = DType[f"{'S' if kind == 's' else 'U'}{bits}"]
            made[f"{kind}{bits}"] = PtxType(f"{kind}{bits}", bits, kind, dtype)
    return made


TYPES: dict[str, PtxType] = {
    **_integers(),
    "b128": PtxType("b128", 128, "b", DType.U32),
    "f16": PtxType("f16", 16, "f", DType.F16),
    "bf16": PtxType("bf16", 16, "f", DType.BF16),
    "f32": PtxType("f32", 32, "f", DType.F32),
    "f64": PtxType("f64", 64, "f", DType.F64),
    "f16x2": PtxType("f16x2", 32, "f", DType.F16X2),
    "bf16x2": PtxType("bf16x2", 32, "f", DType.BF16X2),
    "pred": PtxType("pred", 1, "pred", DType.U32),
}

#: Register types that a vector register declaration or an old file may use besides those.
U16, S16, U32, S32, U64, S64, B32, B64, F16, F32, F64 = (
    TYPES[name] for name in ("u16", "s16", "u32", "s32", "u64", "s64", "b32", "b64", "f16", "f32", "f64")
)


def float_bits(value: float, bits: int) -> int:
    """The IEEE bits of a number, rounded to nearest even."""
    try:
        if bits == 64:
            return int.from_bytes(struct.pack("<d", value), "little")
        return int.from_bytes(struct.pack("<f" if bits == 32 else "<e", value), "little")
    except OverflowError:
        return float_bits(math.copysign(math.inf, value), bits)


def double_from_bits(bits: int) -> float:
    """The number that the bits of a double stand for."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def single_to_double(bits: int) -> int:
    """The bits of a double that is the number that the bits of a single stand for."""
    return float_bits(struct.unpack("<f", bits.to_bytes(4, "little"))[0], 64)
