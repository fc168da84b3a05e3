"""Spilling: groups that found no register live in local memory, or are computed again where they are used.

A spilled group is cut into clusters: runs of instructions of one block that touch it, close to each other.
Each cluster gets a temporary register: loaded before the first touch if the cluster reads a word that it has
not written before, stored after every write. Memory is therefore always up to date, and a temporary that
finds no register either is spilled again with clusters of one instruction, without a new slot. Those are
never spilled.

Guards. A guarded write is followed by a store under the same guard, so lanes that did not write keep what
they had. If the instruction writes its own guard predicate, the value is loaded first and stored in all lanes
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from warpbank.program.allocation.interference import is_move
from warpbank.program.allocation.work import Recipe, Work, recipe_instr, recipes
from warpbank.program.cfg import always
from warpbank.program.isa import RZ, DType, Imm, Instr, Kernel, Op, Reg, Space

#: Instructions between two touches that may share a reload.
CLUSTER_GAP = 12


def constant_groups(kernel: Kernel) -> dict[int, list[Recipe]]:
    """Groups of which every word is always written with the same recipe."""
    found: dict[int, Recipe | None] = {}
    for block in kernel.blocks:
        for instr in block.instrs:
            words = instr.registers_written()
            if not words:
                continue
            made = recipes(instr)
            for i, word in enumerate(words):
                recipe = made[i] if made else None
                found[word] = recipe if word not in found or found[word] == recipe else None
    groups = {}
    for base, width in sorted(kernel.groups.items()):
        parts = [found.get(base + i) for i in range(width)]
        if all(p is not None for p in parts):
            groups[base] = [p for p in parts if p is not None]
    return groups


@dataclass
class Cluster:
    """Touches of one spilled group: instruction indices in a block, the words they touch, the temporary that
    stands for it."""

    base: int
    touches: list[int]
    low: int  # first word of the group that the temporary holds
    temporary: Reg
    exposed: int = 0  # words (bits, relative to the temporary) that must be loaded before the first touch
    loaded: bool = field(default=False)


def own_guard_lost(instr: Instr) -> bool:
    """Whether a guarded instruction overwrites its guard."""
    return instr.guard is not None and not always(instr) and instr.guard.index in instr.pdst


def spill(work: Work, groups: list[int]) -> None:
    """Rewrite the code so that these groups (base registers) are in memory, or computed where they are
    needed."""
    kernel = work.kernel
    constants = constant_groups(kernel)
    chosen = set(groups)
    for base in sorted(chosen):
        if base in work.recipes or base in work.slots:
            continue  # a temporary of an earlier spill: it has its place
        if base in constants:
            work.recipes[base] = constants[base]
            work.report.rematerialized += 1
        else:
            work.slots[base] = work.new_slot(kernel.groups[base])
    owner = {base + i: base for base in sorted(chosen) for i in range(kernel.groups[base])}
    single = _in_one_cluster(work, owner)
    for b in range(len(kernel.blocks)):
        _Rewriter(work, b, owner, single).run()
    for base in sorted(chosen):
        del kernel.groups[base]
        work.short.discard(base)


def _operands(instr: Instr) -> list[Reg]:
    found = [s for s in instr.srcs if isinstance(s, Reg) and s.index != RZ]
    if instr.dst is not None and instr.dst.index != RZ:
        found.append(instr.dst)
    return found


def _touches(instrs: list[Instr], owner: dict[int, int]) -> dict[int, list[int]]:
    touches: dict[int, list[int]] = {}
    for i, instr in enumerate(instrs):
        for operand in _operands(instr):
            base = owner.get(operand.index)
            if base is not None:
                at = touches.setdefault(base, [])
                if not at or at[-1] != i:
                    at.append(i)
    return touches


def _runs(at: list[int], gap: int) -> list[list[int]]:
    runs = [[at[0]]]
    for i in at[1:]:
        if gap and i - runs[-1][-1] <= gap:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _in_one_cluster(work: Work, owner: dict[int, int]) -> set[int]:
    """Groups for which clusters would change nothing: all touches in one already. They are cut to single
    instructions at once."""
    runs: dict[int, int] = {}
    for block in work.kernel.blocks:
        for base, at in _touches(block.instrs, owner).items():
            runs[base] = runs.get(base, 0) + len(_runs(at, CLUSTER_GAP))
    return {base for base, count in runs.items() if count <= 1}


class _Rewriter:
    """Rewrites one block."""

    def __init__(self, work: Work, block: int, owner: dict[int, int], single: set[int]) -> None:
        self.work = work
        self.block = block
        self.owner = owner
        self.single = single
        self.instrs: list[Instr] = []
        self.origins: list[int] = []

    def run(self) -> None:
        work = self.work
        old = work.kernel.blocks[self.block].instrs
        at: dict[int, dict[int, Cluster]] = {}
        own = {
            i for i, instr in enumerate(old) if work.origins[self.block][i] < 0 and self._own_access(instr)
        }
        for base, everywhere in _touches(old, self.owner).items():
            touches = [i for i in everywhere if i not in own]
            if not touches:
                continue
            gap = 0 if base in work.short or base in self.single else CLUSTER_GAP
            for run in _runs(touches, gap):
                cluster = self._cluster(base, run, old)
                for i in run:
                    at.setdefault(i, {})[base] = cluster
        if not at and not own:
            return
        for i, instr in enumerate(old):
            origin = work.origins[self.block][i]
            if i in own:
                continue
            if i in at:
                self._rewrite(instr, origin, at[i])
            else:
                self._emit(instr, origin)
        work.kernel.blocks[self.block].instrs = self.instrs
        work.origins[self.block] = self.origins

    def _own_access(self, instr: Instr) -> bool:
        """Whether this is a load or store that an earlier spill inserted between a temporary and its slot:
        now needless."""
        if instr.op is Op.LD and instr.dst is not None:
            register = instr.dst
        elif instr.op is Op.ST and isinstance(instr.srcs[1], Reg):
            register = instr.srcs[1]
        else:
            return False
        base = self.owner.get(register.index)
        slot = None if base is None or base not in self.work.short else self.work.slots.get(base)
        if slot is None or base is None or instr.space is not Space.LOCAL or instr.srcs[0] != Imm(0):
            return False
        return instr.offset == slot + 4 * (register.index - base)

    def _emit(self, instr: Instr, origin: int) -> None:
        self.instrs.append(instr)
        self.origins.append(origin)

    def _cluster(self, base: int, run: list[int], instrs: list[Instr]) -> Cluster:
        """A temporary just wide enough for the words that the run touches."""
        work = self.work
        touched = written = exposed = 0
        for i in run:
            instr = instrs[i]
            for s in instr.srcs:
                if isinstance(s, Reg) and self.owner.get(s.index) == base:
                    words = ((1 << s.width) - 1) << (s.index - base)
                    touched |= words
                    exposed |= words & ~written
            if instr.dst is not None and self.owner.get(instr.dst.index) == base:
                words = ((1 << instr.dst.width) - 1) << (instr.dst.index - base)
                touched |= words
                if own_guard_lost(instr):
                    exposed |= words & ~written
                if (
                    always(instr) and base not in work.recipes
                ):  # what can be computed is not kept where it was written
                    written |= words
        width = work.kernel.groups[base]
        low = 0
        while width > 1:
            half = width // 2
            mask = ((1 << half) - 1) << low
            if not touched & ~mask:
                width = half
            elif not touched & ~(mask << half):
                width, low = half, low + half
            else:
                break
        temporary = work.kernel.new_register(width)
        cluster = Cluster(base, run, low, temporary, exposed >> low)
        if len(run) == 1:
            work.fixed.add(temporary.index)
        else:
            work.short.add(temporary.index)
        if base in work.slots:
            work.slots[temporary.index] = work.slots[base] + 4 * low
        else:
            work.recipes[temporary.index] = work.recipes[base][low : low + width]
        return cluster

    def _local(self, op: Op, register: Reg, offset: int) -> Instr:
        sources = (Imm(0),) if op is Op.LD else (Imm(0), register)
        if op is Op.LD:
            self.work.report.spill_loads += 1
        else:
            self.work.report.spill_stores += 1
        return Instr(
            op,
            dtype=DType.U32,
            dst=register if op is Op.LD else None,
            srcs=sources,
            space=Space.LOCAL,
            size=4 * register.width,
            offset=offset,
        )

    def _load(self, cluster: Cluster, words: int) -> None:
        """Load words of a cluster's temporary, in as few accesses as alignment allows."""
        t = cluster.temporary
        made = self.work.recipes.get(cluster.base)
        i = 0
        while i < t.width:
            width = next(
                (
                    w
                    for w in (4, 2, 1)
                    if i % w == 0 and i + w <= t.width and not ~(words >> i) & ((1 << w) - 1)
                ),
                0,
            )
            if not width:
                i += 1
                continue
            if made:
                for k in range(i, i + width):
                    self._emit(recipe_instr(Reg(t.index + k), made[cluster.low + k]), -1)
            else:
                offset = self.work.slots[cluster.base] + 4 * (cluster.low + i)
                self._emit(self._local(Op.LD, Reg(t.index + i, width), offset), -1)
            i += width

    def _rewrite(self, instr: Instr, origin: int, clusters: dict[int, Cluster]) -> None:
        work = self.work
        for cluster in clusters.values():
            if not cluster.loaded and not self._loads_itself(instr, clusters, cluster):
                self._load(cluster, cluster.exposed)
            cluster.loaded = True
        source = clusters.get(self.owner.get(instr.srcs[0].index, -1)) if is_move(instr) else None  # type: ignore[union-attr]
        written = clusters.get(self.owner.get(instr.dst.index, -1)) if instr.dst is not None else None
        if written is not None and written.base in work.recipes:
            return  # computed where it is used; this definition is not needed
        if source is not None and source is not written and len(source.touches) == 1:
            self._load_into(instr, source, written)
        elif is_move(instr) and written is not None and written is not source and len(written.touches) == 1:
            self._store_from(instr, written, clusters)
            return
        else:
            self._emit(self._renamed(instr, clusters), origin)
        if written is not None:
            dst = self._in_temporary(instr.dst, written)  # type: ignore[arg-type]
            offset = work.slots[written.base] + 4 * (instr.dst.index - written.base)  # type: ignore[union-attr]
            store = self._local(Op.ST, dst, offset)
            if not own_guard_lost(instr):
                store.guard = instr.guard
            self._emit(store, -1)

    def _loads_itself(self, instr: Instr, clusters: dict[int, Cluster], cluster: Cluster) -> bool:
        """A move out of a cluster of its own is replaced by the load itself."""
        if not is_move(instr) or len(cluster.touches) != 1:
            return False
        s = instr.srcs[0]
        assert isinstance(s, Reg)
        assert instr.dst is not None
        return self.owner.get(s.index) == cluster.base and self.owner.get(instr.dst.index) != cluster.base

    def _load_into(self, move: Instr, source: Cluster, written: Cluster | None) -> None:
        s = move.srcs[0]
        assert isinstance(s, Reg)
        assert move.dst is not None
        dst = move.dst if written is None else self._in_temporary(move.dst, written)
        made = self.work.recipes.get(source.base)
        if made:
            for k in range(dst.width):
                self._emit(recipe_instr(Reg(dst.index + k), made[s.index - source.base + k]), -1)
        else:
            self._emit(
                self._local(Op.LD, dst, self.work.slots[source.base] + 4 * (s.index - source.base)), -1
            )

    def _store_from(self, move: Instr, written: Cluster, clusters: dict[int, Cluster]) -> None:
        s = move.srcs[0]
        assert isinstance(s, Reg)
        assert move.dst is not None
        base = self.owner.get(s.index)
        if base is not None:  # the source is spilled too, and in a temporary just now
            s = self._in_temporary(s, clusters[base])
        self._emit(
            self._local(Op.ST, s, self.work.slots[written.base] + 4 * (move.dst.index - written.base)), -1
        )

    @staticmethod
    def _in_temporary(operand: Reg, cluster: Cluster) -> Reg:
        return Reg(cluster.temporary.index + operand.index - cluster.base - cluster.low, operand.width)

    def _renamed(self, instr: Instr, clusters: dict[int, Cluster]) -> Instr:
        def place(operand: Reg) -> Reg:
            cluster = clusters.get(self.owner.get(operand.index, -1))
            return operand if cluster is None else self._in_temporary(operand, cluster)

        dst = instr.dst if instr.dst is None else place(instr.dst)
        return instr.copy(dst=dst, srcs=tuple(place(s) if isinstance(s, Reg) else s for s in instr.srcs))
