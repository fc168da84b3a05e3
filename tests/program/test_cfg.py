"""The control flow graph against definitions computed by brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.program.graphs import kernel_of, shapes
from warpbank.program.cfg import Cfg


def reaches(successors, start, removed):
    """Nodes reachable from start when `removed` is taken out."""
    found, work = set(), [start] if start != removed else []
    while work:
        b = work.pop()
        if b in found:
            continue
        found.add(b)
        work += [s for s in successors[b] if s != removed]
    return found


@settings(max_examples=200, deadline=None)
@given(shapes())
def test_dominators_are_the_blocks_no_path_avoids(shape):
    cfg = Cfg(kernel_of(shape))
    live = reaches(cfg.successors, 0, None) - {cfg.exit}
    assert set(cfg.order) == live
    for b in live:
        dominators = {d for d in live if b not in reaches(cfg.successors, 0, d)}
        assert dominators == {d for d in live if cfg.dominates(d, b)}
        if b:
            strict = dominators - {b}
            assert cfg.idom[b] in strict
            assert all(cfg.dominates(d, cfg.idom[b]) for d in strict)
        else:
            assert cfg.idom[0] is None


@settings(max_examples=200, deadline=None)
@given(shapes())
def test_post_dominators_with_imaginary_exits(shape):
    cfg = Cfg(kernel_of(shape))
    graph = [(*s, cfg.exit) if b in cfg.imaginary_exits else s for b, s in enumerate(cfg.successors)]
    endless = {b for b in range(cfg.exit) if cfg.exit not in reaches(cfg.successors, b, None)}
    assert bool(cfg.imaginary_exits) == bool(endless)
    assert set(cfg.imaginary_exits) <= endless
    for b in range(cfg.exit):
        assert cfg.exit in reaches(graph, b, None)
        after = {
            p
            for p in range(cfg.exit + 1)
            if (p != b and cfg.exit not in reaches(graph, b, p)) or p == cfg.exit
        }
        assert cfg.ipdom[b] in after
        assert after == {p for p in range(cfg.exit + 1) if p != b and cfg.post_dominates(p, b)}


@settings(max_examples=200, deadline=None)
@given(shapes())
def test_loops_hold_every_cycle_and_nest(shape):
    cfg = Cfg(kernel_of(shape))
    live = set(cfg.order)
    for b in live:  # in a loop exactly if the block can come back to itself
        comes_back = any(b in reaches(cfg.successors, s, None) for s in cfg.successors[b])
        assert (cfg.loop_of[b] is not None) == comes_back
        assert cfg.depth(b) == sum(b in loop.blocks for loop in cfg.loops)
    for loop in cfg.loops:
        inside = set(loop.blocks)
        entered = {b for b in inside if b == 0 or any(p in live - inside for p in cfg.predecessors[b])}
        assert set(loop.headers) == entered
        if loop.parent is not None:
            assert inside < set(cfg.loops[loop.parent].blocks)
            assert loop.depth == cfg.loops[loop.parent].depth + 1
        if loop.reducible:
            assert all(cfg.dominates(loop.headers[0], b) for b in inside)
    for loop in cfg.irreducible:
        assert len(loop.headers) > 1


def test_diamond_in_a_loop():
    #   0: head   1: branch to 3   2: jump 4   3: fall   4: branch to 1   5: exit
    cfg = Cfg(kernel_of([("fall", 0), ("branch", 3), ("jump", 4), ("fall", 0), ("branch", 1)]))
    assert cfg.successors[:6] == [(1,), (3, 2), (4,), (4,), (1, 5), (6,)]
    assert [loop.blocks for loop in cfg.loops] == [(1, 2, 3, 4)]
    assert cfg.branches() == [1, 4]
    assert cfg.reconvergence_block(1) == 4
    assert cfg.reconvergence(cfg.starts[2] - 1) == cfg.starts[4]
    assert cfg.reconvergence_block(4) == 5
    assert cfg.region(1) == {2, 3}
    assert cfg.region(4) == {1, 2, 3, 4}


def test_early_exits_do_not_keep_the_others_from_meeting():
    cfg = Cfg(kernel_of([("branch", 2), ("exit", 0), ("maybe_exit", 0), ("branch", 5), ("fall", 0)]))
    assert cfg.successors[2] == (6, 3)
    assert cfg.ipdom[0] == cfg.exit
    assert cfg.reconvergence_block(0) == 2
    assert cfg.reconvergence_block(3) == 5


def test_an_exit_deep_inside_a_branch_does_not_undo_the_meeting_point():
    # 0: if (a) { 1: if (b) { 2: if (c) 3: ; 4: return } 5: } 6:
    cfg = Cfg(
        kernel_of(
            [("branch", 6), ("branch", 5), ("branch", 4), ("fall", 0), ("exit", 0), ("fall", 0), ("fall", 0)]
        )
    )
    assert cfg.ipdom[0] == cfg.ipdom[1] == cfg.exit
    assert [cfg.reconvergence_block(b) for b in (0, 1, 2)] == [6, 5, 4]


def test_two_entrances_make_an_irreducible_region():
    cfg = Cfg(kernel_of([("branch", 2), ("fall", 0), ("branch", 1)]))
    (loop,) = cfg.irreducible
    assert loop.headers == (1, 2)
    assert loop.blocks == (1, 2)


def test_endless_loop_has_a_post_dominator():
    cfg = Cfg(kernel_of([("branch", 3), ("fall", 0), ("jump", 1)]))
    assert cfg.imaginary_exits == (2,)
    assert cfg.ipdom[1] == 2
    assert cfg.ipdom[2] == cfg.exit


def test_pc_outside_is_refused():
    with pytest.raises(IndexError, match="outside the 1 instructions"):
        Cfg(kernel_of([])).block_of(1)
