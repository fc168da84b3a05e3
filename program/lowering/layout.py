"""Memory layout of a kernel's parameters and variables: constant bank, shared memory, global slots."""

from __future__ import annotations

from collections.abc import Iterator

from warpbank.program.errors import PtxError
from warpbank.program.isa import (
    CONST_PARAMETERS,
    CONST_WINDOW,
    SHARED_WINDOW,
    GlobalVariable,
    Kernel,
    Parameter,
)
from warpbank.program.lowering.pointers import callees, function_address
from warpbank.program.ptx.ast import (
    Address,
    Call,
    Function,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from warpbank.program.textures import NO_TEXTURES, Bindings

#: Constant memory that a kernel can see: 64 KiB of .const variables, as on a GPU, and room for parameters and
#: addresses.
CONSTANT_BYTES = 0x12000
#: Opaque types of textures and surfaces, and what there is instead where one is refused.
OPAQUE = {
    "texref": "pass a texture object, which is a .u64, or take a handle with mov",
    "samplerref": "a texture has its addressing mode from the launch description",
    "surfref": "pass a pointer to global memory, and use ld and st",
}


def align_up(value: int, alignment: int) -> int:
    """The next multiple of an alignment."""
    return -(-value // alignment) * alignment


def symbols_of(operand: Operand | None) -> Iterator[Symbol]:
    """The symbols an operand names."""
    if isinstance(operand, Symbol):
        yield operand
    elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
        yield operand.base


def reachable(module: Module, entry: Function) -> list[Function]:
    """The entry and every function with a body that its calls may reach, in order of discovery."""
    found = {entry.name: entry}
    queue = [entry]
    while queue:
        caller = queue.pop(0)
        for call in (o for i in caller.instructions for o in i.operands if isinstance(o, Call)):
            for callee in callees(module, caller, call):
                if callee.name not in found:
                    found[callee.name] = callee
                    queue.append(callee)
    return list(found.values())


def addressed(function: Function) -> set[str]:
    """Names whose address the function takes: symbols outside of calls and of the brackets of ld and st."""
    names: set[str] = set()
    for instruction in function.instructions:
        accessed = Address if instruction.opcode in ("ld", "st") else ()
        for operand in instruction.operands:
            if not isinstance(operand, accessed):
                names.update(symbol.name for symbol in symbols_of(operand))
    return names


class Layout:
    """Addresses of everything a kernel can name besides its registers and local variables.

    Parameters
    ----------
    module, entry : the file and the kernel.
    kernel : its memory fields are filled in.
    textures : the textures that the kernel may read.

    Attributes
    ----------
    functions : what the entry reaches, itself first.
    offsets : (function name or "" for module scope, variable name) -> address in its space, for .const,
        .shared and .param of the entry.
    """

    def __init__(
        self, module: Module, entry: Function, kernel: Kernel, textures: Bindings = NO_TEXTURES
    ) -> None:
        self.module = module
        self.entry = entry
        self.kernel = kernel
        self.textures = textures
        self.functions = reachable(module, entry)
        self.offsets: dict[tuple[str, str], int] = {}
        self._end = CONST_PARAMETERS
        self._parameters()
        self._constants()
        self._shared()
        kernel.constants.extend(bytes(align_up(self._end, 8) - len(kernel.constants)))

    def _error(self, line: int, message: str) -> PtxError:
        return PtxError(self.module.path, line, message)

    def _place(self, size: int, alignment: int, line: int, what: str) -> int:
        """Takes constant memory."""
        offset = align_up(self._end, alignment)
        self._end = offset + size
        if self._end > CONSTANT_BYTES:
            limit = f"parameters and .const variables may take {CONSTANT_BYTES} bytes together"
            raise self._error(line, f"{what} does not fit: {limit}")
        return offset

    def _parameters(self) -> None:
        for parameter in self.entry.parameters:
            if parameter.type in OPAQUE and parameter.type != "texref":
                what = f"parameter {parameter.name!r} is a .{parameter.type}, which is not supported"
                raise self._error(parameter.line, f"{what}: {OPAQUE[parameter.type]}")
            offset = self._place(
                parameter.size, parameter.align, parameter.line, f"parameter {parameter.name!r}"
            )
            self.offsets[self.entry.name, parameter.name] = offset
            self.kernel.parameters.append(Parameter(parameter.name, offset, parameter.size, parameter.type))

    def _constants(self) -> None:
        """Every .const variable of the module, so that the host may fill any of them whichever kernel it
        launches."""
        placed = [v for v in self.module.variables.values() if v.space == "const" and not v.external]
        for variable in placed:
            offset = self._place(
                variable.size, max(4, variable.align), variable.line, f".const variable {variable.name!r}"
            )
            self.offsets["", variable.name] = offset
            self.kernel.symbols[variable.name] = (offset, variable.size)
        image = self.kernel.constants
        image.extend(bytes(self._end))
        for variable in placed:
            offset = self.offsets["", variable.name]
            relocations: list[tuple[int, str, int]] = []
            image[offset : offset + variable.size] = self._initial(variable, relocations)
            self.kernel.constant_relocations += [
                (offset + at, symbol, addend) for at, symbol, addend in relocations
            ]
        for _, symbol, _ in self.kernel.constant_relocations:
            self.global_slot(symbol, self.module.variables[symbol].line)

    def _shared(self) -> None:
        """Static shared variables that the kernel or a function it calls names; then the dynamic ones, all at
        one address."""
        named = {
            f.name: {s.name for i in f.instructions for o in i.operands for s in symbols_of(o)}
            for f in self.functions
        }
        static: list[tuple[str, Variable]] = []
        dynamic: list[tuple[str, Variable]] = []
        everywhere = set().union(*named.values())
        scopes = [("", v) for v in self.module.variables.values() if v.name in everywhere]
        scopes += [(f.name, v) for f in self.functions for v in f.variables if v.name in named[f.name]]
        for scope, variable in scopes:
            if variable.space == "shared":
                (dynamic if variable.size == 0 else static).append((scope, variable))
        end = 0
        for scope, variable in static:
            end = align_up(end, variable.align)
            self.offsets[scope, variable.name] = end
            end += variable.size
        self.kernel.shared_bytes = end
        base = align_up(end, max([16] + [v.align for _, v in dynamic]))
        self.kernel.dynamic_shared_base = base
        for scope, variable in dynamic:
            self.offsets[scope, variable.name] = base

    def find(self, function: Function, name: str) -> tuple[str, int] | None:
        """Place (space, address) of a .const, .shared or kernel parameter symbol as the function sees it;
        None: not one of those."""
        for scope in (function.name, ""):
            offset = self.offsets.get((scope, name))
            if offset is not None:
                if scope == "":
                    return self.module.variables[name].space, offset
                return "param" if any(p.name == name for p in function.parameters) else "shared", offset
        return None

    def global_slot(self, name: str, line: int) -> int:
        """The constant-bank slot that holds a global variable's address; makes the variable known to the
        loader."""
        if name in self.kernel.global_slots:
            return self.kernel.global_slots[name]
        variable = self.module.variables[name]
        if variable.type in OPAQUE:
            what = f"{name!r} is a .{variable.type}, which is not supported here"
            raise self._error(line, f"{what}: {OPAQUE[variable.type]}")
        if not variable.size:
            raise self._error(
                line, f"{name!r} is only declared (.extern): the file that defines it is needed"
            )
        slot = self._place(8, 8, line, f"the address of {name!r}")
        self.kernel.constants.extend(bytes(self._end - len(self.kernel.constants)))
        self.kernel.global_slots[name] = slot
        relocations: list[tuple[int, str, int]] = []
        image = self._initial(variable, relocations)
        self.kernel.globals[name] = GlobalVariable(variable.size, variable.align, image, tuple(relocations))
        for _, symbol, _ in relocations:
            self.global_slot(symbol, line)
        return slot

    def texture_slot(self, name: str, line: int) -> int:
        """The constant-bank slot that holds the address of a texture's first texel."""
        if name not in self.kernel.texture_slots:
            slot = self._place(8, 8, line, f"the address of texture {name!r}")
            self.kernel.constants.extend(bytes(self._end - len(self.kernel.constants)))
            self.kernel.texture_slots[name] = slot
        return self.kernel.texture_slots[name]

    def _initial(self, variable: Variable, relocations: list[tuple[int, str, int]]) -> bytes:
        """A variable's initial bytes with every address filled in that is known now; the others go to
        `relocations`."""
        image = bytearray(variable.init or b"").ljust(variable.size, b"\0")
        for offset, symbol, size in variable.relocations:
            target = self.module.variables.get(symbol.name)
            held = f"the initial value of .{variable.space} variable {variable.name!r} holds the address of"
            if target is None:
                if symbol.name not in self.module.functions:
                    raise self._error(variable.line, f"{held} {symbol.name!r}, which is not in this file")
                if symbol.offset:
                    raise self._error(variable.line, f"{held} {symbol.name!r} with an offset: leave it out")
                known = function_address(self.module, symbol.name)
                image[offset : offset + size] = known.to_bytes(8, "little")[:size]
                continue
            if target.space == "global":
                if size != 8:
                    raise self._error(
                        variable.line, f"{held} .global {symbol.name!r} in {size} bytes: it takes 8"
                    )
                relocations.append((offset, symbol.name, symbol.offset))
                continue
            place = self.offsets.get(("", symbol.name))
            if place is None:
                raise self._error(
                    variable.line, f"{held} {symbol.name!r}, which has none before the kernel runs"
                )
            window = {"const": CONST_WINDOW, "shared": SHARED_WINDOW}[target.space] if symbol.generic else 0
            known = place + symbol.offset + window
            image[offset : offset + size] = known.to_bytes(8, "little", signed=True)[:size]
        return bytes(image)


def vectors_of(function: Function) -> Iterator[tuple[Instruction, tuple[str, ...]]]:
    """Every vector operand made of distinct registers, with its instruction."""
    for instruction in function.instructions:
        for operand in instruction.operands:
            if isinstance(operand, Vector):
                names = tuple(e.name for e in operand.elements if isinstance(e, Register))
                if len(names) == len(operand.elements) and len(set(names)) == len(names):
                    yield instruction, names
