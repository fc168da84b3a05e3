"""The machine instruction set that PTX is lowered to: 32-bit registers, pairs and quads, as in GPU hardware.

Conventions
-----------
Registers are 32 bits wide. A 64-bit value is an aligned pair (low word first), a 128-bit vector an aligned quad. R255 (RZ) reads
as zero and discards writes. Before register allocation, virtual registers are numbered from `VIRTUAL`; after it, 0..254.
Predicates are P0..P6, P7 (PT) is constant true; virtual predicates are numbered from `VIRTUAL_PREDICATE`.

16- and 8-bit values live in the low bits of a register; the bits above are unspecified, and an instruction that would see them is
preceded by an extension. Loads of sub-word types extend as their dtype says.

Kernel parameters, launch dimensions and `.const` variables live in the constant bank (see `CONST_*`), read either as an operand
(`Const`) or by `LD` with space CONST.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

from arch.uop import RZ, Unit

VIRTUAL = 256
PT = 7
VIRTUAL_PREDICATE = 8

# Constant bank: launch dimensions, then parameters, then the module's .const variables.
CONST_NTID = 0x00  # x, y, z: 4 bytes each
CONST_NCTAID = 0x0C
CONST_DYNAMIC_SHARED = 0x18  # bytes of dynamic shared memory of this launch
CONST_PARAMETERS = 0x160

# Generic addresses: a 64-bit address inside one of these windows is shared or local, any other is global.
SHARED_WINDOW = 0x1_0000_0000
LOCAL_WINDOW = 0x2_0000_0000
CONST_WINDOW = 0x3_0000_0000
CODE_WINDOW = 0x4_0000_0000  # addresses of functions: numbers to compare, with no memory behind them
WINDOW_SIZE = 0x1_0000_0000
#: First device address of global memory.
GLOBAL_BASE = 0x10_0000_0000


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

    @property
    def bits(self) -> int:
        return (8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 64, 32, 32)[self]

    @property
    def is_float(self) -> bool:
        return self >= DType.F16

    @property
    def is_signed(self) -> bool:
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
    """How setp combines its comparison with its predicate operand."""

    AND = 0
    OR = 1
    XOR = 2


class Rnd(IntEnum):
    """Rounding. RN/RZ/RM/RP of float results; for float to integer the same four directions (PTX rni, rzi, rmi, rpi).

    RNA: to nearest, ties away (cvt only)."""

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


class Op(IntEnum):
    """Opcodes. a, b, c are the sources in order, d the destination, p the predicate results, q the predicate sources.

    Widths are 1 (32-bit) unless the line says otherwise.
    """

    NOP = 0
    # moves
    MOV = 1  # d = a
    S2R = 2  # d = special register aux
    SEL = 3  # d = q0 ? a : b
    # integer, dtype U32 or S32 where the sign matters
    IADD = 10  # d = a + b; p0 (if any) = carry out
    IADDC = 11  # d = a + b + q0; p0 (if any) = carry out
    ISUB = 12  # d = a - b; p0 (if any) = no borrow (a >= b unsigned)
    ISUBC = 13  # d = a + ~b + q0; p0 (if any) = carry out
    IMUL = 14  # d = low word of a * b
    IMULHI = 15  # d = high word of a * b (dtype)
    IMULW = 16  # d(2) = a * b (dtype)
    IMAD = 17  # d = low word of a * b + c
    IMADHI = 18  # d = high word of a * b, + c (dtype)
    IMADW = 19  # d(2) = a * b + c(2) (dtype of the product; modulo 2**64)
    IDIV = 20  # d = a / b, dtype U32 S32 U64 S64 (64: all operands pairs); by zero: all ones
    IREM = 21  # d = a % b, likewise; by zero: a
    IMIN = 22  # dtype U32 S32
    IMAX = 23
    IABS = 24  # d = |a| (S32)
    SAD = 25  # d = |a - b| + c (dtype U32 S32)
    DP4A = 26  # d = c + sum of 4 byte products; dtype U32 or S32; aux bit 0: a signed, bit 1: b signed
    # bits
    AND = 30
    OR = 31
    XOR = 32
    NOT = 33  # d = ~a
    LOP3 = 34  # d = bitwise truth table aux (8 bits) of a, b, c: bit index = a<<2 | b<<1 | c
    SHL = 35  # d = a << min(b, 32) (b unsigned; 32 and more give 0)
    SHR = 36  # d = a >> min(b, 32), arithmetic if dtype is S32
    SHF = 37  # funnel: a low word, b high word, c amount; aux: see SHF_*
    BFE = 38  # d = bit field of a at b[7:0], length c[7:0], sign-extended if S32 (PTX bfe semantics)
    BFI = 39  # d = b with a's low bits inserted at c[7:0], length srcs[3][7:0]
    PRMT = 40  # d = bytes of {b, a} picked by c; aux: 0 generic, 1 f4e, 2 b4e, 3 rc8, 4 ecl, 5 ecr, 6 rc16
    CLZ = 41
    POPC = 42
    BREV = 43
    BFIND = 44  # d = position of the most significant (non-sign) bit, all ones if none; aux 1: shiftamt; dtype U32 S32
    FNS = 45  # d = position of the c-th set bit of a from b (PTX fns)
    # predicates
    ISETP = 50  # p0 = (a cmp b) boolop q0; p1 (if any) = !(a cmp b) boolop q0; dtype U32 S32; no q0: no combination
    ISETPX = 51  # high words of a 64-bit compare: q0 = the ISETP of the low words (unsigned, same cmp; for LT/LE/GT/GE), result
    #              EQ: a==b and q0; NE: a!=b or q0; ordered: strictly (a cmp b) or (a==b and q0); then boolop q1 (if any)
    FSETP = 52  # likewise ISETP, dtype F32 F64 F16 BF16 (F64: pairs)
    PLOP = 53  # p0 = truth table aux (8 bits) of q0, q1, q2 (bit index q0<<2 | q1<<1 | q2, missing q = true)
    # floating point, dtype F32, F64 (pairs), F16X2, BF16X2, F16, BF16 (low half); source modifiers neg/abs apply
    FADD = 60
    FMUL = 61
    FFMA = 62  # one rounding
    FMIN = 63  # aux bit 0: NaN if either is NaN; bit 1: xorsign.abs
    FMAX = 64
    FDIV = 65  # correctly rounded by rnd; F32, F64
    FRCP = 66  # likewise
    FSQRT = 67  # likewise
    MUFU = 68  # approximate function aux; F32; RCP and RSQRT also F64 (pairs; approx.ftz.f64: the low 20+ bits may be zero)
    CVT = 69  # d = a converted from stype to dtype; at least one is a float. rnd, sat, ftz. aux 1: to an integral float value
    # memory: address = srcs[0] (width 2: 64-bit, width 1: 32-bit, or Imm 0) + offset; size bytes per lane (1 2 4 8 16)
    LD = 80  # d (size/4 words, at least 1) = memory; sub-word: dtype U8 S8 U16 S16 says how to extend
    ST = 81  # memory = srcs[1] (size/4 words, at least 1)
    ATOM = 82  # d (if any) = old value; aux Atomic; dtype U32 S32 U64 S64 F32 F64 F16X2 ...; srcs[1] operand, CAS: srcs[1]
    #            compare, srcs[2] new value. Without d it is PTX red.
    # lanes
    SHFL = 90  # d = a of another lane; b lane/delta, c clamp and segment mask (PTX encoding); aux Shuffle; p0 = in range
    VOTE = 91  # aux Vote over q0; ALL ANY UNI: p0; BALLOT: d. Over the executing lanes
    MATCH = 92  # d = mask of executing lanes with the same a; dtype U32 or U64; aux 1: match.all (p0 = all same)
    ACTIVEMASK = 93  # d = executing lanes
    REDUX = 94  # d = reduction of a over the executing lanes; aux Atomic (ADD MIN MAX AND OR XOR), dtype U32 S32
    # tensor: one 8 x 8 half of mma.sync. a: row g = lane/4, columns 2t, 2t+1 with t = lane%4; b: rows 2t, 2t+1 of column g;
    MMA = 100  # d(2) = A * B + c(2), f32 accumulators. aux = k: 8: srcs (a, b, c(2)); 16: srcs (a_lo, a_hi, b_lo, b_hi, c(2));
    #            dtype F16 or BF16 of A and B. With stype F16 the accumulators are f16 pairs in one register: d, c width 1.
    # control
    BRA = 110  # to target for the lanes whose guard is true; ends a block
    EXIT = 111  # ends the lanes whose guard is true; ends a block
    BAR = 112  # CTA barrier; srcs[0] = barrier id, srcs[1] (if any) = number of threads; aux 0 sync, 1 arrive; 2,3,4: red
    #            popc (d), and (p0), or (p0) of q0
    MEMBAR = 113
    TRAP = 114  # stops the kernel with an error


SHF_LEFT_WRAP = 0  # d = high word of {b, a} << (c & 31)
SHF_LEFT_CLAMP = 1  # d = high word of {b, a} << min(c, 32)
SHF_RIGHT_WRAP = 2  # d = low word of {b, a} >> (c & 31)
SHF_RIGHT_CLAMP = 3  # d = low word of {b, a} >> min(c, 32)
SHF_LEFT_HI64 = 4  # d = high word of the 64-bit {b, a} << min(c, 64): with SHL of the low word a 64-bit shift
SHF_RIGHT_LO64 = 5  # d = low word of the 64-bit {b, a} >> min(c, 64), arithmetic if dtype is S32: with SHR of the high word


@dataclass(frozen=True, slots=True)
class Reg:
    """Registers index .. index+width-1; width 1, 2 (even index) or 4 (index a multiple of 4)."""

    index: int
    width: int = 1

    def __str__(self) -> str:
        if self.index == RZ:
            return "RZ"
        name = f"V{self.index - VIRTUAL}" if self.index >= VIRTUAL else f"R{self.index}"
        return name if self.width == 1 else f"{name}.{32 * self.width}"

    def word(self, i: int) -> Reg:
        """The i-th 32-bit word."""
        return self if self.index == RZ else Reg(self.index + i)


ZERO = Reg(RZ)


@dataclass(frozen=True, slots=True)
class Imm:
    """A constant: its bits, unsigned. width 2: 64 bits."""

    value: int
    width: int = 1

    def __str__(self) -> str:
        return f"0x{self.value:x}"


@dataclass(frozen=True, slots=True)
class Const:
    """32 * width bits of the constant bank at a byte offset."""

    offset: int
    width: int = 1

    def __str__(self) -> str:
        return f"c[0x{self.offset:x}]" + ("" if self.width == 1 else f".{32 * self.width}")


Source = Reg | Imm | Const


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate operand; PT for true, negated PT for false."""

    index: int
    negated: bool = False

    def __str__(self) -> str:
        name = "PT" if self.index == PT else f"P{self.index}" if self.index < PT else f"VP{self.index - VIRTUAL_PREDICATE}"
        return ("!" if self.negated else "") + name


