"""Machine code: instructions, blocks, kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from warpbank.arch.uop import RZ
from warpbank.program.isa.modifiers import BoolOp, Cmp, DType, Rnd, Space
from warpbank.program.isa.opcodes import Op
from warpbank.program.isa.operands import PT, VIRTUAL, VIRTUAL_PREDICATE, Pred, Reg, Source


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
        return (
            []
            if self.dst is None or self.dst.index == RZ
            else [self.dst.index + i for i in range(self.dst.width)]
        )

    def predicates_read(self) -> list[int]:
        """Distinct predicates read, guard included, PT left out."""
        used = list(self.psrc) + ([self.guard] if self.guard else [])
        return list(dict.fromkeys(p.index for p in used if p.index != PT))

    def predicates_written(self) -> list[int]:
        """Predicates written, PT left out."""
        return [p for p in self.pdst if p != PT]

    def copy(self, **changes: object) -> Instr:
        """Copy whose operand lists can be changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(slots=True)
class Block:
    """Straight-line code. Only the last instruction may be BRA or EXIT; a guarded one, or none, falls
    through.

    Parameters
    ----------
    label : its name.
    instrs : its instructions.
    successors : numbers of the blocks that follow, where no branch says so (`warpbank.program.executed`); the
        number of all blocks is the virtual exit. None: the last instruction tells.
    """

    label: str
    instrs: list[Instr] = field(default_factory=list)
    successors: tuple[int, ...] | None = None


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
    groups : before allocation, every register group: base index -> width (1, 2, 4). A register belongs to one
        group.
    predicates : before allocation, number of virtual predicates; after it, of P0..P6 used.
    registers : after allocation, registers per thread (highest used + 1); 0 before.
    shared_bytes : static shared memory per CTA. Dynamic shared memory starts at `dynamic_shared_base`.
    local_bytes : local memory per thread (stack frames, then spills).
    constants : image of the constant bank from byte 0 (launch dimensions and parameters zero).
    parameters : in order.
    globals : module-scope variables in global memory. Their addresses are known only at load time: code
        refers to one by reading the 8-byte constant-bank slot `global_slots[name]`, which the loader fills.
    texture_slots : textures that the code reads: name -> the 8-byte constant-bank slot into which the loader
        writes the address of the first texel.
    constant_relocations : (constant-bank offset, global variable, addend) of addresses that the loader writes
        there.
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
    texture_slots: dict[str, int] = field(default_factory=dict)
    constant_relocations: list[tuple[int, str, int]] = field(default_factory=list)
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    required_block: tuple[int, int, int] | None = None
    ptx_path: str = ""
    next_register: int = VIRTUAL

    @property
    def allocated(self) -> bool:
        """Whether the code is over physical registers."""
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
    """A module-scope .global variable: initial bytes (zeros if not initialised) and relocations (byte offset,
    symbol, addend)."""

    size: int
    align: int
    init: bytes
    relocations: tuple[tuple[int, str, int], ...] = ()
