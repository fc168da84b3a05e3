"""Intervals on graphs of every shape: a partition, entered at one place, of at most N registers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.graphs import kernel_of, shapes
from warpbank.arch.errors import ConfigError
from warpbank.program.cfg import Cfg
from warpbank.program.intervals.formation import Intervals, Rule, form, long_latency
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Pred, Reg, Space


def filled(shape: list[tuple[str, int]], seed: int, registers: int = 24) -> Kernel:
    """The graph with random instructions in its blocks, loads among them."""
    rng, kernel = Random(seed), kernel_of(shape)
    for block in kernel.blocks:
        body = []
        for _ in range(rng.randrange(6)):
            a, b, c = (Reg(rng.randrange(registers)) for _ in range(3))
            if rng.random() < 0.15:
                body.append(Instr(Op.LD, dst=a, srcs=(b,), space=rng.choice([Space.GLOBAL, Space.SHARED])))
            else:
                body.append(Instr(Op.IADD, dst=a, srcs=(b, c)))
        block.instrs[:0] = body
    return kernel


def edges(kernel: Kernel) -> list[tuple[int, int]]:
    """Control flow between pcs. No block is empty."""
    cfg = Cfg(kernel)
    found = []
    for b in range(cfg.exit):
        found += [(pc, pc + 1) for pc in range(cfg.starts[b], cfg.starts[b + 1] - 1)]
        found += [(cfg.starts[b + 1] - 1, cfg.starts[s]) for s in cfg.successors[b] if s != cfg.exit]
    return found


def check(kernel: Kernel, made: Intervals) -> None:
    code, flow = kernel.instructions(), edges(kernel)
    number = made.interval.tolist()
    assert len(number) == len(code)
    assert sorted(set(number)) == list(range(len(made)))
    assert sorted(pc for p in made.pieces for pc in range(p.start, p.end)) == list(range(len(code)))
    assert list(dict.fromkeys(number)) == list(range(len(made)))  # in the order of the code
    assert list(made.pieces) == sorted(made.pieces, key=lambda piece: piece.start)
    assert made.bit_vectors.shape == (len(made), 32)
    assert all(number[pc] == i for i, pc in enumerate(made.entries.tolist()))
    assert made.entries[number[0]] == 0
    for a, b in flow:
        assert number[a] == number[b] or made.entries[number[b]] == b
    entered = {b for _, b in flow}
    assert all(made.entries[number[pc]] == pc for pc in range(len(code)) if pc not in entered)
    used: list[set[int]] = [set() for _ in range(len(made))]
    for pc, instr in enumerate(code):
        used[number[pc]] |= {*instr.registers_read(), *instr.registers_written()}
    for i, registers in enumerate(used):
        assert registers == set(made.registers[i].nonzero()[0].tolist())
        assert len(registers) <= made.limit
        assert int.from_bytes(made.bit_vectors[i].tobytes(), "little") == sum(1 << r for r in registers)
    assert len(made) <= made.first_pass


@settings(max_examples=150, deadline=None)
@given(shapes(), st.integers(0, 10**9), st.sampled_from([3, 4, 8, 16, 32]))
def test_intervals_are_a_partition_with_single_entries(shape, seed, limit):
    kernel = filled(shape, seed)
    check(kernel, form(kernel, limit))


@settings(max_examples=150, deadline=None)
@given(shapes(), st.integers(0, 10**9), st.sampled_from([3, 8, 32]))
def test_a_strand_has_no_backward_branch_and_ends_at_a_long_operation(shape, seed, limit):
    kernel = filled(shape, seed)
    made = form(kernel, limit, Rule.STRAND)
    check(kernel, made)
    code, number = kernel.instructions(), made.interval.tolist()
    inner = [(a, b) for a, b in edges(kernel) if number[a] == number[b] and made.entries[number[b]] != b]
    assert not [a for a, _ in inner if long_latency(code[a])]
    left = set(range(len(code)))  # nothing but the entry closes a circle
    while True:
        ready = left - {b for a, b in inner if a in left}
        if not ready:
            break
        left -= ready
    assert not left


def test_the_random_graphs_hold_irreducible_regions():
    rng = Random(1)
    kinds = ["fall", "jump", "branch", "branch", "exit"]
    drawn = [kernel_of([(rng.choice(kinds), rng.randrange(9)) for _ in range(8)]) for _ in range(100)]
    irreducible = [kernel for kernel in drawn if Cfg(kernel).irreducible]
    assert irreducible
    for kernel in irreducible:
        check(kernel, form(kernel, 8))


def nest(depth: int) -> Kernel:
    """`depth` headers one inside the other, then their latches from the innermost outward; one register
    each."""
    blocks = [Block(f"H{i}", [Instr(Op.MOV, dst=Reg(i), srcs=(Imm(0),))]) for i in range(depth)]
    blocks += [Block(f"L{i}", [Instr(Op.BRA, guard=Pred(0), target=f"H{i}")]) for i in reversed(range(depth))]
    return Kernel("k", [*blocks, Block("X", [Instr(Op.EXIT)])], {}, 1)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_loop_nest_that_fits_becomes_one_interval(depth):
    """Fig. 6 at depth 2: the outer header A alone, then the inner loop of B and C, then all of it."""
    made = form(nest(depth), depth)
    check(nest(depth), made)
    assert made.first_pass == depth
    assert len(made) == 1


def test_a_loop_nest_that_does_not_fit_stays_apart():
    made = form(nest(3), 2)
    check(nest(3), made)
    assert len(made) == 2


def test_an_interval_of_an_empty_block_alone_falls_away():
    """B is entered from two intervals and left for a third: it would have one of its own."""
    guard = Pred(0)
    kernel = Kernel(
        "k",
        [
            Block("A", [Instr(Op.MOV, dst=Reg(0)), Instr(Op.BRA, guard=guard, target="B")]),
            Block("C", [Instr(Op.MOV, dst=Reg(1)), Instr(Op.BRA, guard=guard, target="D")]),
            Block("B", []),
            Block("D", [Instr(Op.EXIT)]),
        ],
        {},
        1,
    )
    made = form(kernel, 1)
    assert (made.interval.tolist(), made.first_pass) == ([0, 0, 1, 1, 2], 3)
    assert [(piece.start, piece.end) for piece in made.pieces] == [(0, 2), (2, 4), (4, 5)]


def round_trips(*blocks: tuple[str, str]) -> Kernel:
    """Blocks that write a register each and may branch to the block that is named."""
    code = [
        Block(
            label,
            [Instr(Op.MOV, dst=Reg(n)), *([Instr(Op.BRA, guard=Pred(0), target=target)] if target else [])],
        )
        for n, (label, target) in enumerate(blocks)
    ]
    return Kernel("k", [*code, Block("E", [Instr(Op.EXIT)])], {}, 1)


def test_an_interval_grows_until_nothing_more_fits():
    """X is looked at before Y, which it needs, has joined. It joins before Z makes an interval with it."""
    kernel = round_trips(("A", "X"), ("B", "B"), ("Y", "Y"), ("X", ""), ("Z", "Z"))
    made = form(kernel, 4)
    check(kernel, made)
    assert made.first_pass == 5
    assert made.interval.tolist() == [0] * 7 + [1] * 3


def test_of_two_sides_that_fit_the_first_successor_joins():
    kernel = round_trips(("A", "C"), ("B", "B"), ("C", "C"))
    kernel.blocks.insert(2, Block("J", [Instr(Op.BRA, target="E")]))
    made = form(kernel, 2)
    check(kernel, made)
    assert made.interval.tolist() == [0, 0, 1, 1, 1, 0, 0, 2]


def load(space: Space) -> Instr:
    return Instr(Op.LD, dst=Reg(1), srcs=(Reg(0),), space=space)


def test_a_strand_ends_behind_a_load_whether_or_not_its_block_does():
    """A constant or shared load is not waited for. Where a block ends with a long one, those that follow it
    begin strands."""

    def strands(*blocks: list[Instr]) -> list[int]:
        kernel = Kernel("k", [Block(f"B{n}", each) for n, each in enumerate(blocks)], {}, 1)
        made = form(kernel, 8, Rule.STRAND)
        check(kernel, made)
        return made.interval.tolist()

    move, end = Instr(Op.MOV, dst=Reg(2)), Instr(Op.EXIT)
    for space in (Space.CONST, Space.SHARED):
        assert strands([move, load(space), move], [move, end]) == [0] * 5
        assert strands([move, load(space)], [move, end]) == [0] * 4
    for space in (Space.GLOBAL, Space.LOCAL):
        assert strands([move, load(space), move], [move, end]) == [0, 0, 1, 1, 1]
        assert strands([move, load(space)], [move, end]) == [0, 0, 1, 1]
    assert strands([load(Space.GLOBAL), load(Space.GLOBAL), move], [end]) == [0, 1, 2, 2]
    assert strands([Instr(Op.BAR), move, end]) == [0, 1, 1]


def test_two_sides_count_together():
    """Either side fits with what stands before it, both do not."""
    guard = Pred(0)
    kernel = Kernel(
        "k",
        [
            Block("A", [Instr(Op.MOV, dst=Reg(0)), Instr(Op.BRA, guard=guard, target="C")]),
            Block("B", [Instr(Op.MOV, dst=Reg(1)), Instr(Op.BRA, target="D")]),
            Block("C", [Instr(Op.MOV, dst=Reg(2))]),
            Block("D", [Instr(Op.EXIT)]),
        ],
        {},
        1,
    )
    made = form(kernel, 2)
    check(kernel, made)
    assert len(made) == 3
    assert len(form(kernel, 3)) == 1


def test_a_long_block_is_cut_where_its_registers_no_longer_fit():
    kernel = Kernel(
        "k", [Block("A", [Instr(Op.MOV, dst=Reg(i)) for i in range(10)] + [Instr(Op.EXIT)])], {}, 0
    )
    made = form(kernel, 4)
    check(kernel, made)
    assert made.entries.tolist() == [0, 4, 8]
    assert made.interval.tolist() == [0] * 4 + [1] * 4 + [2] * 3


def test_an_instruction_that_needs_too_much_is_refused():
    kernel = Kernel(
        "k", [Block("A", [Instr(Op.IADD, dst=Reg(0), srcs=(Reg(1), Reg(2))), Instr(Op.EXIT)])], {}, 0
    )
    with pytest.raises(ConfigError, match="instruction 0 of kernel k needs 3 registers; an interval has 2: "):
        form(kernel, 2)


@pytest.mark.parametrize(
    ("op", "space", "ends"),
    [
        (Op.LD, Space.CONST, False),
        (Op.LD, Space.SHARED, False),
        (Op.ATOM, Space.SHARED, False),
        (Op.LD, Space.GLOBAL, True),
        (Op.LD, Space.LOCAL, True),
        (Op.LD, Space.GENERIC, True),
        (Op.ATOM, Space.GLOBAL, True),
        (Op.ST, Space.GLOBAL, False),
        (Op.BAR, None, True),
        (Op.MEMBAR, None, True),
        (Op.IADD, None, False),
    ],
)
def test_what_ends_a_strand(op, space, ends):
    """A load from constant or shared memory has a known, short latency: the strand goes on."""
    named = {} if space is None else {"space": space}
    first = Instr(op, dst=Reg(0), srcs=(Reg(1),), **named)
    kernel = Kernel("k", [Block("A", [first, Instr(Op.MOV, dst=Reg(2)), Instr(Op.EXIT)])], {}, 0)
    made = form(kernel, 8, Rule.STRAND)
    check(kernel, made)
    assert made.interval.tolist() == ([0, 1, 1] if ends else [0, 0, 0])


def test_virtual_registers_are_refused():
    with pytest.raises(ValueError, match="virtual registers"):
        form(Kernel("k", [Block("a", [Instr(Op.EXIT)])], {256: 1}, 0), 8)
