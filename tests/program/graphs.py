"""Random control flow for the tests of program/: kernels whose blocks end as they please, every shape of
graph included."""

from __future__ import annotations

from hypothesis import strategies as st

from warpbank.program.isa import VIRTUAL_PREDICATE, Block, Instr, Kernel, Op, Pred


def kernel_of(shape: list[tuple[str, int]], name: str = "k") -> Kernel:
    """A kernel of otherwise empty blocks: ("fall", 0), ("jump", t), ("branch", t), ("exit", 0) or
    ("maybe_exit", 0) each."""
    blocks = []
    guard = Pred(VIRTUAL_PREDICATE)
    for i, (kind, target) in enumerate(shape):
        label = f"B{target % (len(shape) + 1)}"
        end = {
            "fall": [Instr(Op.NOP)],
            "jump": [Instr(Op.BRA, target=label)],
            "branch": [Instr(Op.NOP), Instr(Op.BRA, guard=guard, target=label)],
            "exit": [Instr(Op.EXIT)],
            "maybe_exit": [Instr(Op.EXIT, guard=guard)],
        }[kind]
        blocks.append(Block(f"B{i}", end))
    blocks.append(Block(f"B{len(shape)}", [Instr(Op.EXIT)]))
    return Kernel(name, blocks, {}, 1)


def shapes(max_blocks: int = 10) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Arbitrary graphs: reducible or not, with blocks out of reach and loops without end."""
    kinds = st.sampled_from(["fall", "jump", "branch", "branch", "branch", "exit", "maybe_exit"])
    return st.lists(st.tuples(kinds, st.integers(0, max_blocks)), min_size=1, max_size=max_blocks)
