"""Clean-up of control flow: what a kernel does stays, and nothing is left that could go."""

from __future__ import annotations

import random
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpbank.program.isa import PT, Block, Instr, Kernel, Op, Pred
from warpbank.program.lowering.cleanup.flow import successors, tidy


def kernel(text: str) -> Kernel:
    """Kernel of a text: blocks `label: instruction; ...` apart by `|`; a number stands for code that does
    something."""
    blocks = []
    for part in text.split("|"):
        label, _, code = part.partition(":")
        blocks.append(
            Block(label.strip(), [_instr(each.split()) for each in code.split(";") if each.strip()])
        )
    return Kernel("k", blocks, {}, 1)


def _instr(words: list[str]) -> Instr:
    guard = None
    if words[0].startswith("@"):
        name = words.pop(0)[1:]
        negated = name.startswith("!")
        name = name.lstrip("!")
        guard = Pred(PT if name == "PT" else int(name[1:]), negated)
    if words[0].isdigit():
        return Instr(Op.NOP, aux=int(words[0]), guard=guard)
    return Instr(Op[words[0]], guard=guard, target=words[1] if len(words) > 1 else None)


def shown(code: Kernel) -> str:
    """The text of a kernel."""
    blocks = []
    for block in code.blocks:
        parts = []
        for instr in block.instrs:
            guard = f"@{instr.guard} " if instr.guard else ""
            name = str(instr.aux) if instr.op == Op.NOP else f"{instr.op.name} {instr.target or ''}".strip()
            parts.append(guard + name)
        blocks.append(f"{block.label}: {'; '.join(parts)}")
    return " | ".join(blocks)


