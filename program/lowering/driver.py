"""Lowering driver: walks a function's statements and gives each to its rule."""

from __future__ import annotations

from warpbank.program.isa import Op, Pred
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.operand_types import misnamed
from warpbank.program.lowering.table import REFUSED, RULES
from warpbank.program.ptx.ast import Address, Function, Instruction, Label, Negated, Operand, Register, Vector


def names_in(operand: Operand | None) -> list[str]:
    """Registers that an operand in source position reads."""
    if isinstance(operand, Register):
        return [operand.name]
    if isinstance(operand, Negated):
        return [operand.register.name]
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        return [operand.base.name]
    if isinstance(operand, Vector):
        return [e.name for e in operand.elements if isinstance(e, Register)]
    return []


def lower_body(ctx: Context, function: Function) -> None:
    """Lowers every statement of a function in the context's current frame."""
    frame = ctx.frame
    for statement in function.body or ():
        if isinstance(statement, Label):
            ctx.start_block(frame.label(statement.name))
        elif isinstance(statement, Instruction):
            lower_instruction(ctx, statement)


def lower_instruction(ctx: Context, instruction: Instruction) -> None:
    """Finds the rule of an instruction and applies it under its guard."""
    form = Form(instruction, ctx.path)
    rule = RULES.get(instruction.opcode)
    if rule is None:
        unknown = f"instruction {instruction.opcode!r} is not supported; docs/lowering.md lists what is"
        form.refuse(REFUSED.get(instruction.opcode, unknown))
    guard = None
    hazards: list[str] = []
    if instruction.guard is not None:
        name, negated = instruction.guard
        guard = Pred(ctx.frame.predicate(name), negated)
        hazards.append(name)
    if not rule.in_place:
        for operand in instruction.operands[1:]:
            hazards += names_in(operand)
    ctx.begin(form, guard, frozenset(hazards))
    advice = misnamed(instruction.opcode, instruction.modifiers)
    if advice and "pred" in instruction.modifiers:  # of which no rule but those of logic knows what to do
        form.refuse(advice)
    rule.handler(ctx, form)
    if advice:  # behind the rule, which may know better what is wrong
        form.refuse(advice)
    ctx.finish()


def finish_kernel(ctx: Context) -> None:
    """End the kernel: the end of the entry's body is its return."""
    ctx.guard = None
    ctx.emit(Op.EXIT)
