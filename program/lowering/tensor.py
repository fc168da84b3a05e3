"""Lowering of mma.sync, cracked into pieces of eight rows that read at most six registers each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpbank.program.isa import DType, Op, Reg, Source
from warpbank.program.isa.matrix import elements, matrix_aux
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.groups import whole
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES
from warpbank.program.ptx.ast import Operand, Register, Vector

#: Factor types: the type of the machine.
_FACTORS = {
    "f16": DType.F16,
    "bf16": DType.BF16,
    "tf32": DType.TF32,
    "s8": DType.S8,
    "u8": DType.U8,
    "e4m3": DType.E4M3,
    "e5m2": DType.E5M2,
    "f64": DType.F64,
}
_ACCUMULATORS = {"f16": DType.F16, "f32": DType.F32, "s32": DType.S32, "f64": DType.F64}
#: Shapes by the types of the factors, and the accumulators they may have.
_SHAPES: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, int, int], ...]], ...] = (
    (("f16",), ("f32", "f16"), ((16, 8, 8), (16, 8, 16), (8, 8, 4))),
    (("bf16",), ("f32",), ((16, 8, 8), (16, 8, 16))),
    (("tf32",), ("f32",), ((16, 8, 4), (16, 8, 8))),
    (("s8", "u8"), ("s32",), ((8, 8, 16), (16, 8, 16), (16, 8, 32))),
    (("e4m3", "e5m2"), ("f32",), ((16, 8, 16), (16, 8, 32))),
    (("f64",), ("f64",), ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
)
_NAMES = {f"m{m}n{n}k{k}": (m, n, k) for _, _, shapes in _SHAPES for m, n, k in shapes}


def _instead(types: Sequence[str]) -> str:
    """What mma.sync has for the factors that these PTX types name, as one clause."""
    for factors, accumulators, shapes in _SHAPES:
        if not set(factors).isdisjoint(types[1:3]):
            quads = "f16" in factors
            layouts = "in any layout as m8n8k4, .row.col" if quads else ".row.col"
            names = " ".join(f"m{m}n{n}k{k}" for m, n, k in shapes if not quads or k > 4)
            return (
                f"with factors of {' or '.join(factors)} mma.sync works {layouts} as {names}, with "
                f"accumulators of {' or '.join(accumulators)}, the two of one type"
            )
    known = ", ".join("/".join(factors) for factors, _, _ in _SHAPES)
    return f"mma.sync works for dense factors of {known}; docs/lowering.md has the shapes"


@dataclass(frozen=True, slots=True)
class Piece:
    """One MMA or a chain of them.

    Parameters
    ----------
    accumulators : which registers of C and D.
    steps : for each MMA, the registers of A and of B that it takes.
    aux : of the MMA.
    """

    accumulators: tuple[int, ...]
    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    aux: int


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product cracked into pieces.

    Parameters
    ----------
    dtype, stype : types of A and of the accumulators.
    counts : PTX registers in A, B, C.
    pieces : in order.
    paired : A and B are taken as register pairs.
    """

    dtype: DType
    stype: DType
    counts: tuple[int, int, int]
    pieces: tuple[Piece, ...]
    paired: bool = False


