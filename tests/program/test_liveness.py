"""Thread liveness: against paths searched by brute force, and the cases worth naming."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.random_kernels import random_kernel
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Pred, Reg
from warpbank.program.liveness import maybe_defined, members, thread_liveness


def read_later(kernel: Kernel, cfg: Cfg, block: int, at: int, register: int) -> bool:
    """Whether some path from after instruction `at` reads the register before it is written.

    A guarded write serves the reads of its block under the same guard, while the guard stays as it is.
    """
    seen, work = set(), [(block, at + 1)]
    while work:
        b, i = work.pop()
        served: set[Pred] = set()
        for instr in kernel.blocks[b].instrs[i:]:
            if register in instr.registers_read() and instr.guard not in served:
                return True
            written = register in instr.registers_written()
            if written and always(instr):
                break
            if written and instr.guard is not None:
                served.add(instr.guard)
            served = {g for g in served if g.index not in instr.pdst}
        else:
            for s in cfg.successors[b]:
                if s != cfg.exit and s not in seen:
                    seen.add(s)
                    work.append((s, 0))
    return False


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_alive_is_what_some_path_reads(seed):
    kernel = random_kernel(seed, groups=6)
    cfg = Cfg(kernel)
    live = thread_liveness(kernel, cfg)
    registers = sorted({r for i in kernel.instructions() for r in i.registers_read() + i.registers_written()})
    for b in range(len(kernel.blocks)):
        for i, after in enumerate(live.after(b)):
            for r in registers:
                assert bool(after.registers >> r & 1) == read_later(kernel, cfg, b, i, r), (b, i, r)
    assert [pc for pc, _, _ in live] == list(range(len(kernel.instructions())))


def code(*instrs: Instr) -> Kernel:
    return Kernel("k", [Block("B0", [*instrs, Instr(Op.EXIT)])], {}, 0)


R0, R1, PAIR = Reg(0), Reg(1), Reg(0, 2)
P0 = Pred(0)


def alive_at_start(*instrs: Instr) -> list[int]:
    return list(members(thread_liveness(code(*instrs)).at_start[0].registers))


def test_guarded_writes():
    write = Instr(Op.MOV, dst=R0, srcs=(Imm(1),), guard=P0)
    use = Instr(Op.ST, srcs=(Imm(0), R0))
    test = Instr(Op.ISETP, srcs=(Imm(0), Imm(1)), pdst=(0,))
    assert alive_at_start(write, use) == [0]
    assert alive_at_start(write, use.copy(guard=P0)) == []
    assert alive_at_start(write, use.copy(guard=Pred(0, True))) == [0]
    assert alive_at_start(write, test, use.copy(guard=P0)) == [0]  # another P0
    assert alive_at_start(write, use.copy(guard=P0), use) == [0]
    assert alive_at_start(
        write, Instr(Op.ISETP, srcs=(R0, Imm(1)), pdst=(0,), guard=P0), use.copy(guard=P0)
    ) == [0]


def test_a_guarded_write_serves_no_read_under_another_guard():
    """`@p r = ..; @q use r; @p use r`: lanes outside p read, at the first use, what was there before."""
    write = Instr(Op.MOV, dst=R0, srcs=(Imm(1),), guard=P0)
    use = Instr(Op.ST, srcs=(Imm(0), R0))
    for other in (Pred(1), Pred(1, True), Pred(0, True)):
        assert alive_at_start(write, use.copy(guard=other), use.copy(guard=P0)) == [0]
        assert alive_at_start(write, use.copy(guard=P0), use.copy(guard=other)) == [0]
    assert alive_at_start(write, use.copy(guard=P0), use.copy(guard=P0)) == []
    assert alive_at_start(write, write.copy(guard=Pred(1)), use.copy(guard=P0)) == []
    assert alive_at_start(write, write.copy(guard=Pred(1)), use.copy(guard=Pred(0, True))) == [0]


def test_what_was_wanted_under_a_guard_is_forgotten_at_its_write():
    """`@p r = ..; use r; @p r = ..; @p use r`: the first use wants r in all lanes, whatever comes later."""
    write = Instr(Op.MOV, dst=R0, srcs=(Imm(1),), guard=P0)
    use = Instr(Op.ST, srcs=(Imm(0), R0))
    assert alive_at_start(write, use, write, use.copy(guard=P0)) == [0]


def test_a_guard_is_remembered_whatever_else_is_alive():
    write = Instr(Op.MOV, dst=R0, srcs=(Imm(1),), guard=P0)
    use = Instr(Op.ST, srcs=(Imm(0), R0), guard=P0)
    assert alive_at_start(write, use, Instr(Op.ST, srcs=(Imm(0), R1))) == [1]


def test_words_of_a_group_live_and_die_alone():
    low = Instr(Op.MOV, dst=R0, srcs=(Imm(1),))
    assert alive_at_start(low, Instr(Op.ST, srcs=(Imm(0), PAIR), size=8)) == [1]
    assert alive_at_start(low, low.copy(dst=R1), Instr(Op.ST, srcs=(Imm(0), PAIR), size=8)) == []


def test_predicates_are_followed_too():
    k = code(Instr(Op.ISETP, srcs=(Imm(0), Imm(1)), pdst=(0,)), Instr(Op.PLOP, pdst=(1,), psrc=(P0, Pred(2))))
    live = thread_liveness(k)
    assert live.at_start[0].predicates == 0b100
    assert [x.predicates for x in live.after(0)] == [0b101, 0, 0]
    assert live.pressure() == 0


def blocks(*every: list[Instr]) -> Kernel:
    """A kernel of blocks that follow one another."""
    *first, last = ([*each] for each in every)
    return Kernel(
        "k", [Block(f"B{i}", each) for i, each in enumerate([*first, [*last, Instr(Op.EXIT)]])], {}, 0
    )


def test_predicates_are_followed_from_block_to_block():
    sets = Instr(Op.ISETP, srcs=(Imm(0), Imm(1)), pdst=(0,))
    reads = Instr(Op.PLOP, pdst=(1,), psrc=(P0, Pred(2)))
    assert [at.predicates for at in thread_liveness(blocks([sets], [reads])).at_start] == [0b100, 0b101, 0]
    other = sets.copy(pdst=(3,))
    assert [at.predicates for at in thread_liveness(blocks([other], [reads])).at_start] == [0b101, 0b101, 0]
    assert thread_liveness(blocks([sets.copy(guard=Pred(3))], [reads])).at_start[0].predicates == 0b1101


def test_pressure_is_the_most_that_is_alive_at_once():
    def move(index: int) -> Instr:
        return Instr(Op.MOV, dst=Reg(index), srcs=(Imm(1),))

    def store(index: int) -> Instr:
        return Instr(Op.ST, srcs=(Imm(0), Reg(index)))

    assert thread_liveness(code(move(0), move(1), store(0), store(1))).pressure() == 2
    assert thread_liveness(code(move(0), store(0), move(1), store(1))).pressure() == 1
    assert (
        thread_liveness(code(move(0), move(1), store(0))).pressure() == 2
    )  # a result of no use takes its place
    assert thread_liveness(code(store(0), store(1), store(2))).pressure() == 3  # as the kernel begins
    assert thread_liveness(blocks([move(0)], [store(0), store(1)], [move(2)])).pressure() == 2


def test_what_some_path_has_written():
    sets = Instr(Op.ISETP, srcs=(Imm(0), Imm(1)), pdst=(2,))
    move = Instr(Op.MOV, dst=Reg(3), srcs=(Imm(1),))
    kernel = blocks([move], [sets], [sets.copy(pdst=(1,))])
    found = maybe_defined(kernel, Cfg(kernel))
    assert [(at.registers, at.predicates) for at in found] == [(0, 0), (0b1000, 0), (0b1000, 0b100)]
