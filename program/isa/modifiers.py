"""Modifiers of an opcode: types, comparisons, roundings, functions, special registers."""

from __future__ import annotations

from enum import IntEnum


class DType(IntEnum):
    """Type an instruction works in."""

    U8 = 0
    S8 = 1
    U16 = 2
    S16 = 3
    U32 = 4
    S32 = 5
    U64 = 6
    S64 = 7
    F16 = 8
    BF16 = 9
    F32 = 10
    F64 = 11
    F16X2 = 12
    BF16X2 = 13
    E4M3 = 14  # 8-bit floats: CVT and MMA only
    E5M2 = 15
    TF32 = 16  # f32 whose low 13 bits are not looked at: CVT and MMA only

    @property
    def bits(self) -> int:
        """Width in bits."""
        return (8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 64, 32, 32, 8, 8, 32)[self]

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self >= DType.F16

    @property
    def is_signed(self) -> bool:
        """Whether it is a signed integer type."""
        return self in (DType.S8, DType.S16, DType.S32, DType.S64)


class Space(IntEnum):
    """State space of a memory instruction."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    CONST = 3
    GENERIC = 4


class Cmp(IntEnum):
    """Comparison. The U-variants of floats are true if either operand is NaN."""

    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    EQU = 6
    NEU = 7
    LTU = 8
    LEU = 9
    GTU = 10
    GEU = 11
    NUM = 12  # neither is NaN
    NAN = 13  # one is NaN


class BoolOp(IntEnum):
    """Boolean operation by which setp combines its comparison with its predicate operand."""

    AND = 0
    OR = 1
    XOR = 2


class Rnd(IntEnum):
    """Rounding. RN/RZ/RM/RP of float results; for float to integer the same four directions (PTX rni, rzi,
    rmi, rpi).

    RNA: to nearest, ties away (cvt only).
    """

    RN = 0
    RZ = 1
    RM = 2
    RP = 3
    RNA = 4


class Mufu(IntEnum):
    """Approximate functions of the SFU (`aux` of MUFU)."""

    RCP = 0
    RSQRT = 1
    SQRT = 2
    SIN = 3
    COS = 4
    LG2 = 5
    EX2 = 6
    TANH = 7


class Shuffle(IntEnum):
    """Modes of SHFL (`aux`)."""

    UP = 0
    DOWN = 1
    BFLY = 2
    IDX = 3


class Vote(IntEnum):
    """Modes of VOTE (`aux`)."""

    ALL = 0
    ANY = 1
    UNI = 2
    BALLOT = 3


class Atomic(IntEnum):
    """Operations of ATOM (`aux`)."""

    ADD = 0
    MIN = 1
    MAX = 2
    AND = 3
    OR = 4
    XOR = 5
    EXCH = 6
    CAS = 7
    INC = 8
    DEC = 9


class Sreg(IntEnum):
    """Special registers that S2R reads (`aux`)."""

    TID_X = 0
    TID_Y = 1
    TID_Z = 2
    CTAID_X = 3
    CTAID_Y = 4
    CTAID_Z = 5
    LANEID = 6
    WARPID = 7
    NWARPID = 8
    SMID = 9  # 0
    NSMID = 10  # 1
    GRIDID = 11
    CLOCK = 12  # warp instructions this warp has executed: deterministic, monotonic
    CLOCK_HI = 13
    GLOBALTIMER = 14
    GLOBALTIMER_HI = 15
    LANEMASK_EQ = 16
    LANEMASK_LE = 17
    LANEMASK_LT = 18
    LANEMASK_GE = 19
    LANEMASK_GT = 20


SHF_LEFT_WRAP = 0  # d = high word of {b, a} << (c & 31)
SHF_LEFT_CLAMP = 1  # d = high word of {b, a} << min(c, 32)
SHF_RIGHT_WRAP = 2  # d = low word of {b, a} >> (c & 31)
SHF_RIGHT_CLAMP = 3  # d = low word of {b, a} >> min(c, 32)
SHF_LEFT_HI64 = 4  # d = high word of the 64-bit {b, a} << min(c, 64): with SHL of the low word a 64-bit shift
# d = low word of the 64-bit {b, a} >> min(c, 64), arithmetic if dtype is S32: with SHR of the high word
SHF_RIGHT_LO64 = 5
