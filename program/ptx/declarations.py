"""Declaration parser of variables and parameters with their initial values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

from warpbank.program.ptx.ast import Immediate, Symbol, Variable
from warpbank.program.ptx.cursor import Cursor

#: Bytes of each type that a variable may have. Opaque texture types hold a 64-bit handle.
TYPE_BYTES = {
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    **{f"{kind}ref": 8 for kind in ("tex", "sampler", "surf")},
    **{kind: int(kind[-2:]) // 8 for kind in ("f16", "bf16", "f32", "tf32", "f64")},
    "b128": 16,
    "f16x2": 4,
    "bf16x2": 4,
}
#: Types that only a register may have besides those.
REGISTER_TYPES = {**TYPE_BYTES, "pred": 0}
#: Bytes a variable may have: beyond any GPU's memory the file is wrong, and an initial value would exhaust
#: ours.
_MAX_BYTES = 1 << 34
_MAX_INITIALISED = 1 << 28
#: Most dimensions, and bits of the size of one: their product can be printed.
_MAX_DIMENSIONS, _MAX_BITS = 64, 128

_SPACES = {".global", ".const", ".shared", ".local", ".param", ".tex"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_FLOAT_FORMATS = {"f16": "<e", "f32": "<f", "tf32": "<f", "f64": "<d"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of a declaration: what stands between its state space and its names."""

    type: str
    width: int = 1
    align: int = 0

    @property
    def item_bytes(self) -> int:
        """Bytes of one scalar."""
        return REGISTER_TYPES[self.type]


def starts_variable(cursor: Cursor) -> bool:
    """Whether the next token begins a variable declaration (after its linkage)."""
    return cursor.text in _SPACES


def linkage(cursor: Cursor, *, look: bool = False) -> set[str]:
    """Steps over `.visible`, `.extern` and the like; `look` only says whether the next token is one."""
    if look:
        return {cursor.text} & _LINKAGE
    found = set()
    while cursor.text in _LINKAGE:
        found.add(cursor.text)
        cursor.at += 1
    return found


def variables(cursor: Cursor, external: bool, rename: Callable[[str], str] = str) -> Iterator[Variable]:
    """Reads `.space .align n .vN .type name[dims] = init, name...;` and yields the variables.

    `rename` gives the name under which a variable is recorded: inner scopes need names unique in their
    function.
    """
    space = cursor.text[1:]
    cursor.at += 1
    while cursor.accept("["):  # .const[2]: the constant banks of PTX 2.1 and older
        cursor.integer("a constant bank number")
        cursor.expect("]", "the constant bank number")
    shape = _shape(cursor)
    if space == "tex":  # .tex .u32 name: a texture of PTX 1.x
        space, shape = "global", replace(shape, type="texref")
    while True:
        yield _variable(cursor, space, shape, external, rename)
        if not cursor.accept(","):
            break
    cursor.expect(";", "the declaration")


def parameters(cursor: Cursor) -> tuple[Variable, ...]:
    """Reads `( .param .type name, .reg .type name, ... )`."""
    cursor.expect("(")
    found: list[Variable] = []
    while not cursor.accept(")"):
        if found:
            cursor.expect(",", "the parameter")
        found.append(_parameter(cursor))
    return tuple(found)


def _parameter(cursor: Cursor) -> Variable:
    """One parameter, with the pointer attributes `.ptr .space .align n` that compilers add."""
    if cursor.text not in (".param", ".reg"):
        cursor.fail("'.param' or '.reg'")
    space = cursor.text[1:]
    cursor.at += 1
    shape = _shape(cursor, predicate=space == "reg")
    if cursor.accept(".ptr"):
        while cursor.text in (".global", ".const", ".shared", ".local", ".align", ".param"):
            if cursor.accept(".align"):
                cursor.integer("an alignment")
            else:
                cursor.at += 1
    return _variable(cursor, space, shape, False, str)


