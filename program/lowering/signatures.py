"""Signatures of functions: whether a call passes and takes what a function declares.

PTX ISA manual, "call": an argument has the type and the size of the formal parameter; untyped bits go with
any type. A structure is an array of bytes.
"""

from __future__ import annotations

from warpbank.program.lowering.operand_types import holds
from warpbank.program.lowering.types import TYPES
from warpbank.program.ptx.ast import Call, Function, Immediate, Register, Symbol, Variable


def misfit(caller: Function, call: Call, callee: Function) -> str:
    """Why a call does not fit a function; "" where it does.

    Parameters
    ----------
    caller : declares what is passed and what takes the results.
    call : its operands.
    callee : one of the functions that it may reach.
    """
    name = callee.name
    if callee.entry:
        return f"{name!r} is a kernel: a call reaches a .func, so write one with its body"
    if len(call.arguments) != len(callee.parameters) or len(call.returns) != len(callee.returns):
        return f"{name!r} takes {len(callee.parameters)} arguments and gives {len(callee.returns)} results"
    for argument, formal in zip(call.arguments, callee.parameters, strict=True):
        if not _passes(caller, argument, formal):
            shown = argument.value if isinstance(argument, Immediate) else repr(argument.name)
            return f"argument {shown} does not fit parameter {_declared(formal)} of {name!r}"
    for result, formal in zip(call.returns, callee.returns, strict=True):
        given = Register(result) if result in caller.registers else Symbol(result)
        if result != "_" and not _passes(caller, given, formal):
            return f"{result!r} does not fit result {_declared(formal)} of {name!r}"
    return ""


def _passes(caller: Function, given: Register | Immediate | Symbol, formal: Variable) -> bool:
    """Test of an argument or of a place for a result."""
    ptx = TYPES.get(formal.type)
    if isinstance(given, Symbol):
        variables = (*caller.variables, *caller.parameters, *caller.returns)
        found = next((v for v in variables if v.name == given.name and v.space == "param"), None)
        if found is None or found.size != formal.size:
            return False
        declared = TYPES.get(found.type)
        if ptx is None or declared is None:  # a texture and the like
            return found.type == formal.type
        return holds(declared, ptx)
    if ptx is None or formal.size != ptx.bits // 8:
        return False
    if isinstance(given, Immediate):
        return True
    held = TYPES[caller.registers[given.name]]
    return held.bits == ptx.bits and holds(held, ptx)


def _declared(formal: Variable) -> str:
    """A parameter as PTX declares it."""
    ptx = TYPES.get(formal.type)
    count = formal.size * 8 // ptx.bits if ptx is not None else 1
    return f"'.{formal.type} {formal.name}{f'[{count}]' if count > 1 else ''}'"
