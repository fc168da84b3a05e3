"""Registry of lowering rules: which function lowers which PTX opcode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form

Handler = Callable[[Context, Form], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Lowering rule of a PTX opcode.

    Parameters
    ----------
    handler : emits the code; it must consume every modifier it understands.
    in_place : the code reads every source word before it writes a destination word that may be the same
        register, so a destination that is also a source needs no copy.
    """

    handler: Handler
    in_place: bool


RULES: dict[str, Rule] = {}


def lowers(*opcodes: str, in_place: bool = False) -> Callable[[Handler], Handler]:
    """Registers a handler for opcodes."""

    def register(handler: Handler) -> Handler:
        for opcode in opcodes:
            assert opcode not in RULES, opcode
            RULES[opcode] = Rule(handler, in_place)
        return handler

    return register


#: Opcodes that are known and refused: the clause says what there is instead.
REFUSED: dict[str, str] = {
    "tld4": "gathers of four texels are not supported: read them one by one with tex.2d",
    **dict.fromkeys(
        ("suld", "sust", "sured", "suq", "istypep"),
        "surfaces are not supported: use global memory with ld and st",
    ),
    **dict.fromkeys(
        ("wgmma", "tcgen05"),
        "products of warp groups are not supported: use mma.sync or wmma (docs/lowering.md has their shapes)",
    ),
    **dict.fromkeys(
        ("stmatrix", "movmatrix"), "matrix stores are not supported: store fragments with st.shared"
    ),
    "mbarrier": "mbarrier objects are not supported: synchronise with bar.sync",
    "clusterlaunchcontrol": "thread-block clusters are not supported: launch ordinary CTAs",
    **dict.fromkeys(
        ("mapa", "getctarank"), "thread-block clusters are not supported: use shared memory of the own CTA"
    ),
    **dict.fromkeys(
        ("alloca", "stacksave", "stackrestore"),
        "stack allocation of a variable size is not supported: use a local array",
    ),
    "griddepcontrol": "dependent launches are not supported: a kernel runs alone",
    "setmaxnreg": "register counts are fixed for the kernel: use the max_registers option",
    "multimem": "multi-device memory is not supported: use ld.global, st.global and atom.global",
    "tensormap": "tensor maps are not supported: address memory with ld and st",
    "elect": "elect.sync is not supported: compare %laneid or use vote.sync.ballot",
    **dict.fromkeys(
        (
            "vadd",
            "vsub",
            "vabsdiff",
            "vmin",
            "vmax",
            "vshl",
            "vshr",
            "vmad",
            "vset",
            "vadd2",
            "vsub2",
            "vavrg2",
            "vabsdiff2",
            "vmin2",
            "vmax2",
            "vset2",
            "vadd4",
            "vsub4",
            "vavrg4",
            "vabsdiff4",
            "vmin4",
            "vmax4",
            "vset4",
        ),
        "video instructions are not supported: use prmt, bfe and 32-bit arithmetic",
    ),
}