def tidied(text: str) -> str:
    """The text of a kernel after the clean-up, which is at its end: a second one changes nothing."""
    code = kernel(text)
    changed = tidy(code)
    after = shown(code)
    assert changed == (after != text)
    assert not tidy(code)
    assert shown(code) == after
    return after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A trip of a loop takes one branch.
        ("a: 1; @P0 BRA c | b: BRA a | c: EXIT", "a: 1; @!P0 BRA a | c: EXIT"),
        ("a: 1; @!P0 BRA c | b: BRA a | c: EXIT", "a: 1; @P0 BRA a | c: EXIT"),
        ("a: 1; @P0 BRA c | b: 2; BRA a | c: EXIT", "a: 1; @P0 BRA c | b: 2; BRA a | c: EXIT"),
        ("a: 1; @P0 BRA c | b: @P1 BRA a | c: EXIT", "a: 1; @P0 BRA c | b: @P1 BRA a | c: EXIT"),
        ("a: 1; @P0 BRA c | b: EXIT | c: 2; EXIT", "a: 1; @P0 BRA c | b: EXIT | c: 2; EXIT"),
        # Two loops, each written the long way.
        (
            "a: 1; @P0 BRA c | b: BRA a | c: 2; @P1 BRA e | d: BRA c | e: EXIT",
            "a: 1; @!P0 BRA a | c: 2; @!P1 BRA c | e: EXIT",
        ),
        # A block that only branches on: its second source goes to its target.
        ("a: 1; @P0 BRA c | b: BRA a | c: @P1 BRA b | d: EXIT", "a: 1; @!P0 BRA a | c: @P1 BRA a | d: EXIT"),
        # Branches to the next block, over nothing, and by way of others.
        ("a: 1; BRA b | b: 2; EXIT", "a: 1; 2; EXIT"),
        ("a: 1; BRA c | b: | c: 2; EXIT", "a: 1; 2; EXIT"),
        ("a: 1; @P0 BRA c | b: | c: 2; EXIT", "a: 1; 2; EXIT"),
        ("a: 1; @P0 BRA d | b: 2; EXIT | c: | d: 3; EXIT", "a: 1; @P0 BRA d | b: 2; EXIT | d: 3; EXIT"),
        ("a: 1; @P0 BRA c | b: 2; EXIT | c: | d: 3; EXIT", "a: 1; @P0 BRA d | b: 2; EXIT | d: 3; EXIT"),
        (
            "a: 1; @P0 BRA c | b: 2; EXIT | c: BRA e | d: 3; @P1 BRA c | f: EXIT | e: 4; BRA d",
            "a: 1; @P0 BRA e | b: 2; EXIT | d: 3; @P1 BRA e | f: EXIT | e: 4; BRA d",
        ),
        (
            "a: 1; @P0 BRA c | b: 2; EXIT | c: @P1 BRA b | d: EXIT",
            "a: 1; @P0 BRA c | b: 2; EXIT | c: @P1 BRA b | d: EXIT",
        ),
        # A branch that finds its end is all that changes, or one to the next block.
        (
            "a: 1; @P0 BRA c | b: 2; @P1 BRA a | c: BRA e | d: 3; EXIT | e: 4; BRA d",
            "a: 1; @P0 BRA e | b: 2; @P1 BRA a | c: BRA e | d: 3; EXIT | e: 4; BRA d",
        ),
        ("a: 1; @P0 BRA b | b: 2; @P1 BRA b | c: EXIT", "a: 1 | b: 2; @P1 BRA b | c: EXIT"),
        # Code that nothing reaches.
        ("a: EXIT | b: 1; EXIT", "a: EXIT"),
        ("a: 1; BRA c | b: 2; @P0 BRA b | c: EXIT", "a: 1; EXIT"),
        # A kernel may end in nothing, and be nothing.
        ("a: 1", "a: 1"),
        ("a: ", "a: EXIT"),
        ("a: 1; @P0 BRA c | b: 2; EXIT | c: ", "a: 1; @P0 BRA c | b: 2; EXIT | c: EXIT"),
        # Loops without end, of a block and of two, stay.
        ("a: BRA a", "a: BRA a"),
        ("a: 1; BRA a", "a: 1; BRA a"),
        ("a: 1 | b: 2; BRA b", "a: 1 | b: 2; BRA b"),
        # Guards of the constant predicate.
        ("a: @PT 1; EXIT", "a: 1; EXIT"),
        ("a: @!PT 1; 2; EXIT", "a: 2; EXIT"),
        ("a: 1; @!PT BRA c | b: 2; EXIT | c: 3; EXIT", "a: 1; 2; EXIT"),
        ("a: @P0 1; EXIT", "a: @P0 1; EXIT"),
        # Blocks that fall through become one, but not where a branch comes in between or ends the first one.
        ("a: 1 | b: 2 | c: 3; EXIT", "a: 1; 2; 3; EXIT"),
        ("a: 1; @P0 BRA c | b: 2 | c: 3; EXIT", "a: 1; @P0 BRA c | b: 2 | c: 3; EXIT"),
        ("a: 1; @P0 EXIT | b: 2; EXIT", "a: 1; @P0 EXIT | b: 2; EXIT"),
        # A block behind an end, that another branches to, is not part of what stands before it.
        ("a: 1; @P0 BRA c | b: 2; EXIT | c: 3; EXIT", "a: 1; @P0 BRA c | b: 2; EXIT | c: 3; EXIT"),
    ],
)
def test_texts(before: str, after: str) -> None:
    assert tidied(before) == after


def test_where_a_block_goes_on() -> None:
    code = kernel("a: 1 | b: @P0 BRA a | c: @P0 EXIT | d: @P0 BRA e | e: BRA b | f: EXIT")
    assert successors(code) == [[1], [0, 2], [3], [4], [1], []]


def test_a_branch_that_is_its_own_target_ends_the_search() -> None:
    assert tidied("a: 1; @P0 BRA c | b: EXIT | c: BRA d | d: BRA c") in (
        "a: 1; @P0 BRA c | b: EXIT | c: BRA c",
        "a: 1; @P0 BRA d | b: EXIT | d: BRA d",
    )


