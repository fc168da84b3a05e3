"""Straight pieces of code: what a cut makes of the graph."""

from __future__ import annotations

from warpbank.program.intervals.pieces import Piece, Pieces
from warpbank.program.isa import Block, Instr, Kernel, Op, Reg


def test_the_second_part_of_a_cut_comes_behind_the_first() -> None:
    """In the order of trial, and between it and what followed it."""
    move = Instr(Op.MOV, dst=Reg(0))
    blocks = [Block("A", [move] * 3), Block("B", [move]), Block("C", [Instr(Op.EXIT)])]
    graph = Pieces(Kernel("k", blocks, {}, 0))
    assert graph.order == [0, 1, 2]
    assert graph.cut(0, 1) == 3
    assert graph.order == [0, 3, 1, 2]
    assert graph.cut(3, 2) == 4
    assert graph.order == [0, 3, 4, 1, 2]
    assert graph.pieces == [Piece(0, 0, 1), Piece(1, 3, 4), Piece(2, 4, 5), Piece(0, 1, 2), Piece(0, 2, 3)]
    assert graph.successors == [[3], [2], [], [4], [1]]
    assert graph.predecessors == [[], [4], [1], [0], [3]]
