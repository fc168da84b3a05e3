"""Control flow graph of a kernel: dominators, post-dominators, loops, reconvergence points.

Blocks are numbered in layout order; one number past the last is the virtual exit, which every EXIT leads to.
A guarded EXIT leads both there and to the next block: some lanes may leave while the others go on. A lane
diverging at a conditional branch meets the others again at the first instruction of the branch block's
immediate post-dominator, as a SIMT stack does it. Paths that leave early do not count for that: lanes that
return in the middle of a kernel do not keep the others from meeting. Early is every exit but the one that
most blocks lead to.

A loop that no path leaves has no post-dominator of its own accord. Its last block in reverse post-order is
given an imaginary edge to the exit, one such region after the other, so that every block has one. These edges
count for post-dominance only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from warpbank.program.errors import WarpbankError
from warpbank.program.isa import PT, Instr, Kernel, Op

#: Deepest nest of loops that is looked for: each level is a pass over the code.
MAX_LOOP_DEPTH = 64


def always(instr: Instr) -> bool:
    """Whether every active lane executes the instruction."""
    return instr.guard is None or (instr.guard.index == PT and not instr.guard.negated)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: a strongly connected region.

    Parameters
    ----------
    index : its place in `Cfg.loops` (outer loops stand before the loops inside them).
    headers : blocks through which it is entered, ascending; more than one: the region is irreducible.
    blocks : its blocks, inner loops included, ascending.
    parent : index of the loop around it, or None.
    depth : 1 for an outermost loop.
    """

    index: int
    headers: tuple[int, ...]
    blocks: tuple[int, ...]
    parent: int | None
    depth: int

    @property
    def reducible(self) -> bool:
        """Whether the loop has one entrance only."""
        return len(self.headers) == 1


