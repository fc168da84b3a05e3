"""The symbolic check of allocations, on results with one instruction changed: what it accepts behaves as the
source does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from random import Random

import pytest

from tests.program.random_kernels import random_kernel, same_behaviour
from warpbank.program.allocation import AllocationReport, allocate_with_report
from warpbank.program.allocation.check import AllocationError, check_allocation
from warpbank.program.isa import (
    PT,
    RZ,
    VIRTUAL,
    VIRTUAL_PREDICATE,
    Block,
    Cmp,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Space,
)

#: Changes one instruction of a block at an index, or does nothing. The origins follow.
Change = Callable[[Random, Kernel, list[Instr], list[int], int], None]


def _other(rng: Random, kernel: Kernel, register: Reg) -> Reg:
    places = range(0, kernel.registers - register.width + 1, register.width)
    return Reg(rng.choice(places), register.width) if places else register


def another_source(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """A source register is another one."""
    srcs = list(instrs[at].srcs)
    found = [(n, s) for n, s in enumerate(srcs) if isinstance(s, Reg) and s.index != RZ]
    if found:
        n, register = rng.choice(found)
        srcs[n] = _other(rng, kernel, register)
        instrs[at] = instrs[at].copy(srcs=tuple(srcs))


def another_destination(
    rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int
) -> None:
    """A result goes into another register."""
    if instrs[at].dst is not None and instrs[at].dst.index != RZ:
        instrs[at] = instrs[at].copy(dst=_other(rng, kernel, instrs[at].dst))


def another_guard(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """A guard goes, comes, is another predicate, or is negated."""
    old = instrs[at].guard
    new = rng.choice([None, Pred(rng.randrange(max(1, kernel.predicates)), rng.random() < 0.5)])
    if old is not None and rng.random() < 0.5:
        new = replace(old, negated=not old.negated)
    instrs[at] = instrs[at].copy(guard=new)


def another_predicate(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """A predicate that is read or written is another one, or negated."""
    instr, index = instrs[at], rng.randrange(max(1, kernel.predicates))
    if instr.pdst and rng.random() < 0.5:
        n = rng.randrange(len(instr.pdst))
        if instr.pdst[n] != PT:
            instrs[at] = instr.copy(pdst=(*instr.pdst[:n], index, *instr.pdst[n + 1 :]))
    elif instr.psrc:
        n = rng.randrange(len(instr.psrc))
        new = Pred(index, instr.psrc[n].negated ^ (rng.random() < 0.5))
        instrs[at] = instr.copy(psrc=(*instr.psrc[:n], new, *instr.psrc[n + 1 :]))


def dropped(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """An inserted instruction is gone."""
    if origins[at] < 0:
        del instrs[at], origins[at]


def another_slot(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """A value is kept in another word of local memory, or fetched from there."""
    if origins[at] < 0 and instrs[at].op in (Op.LD, Op.ST) and instrs[at].space is Space.LOCAL:
        instrs[at] = instrs[at].copy(offset=4 * rng.randrange(max(1, kernel.local_bytes // 4)))


def another_value(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """A constant is another one."""
    srcs = (
        replace(s, value=s.value ^ 1 << rng.randrange(4)) if isinstance(s, Imm) else s
        for s in instrs[at].srcs
    )
    instrs[at] = instrs[at].copy(srcs=tuple(srcs))


def swapped(rng: Random, kernel: Kernel, instrs: list[Instr], origins: list[int], at: int) -> None:
    """Two neighbours have changed places."""
    if at + 2 < len(instrs):
        instrs[at : at + 2] = reversed(instrs[at : at + 2])
        origins[at : at + 2] = reversed(origins[at : at + 2])


CHANGES: tuple[Change, ...] = (
    another_source,
    another_destination,
    another_guard,
    another_predicate,
    dropped,
    another_slot,
    another_value,
    swapped,
)


def changed(
    rng: Random, change: Change, code: Kernel, report: AllocationReport
) -> tuple[Kernel, AllocationReport]:
    """The code with one change somewhere, and its report."""
    b = rng.choice([n for n, block in enumerate(code.blocks) if block.instrs])
    instrs, origins = list(code.blocks[b].instrs), list(report.origins[b])
    change(rng, code, instrs, origins, rng.randrange(len(instrs)))
    blocks = [*code.blocks[:b], Block(code.blocks[b].label, instrs), *code.blocks[b + 1 :]]
    kept = [*report.origins[:b], origins, *report.origins[b + 1 :]]
    return replace(code, blocks=blocks), replace(report, origins=kept)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_accepted_behaves_as_the_source(change: Change) -> None:
    found: Counter[str] = Counter()
    for seed in range(60):
        rng = Random(f"{change.__name__} {seed}")
        kernel = random_kernel(seed, groups=24, length=12, predicates=(3, 12)[seed % 2])
        code, report = allocate_with_report(kernel, 16)
        for _ in range(12):
            other, its_report = changed(rng, change, code, report)
            if other.blocks == code.blocks:
                continue
            try:
                check_allocation(kernel, other, its_report)
            except AllocationError:
                found["refused"] += 1
            else:
                found["accepted"] += 1
                same_behaviour(kernel, other)
    assert found["refused"] > found["accepted"] / 4, found
    assert found["refused"] >= 10, found


# ---- one rule each: a source, and what the allocator might make of it

#: Two words and two predicates of the source, and registers.
X, Y, P, Q = Reg(VIRTUAL), Reg(VIRTUAL + 1), VIRTUAL_PREDICATE, VIRTUAL_PREDICATE + 1
R0, R1, R2 = Reg(0), Reg(1), Reg(2)


def load(register: Reg, guard: Pred | None = None) -> Instr:
    return Instr(Op.LD, dst=register, srcs=(Imm(64),), guard=guard)


def store(*registers: Reg, guard: Pred | None = None) -> Instr:
    return Instr(Op.ST, srcs=(Imm(64), *registers), guard=guard)


def more(register: Reg, source: Reg, guard: Pred | None = None) -> Instr:
    return Instr(Op.IADD, dst=register, srcs=(source, Imm(1)), guard=guard)


def move(register: Reg, source: Reg | Imm, guard: Pred | None = None) -> Instr:
    return Instr(Op.MOV, dst=register, srcs=(source,), guard=guard)


def compare(predicate: int, guard: Pred | None = None) -> Instr:
    return Instr(Op.ISETP, srcs=(Imm(1), Imm(2)), pdst=(predicate,), cmp=Cmp.LT, guard=guard)


def select(register: Reg, predicate: int, first: int = 1, guard: Pred | None = None) -> Instr:
    return Instr(
        Op.SEL, dst=register, srcs=(Imm(first), Imm(1 - first)), psrc=(Pred(predicate),), guard=guard
    )


def reload(register: Reg, slot: int = 0, guard: Pred | None = None, size: int = 4) -> Instr:
    return Instr(
        Op.LD, dst=register, srcs=(Imm(0),), space=Space.LOCAL, offset=4 * slot, size=size, guard=guard
    )


def spill(register: Reg, slot: int = 0, guard: Pred | None = None) -> Instr:
    return Instr(Op.ST, srcs=(Imm(0), register), space=Space.LOCAL, offset=4 * slot, guard=guard)


def back(register: Reg, predicate: int, against: int = 0) -> Instr:
    """What brings a spilled predicate back."""
    return Instr(Op.ISETP, srcs=(register, Imm(against)), pdst=(predicate,), cmp=Cmp.NE)


#: Behind `compare(P)`, `load(X)` in R0, which slot 0 holds too, and an addition under P that leaves it in R1:
#: the lanes without P are in R0 and in the slot.
HALF = [compare(P), load(X), more(X, X, Pred(P)), store(X)]
HALF_MADE = [(0, compare(0)), (1, load(R0)), (-1, spill(R0)), (2, more(R1, R0, Pred(0)))]
#: With two predicates.
HALVES = [*HALF[:3], compare(Q), store(X)]
HALVES_MADE = [*HALF_MADE, (3, compare(1))]

#: Name -> source, result, and what is wrong with it; None: nothing.
RULES: dict[str, tuple[list[Instr], list[tuple[int, Instr]], str | None]] = {
    "as-the-source": ([load(X), store(X)], [(0, load(R0)), (1, store(R0))], None),
    "out-of-order": ([load(X), load(Y)], [(1, load(R1)), (0, load(R0))], "out of order"),
    "missing": ([load(X), load(Y)], [(0, load(R0))], "LD .* is missing"),
    "a-result-of-nothing": ([load(Reg(RZ))], [(0, load(Reg(RZ)))], None),
    "narrower": ([load(X), store(X)], [(0, load(R0)), (1, store(Reg(0, 2)))], "became R0"),
    "moved-away": (
        [load(Y), load(X), move(Y, X), store(Y)],
        [(0, load(R0)), (1, load(R1)), (3, store(R0))],
        "not in place 0",
    ),
    "moved": ([load(Y), load(X), move(Y, X), store(Y)], [(0, load(R0)), (1, load(R1)), (3, store(R1))], None),
    "copied": (
        [load(X), load(Y), move(Y, X), store(Y)],
        [(0, load(R0)), (1, load(R1)), (2, move(R2, R0)), (3, store(R0))],
        None,
    ),
    "copied-elsewhere": (
        [load(Y), load(X), move(Y, X), store(Y)],
        [(0, load(R2)), (1, load(R0)), (2, move(R1, R0)), (3, store(R2))],
        "not in place 2",
    ),
    "completed-under-the-guard": (
        HALF,
        [*HALF_MADE, (-1, spill(R1, guard=Pred(0))), (-1, reload(R2)), (3, store(R2))],
        None,
    ),
    "from-elsewhere-under-the-guard": (
        HALF,
        [*HALF_MADE, (-1, spill(R0, guard=Pred(0))), (-1, reload(R2)), (3, store(R2))],
        "not in place 2",
    ),
    "completed-under-the-other-guard": (
        HALF,
        [*HALF_MADE, (-1, reload(R1, guard=Pred(0, True))), (3, store(R1))],
        None,
    ),
    "completed-elsewhere-under-the-other-guard": (
        HALF,
        [
            *HALF_MADE,
            (-1, spill(R1, 1)),
            (-1, spill(R0, 1, guard=Pred(0, True))),
            (-1, reload(R2, 1)),
            (3, store(R2)),
        ],
        None,
    ),
    "completed-under-another-guard": (
        HALVES,
        [*HALVES_MADE, (-1, reload(R1, guard=Pred(1))), (4, store(R1))],
        "not in place 1",
    ),
    "completed-under-a-guard-that-has-changed": (
        [*HALF[:3], compare(P), store(X)],
        [*HALF_MADE, (3, compare(0)), (-1, reload(R1, guard=Pred(0, True))), (4, store(R1))],
        "not in place 1",
    ),
    "read-under-the-guard": (
        [*HALF[:3], store(X, guard=Pred(P))],
        [*HALF_MADE, (3, store(R1, guard=Pred(0)))],
        None,
    ),
    "read-under-the-guard-from-elsewhere": (
        [*HALF[:3], store(X, guard=Pred(P))],
        [*HALF_MADE, (3, store(R0, guard=Pred(0)))],
        "not in place 0",
    ),
    "a-predicate-read-under-the-guard": (
        [compare(P), compare(Q), compare(Q, Pred(P)), select(X, Q, guard=Pred(P))],
        [(0, compare(0)), (1, compare(1)), (2, compare(2, Pred(0))), (3, select(R0, 2, guard=Pred(0)))],
        None,
    ),
    "a-predicate-read-without-the-guard": (
        [compare(P), compare(Q), compare(Q, Pred(P)), select(X, Q)],
        [(0, compare(0)), (1, compare(1)), (2, compare(2, Pred(0))), (3, select(R0, 2))],
        "not in place",
    ),
    "outside-the-spill-area": (
        [load(X)],
        [(0, load(R0)), (-1, spill(R0, 8))],
        "at 32 outside the spill area",
    ),
    "of-another-size": ([load(X)], [(0, load(R0)), (-1, reload(R0, size=8))], "misaligned"),
    "between-two-words": ([load(X)], [(0, load(R0)), (-1, replace(reload(R0), offset=2))], "misaligned"),
    "computed-again": (
        [move(X, Imm(5)), store(X), store(X)],
        [(0, move(R0, Imm(5))), (1, store(R0)), (-1, move(R1, Imm(5))), (2, store(R1))],
        None,
    ),
    "computed-behind-every-slot": (
        [move(X, Imm(5)), load(Y), store(X)],
        [
            (0, move(R0, Imm(5))),
            (1, load(R1)),
            *((-1, spill(R1, slot)) for slot in range(8)),
            (-1, move(R0, Imm(5))),
            (2, store(R0)),
        ],
        None,
    ),
    "another-constant": (
        [move(X, Imm(5)), store(X)],
        [(0, move(R0, Imm(5))), (-1, move(R1, Imm(6))), (1, store(R0))],
        "constant that the source code does not have",
    ),
    "two-words-computed": (
        [move(X, Imm(5)), store(X)],
        [(0, move(R0, Imm(5))), (-1, move(Reg(0, 2), Imm(5, 2))), (1, store(R0))],
        "no spill code",
    ),
    "a-predicate-kept": (
        [compare(P), compare(Q), store(X, guard=Pred(P))],
        [
            (0, compare(0)),
            (-1, select(R0, 0)),
            (1, compare(0)),
            (-1, back(R0, 2)),
            (2, store(R1, guard=Pred(2))),
        ],
        None,
    ),
    "a-predicate-kept-upside-down": (
        [compare(P)],
        [(0, compare(0)), (-1, select(R0, 0, first=0))],
        "no spill code",
    ),
    "a-predicate-brought-back-upside-down": (
        [compare(P)],
        [(0, compare(0)), (-1, select(R0, 0)), (-1, back(R0, 0, against=1))],
        "no spill code",
    ),
}


def made_of(
    source: list[Instr], result: list[tuple[int, Instr]], own: int = 0
) -> tuple[Kernel, Kernel, AllocationReport]:
    """Kernel with `own` bytes of local memory, its code on 8 registers with 32 bytes, and the report."""
    end = Instr(Op.EXIT)
    kernel = Kernel(
        "k",
        [Block("B0", [*source, end])],
        {VIRTUAL: 1, VIRTUAL + 1: 1},
        2,
        local_bytes=own,
        next_register=VIRTUAL + 2,
    )
    made = [*result, (len(source), end)]
    blocks = [Block("B0", [instr for _, instr in made])]
    code = replace(kernel, blocks=blocks, registers=8, predicates=4, local_bytes=32)
    return kernel, code, AllocationReport(origins=[[origin for origin, _ in made]])


@pytest.mark.parametrize("name", RULES)
def test_a_rule(name: str) -> None:
    source, result, wrong = RULES[name]
    with pytest.raises(AllocationError, match=wrong) if wrong else nullcontext():
        check_allocation(*made_of(source, result))


def test_nothing_is_spilled_into_what_the_source_has_in_local_memory() -> None:
    source, result = [load(X), store(X)], [(0, load(R0)), (-1, spill(R0, 5)), (1, store(R0))]
    check_allocation(*made_of(source, result, own=20))
    with pytest.raises(AllocationError, match="at 20 outside the spill area"):
        check_allocation(*made_of(source, result, own=24))


def test_every_instruction_has_an_origin() -> None:
    kernel = random_kernel(1)
    code, report = allocate_with_report(kernel, 16)
    report.origins[0].pop()
    with pytest.raises(AllocationError, match="out of order"):
        check_allocation(kernel, code, report)
