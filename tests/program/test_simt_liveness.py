"""Warp-level liveness against a SIMT machine: sides run in any order, and change places at barriers."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.random_kernels import Lane, random_kernel
from tests.thinned import examples
from warpbank.program import divergence, simt_liveness
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import VIRTUAL, VIRTUAL_PREDICATE, Block, Imm, Instr, Kernel, Op, Pred, Reg, Sreg
from warpbank.program.liveness import NOTHING, mask_of
from warpbank.program.simt_liveness import SimtLiveness


class Violation(Exception):
    pass


class Warp:
    """Lanes that run together. After every instruction what is declared dead is poisoned, in every lane that
    has not exited."""

    def __init__(self, kernel: Kernel, live: SimtLiveness, seed: int, lanes: int = 4) -> None:
        self.kernel, self.live, self.cfg = kernel, live, live.cfg
        self.rng = Random(seed)
        self.lanes = [Lane(i) for i in range(lanes)]
        registers = {r for i in kernel.instructions() for r in i.registers_read() + i.registers_written()}
        predicates = {p for i in kernel.instructions() for p in i.predicates_read() + i.predicates_written()}
        for lane in self.lanes:
            lane.registers = {r: self.rng.randrange(8) for r in sorted(registers)}
            lane.predicates = {p: self.rng.random() < 0.5 for p in sorted(predicates)}
        self.poison_r, self.poison_p = [0] * lanes, [0] * lanes
        self.all_r, self.all_p = mask_of(registers), mask_of(predicates)
        self.after = [live.after(b) for b in range(len(kernel.blocks))]
        self.exited: set[int] = set()
        self.budget = 300

    def run(self) -> None:
        for _ in self.group(list(range(len(self.lanes))), 0, None):
            pass

    def group(self, lanes: list[int], block: int, stop: int | None) -> Iterator[None]:
        """Run lanes from a block up to the block `stop`; yields at barriers, where another group may go
        on."""
        while block != stop and block < len(self.kernel.blocks) and lanes and self.budget > 0:
            self.budget -= 1
            self.enter(block)
            following, target, taken = block + 1, block, []
            for i, instr in enumerate(self.kernel.blocks[block].instrs):
                runs = [n for n in lanes if self.guard(n, instr)]
                for n in runs:
                    self.execute(n, instr)
                if instr.op is Op.EXIT:
                    self.exited.update(runs)
                    lanes = [n for n in lanes if n not in runs]
                elif instr.op is Op.BRA:
                    taken, target = runs, self.cfg.index[instr.target or ""]
                self.declare_dead(block, i)
                if instr.op is Op.BAR:
                    yield
            apart = [n for n in lanes if n not in taken]
            if taken and apart and target != following:
                if block not in self.live.divergence.divergent_branches:
                    raise Violation(f"branch of block {block} parts the lanes")
                meeting = self.cfg.reconvergence_block(block)
                sides = [self.group(taken, target, meeting), self.group(apart, following, meeting)]
                while sides:
                    side = self.rng.choice(sides)
                    try:
                        next(side)
                    except StopIteration:
                        sides.remove(side)
                    else:
                        yield
                if meeting is None:
                    return
                lanes = [n for n in lanes if n not in self.exited]
                block = meeting
            else:
                block = target if taken else following

    def enter(self, block: int) -> None:
        """Some lanes start a block."""

    def guard(self, n: int, instr: Instr) -> bool:
        if always(instr):
            return True
        assert instr.guard is not None
        self.check(n, 0, mask_of([instr.guard.index]) & self.all_p, instr)
        return bool(self.lanes[n].holds(instr.guard))

    def execute(self, n: int, instr: Instr) -> None:
        self.check(n, mask_of(instr.registers_read()), mask_of(instr.predicates_read()), instr)
        self.lanes[n].execute(instr.copy(guard=None))
        self.poison_r[n] &= ~mask_of(instr.registers_written())
        self.poison_p[n] &= ~mask_of(instr.predicates_written())

    def check(self, n: int, registers: int, predicates: int, instr: Instr) -> None:
        if self.poison_r[n] & registers or self.poison_p[n] & predicates:
            raise Violation(f"lane {n} reads what was declared dead: {instr}")

    def declare_dead(self, block: int, i: int) -> None:
        after = self.after[block][i]
        for n in range(len(self.lanes)):
            if n not in self.exited:
                self.poison_r[n] |= self.all_r & ~after.registers
                self.poison_p[n] |= self.all_p & ~after.predicates


def try_out(seed: int, runs: int = 4) -> None:
    rng = Random(seed)
    kernel = random_kernel(seed, blocks=8, length=5, groups=5, predicates=3, barriers=rng.choice((0.0, 0.1)))
    live = SimtLiveness(kernel)
    for n in range(runs):
        Warp(kernel, live, seed + n).run()


@settings(max_examples=examples(40, 15), deadline=None)
@given(st.integers(0, 10**9))
def test_no_lane_reads_what_was_declared_dead(seed):
    try_out(seed)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_it_never_says_less_than_thread_liveness(seed):
    live = SimtLiveness(random_kernel(seed))
    for (_, _, warp), (_, _, thread) in zip(live, live.thread, strict=True):
        assert warp | thread == warp


def caught(seeds: int = 300) -> bool:
    for seed in range(seeds):
        try:
            try_out(seed)
        except Violation:
            return True
    return False


def test_mutant_thread_liveness_is_not_enough(monkeypatch):
    monkeypatch.setattr(SimtLiveness, "_wait_at", lambda self, branch, at_barriers: None)
    assert caught()


def test_mutant_the_other_side_is_forgotten(monkeypatch):
    def broken(self, branch, at_barriers):
        meeting = self.cfg.reconvergence_block(branch)
        for b in self.cfg.region(branch):
            if meeting is not None:
                self.waiting[b] = self.waiting[b] | self.thread.at_start[meeting]

    monkeypatch.setattr(SimtLiveness, "_wait_at", broken)
    assert caught()


def test_mutant_the_meeting_point_is_forgotten(monkeypatch):
    original = SimtLiveness._wait_at

    def broken(self, branch, at_barriers):
        meeting = self.cfg.reconvergence_block(branch)
        if meeting is None:
            return original(self, branch, at_barriers)
        saved, self.thread.at_start[meeting] = self.thread.at_start[meeting], NOTHING
        original(self, branch, at_barriers)
        self.thread.at_start[meeting] = saved
        return None

    monkeypatch.setattr(SimtLiveness, "_wait_at", broken)
    assert caught()


@pytest.mark.long
def test_mutant_a_side_is_never_left_at_a_barrier(monkeypatch):
    monkeypatch.setattr(SimtLiveness, "_at_barriers", lambda self: {})
    assert caught(200)


@pytest.mark.parametrize("wrong", [frozenset(Sreg)])
def test_mutant_thread_index_is_uniform(monkeypatch, wrong):
    monkeypatch.setattr(divergence, "UNIFORM_SREGS", wrong)
    monkeypatch.setattr(simt_liveness, "Divergence", divergence.Divergence)
    kernel = diamond(Instr(Op.S2R, dst=Reg(VIRTUAL), aux=int(Sreg.TID_X)))
    assert SimtLiveness(kernel).divergence.divergent_branches == []


def diamond(first: Instr) -> Kernel:
    """if (r0 < 2) r1 = 1; else r1 = r2; use r1."""
    r0, r1, r2 = Reg(VIRTUAL), Reg(VIRTUAL + 1), Reg(VIRTUAL + 2)
    p = VIRTUAL_PREDICATE
    return Kernel(
        "k",
        [
            Block(
                "A",
                [
                    first,
                    Instr(Op.MOV, dst=r2, srcs=(Imm(9),)),
                    Instr(Op.ISETP, srcs=(r0, Imm(2)), pdst=(p,)),
                    Instr(Op.BRA, guard=Pred(p), target="C"),
                ],
            ),
            Block(
                "B",
                [
                    Instr(Op.MOV, dst=r1, srcs=(r2,)),
                    Instr(Op.MOV, dst=r2, srcs=(Imm(0),)),
                    Instr(Op.BRA, target="D"),
                ],
            ),
            Block("C", [Instr(Op.MOV, dst=r1, srcs=(Imm(1),))]),
            Block("D", [Instr(Op.ST, srcs=(Imm(0), r1)), Instr(Op.EXIT)]),
        ],
        {VIRTUAL: 1, VIRTUAL + 1: 1, VIRTUAL + 2: 1},
        1,
    )


def test_diamond_under_a_divergent_and_a_uniform_branch():
    r1, r2 = 1 << VIRTUAL + 1, 1 << VIRTUAL + 2
    divergent = SimtLiveness(diamond(Instr(Op.S2R, dst=Reg(VIRTUAL), aux=int(Sreg.LANEID))))
    assert divergent.divergence.divergent_branches == [0]
    assert divergent.after(2)[0].registers == r1 | r2  # lanes of the other side may not have run yet
    assert divergent.after(1)[0].registers == r1
    assert divergent.after(3)[0].registers == 0
    uniform = SimtLiveness(diamond(Instr(Op.S2R, dst=Reg(VIRTUAL), aux=int(Sreg.CTAID_X))))
    assert uniform.divergence.divergent_branches == []
    assert uniform.after(2)[0].registers == r1
    assert uniform.thread.after(2)[0].registers == r1


def test_what_two_sides_computed_uniformly_is_divergent_where_they_meet():
    kernel = diamond(Instr(Op.S2R, dst=Reg(VIRTUAL), aux=int(Sreg.LANEID)))
    found = SimtLiveness(kernel).divergence
    assert found.at_start[3].registers >> (VIRTUAL + 1) & 1
    assert not found.before(2)[0].registers >> (VIRTUAL + 2) & 1
    assert Cfg(kernel).region(0) == {1, 2}
