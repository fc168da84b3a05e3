"""Syntax tree of PTX: a module of variables and functions, one record per statement, nothing interpreted
yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Register:
    """Virtual register that is declared: `%r1`, `%p2`, `%SP`."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """Special register that is predefined, with its dot suffix: `%tid.x`, `%laneid`, `%clock64`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. `value` is an int (`12`, `-3`, `0x7fU`, and also `0f3F800000`/`0d...` whose bits it then
    holds).

    `kind` is "int" for integers, "f32" for `0f`, "f64" for `0d` and for decimal floats (value: bits of the
    double).
    """

    value: int
    kind: str = "int"


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, parameter or function, plus a constant: `s`, `s+16`, `generic(s)+4` in
    initializers.

    Also the label operand of `bra` and the .branchtargets operand of `brx.idx`.
    """

    name: str
    offset: int = 0
    generic: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """Address operand: `[%rd1+8]`, `[param_0]`, `[s+4]`, `[16]`: base is a Register, a Symbol or an
    Immediate. `offset` is that of a register; the others have theirs in the base."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Vector operand, `{%r1, %r2}`; an element may be `_` (None: value not wanted)."""

    elements: tuple[Register | Immediate | None, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """Negated predicate operand, `!%p1`."""

    register: Register


@dataclass(frozen=True, slots=True)
class PredicatePair:
    """Predicate pair, `%p1|%p2`: the two results of setp, or value|predicate of shfl. None stands for `_`."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True, slots=True)
class Call:
    """The operands of `call`: `call (ret), func, (a, b), prototype;`. `function` is a Symbol, or a Register
    if indirect.

    `returns` names .param variables (or registers, in the old register ABI). `targets` are the functions of a
    .calltargets list, empty where there is none: then an indirect call may reach any function whose address
    is taken.
    """

    returns: tuple[str, ...]
    function: Symbol | Register
    arguments: tuple[Register | Immediate | Symbol, ...]
    targets: tuple[str, ...] = ()


Operand = Register | Special | Immediate | Symbol | Address | Vector | Negated | PredicatePair | Call


@dataclass(frozen=True, slots=True)
class Label:
    """Label statement, `$L__BB0_2:`."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """Branch target list, `label: .branchtargets $L1, $L2;`, for brx.idx."""

    name: str
    labels: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction.

    Parameters
    ----------
    opcode : base opcode: "add", "ld", "setp", "mma", "bar".
    modifiers : the dot-separated rest, in order, without dots: `mad.lo.s32` gives ("lo", "s32");
        `cvt.rn.f32.s32` gives ("rn", "f32", "s32"); `shared::cta` keeps its colons.
    operands : in source order; a bare `_` destination is None.
    guard : (register name, negated) of `@p` / `@!p`, or None.
    line : 1-based line in the file.
    text : the statement as written, whitespace folded, for messages.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand | None, ...]
    guard: tuple[str, bool] | None
    line: int
    text: str


Statement = Label | BranchTargets | Instruction


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter declaration.

    Parameters
    ----------
    name : as declared; a register range `%r<5>` is expanded by the parser into `Function.registers`, not a
        Variable.
    space : "global", "const", "shared", "local" or "param"; "reg" for a .func parameter passed in a register
        of that name.
    type : element type without dot: "u8", "b32", "f64", ...; "texref"/"samplerref"/"surfref" for the opaque
        ones.
    size : bytes of the whole variable; 0 for an unsized extern array.
    align : bytes.
    init : initial bytes (zero-filled to size) or None if not initialised.
    relocations : (byte offset, symbol, bytes) of addresses inside the initial value.
    external : `.extern`.
    """

    name: str
    space: str
    type: str
    size: int
    align: int
    line: int
    init: bytes | None = None
    relocations: tuple[tuple[int, Symbol, int], ...] = ()
    external: bool = False


@dataclass
class Function:
    """Function: a `.entry` (entry=True) or a `.func`.

    Parameters
    ----------
    registers : name -> type without dot ("pred", "b16", "b32", "f32", "s64", "b128", ...). Declared in nested
        { } scopes too: the parser renames registers, labels and variables of an inner scope that would clash,
        so names are unique per function.
    variables : function-scope .shared/.local/.param variables (.param ones are call buffers, again uniquely
        named).
    body : statements in order; None for a declaration without body (an external function).
    directives : performance directives such as {"maxntid": (256, 1, 1), "reqntid": ..., "minnctapersm":
        (2,)}.
    """

    name: str
    entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    line: int
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Statement] | None = None
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The instructions of the body in order; a declaration has none."""
        return (statement for statement in self.body or () if isinstance(statement, Instruction))


@dataclass
class Module:
    """A parsed PTX file.

    Parameters
    ----------
    address_size : bits of an address; 0 if the file has no .address_size, as before PTX 2.3.
    """

    path: str
    version: str
    target: str
    address_size: int
    variables: dict[str, Variable]
    functions: dict[str, Function]
