"""Function pointers: the address of a function, and which functions a call through a register may reach."""

from __future__ import annotations

from warpbank.program.isa import CODE_WINDOW
from warpbank.program.lowering.signatures import misfit
from warpbank.program.ptx.ast import Call, Function, Module, Register, Symbol

#: Bytes from one function's address to the next; no memory lies there, so a load through such a pointer is
#: out of bounds.
_STEP = 16


def function_address(module: Module, name: str) -> int:
    """Address of a function, a number that only it has in the module: its place in the file, in a window of
    its own; never 0."""
    return CODE_WINDOW + _STEP * (1 + list(module.functions).index(name))


def address_taken(module: Module) -> list[str]:
    """Functions whose address occurs as an operand or in the initial value of a variable, in the order of the
    file."""
    variables = [*module.variables.values(), *(v for f in module.functions.values() for v in f.variables)]
    names = {symbol.name for variable in variables for _, symbol, _ in variable.relocations}
    for function in module.functions.values():
        for instruction in function.instructions:
            names.update(operand.name for operand in instruction.operands if isinstance(operand, Symbol))
    return [name for name in module.functions if name in names]


def candidates(module: Module, caller: Function, call: Call) -> list[Function]:
    """Candidates of a call through a register: those of its .calltargets list, or else every function whose
    address is taken; of these the ones that have a body and take and give what the call passes."""
    named = (module.functions[name] for name in call.targets or address_taken(module))
    return [f for f in named if f.body is not None and not misfit(caller, call, f)]


def callees(module: Module, caller: Function, call: Call) -> list[Function]:
    """Every function with a body that a call may reach."""
    if isinstance(call.function, Register):
        return candidates(module, caller, call)
    function = module.functions.get(call.function.name)
    return [function] if function is not None and function.body is not None else []