class Cfg:
    """The control flow graph of one kernel. It keeps no link to later changes of the code: build it again
    after a pass.

    Attributes
    ----------
    starts : pc of each block's first instruction (an empty block: of the next instruction), then the number
        of instructions.
    exit : number of the virtual exit (the number of blocks).
    successors, predecessors : per block, and for the virtual exit. A branch lists its target, then the
        fall-through.
    order : reverse post-order of the blocks that the entry reaches.
    idom : immediate dominator; None for the entry and for unreachable blocks.
    meets : immediate post-dominator on the paths to the main exit; `ipdom` for blocks that do not lead there.
    ipdom : immediate post-dominator; `exit` where only the virtual exit is one.
    loops, loop_of : the loops, and per block the index of the innermost one around it or None.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.labels = [b.label for b in kernel.blocks]
        self.index = {label: i for i, label in enumerate(self.labels)}
        self.starts = [0]
        for block in kernel.blocks:
            self.starts.append(self.starts[-1] + len(block.instrs))
        n = self.exit = len(kernel.blocks)
        self.successors: list[tuple[int, ...]] = [self._leads_to(i) for i in range(n)] + [()]
        self.predecessors = _reverse(self.successors)
        self.order = _reverse_post_order(self.successors, 0, n) if n else []
        self.idom: list[int | None] = [None] * n
        if n:
            doms = _dominators(self.predecessors, self.order)
            for b in self.order[1:]:
                self.idom[b] = doms[b]
        self.ipdom = self._post_dominators()
        self.meets = self._meeting_blocks()
        self._dominator_depth = _depths([-1 if d is None else d for d in self.idom], self.order)
        self.loops: list[Loop] = []
        self.loop_of: list[int | None] = [None] * n
        self._find_loops(list(self.order), None, frozenset(self.order))

    def _leads_to(self, i: int) -> tuple[int, ...]:
        known = self.kernel.blocks[i].successors
        if known is not None:
            return known
        instrs = self.kernel.blocks[i].instrs
        following = i + 1  # falling off the last block is leaving
        if not instrs or instrs[-1].op not in (Op.BRA, Op.EXIT):
            return (following,)
        last = instrs[-1]
        target = self.exit if last.op is Op.EXIT else self.index[last.target or ""]
        if always(last):
            return (target,)
        return (target,) if target == following else (target, following)

    # ---- dominance

    def _post_dominators(self) -> list[int]:
        """Immediate post-dominators over the graph with imaginary edges out of the regions that never
        leave."""
        n = self.exit
        imaginary: list[int] = []
        backward: list[list[int]] = [list(p) for p in self.predecessors]
        forward_rank = {b: i for i, b in enumerate(self.order)}
        while True:
            reached = set(_reverse_post_order(backward, n, n + 1))
            stuck = [b for b in range(n) if b not in reached]
            if not stuck:
                break
            # The last one in reverse post-order: of a loop, its latch. Unreachable blocks come last and are
            # served first.
            chosen = max(stuck, key=lambda b: (forward_rank.get(b, n), b))
            imaginary.append(chosen)
            backward[n].append(chosen)
        order = _reverse_post_order(backward, n, n + 1)
        forward: list[Sequence[int]] = [
            (*s, n) if b in imaginary else s for b, s in enumerate(self.successors)
        ]
        doms = _dominators(forward, order)
        self.imaginary_exits = tuple(sorted(imaginary))
        return [doms[b] for b in range(n)]

    def _meeting_blocks(self) -> list[int]:
        """Immediate post-dominators of the graph without its early exits."""
        n = self.exit
        exits = [b for b in self.predecessors[n] if b in set(self.order)]
        if len(exits) < 2:
            return self.ipdom
        lead = {b: len(_reverse_post_order(self.predecessors, b, n)) for b in exits}
        main = max(exits, key=lambda b: (lead[b], b))
        early = set(exits) - {main}
        forward = [tuple(t for t in s if t != n) if b in early else s for b, s in enumerate(self.successors)]
        doms = _dominators(forward, _reverse_post_order(_reverse(forward), n, n + 1))
        return [doms.get(b, self.ipdom[b]) for b in range(n)]

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the entry to b passes a. Both reachable."""
        depth = self._dominator_depth
        at: int | None = b
        while at is not None and depth[at] > depth[a]:
            at = self.idom[at]
        return at == a

    def post_dominates(self, a: int, b: int) -> bool:
        """Whether every path from b to the exit passes a."""
        while b != a and b != self.exit:
            b = self.ipdom[b]
        return b == a

    # ---- loops

    def _find_loops(self, blocks: list[int], parent: Loop | None, reachable: frozenset[int]) -> None:
        """Strongly connected regions of `blocks`; without the edges into their headers, those inside; and so
        on.

        On reducible graphs these are the natural loops, merged by header; an irreducible region is one with
        several headers.
        """
        inside = set(blocks)
        if parent is not None:
            inner = {
                b: tuple(s for s in self.successors[b] if s in inside and s not in parent.headers)
                for b in blocks
            }
        else:
            inner = {b: tuple(s for s in self.successors[b] if s in inside) for b in blocks}
        for region in _strong_regions(blocks, inner):
            members = set(region)
            if len(region) == 1 and region[0] not in inner[region[0]]:
                continue
            headers = tuple(
                b
                for b in region
                if b == 0 or any(p not in members for p in self.predecessors[b] if p in reachable)
            )
            if parent is not None and parent.depth == MAX_LOOP_DEPTH:
                raise WarpbankError(
                    f"kernel {self.kernel.name}: loops are nested more than {MAX_LOOP_DEPTH} deep, or jumps "
                    "go into them from everywhere; write the kernel in several"
                )
            loop = Loop(
                len(self.loops),
                headers,
                tuple(region),
                None if parent is None else parent.index,
                1 if parent is None else parent.depth + 1,
            )
            self.loops.append(loop)
            for b in region:
                self.loop_of[b] = loop.index
            self._find_loops(region, loop, reachable)

    def depth(self, block: int) -> int:
        """Nesting depth of the block in loops."""
        loop = self.loop_of[block]
        return 0 if loop is None else self.loops[loop].depth

    @property
    def irreducible(self) -> list[Loop]:
        """Loops with more than one entrance."""
        return [loop for loop in self.loops if not loop.reducible]

    # ---- places

    def block_of(self, pc: int) -> int:
        """Block that holds the instruction at pc."""
        if not 0 <= pc < self.starts[-1]:
            raise IndexError(f"pc {pc} is outside the {self.starts[-1]} instructions of {self.kernel.name}")
        return bisect_right(self.starts, pc) - 1

    def branches(self) -> list[int]:
        """Blocks that end in a conditional branch with two different successors, in layout order."""
        found = []
        for i, block in enumerate(self.kernel.blocks):
            if block.instrs and block.instrs[-1].op is Op.BRA and len(self.successors[i]) == 2:
                found.append(i)
        return found

    def reconvergence_block(self, block: int) -> int | None:
        """Block where lanes that part at the end of `block` meet again; None: nowhere before the exit."""
        at = self.meets[block]
        return None if at == self.exit else at

    def reconvergence(self, pc: int) -> int | None:
        """Reconvergence point of the branch at `pc`, as the pc of its block's first instruction; None:
        nowhere before the exit."""
        at = self.reconvergence_block(self.block_of(pc))
        if at is None or self.starts[at] >= self.starts[-1]:
            return None
        return self.starts[at]

    def reach(self, start: int, stop: int | None) -> set[int]:
        """Blocks that can run from the start of block `start` before `stop` is entered; the virtual exit left
        out."""
        if start == stop or start == self.exit:
            return set()
        found, work = {start}, [start]
        while work:
            for s in self.successors[work.pop()]:
                if s != stop and s != self.exit and s not in found:
                    found.add(s)
                    work.append(s)
        return found

    def region(self, block: int) -> set[int]:
        """Influence region of the branch that ends `block`: blocks reachable from it before its reconvergence
        block."""
        stop = self.reconvergence_block(block)
        found: set[int] = set()
        for s in self.successors[block]:
            found |= self.reach(s, stop)
        return found