def _shape(cursor: Cursor, *, predicate: bool = False) -> Shape:
    """Reads alignment, vector width, attributes and type, which may come in any order; the type ends up
    mandatory. Only a register may be a predicate."""
    width, align, kind = 1, 0, ""
    while cursor.kind == "directive":
        word = cursor.text
        if word == ".ptr" and kind:
            break
        cursor.at += 1
        if word == ".align":
            at = cursor.at
            align = cursor.integer("an alignment")
            if align <= 0 or align & (align - 1) or align > 1 << 20:
                raise cursor.error(f"an alignment is a power of two, not {align}", at)
        elif word in (".v2", ".v4", ".v8"):
            width = int(word[2:])
        elif word == ".attribute":
            cursor.expect("(")
            while not cursor.accept(")"):
                if cursor.kind == "end":
                    cursor.fail("')'")
                cursor.at += 1
        elif word[1:] in REGISTER_TYPES:
            kind = word[1:]
        else:
            cursor.at -= 1
            cursor.fail("a type such as .b32 or .f64")
    if kind not in (REGISTER_TYPES if predicate else TYPE_BYTES):
        cursor.fail(
            "a type such as .b32 or .f64 (a variable cannot be .pred)"
            if kind
            else "a type such as .b32 or .f64"
        )
    return Shape(kind, width, align)


def _variable(
    cursor: Cursor, space: str, shape: Shape, external: bool, rename: Callable[[str], str]
) -> Variable:
    """Reads `name[dims] = init`."""
    at = cursor.at
    line = cursor.line
    name = rename(cursor.name(f"the name of a .{space} variable"))
    dims: list[int] = []
    while cursor.accept("["):
        if cursor.text == "]" and not dims:
            dims.append(0)
        else:
            dims.append(cursor.integer("an array size"))
            if dims[-1] < 0:
                raise cursor.error(f"array {name} has a negative size", at)
            if dims[-1] == 0 and len(dims) > 1:
                raise cursor.error(f"only the first dimension of array {name} may be empty", at)
            if len(dims) > _MAX_DIMENSIONS or dims[-1].bit_length() > _MAX_BITS:
                raise cursor.error(f"array {name} is larger than the memory of any GPU", at)
        cursor.expect("]", "the array size")
    if shape.width > 1:
        dims.append(shape.width)
    size = shape.item_bytes * prod(dims)
    if size > _MAX_BYTES:
        raise cursor.error(f"variable {name} has {size} bytes, more than any GPU has", at)
    align = max(shape.align, 1) if shape.align else shape.item_bytes * shape.width
    found = Variable(name, space, shape.type, size, align, line, external=external)
    if not cursor.accept("="):
        return _sized(cursor, found, at)
    if external:
        raise cursor.error(f".extern variable {name} cannot have an initial value: its definition has it", at)
    if space not in ("global", "const"):
        raise cursor.error(
            f".{space} variable {name} cannot have an initial value; only .global and .const ones can", at
        )
    if size > _MAX_INITIALISED:
        raise cursor.error(
            f"variable {name} has an initial value of {size} bytes; at most {_MAX_INITIALISED} are supported",
            at,
        )
    cursor.initialised += size
    if cursor.initialised > _MAX_INITIALISED:
        raise cursor.error(
            f"initial values of more than {_MAX_INITIALISED} bytes together; no more are supported", at
        )
    return _sized(cursor, _Initialiser(cursor, shape, dims).read(found), at)


def _sized(cursor: Cursor, variable: Variable, at: int) -> Variable:
    """Refuses a variable without bytes. What another file or the launch defines may have any size."""
    if variable.size or variable.external or variable.space in ("param", "reg"):
        return variable
    dynamic = ", or .extern if the launch gives it" if variable.space == "shared" else ""
    raise cursor.error(f"array {variable.name} has no size: write one in its brackets{dynamic}", at)


