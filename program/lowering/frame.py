"""Function frame, one inlined instance of a function: its registers, labels, local variables and parameter
buffers."""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.program.errors import PtxError
from warpbank.program.isa import Kernel, Reg
from warpbank.program.lowering.layout import OPAQUE, addressed, align_up, vectors_of
from warpbank.program.lowering.types import TYPES
from warpbank.program.ptx.ast import Function, Instruction, Variable


@dataclass(slots=True)
class Buffer:
    """A .param variable of a device function or of a call.

    Parameters
    ----------
    size, align : bytes.
    words : the registers that hold it; empty if it lives in local memory.
    local : its address in local memory, if its address is taken.
    """

    size: int
    align: int
    words: list[Reg]
    local: int | None = None


class Frame:
    """Frame of one function instance, with its names.

    Parameters
    ----------
    kernel : where registers come from.
    function : whose body is being lowered.
    path : of the file, for messages.
    prefix : put before its labels; empty for the entry.
    base : first free byte of local memory.
    caller : the frame it is inlined into.
    """

    def __init__(
        self, kernel: Kernel, function: Function, path: str, prefix: str, base: int, caller: Frame | None
    ) -> None:
        self.kernel = kernel
        self.function = function
        self.path = path
        self.prefix = prefix
        self.caller = caller
        self.registers: dict[str, Reg] = {}
        self.predicates: dict[str, int] = {}
        self.locals: dict[str, int] = {}
        self.buffers: dict[str, Buffer] = {}
        self.carry = -1
        self.end = base
        self.exit_label = f"{prefix}return"
        self.addressed = addressed(function)
        for variable in function.variables:
            if variable.space == "local":
                self.locals[variable.name] = self.allocate(variable)
        self._group_vectors()

    def allocate(self, variable: Variable) -> int:
        """Local memory for a variable."""
        offset = align_up(self.end, variable.align)
        self.end = offset + variable.size
        self.kernel.local_bytes = max(self.kernel.local_bytes, align_up(self.end, 16))
        return offset

    def _group_vectors(self) -> None:
        """Gives registers that one instruction takes together neighbouring places, so that vectors need no
        moves.

        A register joins the first group that wants it: tensor accumulators, then four-word and two-word
        memory vectors.
        """
        wanted: list[tuple[int, tuple[str, ...]]] = []
        for instruction, names in vectors_of(self.function):
            if instruction.opcode == "wmma":
                wide = "f32" in instruction.modifiers or "s32" in instruction.modifiers
                product = "mma" in instruction.modifiers
                if wide and len(names) == 8 and (not product or self._is_accumulator(instruction, names)):
                    wanted += [(0, names[i : i + 2]) for i in range(0, 8, 2)]
            elif instruction.opcode == "mma":
                wide = "f32" in instruction.modifiers or "s32" in instruction.modifiers
                if wide and self._is_accumulator(instruction, names):
                    wanted += [(0, names[i : i + 2]) for i in range(0, len(names), 2)]
                elif "m8n8k4" in instruction.modifiers and len(names) == 2:
                    wanted.append((1, names))
            elif instruction.opcode in ("ld", "st", "ldu"):
                wanted.append((1, names))
        for _, names in sorted(wanted, key=lambda item: item[0]):
            words = [TYPES[self.function.registers[n]].words for n in names]
            bits = {TYPES[self.function.registers[n]].bits for n in names}
            total = sum(words)
            if (
                total not in (2, 4)
                or len(bits) != 1
                or min(bits) < 32
                or any(n in self.registers for n in names)
            ):
                continue
            group = self.kernel.new_register(total)
            for i, name in enumerate(names):
                self.registers[name] = Reg(group.index + i * words[0], words[0])

    @staticmethod
    def _is_accumulator(instruction: Instruction, names: tuple[str, ...]) -> bool:
        """Whether a vector is the first or the last operand of an mma."""
        ends = (instruction.operands[0], instruction.operands[-1])
        return any(names == tuple(getattr(e, "name", "") for e in getattr(v, "elements", ())) for v in ends)

    def register(self, name: str) -> Reg:
        """The register group of a PTX register."""
        found = self.registers.get(name)
        if found is None:
            found = self.kernel.new_register(TYPES[self.function.registers[name]].words)
            self.registers[name] = found
        return found

    def predicate(self, name: str) -> int:
        """The virtual predicate of a PTX .pred register."""
        found = self.predicates.get(name)
        if found is None:
            found = self.kernel.new_predicate()
            self.predicates[name] = found
        return found

    def carry_flag(self) -> int:
        """The predicate that stands for CC.CF."""
        if self.carry < 0:
            self.carry = self.kernel.new_predicate()
        return self.carry

    def label(self, name: str) -> str:
        """The machine label of a PTX label."""
        return self.prefix + name

    def buffer(self, name: str) -> Buffer | None:
        """The buffer of a .param variable declared in this function; None if there is no such variable."""
        found = self.buffers.get(name)
        if found is None:
            for variable in (*self.function.variables, *self.function.parameters, *self.function.returns):
                if variable.name == name and variable.space == "param":
                    found = self.make_buffer(variable)
                    self.buffers[name] = found
                    break
        return found

    def make_buffer(self, variable: Variable) -> Buffer:
        """Room for a .param variable: registers, or local memory if its address is taken."""
        if variable.type in OPAQUE:
            what = f"parameter {variable.name!r} of a function is a .{variable.type}, which is not supported"
            raise PtxError(self.path, variable.line, f"{what}: {OPAQUE[variable.type]}")
        if variable.name in self.addressed:
            return Buffer(variable.size, variable.align, [], self.allocate(variable))
        words: list[Reg] = []
        while 4 * len(words) < variable.size:
            if variable.align >= 8 and variable.size - 4 * len(words) >= 8:
                pair = self.kernel.new_register(2)
                words += [pair.word(0), pair.word(1)]
            else:
                words.append(self.kernel.new_register())
        return Buffer(variable.size, variable.align, words)

    def called(self) -> list[str]:
        """Names of this function and of those it is inlined into."""
        names: list[str] = []
        frame: Frame | None = self
        while frame is not None:
            names.append(frame.function.name)
            frame = frame.caller
        return names
