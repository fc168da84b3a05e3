"""Notation of virtual machine code for tests: a kernel of a text, and the text of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from warpbank.program.isa import (
    PT,
    ZERO,
    Block,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Source,
    Space,
)
from warpbank.program.isa.operands import VIRTUAL, VIRTUAL_PREDICATE


def v(number: int, width: int = 1) -> Reg:
    """A virtual register."""
    return Reg(VIRTUAL + number, width)


def p(number: int, negated: bool = False) -> Pred:
    """A virtual predicate."""
    return Pred(VIRTUAL_PREDICATE + number, negated)


def pd(number: int) -> int:
    """The index of a virtual predicate that is written."""
    return VIRTUAL_PREDICATE + number


def kernel(text: str, quads: Sequence[int] = ()) -> Kernel:
    """Kernel of a text over virtual registers: singles v0 to v15, pairs from v16 on.

    A line, or a part up to a semicolon, is an instruction or the label of a block:
    `@!p0 IADD.S32 v1 p1 = v2, 5`. Behind a dot stand types, spaces, comparisons, sizes in bytes, `x` and the
    number of a table, or V for volatile; `v16:2` and `7:2` have two words, rz is no register, `c8` is a
    place in the constant bank, `>b1` a target, `+4` an offset; `-v1` and `|v1|` change signs.
    """
    blocks = [Block("b0")]
    for line in filter(None, map(str.strip, text.replace(";", "\n").splitlines())):
        if line.endswith(":"):
            blocks.append(Block(line[:-1]))
        else:
            blocks[-1].instrs.append(_instr(line))
    groups = {VIRTUAL + n: 4 for n in quads} | {
        VIRTUAL + n: 2 for n in range(16, 32, 2) if n & ~3 not in quads
    }
    groups |= {VIRTUAL + n: 1 for n in range(16)}
    return Kernel("k", blocks, groups, 16, next_register=VIRTUAL + 32)


def _instr(line: str) -> Instr:
    """One instruction of a text."""
    guard = None
    if line.startswith("@"):
        name, line = line[1:].split(None, 1)
        guard = _predicate(name)
    head, _, rest = line.partition(" ")
    name, *modifiers = head.split(".")
    instr = Instr(Op[name], guard=guard)
    for each in modifiers:
        if each in DType.__members__:
            instr.dtype = DType[each]
        elif each in Space.__members__:
            instr.space = Space[each]
        elif each in Cmp.__members__:
            instr.cmp = Cmp[each]
        elif each == "V":
            instr.volatile = True
        elif each.startswith("x"):
            instr.aux = int(each[1:], 16)
        else:
            instr.size = int(each)
    results, found, sources = rest.partition("=")
    for each in results.replace(",", " ").split() if found else []:
        if each.startswith("v"):
            instr.dst = _register(each)
        else:
            instr.pdst = (*instr.pdst, _predicate(each).index)
    for each in (sources if found else rest).replace(",", " ").split():
        if each.startswith(">"):
            instr.target = each[1:]
        elif each.startswith("+"):
            instr.offset = int(each[1:], 0)
        elif each.lstrip("!").startswith("p"):
            instr.psrc = (*instr.psrc, _predicate(each))
        else:
            bit = 1 << len(instr.srcs)
            instr.neg |= bit if each.startswith("-") else 0
            instr.abs |= bit if "|" in each else 0
            instr.srcs = (*instr.srcs, _operand(each.strip("-|")))
    return instr


def _predicate(name: str) -> Pred:
    number = name.lstrip("!")[1:]
    return Pred(PT if number == "t" else VIRTUAL_PREDICATE + int(number), name.startswith("!"))


def _register(name: str) -> Reg:
    number, _, width = name[1:].partition(":")
    return v(int(number), int(width or 1))


def _operand(name: str) -> Source:
    if name == "rz":
        return ZERO
    if name.startswith("v"):
        return _register(name)
    number, _, width = name.lstrip("c").partition(":")
    return (Const if name.startswith("c") else Imm)(int(number, 0), int(width or 1))


def text(kernel: Kernel) -> str:
    """A kernel, an instruction per line."""
    lines = []
    for block in kernel.blocks:
        lines.append(f"{block.label}:")
        for i in block.instrs:
            sources = ", ".join(map(str, (*i.srcs, *i.psrc)))
            results = ", ".join([str(i.dst), *(str(Pred(x)) for x in i.pdst)])
            lines.append(
                f"  @{i.guard} {i.op.name}.{i.dtype.name} {results} = {sources} neg {i.neg} abs {i.abs}"
                f" aux {i.aux:#x} {i.space.name} size {i.size} offset {i.offset} {i.target or ''}"
            )
    return "\n".join(lines)
