"""Lowering of wmma: loads and stores of fragments, and products made of the pieces of mma.sync.

The manual leaves open which lane holds which element of a fragment. Here a fragment is the row of 8 x 8
pieces that the MMAs take: register b + B * i of A holds rows 8b to 8b + 7 (of B blocks) at the i-th stretch
of k, as for mma.sync; B has columns in place of rows; pair r * N/8 + c of C holds piece (r, c). Registers
that PTX gives a fragment beyond those are zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.program.isa import DType, Imm, Op, Reg, Source, Space
from warpbank.program.isa.matrix import elements, matrix_aux
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.memory import Place, place, take_space
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.tensor import Piece, Product, emit_product, fragment
from warpbank.program.lowering.types import B32, B64
from warpbank.program.ptx.ast import Operand

_CUBES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
#: Factor type: the machine's type, the shapes, and the accumulators.
_TYPES: dict[str, tuple[DType, tuple[tuple[int, int, int], ...], tuple[str, ...]]] = {
    "f16": (DType.F16, _CUBES, ("f16", "f32")),
    "bf16": (DType.BF16, _CUBES, ("f32",)),
    "s8": (DType.S8, _CUBES, ("s32",)),
    "u8": (DType.U8, _CUBES, ("s32",)),
    "tf32": (DType.TF32, ((16, 16, 8),), ("f32",)),
    "f64": (DType.F64, ((8, 8, 4),), ("f64",)),
}
_ACCUMULATORS = {"f16": DType.F16, "f32": DType.F32, "s32": DType.S32, "f64": DType.F64}
_SHAPES = {f"m{m}n{n}k{k}": (m, n, k) for m, n, k in (*_CUBES, (16, 16, 8), (8, 8, 4))}
_LAYOUTS = {"row": "row", "col": "col"}
_CLAUSE = (
    "of wmma these work: m16n16k16, m8n32k16 and m32n8k16 of f16, bf16, s8 and u8; m16n16k8 of tf32; "
    "m8n8k4 of f64"
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment's registers.

    Parameters
    ----------
    lines : rows of A or C, columns of B.
    across : depth of a factor, columns of C.
    dtype : of its elements.
    each : elements of one line in one register.
    registers : PTX registers.
    accumulates : it is C or D.
    """

    lines: int
    across: int
    dtype: DType
    each: int
    registers: int
    accumulates: bool

    @property
    def blocks(self) -> int:
        """Blocks of eight lines."""
        return self.lines // 8