def _reverse(successors: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    found: list[list[int]] = [[] for _ in successors]
    for b, following in enumerate(successors):
        for s in following:
            found[s].append(b)
    return [tuple(p) for p in found]


def _reverse_post_order(successors: Sequence[Sequence[int]], start: int, limit: int) -> list[int]:
    """Nodes below `limit` that `start` reaches, in reverse post-order; iterative, since code can be long."""
    seen, order = {start}, []
    stack = [(start, iter(successors[start]))]
    while stack:
        node, following = stack[-1]
        for s in following:
            if s < limit and s not in seen:
                seen.add(s)
                stack.append((s, iter(successors[s])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]


def _dominators(predecessors: Sequence[Sequence[int]], order: list[int]) -> dict[int, int]:
    """Immediate dominators by the iteration of Cooper, Harvey and Kennedy; the first of `order` is its
    own."""
    rank = {b: i for i, b in enumerate(order)}
    idom = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for b in order[1:]:
            new = -1
            for p in predecessors[b]:
                if p not in idom:
                    continue
                if new < 0:
                    new = p
                    continue
                other = p
                while new != other:
                    while rank[new] > rank[other]:
                        new = idom[new]
                    while rank[other] > rank[new]:
                        other = idom[other]
            if idom.get(b) != new:
                idom[b] = new
                changed = True
    return idom


def _depths(parents: list[int], order: list[int]) -> list[int]:
    """Depth in the dominator tree; a dominator stands before what it dominates in reverse post-order."""
    depth = [0] * len(parents)
    for b in order[1:]:
        depth[b] = depth[parents[b]] + 1
    return depth


def _strong_regions(nodes: list[int], successors: dict[int, tuple[int, ...]]) -> list[list[int]]:
    """Strongly connected components (Tarjan, iterative), each ascending, in the order of their smallest
    block."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    path: list[int] = []
    found: list[list[int]] = []
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        path.append(root)
        on_stack.add(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, following = work[-1]
            for s in following:
                if s not in number:
                    number[s] = low[s] = len(number)
                    path.append(s)
                    on_stack.add(s)
                    work.append((s, iter(successors[s])))
                    break
                if s in on_stack:
                    low[node] = min(low[node], number[s])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    region = []
                    while True:
                        member = path.pop()
                        on_stack.discard(member)
                        region.append(member)
                        if member == node:
                            break
                    found.append(sorted(region))
    return sorted(found)
