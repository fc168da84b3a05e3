"""The symbolic check of allocations, on results with one instruction changed: what it accepts behaves as the
source does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.program.random_kernels import random_kernel, same_behaviour
from warpbank.program.allocation import AllocationReport, allocate_with_report
from warpbank.program.allocation.check import AllocationError, check_allocation
from warpbank.program.isa import PT, RZ, Block, Imm, Instr, Kernel, Op, Pred, Reg, Space

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
