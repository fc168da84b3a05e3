"""Address width check: the machine has 64-bit addresses, and a file may state its width or leave it open."""

from __future__ import annotations

from warpbank.program.errors import PtxError
from warpbank.program.lowering.types import TYPES
from warpbank.program.ptx.ast import Address, Function, Instruction, Module, Register

#: Spaces whose addresses have 32 bits on the machine anyway.
_NARROW = ("shared", "local", "const", "param")
_INSTEAD = "compile for 64-bit addresses (-m64, which prints .address_size 64)"


def check_addresses(module: Module) -> None:
    """Refuses 32-bit addresses: those that .address_size 32 states, or, in a file without .address_size,
    those that a 32-bit base register shows where global or generic memory is addressed.

    Raises
    ------
    PtxError : the file has 32-bit addresses.
    """
    if module.address_size == 32:
        raise PtxError(module.path, 1, f"32-bit addresses (.address_size 32) are not supported: {_INSTEAD}")
    if module.address_size:
        return
    for function in module.functions.values():
        for statement in function.instructions:
            if _is_narrow(function, statement):
                raise PtxError(
                    module.path,
                    statement.line,
                    f"{statement.text!r} has a 32-bit address, and 32-bit addresses are not supported: "
                    + _INSTEAD,
                )


def _is_narrow(function: Function, instruction: Instruction) -> bool:
    """Whether an instruction has a 32-bit base register for an address of global or generic memory."""
    if any(m.partition("::")[0] in _NARROW for m in instruction.modifiers):
        return False
    bases = [o.base for o in instruction.operands if isinstance(o, Address)]
    return any(isinstance(b, Register) and TYPES[function.registers[b.name]].bits < 64 for b in bases)