def _drawn(pick: random.Random) -> Kernel:
    """A kernel of a few blocks, many of them trivial."""
    blocks, count = [], pick.randint(1, 7)
    for number in range(count):
        instrs = [
            Instr(Op.NOP, aux=10 * number + i, guard=_guard(pick, 0.2))
            for i in range(pick.choice((0, 0, 1, 2)))
        ]
        end = pick.choice(("", "", "BRA", "BRA", "BRA", "EXIT"))
        if end:
            target = f"b{pick.randrange(count)}" if end == "BRA" else None
            instrs.append(Instr(Op[end], guard=_guard(pick, 0.5), target=target))
        blocks.append(Block(f"b{number}", instrs))
    return Kernel("k", blocks, {}, 1)


def _guard(pick: random.Random, often: float) -> Pred | None:
    if pick.random() >= often:
        return None
    return Pred(pick.choice((0, 1, 2, PT)), pick.random() < 0.5)


def _run(code: Kernel, seed: int) -> list[int]:
    """What a kernel does, as long as it does not turn in circles: predicates are drawn from what was done
    before."""
    done: list[int] = []
    starts = {block.label: i for i, block in enumerate(code.blocks)}
    block = at = steps = 0
    while block < len(code.blocks) and steps < 200:
        steps += 1
        instrs = code.blocks[block].instrs
        if at == len(instrs):
            block, at = block + 1, 0
            continue
        instr = instrs[at]
        at += 1
        if instr.guard is not None:
            value = True
            if instr.guard.index != PT:
                value = random.Random(f"{seed} {instr.guard.index} {done}").random() < 0.5
            if value == instr.guard.negated:
                continue
        if instr.op == Op.NOP:
            done.append(instr.aux)
        elif instr.op == Op.BRA:
            assert instr.target is not None
            block, at = starts[instr.target], 0
        else:
            return [*done, -1]
    return done if steps == 200 else [*done, -1]


@given(st.integers(0, 2**32))
def test_kernels_do_what_they_did(seed: int) -> None:
    before = _drawn(random.Random(seed))
    after = deepcopy(before)
    tidy(after)
    for number in range(6):
        old, new = _run(before, number), _run(after, number)
        if old[-1:] != [-1]:  # in a circle, which may be shorter now
            assert new[-1:] != [-1]
            old, new = old[: len(new)], new[: len(old)]
        assert new == old, f"{shown(before)}\n{shown(after)}"


def _plain(block: Block) -> bool:
    """Whether a block does nothing but branch on."""
    first = block.instrs[0]
    return first.op == Op.BRA and first.guard is None


@given(st.integers(0, 2**32))
def test_nothing_is_left_that_could_go(seed: int) -> None:
    code = _drawn(random.Random(seed))
    tidy(code)
    after = successors(code)
    sources = [sum(number in each for each in after) for number in range(len(code.blocks))]
    seen, found = set(), [0]
    while found:
        number = found.pop()
        if number not in seen:
            seen.add(number)
            found += after[number]
    assert seen == set(range(len(code.blocks))), shown(code)
    starts = {block.label: block for block in code.blocks}
    for number, block in enumerate(code.blocks):
        assert block.instrs
        assert all(instr.guard is None or instr.guard.index != PT for instr in block.instrs)
        last = block.instrs[-1]
        behind = [each.label for each in code.blocks[number + 1 : number + 3]]
        if last.op == Op.BRA:
            assert last.target is not None
            assert [last.target] != behind[:1], shown(code)
            assert not _plain(starts[last.target]) or _circle(starts, last.target), shown(code)
            if last.guard is not None and [last.target] == behind[1:]:
                assert not _plain(code.blocks[number + 1]) or sources[number + 1] > 1, shown(code)
        elif last.op != Op.EXIT and behind:
            assert sources[number + 1] > 1, shown(code)


def _circle(starts: dict[str, Block], label: str) -> bool:
    """Whether blocks that only branch on lead around."""
    seen = set()
    while label not in seen:
        seen.add(label)
        if not _plain(starts[label]):
            return False
        label = starts[label].instrs[0].target or ""
    return True