@dataclass(slots=True)
class Instr:
    """One machine instruction.

    Parameters
    ----------
    op, dtype, stype : opcode, the type it works in, and (CVT, MMA) the source type.
    dst : registers written (None or RZ: none).
    srcs : register, immediate or constant operands.
    pdst, psrc : predicates written (indices; PT discards), predicate operands.
    guard : executes only in lanes where this holds; None: always.
    neg, abs : bit i: negate / absolute value of floating source i (abs first).
    cmp, boolop, rnd, ftz, sat, aux : modifiers; `aux` as the opcode says.
    space, size, offset : memory operand (bytes).
    volatile : may be neither removed nor reordered.
    target : label of the block a BRA goes to.
    line : line of the PTX it came from (0: none).
    """

    op: Op
    dtype: DType = DType.U32
    dst: Reg | None = None
    srcs: tuple[Source, ...] = ()
    pdst: tuple[int, ...] = ()
    psrc: tuple[Pred, ...] = ()
    guard: Pred | None = None
    stype: DType = DType.U32
    neg: int = 0
    abs: int = 0
    cmp: Cmp = Cmp.EQ
    boolop: BoolOp = BoolOp.AND
    rnd: Rnd = Rnd.RN
    ftz: bool = False
    sat: bool = False
    aux: int = 0
    space: Space = Space.GLOBAL
    size: int = 4
    offset: int = 0
    volatile: bool = False
    target: str | None = None
    line: int = 0

    def registers_read(self) -> list[int]:
        """Distinct 32-bit registers read, in operand order, RZ left out."""
        seen: dict[int, None] = {}
        for s in self.srcs:
            if isinstance(s, Reg) and s.index != RZ:
                for i in range(s.width):
                    seen[s.index + i] = None
        return list(seen)

    def registers_written(self) -> list[int]:
        """32-bit registers written."""
        return [] if self.dst is None or self.dst.index == RZ else [self.dst.index + i for i in range(self.dst.width)]

    def predicates_read(self) -> list[int]:
        """Distinct predicates read, guard included, PT left out."""
        used = list(self.psrc) + ([self.guard] if self.guard else [])
        return list(dict.fromkeys(p.index for p in used if p.index != PT))

    def predicates_written(self) -> list[int]:
        """Predicates written, PT left out."""
        return [p for p in self.pdst if p != PT]

    def copy(self, **changes: object) -> Instr:
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(slots=True)
class Block:
    """Straight-line code. Only the last instruction may be BRA or EXIT; a guarded one, or none, falls through."""

    label: str
    instrs: list[Instr] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter: its place in the constant bank (absolute byte offset) and its size."""

    name: str
    offset: int
    size: int
    type: str


@dataclass
class Kernel:
    """One kernel's machine code.

    Parameters
    ----------
    name : the `.entry`.
    blocks : in layout order; the first is the entry.
    groups : before allocation, every register group: base index -> width (1, 2, 4). A register belongs to one group.
    predicates : before allocation, number of virtual predicates; after it, of P0..P6 used.
    registers : after allocation, registers per thread (highest used + 1); 0 before.
    shared_bytes : static shared memory per CTA. Dynamic shared memory starts at `dynamic_shared_base`.
    local_bytes : local memory per thread (stack frames, then spills).
    constants : image of the constant bank from byte 0 (launch dimensions and parameters zero).
    parameters : in order.
    globals : module-scope variables in global memory. Their addresses are known only at load time: code refers to one by reading
        the 8-byte constant-bank slot `global_slots[name]`, which the loader fills.
    constant_relocations : (constant-bank offset, global variable, addend) of addresses that the loader writes there.
    symbols : .const variables that the host may fill: name -> (constant-bank offset, size).
    required_block : CTA shape the kernel insists on (.reqntid), or None.
    ptx_path : for messages.
    next_register : first virtual register not yet handed out.
    """

    name: str
    blocks: list[Block]
    groups: dict[int, int]
    predicates: int
    registers: int = 0
    shared_bytes: int = 0
    dynamic_shared_base: int = 0
    local_bytes: int = 0
    constants: bytearray = field(default_factory=bytearray)
    parameters: list[Parameter] = field(default_factory=list)
    globals: dict[str, GlobalVariable] = field(default_factory=dict)
    global_slots: dict[str, int] = field(default_factory=dict)
    constant_relocations: list[tuple[int, str, int]] = field(default_factory=list)
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    required_block: tuple[int, int, int] | None = None
    ptx_path: str = ""
    next_register: int = VIRTUAL

    @property
    def allocated(self) -> bool:
        return not self.groups

    def instructions(self) -> list[Instr]:
        """All instructions in layout order; an instruction's index in this list is its pc."""
        return [i for b in self.blocks for i in b.instrs]

    def block_starts(self) -> dict[str, int]:
        """Label -> pc of the block's first instruction."""
        starts, pc = {}, 0
        for b in self.blocks:
            starts[b.label] = pc
            pc += len(b.instrs)
        return starts

    def new_register(self, width: int = 1) -> Reg:
        """A fresh virtual register group."""
        base = -(-self.next_register // width) * width
        self.next_register = base + width
        self.groups[base] = width
        return Reg(base, width)

    def new_predicate(self) -> int:
        """A fresh virtual predicate."""
        self.predicates += 1
        return VIRTUAL_PREDICATE + self.predicates - 1


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    """A module-scope .global variable: initial bytes (zeros if not initialised) and relocations (byte offset, symbol, addend)."""

    size: int
    align: int
    init: bytes
    relocations: tuple[tuple[int, str, int], ...] = ()


_UNITS = {
    Unit.FMA: (Op.IMUL, Op.IMULHI, Op.IMULW, Op.IMAD, Op.IMADHI, Op.IMADW, Op.DP4A, Op.FADD, Op.FMUL, Op.FFMA),
    Unit.SFU: (Op.MUFU, Op.IDIV, Op.IREM, Op.FDIV, Op.FRCP, Op.FSQRT, Op.CVT, Op.POPC, Op.CLZ, Op.BREV, Op.BFIND),
    Unit.TENSOR: (Op.MMA,),
    Unit.LSU: (Op.LD, Op.ST, Op.ATOM, Op.SHFL, Op.MEMBAR),
    Unit.CONTROL: (Op.NOP, Op.BRA, Op.EXIT, Op.BAR, Op.TRAP),
}
_UNIT_OF = {op: unit for unit, ops in _UNITS.items() for op in ops}
_DOUBLE = (Op.FADD, Op.FMUL, Op.FFMA, Op.FMIN, Op.FMAX, Op.FSETP, Op.FDIV, Op.FRCP, Op.FSQRT, Op.MUFU, Op.CVT)


def unit_of(instr: Instr) -> Unit:
    """Execution unit of an instruction. Integer multiplication runs on the FMA pipe, conversions and bit counts on the SFU (as on
    Turing), anything double precision on the FP64 unit."""
    if instr.op in _DOUBLE and DType.F64 in (instr.dtype, instr.stype):
        return Unit.FP64
    return _UNIT_OF.get(instr.op, Unit.ALU)
