"""Operand types of PTX: which types an instruction may name, and which registers may hold a value of one.

PTX ISA manual, "Operand type checking" and the syntax of each instruction. A compiler follows both; text that
somebody wrote by hand may not, and would compute something else than it says.
"""

from __future__ import annotations

from warpbank.program.lowering.types import PtxType

_WORDS = tuple(f"{kind}{bits}" for bits in (16, 32, 64) for kind in "us")
_BITS = ("b16", "b32", "b64")
_REALS = ("f32", "f64")
_FLOATS = (*_REALS, "f16", "f16x2", "bf16", "bf16x2")
_LOADED = (*(f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in "bus"), *_REALS, "b128")
_SELECTED = (*_BITS, *_WORDS, *_REALS)

_EVERY = frozenset((*_LOADED, *_FLOATS, "pred"))

#: Types that an instruction may name, where each of its types must be one of them.
NAMED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "mad", "min", "max"), (*_WORDS, *_FLOATS)),
    **dict.fromkeys(("abs", "neg"), ("s16", "s32", "s64", *_FLOATS)),
    "div": (*_WORDS, *_REALS),
    **dict.fromkeys(("rem", "sad"), _WORDS),
    **dict.fromkeys(("addc", "subc", "madc", "bfe", "bfind"), ("u32", "s32", "u64", "s64")),
    **dict.fromkeys(("and", "or", "xor", "not"), (*_BITS, "pred")),
    **dict.fromkeys(("cnot", "shl"), _BITS),
    "shr": (*_BITS, *_WORDS),
    **dict.fromkeys(("popc", "clz", "brev", "bfi", "match"), ("b32", "b64")),
    **dict.fromkeys(("prmt", "lop3", "shf", "shfl"), ("b32",)),
    "mov": (*_SELECTED, "pred", "b128"),
    **dict.fromkeys(("ld", "ldu", "st"), _LOADED),
    **dict.fromkeys(("selp", "slct"), _SELECTED),
    "setp": (*_SELECTED, *_FLOATS),
    **dict.fromkeys(("mul24", "mad24"), ("u32", "s32")),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt"), _REALS),
    **dict.fromkeys(("sin", "cos", "lg2"), ("f32",)),
    "cvta": ("u32", "u64"),
    "cvt": (*(f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in "us"), *_FLOATS),
}


def misnamed(opcode: str, modifiers: tuple[str, ...]) -> str:
    """Advice about a type that an instruction must not name; "" where it names none."""
    allowed = NAMED.get(opcode)
    if allowed is None or "pack" in modifiers:  # cvt.pack names the bits of its third operand, too
        return ""
    wrong = next((name for name in modifiers if name in _EVERY and name not in allowed), None)
    if wrong is None:
        return ""
    return f".{wrong} is no type of {opcode}: take one of {' '.join('.' + name for name in allowed)}"


def holds(declared: PtxType, ptx: PtxType) -> bool:
    """Test of a register's declared type: it may hold a value of another, whatever their widths. Untyped bits
    hold anything, integers those of either sign, floats their own kind, a pair of halves integers, too."""
    if "b" in (declared.kind, ptx.kind):
        return True
    if declared.name == "f16x2" and not ptx.is_float:
        return True
    return declared.name == ptx.name if declared.is_float else not ptx.is_float