class _Initialiser:
    """Reads an initial value into bytes and relocations.

    Parameters
    ----------
    cursor : stands after the `=`.
    shape : of the variable.
    dims : its array sizes, outermost first, the vector width last; a leading 0 means: as many as the initial
        value has.
    """

    def __init__(self, cursor: Cursor, shape: Shape, dims: list[int]) -> None:
        self.cursor = cursor
        self.shape = shape
        self.dims = dims
        self.bytes = bytearray()
        self.relocations: list[tuple[int, Symbol, int]] = []
        self.masked: list[tuple[int, Symbol, int]] = []

    def read(self, variable: Variable) -> Variable:
        """`variable` with its initial value, and with its size if that was left to the value."""
        at = self.cursor.at
        size = self._fill(0, self.dims)
        self.bytes.extend(bytes(size - len(self.bytes)))
        self._join_masked(at)
        relocations = tuple(sorted(self.relocations, key=lambda relocation: relocation[0]))
        return replace(variable, size=size, init=bytes(self.bytes), relocations=relocations)

    def _fill(self, offset: int, dims: list[int]) -> int:
        """Reads the value of an array of `dims` at byte `offset`; returns the bytes that it takes.

        A row may be in braces of its own, then its tail is zero; rows may also follow each other in the outer
        braces.
        """
        if not dims:
            self._scalar(offset)
            return self.shape.item_bytes
        row = self.shape.item_bytes * prod(dims[1:])
        limit = dims[0] * row
        at = self.cursor.at
        self.cursor.expect("{", "'='")
        used = 0
        while not self.cursor.accept("}"):
            if used:
                self.cursor.expect(",", "an element of the initial value")
                if self.cursor.accept("}"):
                    break
            if self.cursor.text == "{":
                used += -used % row
                used += self._fill(offset + used, dims[1:])
            else:
                self._scalar(offset + used)
                used += self.shape.item_bytes
            if limit and used > limit:
                raise self.cursor.error(
                    f"the initial value has more elements than the {dims[0]} that were declared", at
                )
        return limit or used + -used % row

    def _scalar(self, offset: int) -> None:
        """Reads one element."""
        cursor, size = self.cursor, self.shape.item_bytes
        at = cursor.at
        if len(self.bytes) < offset + size:
            self.bytes.extend(bytes(offset + size - len(self.bytes)))
        if cursor.kind == "word" and cursor.text != "WARP_SZ":
            self.relocations.append((offset, self._symbol(), size))
            return
        value = cursor.constant()
        if cursor.text == "(":  # 0xFF00(symbol): one byte of an address
            cursor.at += 1
            symbol = self._symbol()
            cursor.expect(")", "the symbol")
            byte = value.value.bit_length() // 8 - 1
            if size != 1 or byte < 0 or value != Immediate(0xFF << (8 * byte)):
                raise cursor.error(
                    "a mask on an address must choose one whole byte for a variable of bytes", at
                )
            self.masked.append((offset, symbol, byte))
            return
        self.bytes[offset : offset + size] = self._encode(value, at)

    def _symbol(self) -> Symbol:
        """Reads `name`, `name+4`, `generic(name)+4` or `generic(name+4)`."""
        cursor = self.cursor
        name = cursor.name("a symbol")
        generic = False
        offset = 0
        if name == "generic" and cursor.accept("("):
            generic = True
            name = cursor.name("a symbol")
            offset = self._offset()
            cursor.expect(")", "the symbol")
        return Symbol(name, offset + self._offset(), generic)

    def _offset(self) -> int:
        return self.cursor.integer("an offset") if self.cursor.text in ("+", "-") else 0

    def _encode(self, value: Immediate, at: int) -> bytes:
        """The bytes of a constant as an element of this variable."""
        kind, size = self.shape.type, self.shape.item_bytes
        if kind in _FLOAT_FORMATS:
            bits_of = {"int": None, "f32": "<f", "f64": "<d"}[value.kind]
            width = 4 if value.kind == "f32" else 8
            try:
                number = (
                    struct.unpack(bits_of, value.value.to_bytes(width, "little"))[0]
                    if bits_of
                    else float(value.value)
                )
                if bits_of == _FLOAT_FORMATS[kind]:
                    return value.value.to_bytes(
                        size, "little"
                    )  # as written: unpacking could quiet a signalling NaN
                return struct.pack(_FLOAT_FORMATS[kind], number)
            except OverflowError:
                raise self.cursor.error(f"a constant does not fit .{kind}", at) from None
        bits = value.value
        if size < {"int": 0, "f32": 4, "f64": 8}[value.kind]:
            raise self.cursor.error(f"a floating-point constant does not fit .{kind}", at)
        if not -(1 << (8 * size - 1)) <= bits < 1 << (8 * size):
            raise self.cursor.error(f"constant {bits} does not fit .{kind}", at)
        return (bits & ((1 << (8 * size)) - 1)).to_bytes(size, "little")

    def _join_masked(self, at: int) -> None:
        """Turns runs of bytes 0, 1, 2... of one address, which compilers print for packed structures, into
        whole relocations."""
        index = 0
        while index < len(self.masked):
            offset, symbol, _ = self.masked[index]
            count = 0
            while index + count < len(self.masked) and self.masked[index + count] == (
                offset + count,
                symbol,
                count,
            ):
                count += 1
            if count == 0:
                message = (
                    f"the bytes of the address of {symbol.name} must be consecutive, beginning with mask 0xFF"
                )
                raise self.cursor.error(message, at)
            self.relocations.append((offset, symbol, count))
            index += count
