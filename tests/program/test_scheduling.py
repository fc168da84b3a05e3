"""The scheduler keeps what the code means, keeps within the registers, and hides latency where it can."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.random_kernels import random_kernel, same_behaviour
from warpbank.program import dependences as deps
from warpbank.program.allocation import allocate
from warpbank.program.allocation.work import AllocationReport
from warpbank.program.compiler import finish
from warpbank.program.isa import (
    VIRTUAL,
    Atomic,
    Block,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Shuffle,
    Space,
    Sreg,
)
from warpbank.program.liveness import thread_liveness
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions
from warpbank.program.scheduling import cycles, schedule
from warpbank.program.verify import MachineCodeError, verify


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([16, 32, 255]))
def test_random_code_means_the_same(seed, limit):
    kernel = random_kernel(seed, length=20, groups=16, barriers=0.05)
    verify(kernel)
    ordered = schedule(kernel, limit)
    verify(ordered)
    same_behaviour(kernel, ordered)
    for old, new in zip(kernel.blocks, ordered.blocks, strict=True):
        assert sorted(map(repr, old.instrs)) == sorted(map(repr, new.instrs))
        assert cycles(new.instrs) <= cycles(old.instrs)
    assert schedule(kernel, limit).instructions() == ordered.instructions()
    allocated = allocate(ordered, limit)
    same_behaviour(kernel, schedule(allocated, limit))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([16, 24, 255]), st.booleans())
def test_all_passes_together(seed, limit, ordered):
    kernel = random_kernel(seed, length=16, groups=24, predicates=9)
    order = CodeOrder.SCHEDULED if ordered else CodeOrder.SOURCE
    result, report = finish(kernel, CompileOptions(order, max_registers=limit))
    assert isinstance(report, AllocationReport)
    assert result.registers <= limit
    same_behaviour(kernel, result)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_pressure_stays_at_the_limit(seed):
    kernel = random_kernel(seed, length=40, groups=40)
    before = thread_liveness(kernel).pressure()
    for free in (0, FREE_REGISTERS, 100):
        ordered = schedule(kernel, free_registers=free)
        assert thread_liveness(ordered).pressure() <= max(before, free)


def test_more_free_registers_make_no_block_longer():
    """Loads of a long block go ahead of their uses as far as registers are free for them."""
    pairs = [instr for i in range(12) for instr in (load(VIRTUAL + i), add(VIRTUAL + 20, VIRTUAL + i))]
    kernel = Kernel("k", [Block("B0", [*pairs, Instr(Op.EXIT)])], {}, 0)
    kernel.groups = {VIRTUAL + i: 1 for i in (*range(12), 20)}
    took = [cycles(schedule(kernel, free_registers=free).blocks[0].instrs) for free in (0, 8, 24)]
    assert took[0] > took[1] > took[2]


def test_ties_keep_their_order():
    assert order_of(*(load(i) for i in range(1, 9))) == list(range(8))
    assert order_of(*(add(i, 20) for i in (3, 1, 2))) == [0, 1, 2]


def block(*instrs: Instr) -> Kernel:
    return Kernel("k", [Block("B0", [*instrs, Instr(Op.EXIT)])], {}, 2, registers=64)


def order_of(*instrs: Instr) -> list[int]:
    result = schedule(block(*instrs)).blocks[0].instrs
    return [next(i for i, x in enumerate(instrs) if x == y) for y in result[:-1]]


def load(dst: int, space: Space = Space.GLOBAL, offset: int = 0, **more: object) -> Instr:
    return Instr(Op.LD, dst=Reg(dst), srcs=(Imm(0),), space=space, offset=offset, **more)  # type: ignore[arg-type]


def store(src: int, space: Space = Space.GLOBAL, offset: int = 0, **more: object) -> Instr:
    return Instr(Op.ST, srcs=(Imm(0), Reg(src)), space=space, offset=offset, **more)  # type: ignore[arg-type]


def add(dst: int, src: int) -> Instr:
    return Instr(Op.IADD, dst=Reg(dst), srcs=(Reg(src), Imm(1)))


def test_loads_come_early_and_their_uses_late():
    sequence = order_of(add(2, 1), add(3, 2), load(4), add(5, 4))
    assert sequence[0] == 2
    assert sequence[-1] == 3


@pytest.mark.parametrize(
    ("first", "second", "free"),
    [
        (load(1), load(2), True),
        (store(1), load(2, offset=64), False),  # another lane's address may be the same
        (store(1), load(2, Space.SHARED), True),
        (store(1), load(2, Space.CONST), True),
        (store(1), load(2, Space.GENERIC), False),
        (load(2, Space.GENERIC), store(1, Space.SHARED), False),
        (store(1, Space.LOCAL), load(2, Space.LOCAL, 4), True),
        (store(1, Space.LOCAL), load(2, Space.LOCAL, 2), False),
        (load(1, volatile=True), load(2, volatile=True), False),
        (load(1, volatile=True), load(2, Space.SHARED), False),
        (Instr(Op.BAR, srcs=(Imm(0),)), load(1), False),
        (store(1), Instr(Op.MEMBAR), False),
        (
            Instr(Op.MEMBAR),
            Instr(Op.SHFL, dst=Reg(1), srcs=(Reg(2), Imm(1), Imm(31)), aux=Shuffle.BFLY),
            False,
        ),
        (Instr(Op.VOTE, dst=Reg(1), psrc=(Pred(0),), aux=3), Instr(Op.ACTIVEMASK, dst=Reg(3)), False),
        (Instr(Op.ATOM, srcs=(Imm(0), Reg(1)), aux=Atomic.ADD), load(2), False),
        (Instr(Op.S2R, dst=Reg(1), aux=Sreg.CLOCK), load(2), False),
        (Instr(Op.S2R, dst=Reg(1), aux=Sreg.TID_X), load(2), True),
        (add(2, 1), add(1, 3), False),  # write after read
        (add(1, 2), add(1, 3), False),  # write after write
        (add(1, 2).copy(guard=Pred(0)), Instr(Op.ISETP, srcs=(Reg(4), Imm(0)), pdst=(0,)), False),
        (add(1, 2), add(3, 4), True),
    ],
)
def test_dependences(first, second, free):
    assert (deps.dependences([first, second]).before[1] == {}) == free


def test_the_terminator_stays_last_and_labels_stay():
    k = block(store(1), load(2))
    k.blocks[0].instrs[-1] = Instr(Op.BRA, target="B0", guard=Pred(0))
    assert schedule(k).blocks[0].instrs[-1].op is Op.BRA


def caught(seeds: int = 60) -> bool:
    for seed in range(seeds):
        kernel = random_kernel(seed, length=20, groups=12)
        try:
            same_behaviour(kernel, schedule(kernel))
        except AssertionError:
            return True
    return False


def test_the_scheduler_as_it_is_passes():
    assert not caught()


def test_mutant_memory_never_aliases(monkeypatch):
    monkeypatch.setattr(deps, "may_alias", lambda a, b: False)
    assert caught()


def test_mutant_guards_are_not_read(monkeypatch):
    monkeypatch.setattr(Instr, "predicates_read", lambda self: [p.index for p in self.psrc])
    assert caught(400)


def test_mutant_words_of_a_group_are_one_register_each(monkeypatch):
    whole = Instr.registers_written
    monkeypatch.setattr(Instr, "registers_written", lambda self: whole(self)[:1])
    assert caught()


@pytest.mark.parametrize(
    ("instr", "why"),
    [
        (Instr(Op.MOV, dst=Reg(3, 2), srcs=(Reg(4, 2),)), "misaligned"),
        (Instr(Op.IADD, dst=Reg(64), srcs=(Reg(4), Imm(1))), "beyond the 64"),
        (Instr(Op.IADD, dst=Reg(3), srcs=(Reg(4),)), "1 sources"),
        (Instr(Op.IADD, srcs=(Reg(4), Imm(1))), "no destination"),
        (Instr(Op.IMULW, dst=Reg(4), srcs=(Reg(4), Imm(1))), "not 64 bits wide"),
        (Instr(Op.BRA, target="B9"), "does not end its block"),
        (Instr(Op.MOV, dst=Reg(3), srcs=(Imm(1 << 32),)), "wider than 32 bits"),
        (Instr(Op.MOV, dst=Reg(3), srcs=(Imm(1),), guard=Pred(6)), "predicate P6 does not exist"),
        (load(1, size=3), "accesses 3 bytes"),
        (load(1, size=1, dtype=DType.U16), "loads 1 bytes as U16"),
        (load(1, size=2), "loads 2 bytes as U32"),
    ],
)
def test_what_verify_refuses(instr, why):
    with pytest.raises(MachineCodeError, match=why):
        verify(block(instr))


def test_code_must_end():
    k = block()
    k.blocks[0].instrs[-1].guard = Pred(0)
    with pytest.raises(MachineCodeError, match="runs off the end"):
        verify(k)