def product(
    shape: tuple[int, int, int],
    factors: tuple[str, str],
    accumulators: tuple[str, str],
    layouts: Sequence[str],
    saturate: bool,
) -> Product | None:
    """The pieces of a product; None where the machine has none for it.

    Parameters
    ----------
    shape : rows, columns, depth.
    factors, accumulators : PTX types of A and B, of D and C.
    layouts : "row" or "col" of A and of B.
    saturate : .satfinite.
    """
    a_type, b_type = factors
    if accumulators[0] != accumulators[1]:
        return None
    if not any(
        a_type in left and b_type in left and accumulators[0] in kinds and shape in shapes
        for left, kinds, shapes in _SHAPES
    ):
        return None
    dtype, stype = _FACTORS[a_type], _ACCUMULATORS[accumulators[0]]
    if saturate and stype is not DType.S32:
        return None
    other = None if a_type == b_type else _FACTORS[b_type]
    m, _, k = shape
    if dtype is DType.F16 and k == 4:
        return _quads(stype, layouts)
    if list(layouts) != ["row", "col"]:
        return None
    rows = m // 8
    if dtype is DType.F64:
        pieces = tuple(
            Piece(
                (2 * row + column,),
                tuple(((row + rows * step,), (step,)) for step in range(k // 4)),
                matrix_aux(4, part=column),
            )
            for row in range(rows)
            for column in (0, 1)
        )
        return Product(dtype, stype, (rows * k // 4, k // 4, 2 * rows), pieces)
    depth = k // (4 * elements(dtype))
    aux = matrix_aux(k, other=other, saturate=saturate)
    each = 1 if stype is DType.F16 else 2
    pieces = tuple(
        Piece(
            tuple(range(each * row, each * row + each)),
            ((tuple(row + rows * i for i in range(depth)), tuple(range(depth))),),
            aux,
        )
        for row in range(rows)
    )
    return Product(dtype, stype, (rows * depth, depth, each * rows), pieces)


def _quads(stype: DType, layouts: Sequence[str]) -> Product:
    """m8n8k4 of f16: four pieces, each two of a lane's eight accumulators."""
    each = 1 if stype is DType.F16 else 2
    pieces = tuple(
        Piece(
            tuple(range(each * part, each * part + each)),
            (((0, 1), (0, 1)),),
            matrix_aux(4, part=part, a_column=layouts[0] == "col", b_column=layouts[1] == "col"),
        )
        for part in range(4)
    )
    return Product(DType.F16, stype, (2, 2, 4 * each), pieces, paired=True)


@lowers("mma", in_place=True)
def multiply_accumulate(ctx: Context, form: Form) -> None:
    """mma.sync.aligned.mMnNkK.alayout.blayout.dtype.atype.btype.ctype d, a, b, c.

    Accumulating in place is the rule; a piece only has to spare what a later one still reads.
    """
    form.demand("sync", "aligned")
    shape = form.maybe(_NAMES)
    saturate = form.flag("satfinite")
    layouts, types = form.left[:2], form.left[2:]
    if shape is None or len(types) != 4 or any(name not in ("row", "col") for name in layouts):
        form.refuse(_instead(types))
    d_type, a_type, b_type, c_type = types
    found = product(shape, (a_type, b_type), (d_type, c_type), layouts, saturate)
    if found is None:
        form.refuse(_instead(types))
    form.arity(4)
    a_count, b_count, c_count = found.counts
    targets = fragment(form, 0, c_count)
    fragments = [fragment(form, i, n) for i, n in ((1, a_count), (2, b_count), (3, c_count))]
    emit_product(ctx, found, targets, fragments)


def emit_product(
    ctx: Context,
    found: Product,
    targets: Sequence[Operand | None],
    fragments: Sequence[Sequence[Operand | None]],
) -> None:
    """The MMAs of a product.

    Parameters
    ----------
    targets : PTX registers of D.
    fragments : PTX registers of A, of B and of C.
    """
    double = found.dtype is DType.F64
    _delay(ctx, found.pieces[1:], fragments)
    a, b, c = (_sources(ctx, names, double) for names in fragments)
    for number, piece in enumerate(found.pieces):
        if number:
            _delay(ctx, found.pieces[number + 1 :], fragments)
        wanted = [ctx.dst(targets[i], 2 if double else 1) for i in piece.accumulators]
        group = wanted[0] if len(wanted) == 1 else whole(ctx.kernel, wanted)
        total: Source = c[piece.accumulators[0]]
        if len(wanted) == 2:
            total = _pair(ctx, *(c[i] for i in piece.accumulators))
        for step, (left, right) in enumerate(piece.steps):
            last = step == len(piece.steps) - 1
            dst = group if last and group is not None else ctx.temp(2 if double else len(wanted))
            if found.paired:
                factors = [_pair(ctx, a[left[0]], a[left[1]]), _pair(ctx, b[right[0]], b[right[1]])]
            else:
                factors = [*(a[i] for i in left), *(b[i] for i in right)]
            ctx.emit(Op.MMA, dst, *factors, total, dtype=found.dtype, stype=found.stype, aux=piece.aux)
            total = dst
        if group is None:
            for i, target in enumerate(wanted):
                ctx.emit(Op.MOV, target, dst.word(i))


def _delay(ctx: Context, later: Sequence[Piece], fragments: Sequence[Sequence[Operand | None]]) -> None:
    """Destinations that later pieces still read are written at the end."""
    read: list[Operand | None] = []
    for piece in later:
        for left, right in piece.steps:
            read += [fragments[0][i] for i in left]
            read += [fragments[1][i] for i in right]
        read += [fragments[2][i] for i in piece.accumulators]
    ctx.delay(e.name for e in read if isinstance(e, Register))


def fragment(form: Form, index: int, count: int) -> tuple[Operand | None, ...]:
    """The elements of a fragment."""
    operand = form.operands[index]
    if not isinstance(operand, Vector):
        form.refuse(f"fragment {index} is a vector of {count} registers in braces")
    if len(operand.elements) != count:
        form.refuse(f"fragment {index} has {len(operand.elements)} registers, not {count}")
    return operand.elements


def _sources(ctx: Context, names: Sequence[Operand | None], double: bool) -> list[Reg]:
    """The registers of a fragment, constants moved into some."""
    made: list[Reg] = []
    for element in names:
        value = ctx.value(element, TYPES["b64" if double else "b32"])
        if not isinstance(value, Reg):
            held = ctx.temp(value.width)
            ctx.move(held, value)
            value = held
        made.append(value)
    return made


def _pair(ctx: Context, low: Reg, high: Reg) -> Reg:
    """Two registers as a pair."""
    group = whole(ctx.kernel, [low, high])
    if group is not None:
        return group
    made = ctx.temp(2)
    ctx.emit(Op.MOV, made.word(0), low)
    ctx.emit(Op.MOV, made.word(1), high)
    return made
