"""Opcodes of the machine instruction set."""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """Opcode of a machine instruction.

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
    IREM = 21  # d = a % b, dtypes of IDIV; by zero: a
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
    # d = position of the most significant (non-sign) bit, all ones if none; aux 1: shiftamt; dtype U32 S32
    BFIND = 44
    FNS = 45  # d = position of the c-th set bit of a from b (PTX fns)
    # predicates
    # p0 = (a cmp b) boolop q0; p1 (if any) = !(a cmp b) boolop q0; dtype U32 S32; no q0: no combination
    ISETP = 50
    # high words of a 64-bit compare: q0 = the ISETP of the low words (unsigned, same cmp; for LT/LE/GT/GE),
    # result
    ISETPX = 51
    #              EQ: a==b and q0; NE: a!=b or q0; ordered: strictly (a cmp b) or (a==b and q0); then boolop
    #              q1 (if any)
    FSETP = 52  # results of ISETP, dtype F32 F64 F16 BF16 (F64: pairs)
    PLOP = 53  # p0 = truth table aux (8 bits) of q0, q1, q2 (bit index q0<<2 | q1<<1 | q2, missing q = true)
    # floating point, dtype F32, F64 (pairs), F16X2, BF16X2, F16, BF16 (low half); source modifiers neg/abs
    # apply
    FADD = 60
    FMUL = 61
    FFMA = 62  # one rounding
    FMIN = 63  # aux bit 0: NaN if either is NaN; bit 1: xorsign.abs
    FMAX = 64
    FDIV = 65  # correctly rounded by rnd; F32, F64
    FRCP = 66  # correctly rounded by rnd; F32, F64
    FSQRT = 67  # correctly rounded by rnd; F32, F64
    # approximate function aux; F32; RCP and RSQRT also F64 (pairs; approx.ftz.f64: the low 20+ bits may be
    # zero)
    MUFU = 68
    # d = a converted from stype to dtype; at least one is a float. rnd, sat, ftz. aux 1: to an integral float
    # value
    CVT = 69
    # memory: address = srcs[0] (width 2: 64-bit, width 1: 32-bit, or Imm 0) + offset; size bytes per lane (1
    # 2 4 8 16)
    LD = 80  # d (size/4 words, at least 1) = memory; sub-word: dtype U8 S8 U16 S16 says how to extend
    ST = 81  # memory = srcs[1] (size/4 words, at least 1)
    # d (if any) = old value; aux Atomic; dtype U32 S32 U64 S64 F32 F64 F16X2 ...; srcs[1] operand, CAS:
    # srcs[1]
    ATOM = 82
    #            compare, srcs[2] new value. Without d it is PTX red.
    # lanes
    # d = a of another lane; b lane/delta, c clamp and segment mask (PTX encoding); aux Shuffle; p0 = in range
    SHFL = 90
    VOTE = 91  # aux Vote over q0; ALL ANY UNI: p0; BALLOT: d. Over the executing lanes
    MATCH = (
        92  # d = mask of executing lanes with the same a; dtype U32 or U64; aux 1: match.all (p0 = all same)
    )
    ACTIVEMASK = 93  # d = executing lanes
    REDUX = (
        94  # d = reduction of a over the executing lanes; aux Atomic (ADD MIN MAX AND OR XOR), dtype U32 S32
    )
    # tensor: one 8 x 8 half of mma.sync. a: row g = lane/4, columns 2t, 2t+1 with t = lane%4; b: rows 2t,
    # 2t+1 of column g;
    # d(2) = A * B + c(2), f32 accumulators. aux = k: 8: srcs (a, b, c(2)); 16: srcs (a_lo, a_hi, b_lo, b_hi,
    # c(2));
    MMA = 100
    #            dtype F16 or BF16 of A and B. With stype F16 the accumulators are f16 pairs in one register:
    #            d, c width 1. Other types: `warpbank.program.isa.matrix`
    # control
    BRA = 110  # to target for the lanes whose guard is true; ends a block
    EXIT = 111  # ends the lanes whose guard is true; ends a block
    # CTA barrier; srcs[0] = barrier id, srcs[1] (if any) = number of threads; aux 0 sync, 1 arrive; 2,3,4:
    # red
    BAR = 112
    #            popc (d), and (p0), or (p0) of q0
    MEMBAR = 113
    TRAP = 114  # stops the kernel with an error