def _fragment(form: Form, shape: tuple[int, int, int], role: str, kind: str) -> Fragment:
    """The fragment of a matrix; refuses a type that its shape does not have."""
    m, n, k = shape
    if role in "cd":
        if not any(shape in shapes and kind in kinds for _, shapes, kinds in _TYPES.values()):
            form.refuse(_CLAUSE)
        dtype = _ACCUMULATORS[kind]
        each = 2 if dtype is DType.F16 else 1
        return Fragment(m, n, dtype, each, m * n // 32 // each, True)
    if kind not in _TYPES or shape not in _TYPES[kind][1]:
        form.refuse(_CLAUSE)
    dtype = _TYPES[kind][0]
    each = elements(dtype)
    lines = m if role == "a" else n
    used = lines // 8 * (k // (4 * each))
    return Fragment(lines, k, dtype, each, 8 if dtype is DType.F16 else used, False)


@lowers("wmma")
def matrix(ctx: Context, form: Form) -> None:
    """wmma.load, wmma.store and wmma.mma."""
    form.flag("sync", "aligned")
    if form.flag("load"):
        _load(ctx, form)
    elif form.flag("store"):
        _store(ctx, form)
    elif form.flag("mma"):
        _multiply(ctx, form)
    else:
        form.refuse(_CLAUSE)


def _operands(form: Form, roles: str) -> tuple[Fragment, str, str]:
    """The fragment of a load or store, its role and layout."""
    role = form.choice({r: r for r in roles})
    shape = form.maybe(_SHAPES)
    layout = form.choice(_LAYOUTS)
    if shape is None or len(form.left) != 1:
        form.refuse(_CLAUSE)
    found = _fragment(form, shape, role, form.left[0])
    form.arity(2, 3)
    return found, role, layout


def _load(ctx: Context, form: Form) -> None:
    """wmma.load: each register by one LD, or element by element where its elements are not neighbours."""
    space = take_space(form)
    found, role, layout = _operands(form, "abc")
    targets = fragment(form, 0, found.registers)
    cells = _cells(ctx, form, found, role, layout, place(ctx, form.operands[1], space))
    used = 0
    for target, cell in zip(targets, cells, strict=False):
        used += 1
        _load_cell(ctx, target, found, cell)
    for target in targets[used:]:
        ctx.emit(Op.MOV, ctx.dst(target, 1), Imm(0))


def _store(ctx: Context, form: Form) -> None:
    """wmma.store: each register by one ST, or element by element where its elements are not neighbours."""
    space = take_space(form)
    found, role, layout = _operands(form, "d")
    names = fragment(form, 1, found.registers)
    where = place(ctx, form.operands[0], space)
    if where.space == Space.CONST:
        form.refuse("constant memory cannot be written")
    for name, cell in zip(names, _cells(ctx, form, found, role, layout, where), strict=True):
        _store_cell(ctx, name, found, cell)


@dataclass(frozen=True, slots=True)
class Cell:
    """The elements of one register in memory: an address and offset for each, or one for all of them."""

    space: Space
    parts: tuple[tuple[Source, int], ...]


def _cells(ctx: Context, form: Form, found: Fragment, role: str, layout: str, where: Place) -> list[Cell]:
    """Where each register's elements lie, in the order of the registers."""
    along = (layout == "row") != (role == "b")  # elements of a line are neighbours in memory
    stride: Source = Imm(found.across if along else found.lines)
    if len(form.operands) == 3:
        stride = ctx.value(form.operands[2], B32)
    size = found.dtype.bits // 8
    lane = ctx.special("%laneid", 1)
    group, member = ctx.temp(), ctx.temp()
    ctx.emit(Op.SHR, group, lane, Imm(2))
    ctx.emit(Op.AND, member, lane, Imm(3))
    step = 2 if found.accumulates else found.each  # elements of a line that a lane has together
    first = ctx.temp()
    ctx.emit(Op.IMUL, first, member, Imm(step))
    cells = []
    for block, start in _order(found, step):
        line = ctx.temp()
        ctx.emit(Op.IADD, line, group, Imm(8 * block))
        for at in range(0, step, found.each):
            parts = []
            for i in range(1 if along else found.each):
                position = ctx.temp()
                ctx.emit(Op.IADD, position, first, Imm(start + at + i))
                major, minor = (line, position) if along else (position, line)
                index = ctx.temp()
                ctx.emit(Op.IMAD, index, major, stride, minor)
                parts.append((_address(ctx, where, index, size), where.offset))
            cells.append(Cell(where.space, tuple(parts)))
    return cells


def _order(found: Fragment, step: int) -> list[tuple[int, int]]:
    """(block of lines, first position across) of each group of registers, in order."""
    starts = range(0, found.across, 4 * step)
    if found.accumulates:
        return [(block, start) for block in range(found.blocks) for start in starts]
    return [(block, start) for start in starts for block in range(found.blocks)]


def _address(ctx: Context, where: Place, index: Reg, size: int) -> Reg:
    """Address of the index-th element behind a place."""
    wide = where.space in (Space.GLOBAL, Space.GENERIC)
    made = ctx.temp(2 if wide else 1)
    ctx.emit(Op.IMADW if wide else Op.IMAD, made, index, Imm(size), where.base, dtype=DType.U32)
    return made


def _load_cell(ctx: Context, target: Operand | None, found: Fragment, cell: Cell) -> None:
    """One register of a fragment."""
    width = 2 if found.dtype is DType.F64 else 1
    dst = ctx.dst(target, width)
    if len(cell.parts) == 1:
        ((base, offset),) = cell.parts
        ctx.emit(Op.LD, dst, base, space=cell.space, offset=offset, size=4 * width)
        return
    bits = found.dtype.bits
    kind = DType.U8 if bits == 8 else DType.U16
    held: Reg | None = None
    for i, (base, offset) in enumerate(cell.parts):
        part = ctx.temp()
        ctx.emit(Op.LD, part, base, space=cell.space, offset=offset, size=bits // 8, dtype=kind)
        if held is None:
            held = part
            continue
        joined = dst if i == len(cell.parts) - 1 else ctx.temp()
        ctx.emit(Op.BFI, joined, part, held, Imm(bits * i), Imm(bits))
        held = joined


def _store_cell(ctx: Context, name: Operand | None, found: Fragment, cell: Cell) -> None:
    """One register of a fragment to memory."""
    width = 2 if found.dtype is DType.F64 else 1
    value = ctx.value(name, B32 if width == 1 else B64)
    bits = found.dtype.bits
    for i, (base, offset) in enumerate(cell.parts):
        data: Source = value
        if i:
            data = ctx.temp()
            ctx.emit(Op.SHR, data, value, Imm(bits * i))
        size = 4 * width if len(cell.parts) == 1 else bits // 8
        ctx.emit(Op.ST, None, base, data, space=cell.space, offset=offset, size=size, dtype=DType.U32)


def _multiply(ctx: Context, form: Form) -> None:
    """wmma.mma: one MMA for each 8 x 8 piece of the result, for f64 one for each of its columns."""
    shape = form.maybe(_SHAPES)
    saturate = form.flag("satfinite")
    layouts, types = form.left[:2], form.left[2:]
    if len(types) == 2:
        types = [types[0], "f16", "f16", types[1]]
    if shape is None or len(types) != 4 or any(name not in _LAYOUTS for name in layouts):
        form.refuse(_CLAUSE)
    d_type, a_type, b_type, c_type = types
    a, b = _fragment(form, shape, "a", a_type), _fragment(form, shape, "b", b_type)
    if c_type not in _TYPES[a_type][2] or c_type not in _TYPES[b_type][2]:
        form.refuse(_CLAUSE)
    if d_type != c_type:
        form.refuse(f"accumulators of two types do not work: convert C to .{d_type} before")
    if saturate and d_type != "s32":
        form.refuse(".satfinite works with .s32 accumulators only")
    c = _fragment(form, shape, "c", c_type)
    form.arity(4)
    double = a.dtype is DType.F64
    depth = a.across // (4 * a.each)
    other = None if a.dtype is b.dtype else b.dtype
    pieces = []
    for row in range(a.blocks):
        for column in range(b.blocks):
            left = tuple(row + a.blocks * i for i in range(depth))
            right = tuple(column + b.blocks * i for i in range(depth))
            number = row * b.blocks + column
            if double:
                pieces += [Piece((i,), ((left, right),), matrix_aux(4, part=i)) for i in (0, 1)]
                continue
            held = (number,) if c.dtype is DType.F16 else (2 * number, 2 * number + 1)
            aux = matrix_aux(shape[2], other=other, saturate=saturate)
            pieces.append(Piece(held, ((left, right),), aux))
    found = Product(a.dtype, c.dtype, (a.registers, b.registers, c.registers), tuple(pieces))
    targets = fragment(form, 0, c.registers)
    emit_product(ctx, found, targets, [fragment(form, i, f.registers) for i, f in ((1, a), (2, b), (3, c))])
