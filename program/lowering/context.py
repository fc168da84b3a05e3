"""Lowering context: emission under the current guard, operands as machine sources, blocks and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from warpbank.program.isa import (
    CONST_DYNAMIC_SHARED,
    CONST_NCTAID,
    CONST_NTID,
    Block,
    Const,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Source,
    Sreg,
)
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.frame import Frame
from warpbank.program.lowering.layout import Layout
from warpbank.program.lowering.operand_types import NAMED, holds
from warpbank.program.lowering.pointers import function_address
from warpbank.program.lowering.types import TYPES, PtxType, double_from_bits, float_bits, single_to_double
from warpbank.program.ptx.ast import Immediate, Negated, Operand, Register, Special, Symbol, Vector

MASK32 = 0xFFFFFFFF
#: Inlining multiplies code; beyond this a kernel is refused.
MAX_INSTRUCTIONS = 400_000
#: Ops that must stay under their guard even if they write a temporary only.
_EFFECTS = frozenset(
    {
        Op.LD,
        Op.ST,
        Op.ATOM,
        Op.SHFL,
        Op.VOTE,
        Op.MATCH,
        Op.ACTIVEMASK,
        Op.REDUX,
        Op.MMA,
        Op.BRA,
        Op.EXIT,
        Op.BAR,
        Op.MEMBAR,
        Op.TRAP,
    }
)

#: Opcodes whose sources may be registers that are wider than the type, of which the low bits count.
_NARROWING = ("st", "cvt")
_ACCESSES = ("ld", "ldu", "st")
#: Instructions whose types are those of elements, several of which a register holds.
_FRAGMENTS = ("mma", "wmma")

_AXES = {"x": 0, "y": 1, "z": 2}
_SREGS: dict[str, Sreg] = {
    "%laneid": Sreg.LANEID,
    "%warpid": Sreg.WARPID,
    "%nwarpid": Sreg.NWARPID,
    "%smid": Sreg.SMID,
    "%nsmid": Sreg.NSMID,
    "%gridid": Sreg.GRIDID,
    "%clock": Sreg.CLOCK,
    "%clock_hi": Sreg.CLOCK_HI,
    "%clock64": Sreg.CLOCK,
    "%globaltimer": Sreg.GLOBALTIMER,
    "%globaltimer_lo": Sreg.GLOBALTIMER,
    "%globaltimer_hi": Sreg.GLOBALTIMER_HI,
    "%lanemask_eq": Sreg.LANEMASK_EQ,
    "%lanemask_le": Sreg.LANEMASK_LE,
    "%lanemask_lt": Sreg.LANEMASK_LT,
    "%lanemask_ge": Sreg.LANEMASK_GE,
    "%lanemask_gt": Sreg.LANEMASK_GT,
}
for _axis, _number in _AXES.items():
    _SREGS[f"%tid.{_axis}"] = Sreg(Sreg.TID_X + _number)
    _SREGS[f"%ctaid.{_axis}"] = Sreg(Sreg.CTAID_X + _number)
#: Special registers whose reads are not interchangeable.
_TIMERS = (Sreg.CLOCK, Sreg.CLOCK_HI, Sreg.GLOBALTIMER, Sreg.GLOBALTIMER_HI)
#: 64-bit special registers: the register of the high word, or None if it is zero.
_WIDE: dict[str, Sreg | None] = {
    "%clock64": Sreg.CLOCK_HI,
    "%globaltimer": Sreg.GLOBALTIMER_HI,
    "%gridid": None,
}
#: Those of `_WIDE` whose low word mov takes.
_EITHER = ("%gridid",)
#: Opcodes of which a special register may be an operand.
_OF_SPECIALS = ("mov", "cvt")
#: Without clusters every CTA is a cluster of its own.
_CLUSTER = {"%clusterid": "%ctaid", "%nclusterid": "%nctaid"}


def word(source: Source, index: int) -> Source:
    """The index-th 32-bit word of a source."""
    if isinstance(source, Reg):
        return source.word(index)
    if isinstance(source, Imm):
        return Imm(source.value >> 32 * index & MASK32)
    return Const(source.offset + 4 * index)


class Context:
    """Lowering context of one kernel, which is lowered one statement at a time.

    Parameters
    ----------
    layout : the kernel's variables; `layout.kernel` receives the code.

    Attributes
    ----------
    frame : the function instance whose statements are lowered now.
    guard : predicate of the current statement.
    line : its line.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.kernel: Kernel = layout.kernel
        self.path = layout.module.path
        self.frame = Frame(self.kernel, layout.entry, self.path, "", 0, None)
        self.guard: Pred | None = None
        self.line = 0
        self.form: Form
        self.block = Block("entry")
        self.kernel.blocks.append(self.block)
        self._emitted = 0
        self._labels = 0
        self._temporaries: set[int] = set()
        self._temporary_predicates: set[int] = set()
        self._hazards: frozenset[str] = frozenset()
        self._moves: list[tuple[Reg, Reg]] = []
        self._predicate_moves: list[tuple[int, int]] = []

    # -- statements and blocks

    def begin(self, form: Form, guard: Pred | None, hazards: frozenset[str]) -> None:
        """Starts a statement. Destinations named in `hazards` are its sources too, and are written at its end
        only."""
        self.form = form
        self.line = form.instruction.line
        self.guard = guard
        self._hazards = hazards
        self._temporaries.clear()
        self._temporary_predicates.clear()

    def delay(self, hazards: Iterable[str]) -> None:
        """Delay of destinations: those with these names are written at the end of the statement."""
        self._hazards = frozenset(hazards)

    def finish(self) -> None:
        """End of a statement: moves what had to wait into its destination."""
        for real, temporary in self._moves:
            for i in range(real.width):
                self.emit(Op.MOV, real.word(i), temporary.word(i))
        for real_predicate, held in self._predicate_moves:
            self.emit(Op.PLOP, pdst=(real_predicate,), psrc=(Pred(held),), aux=0xF0)
        self._moves.clear()
        self._predicate_moves.clear()
        self.guard = None

    def start_block(self, label: str) -> None:
        """Begins a block; the one before falls through into it."""
        self.block = Block(label)
        self.kernel.blocks.append(self.block)

    def fresh_label(self, what: str = "") -> str:
        """A label that no PTX label can clash with."""
        self._labels += 1
        return f"{self.frame.prefix}.{what or 'L'}{self._labels}"

    def branch(self, target: str, guard: Pred | None = None) -> None:
        """Emits a BRA and begins the block behind it."""
        self._append(Instr(Op.BRA, guard=guard, target=target, line=self.line))
        self.start_block(self.fresh_label())

    def _append(self, instr: Instr) -> None:
        self._emitted += 1
        if self._emitted > MAX_INSTRUCTIONS:
            self.form.refuse(
                f"the kernel has more than {MAX_INSTRUCTIONS} instructions once its calls are inlined"
            )
        self.block.instrs.append(instr)

    def emit(self, op: Op, dst: Reg | None = None, *srcs: Source, **fields: Any) -> None:
        """Appends an instruction under the statement's guard.

        A pure instruction that writes temporaries only runs unguarded: its result is not looked at where the
        guard is false, and a guarded write would seem to keep the old value alive.
        """
        instr = Instr(op, dst=dst, srcs=srcs, line=self.line, **fields)
        if self.guard is not None:
            private = (dst is None or dst.index in self._temporaries) and all(
                p in self._temporary_predicates for p in instr.pdst
            )
            if op in _EFFECTS or not private:
                instr.guard = self.guard
        self._append(instr)

    def temp(self, width: int = 1) -> Reg:
        """A register that lives within the statement."""
        reg = self.kernel.new_register(width)
        self._temporaries.update(range(reg.index, reg.index + width))
        return reg

    def temp_predicate(self) -> int:
        """A predicate that lives within the statement."""
        index = self.kernel.new_predicate()
        self._temporary_predicates.add(index)
        return index

    # -- operands

    def refuse(self, why: str) -> None:
        """Stops at the current instruction."""
        self.form.refuse(why)

    def dst(
        self,
        operand: Operand | None,
        width: int | None = None,
        *,
        wider: bool = False,
        bits: int | None = None,
    ) -> Reg:
        """Destination of a result. `_` gives a temporary.

        Parameters
        ----------
        operand : a PTX register.
        width : words of the result.
        wider : the register may have more words than the result, which the handler extends (PTX: ld and cvt).
        bits : of the result, at least; None: of the first type that the instruction names.

        Raises
        ------
        PtxError : the operand is no register, or one of another width.
        """
        if operand is None:
            return self.temp(width or 1)
        if not isinstance(operand, Register):
            self.form.refuse("its destination is not a register")
        if self.register_type(operand).kind == "pred":
            self.form.refuse(f"its destination {operand.name} is a predicate")
        reg = self.frame.register(operand.name)
        named = self.form.first_type
        if width is not None:
            least = bits or min(32 * width, named.bits if named else 32 * width)
            if reg.width < width or self.register_type(operand).bits < least:
                self.form.refuse(f"its destination {operand.name} is narrower than the result")
        most = self._result_bits(width, named) if width is not None else None
        if most is not None and self.register_type(operand).bits > most and not wider:
            self.form.refuse(
                f"its destination {operand.name} has {self.register_type(operand).bits} bits, its result at "
                f"most {most}: only ld and cvt extend, so cvt the result behind it"
            )
        carries = wider and named is not None and named.is_float and width is not None and reg.width > width
        if width is not None and named is not None and not carries:  # `converted` says what may carry a float
            self._check_kind(operand, named, "its destination")
        if operand.name not in self._hazards:
            return reg
        temporary = self.temp(reg.width)
        self._moves.append((reg, temporary))
        return temporary

    def converted(self, operand: Operand | None, ptx: PtxType) -> Reg:
        """Destination of a cvt to a float: the low words of the register; above the float it gets zeros."""
        dst = self.dst(operand, ptx.words, wider=True, bits=ptx.bits)
        if isinstance(operand, Register) and self.register_type(operand).bits > ptx.bits:
            self._check_carrier(operand, ptx, "its destination")
        for i in range(ptx.words, dst.width):
            self.emit(Op.MOV, dst.word(i), Imm(0))
        return Reg(dst.index, ptx.words)

    def _result_bits(self, width: int, named: PtxType | None) -> int:
        """Bits that the result of so many words may have at most: fewer than a word where the instruction's
        type has, which is then that of the result."""
        small = named is not None and named.bits < 32 and self.form.opcode in NAMED
        if named is None or not small or "wide" in self.form.instruction.modifiers:
            return 32 * width
        return named.bits

    def _check_kind(self, register: Register, ptx: PtxType, what: str) -> None:
        """Refuses a register that is declared for numbers of another kind."""
        declared = self.register_type(register)
        if holds(declared, ptx) or self.form.opcode in _FRAGMENTS or self._in_free_vector(ptx):
            return
        self.form.refuse(
            f"{what} {register.name} is a .{declared.name} where a .{ptx.name} is expected: take a "
            f".b{declared.bits} register, or mov.b{declared.bits} it into one of the type"
        )

    def _in_free_vector(self, ptx: PtxType) -> bool:
        """Test of a vector that is loaded or stored: its elements may be of any kind. NVIDIA's assembler lets
        them where one is untyped, and integers where the type is a float."""
        if self.form.opcode not in _ACCESSES:
            return False
        vectors = [operand for operand in self.form.operands if isinstance(operand, Vector)]
        elements = [e for vector in vectors for e in vector.elements if isinstance(e, Register)]
        return any(self.register_type(e).kind == "b" for e in elements) or bool(vectors and ptx.is_float)

    def _check_carrier(self, register: Register, ptx: PtxType, what: str) -> None:
        """Refuses a register that is wider than a type and that PTX does not let hold a value of it."""
        declared = self.register_type(register)
        if ptx.name.startswith("bf16") or (ptx.is_float and declared.kind != "b"):
            instead = "" if ptx.name.startswith("bf16") else f", or a .b{declared.bits}"
            self.form.refuse(
                f"{what} {register.name} is a .{declared.name} where a .{ptx.name} is expected: "
                f"take a .b{max(16, ptx.bits)} register{instead}"
            )

    def pdst(self, operand: Operand | None) -> int:
        """Destination predicate of a result."""
        if operand is None:
            return self.temp_predicate()
        if not isinstance(operand, Register) or self.register_type(operand).kind != "pred":
            self.form.refuse("its destination is not a predicate register")
        index = self.frame.predicate(operand.name)
        if operand.name not in self._hazards:
            return index
        temporary = self.temp_predicate()
        self._predicate_moves.append((index, temporary))
        return temporary

    def register_type(self, register: Register) -> PtxType:
        """The declared type of a register."""
        return TYPES[self.frame.function.registers[register.name]]

    def pred(self, operand: Operand | None) -> Pred:
        """A predicate source: a register, a negated one, or a constant."""
        if isinstance(operand, Negated):
            return Pred(self.frame.predicate(operand.register.name), True)
        if isinstance(operand, Register) and self.register_type(operand).kind == "pred":
            return Pred(self.frame.predicate(operand.name))
        if isinstance(operand, Immediate):
            return Pred(7, operand.value == 0)
        self.form.refuse("a predicate operand is expected")

    def value(self, operand: Operand | None, ptx: PtxType) -> Source:
        """A source of the width of `ptx`: one word, or for 64 bits two. Bits above a sub-word value are
        unspecified."""
        width = ptx.words
        if isinstance(operand, Register):
            declared = self.register_type(operand)
            if declared.kind == "pred":
                self.form.refuse(f"operand {operand.name} is a predicate where a .{ptx.name} is expected")
            reg = self.frame.register(operand.name)
            if declared.bits < ptx.bits:
                self.form.refuse(f"operand {operand.name} is narrower than .{ptx.name}")
            if declared.bits > ptx.bits:
                if self.form.opcode not in _NARROWING:
                    self.form.refuse(
                        f"operand {operand.name} has {declared.bits} bits where a .{ptx.name} is expected: "
                        "only st and cvt truncate, so cvt it before"
                    )
                self._check_carrier(operand, ptx, "operand")
            self._check_kind(operand, ptx, "operand")
            return reg if reg.width == width else Reg(reg.index, width)
        if isinstance(operand, Immediate):
            return Imm(self.immediate(operand, ptx), width)
        if isinstance(operand, Special):
            return self._special_operand(operand.name, width)
        if isinstance(operand, Symbol):
            return self.address_of(operand, width)
        self.form.refuse("one of its operands is of a kind it does not take")

    def immediate(self, operand: Immediate, ptx: PtxType) -> int:
        """The bits of a constant in a type."""
        value = operand.value
        bits = f"a .{ptx.name} takes a constant"
        if ptx.kind in "su" and operand.kind != "int" and self._in_free_vector(ptx):
            ptx = TYPES[f"b{ptx.bits}"]
        if ptx.is_float and operand.kind == "int" and not self._in_free_vector(ptx):
            self.form.refuse(f"{bits} with a point, or 0f or 0d and its bits")
        if ptx.kind in "su" and operand.kind != "int":
            self.form.refuse(f"{bits} without a point")
        if ptx.kind == "b" and operand.kind != "int" and ptx.bits != int(operand.kind[1:]):
            instead = {32: " or 0f and its bits", 64: " or of doubles"}.get(ptx.bits, "")
            self.form.refuse(f"{bits} without a point{instead}")
        if operand.kind == "f64" and ptx.bits in (16, 32):
            value = float_bits(double_from_bits(value), ptx.bits)
        elif operand.kind == "f32" and ptx.name == "f64":
            value = single_to_double(value)
        return value & (1 << ptx.bits) - 1

    def extended(self, operand: Operand | None, ptx: PtxType) -> Source:
        """A sub-word integer extended to 32 bits as its type says; wider ones as they are."""
        return self.extend(self.value(operand, ptx), ptx)

    def extend(self, source: Source, ptx: PtxType, into: Reg | None = None) -> Source:
        """Extends a sub-word value; `into` names the destination, otherwise a temporary is taken."""
        if ptx.bits >= 32:
            return source
        if isinstance(source, Imm) and into is None:
            value = source.value & (1 << ptx.bits) - 1
            if ptx.signed and value >> ptx.bits - 1:
                value |= MASK32 ^ (1 << ptx.bits) - 1
            return Imm(value)
        result = into or self.temp()
        if ptx.signed:
            self.emit(Op.BFE, result, source, Imm(0), Imm(ptx.bits), dtype=ptx.compute)
        else:
            self.emit(Op.AND, result, source, Imm((1 << ptx.bits) - 1))
        return result

    def move(self, dst: Reg, source: Source) -> None:
        """Copies word by word; a destination wider than its source gets zeros above."""
        for i in range(dst.width):
            self.emit(Op.MOV, dst.word(i), word(source, i) if i < source.width else Imm(0))

    def pair(self, low: Source, high: Source) -> Source:
        """A 64-bit source made of two words."""
        made = self.temp(2)
        self.emit(Op.MOV, made.word(0), low)
        self.emit(Op.MOV, made.word(1), high)
        return made

    # -- symbols and special registers

    def address_of(self, symbol: Symbol, width: int) -> Source:
        """The address of a variable in its own space."""
        name, offset = symbol.name, symbol.offset
        buffer = None if name in self.frame.locals else self.frame.buffer(name) if self.frame.caller else None
        if name in self.frame.locals or (buffer and buffer.local is not None):
            base = self.frame.locals[name] if buffer is None else buffer.local or 0
            return Imm(base + offset & MASK32, width)
        found = self.layout.find(self.frame.function, name)
        if found is not None:
            return Imm(found[1] + offset & MASK32, width)
        if name in self.layout.module.functions:
            if width != 2:
                self.form.refuse(f"the address of function {name!r} has 64 bits")
            if offset:
                self.form.refuse(f"function {name!r} has one address alone: leave the offset out")
            return Imm(function_address(self.layout.module, name), 2)
        variable = self.layout.module.variables.get(name)
        if variable is not None and variable.type == "texref":
            if self.form.opcode != "mov":
                self.form.refuse(f"{name!r} is a .texref, which has no content: read it with tex")
            if name not in self.layout.textures.textures:
                self.form.refuse(unbound(name))
            return Imm(self.layout.textures.handle(name), width)
        if variable is None or variable.space != "global":
            self.form.refuse(f"{name!r} has no address here")
        slot = Const(self.layout.global_slot(name, self.line), 2)
        if width != 2:
            self.form.refuse(f"the address of .global variable {name!r} has 64 bits")
        if not offset:
            return slot
        made = self.temp(2)
        carry = self.temp_predicate()
        self.emit(Op.IADD, made.word(0), Const(slot.offset), Imm(offset & MASK32), pdst=(carry,))
        self.emit(
            Op.IADDC, made.word(1), Const(slot.offset + 4), Imm(offset >> 32 & MASK32), psrc=(Pred(carry),)
        )
        return made

    def _special_operand(self, name: str, width: int) -> Source:
        """A special register that the instruction names."""
        if self.form.opcode not in _OF_SPECIALS:
            self.form.refuse(f"{name} is an operand of mov and cvt alone: mov it into a register before")
        if width == 2 and name not in _WIDE:
            self.form.refuse(f"special register {name} has 32 bits")
        if width == 1 and self.form.opcode == "mov" and name in _WIDE and name not in _EITHER:
            self.form.refuse(f"special register {name} has 64 bits: cvt truncates it")
        return self.special(name, width)

    def special(self, name: str, width: int) -> Source:
        """A special register: a constant-bank word, a constant, or S2R into a temporary."""
        base, _, axis = name.partition(".")
        low: Source
        high: Source = Imm(0)
        if base in _CLUSTER:
            base = _CLUSTER[base]
            name = f"{base}.{axis}"
        if base in ("%ntid", "%nctaid") and axis in _AXES:
            low = Const((CONST_NTID if base == "%ntid" else CONST_NCTAID) + 4 * _AXES[axis])
        elif name in _SREGS:
            low = self._read(_SREGS[name])
            upper = _WIDE.get(name)
            if width == 2 and upper is not None:
                high = self._read(upper)
        elif name in ("%dynamic_smem_size", "%total_smem_size"):
            low = Const(CONST_DYNAMIC_SHARED)
            if name == "%total_smem_size":
                low = self.temp()
                self.emit(Op.IADD, low, Const(CONST_DYNAMIC_SHARED), Imm(self.kernel.dynamic_shared_base))
        elif axis == "w" or base in ("%cluster_ctaid", "%cluster_ctarank") or base.startswith("%envreg"):
            low = Imm(1 if base in ("%ntid", "%nctaid") else 0)
        elif base in ("%cluster_nctaid", "%cluster_nctarank"):
            low = Imm(1)
        else:
            self.form.refuse(
                f"special register {name} is not supported; thread, CTA and lane indices, lane masks and "
                "clocks are"
            )
        return low if width == 1 else self.pair(low, high)

    def _read(self, sreg: Sreg) -> Reg:
        made = self.temp()
        self.emit(Op.S2R, made, aux=int(sreg), volatile=sreg in _TIMERS)
        return made


def unbound(name: str) -> str:
    """Advice about a texture variable that the job binds to no buffer."""
    return f"no buffer is bound to the texture {name!r}: write [textures.{name}] in the launch description"
