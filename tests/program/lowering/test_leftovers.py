"""Instructions with a modifier or an operand too many are refused, whatever they are: those of all semantic
tests, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.program.lowering.test_refusals import body
from tests.program.semantics import (
    test_comparisons,
    test_convert,
    test_floating,
    test_integer,
    test_memory,
    test_nans,
)
from tests.program.semantics.bench import Case, text_of
from warpbank.program.errors import PtxError
from warpbank.program.lowering import lower
from warpbank.program.ptx.ast import Instruction, Module, Register
from warpbank.program.ptx.parser import parse

#: Families of cases, by what they are about.
FAMILIES: dict[str, tuple[Callable[[], list[Case]], ...]] = {
    "convert": (
        test_convert.integers,
        test_convert.to_integers,
        test_convert.from_integers,
        test_convert.floats,
    ),
    "comparisons": (test_comparisons.comparisons, test_integer.comparisons),
    "floating": (test_floating.arithmetic, test_floating.halves, test_floating.approximate),
    "integer": (test_integer.carries, test_integer.products, test_integer.fields, test_integer.shifts),
    "memory": (test_memory.widths, test_memory.atomics),
    "nans": (test_nans.doubles, test_nans.conversions, test_nans.singles),
}
#: Instructions that work on several lanes or that steer, a line each.
OTHERS = (
    "bra over; over:",
    "t: .branchtargets over; brx.idx.uni %r1, t; over:",
    "exit;",
    "membar.gl;",
    "fence.sc.gpu;",
    "nanosleep.u32 5;",
    "pmevent 7;",
    "pmevent.mask 7;",
    "brkpt;",
    "prefetch.global.L1 [%rd1];",
    "discard.global.L2 [%rd1], 128;",
    "trap;",
    "bar.sync 0, 32;",
    "bar.arrive 0, 32;",
    "bar.red.popc.u32 %r1, 0, 32, %p1;",
    "bar.red.and.pred %p1, 0, 32, %p2;",
    "bar.warp.sync -1;",
    "barrier.sync.aligned 0, 32;",
    "activemask.b32 %r1;",
    "vote.sync.ballot.b32 %r1, %p1, -1;",
    "vote.sync.all.pred %p2, %p1, -1;",
    "shfl.sync.idx.b32 %r1|%p1, %r2, 1, 31, -1;",
    "match.any.sync.b32 %r1, %r2, -1;",
    "redux.sync.add.u32 %r1, %r2, -1;",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5}, {%r1,%r2};",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];",
)
#: Instructions that take one operand more: the policy of a cache, which the machine does not have.
WITH_POLICY = {"ld", "ldu", "st", "atom", "red"}


def kernels(name: str) -> Iterator[tuple[Module, int, Instruction]]:
    """A kernel for every opcode with its modifiers, and the place of an instruction of that kind in it."""
    seen: set[tuple[str, tuple[str, ...], int]] = set()
    for family in FAMILIES[name]:
        for case in family():
            module = parse(text_of([case]), "cases.ptx")
            for place, found in enumerate(module.functions["k"].body or ()):
                if isinstance(found, Instruction):
                    kind = found.opcode, found.modifiers, len(found.operands)
                    if kind not in seen:
                        seen.add(kind)
                        yield module, place, found


def refusal(module: Module, place: int, instruction: Instruction) -> str:
    """Why the kernel with this instruction is refused; "": it is not."""
    function = module.functions["k"]
    body = list(function.body or ())
    body[place] = instruction
    changed = replace(module, functions={**module.functions, "k": replace(function, body=body)})
    try:
        lower(changed, "k")
    except PtxError as error:
        return str(error)
    return ""


def test_others_have_neither() -> None:
    taken = []
    for line in OTHERS:
        module = parse(body(line), "some.ptx")
        found = module.functions["k"].body or ()
        place = max(n for n, each in enumerate(found[:-1]) if isinstance(each, Instruction))
        instruction = found[place]
        assert isinstance(instruction, Instruction)
        assert not refusal(module, place, instruction)
        longer = replace(instruction, modifiers=(*instruction.modifiers, "frob"))
        if not refusal(module, place, longer):
            taken.append(f"a modifier of {instruction.text}")
        longer = replace(instruction, operands=(*instruction.operands, Register("%r1")))
        if not refusal(module, place, longer):
            taken.append(f"an operand of {instruction.text}")
    assert taken == []


@pytest.mark.parametrize("name", FAMILIES)
def test_a_modifier_too_many(name: str) -> None:
    texts, taken = set(), []
    for module, place, instruction in kernels(name):
        texts.add(instruction.text)
        longer = replace(instruction, modifiers=(*instruction.modifiers, "frob"))
        if ".frob" not in refusal(module, place, longer):
            taken.append(instruction.text)
    assert len(texts) > 20
    assert not taken


@pytest.mark.parametrize("name", FAMILIES)
def test_an_operand_too_many(name: str) -> None:
    taken = []
    for module, place, instruction in kernels(name):
        more = [Register("%t")] * (2 if instruction.opcode in WITH_POLICY else 1)
        longer = replace(instruction, operands=(*instruction.operands, *more))
        if "operand" not in refusal(module, place, longer):
            taken.append(instruction.text)
    assert not taken
