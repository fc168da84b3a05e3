"""Predicate allocation: P0..P6 for the virtual predicates. What does not fit is kept as 0 or 1 in a register:
SEL sets it, ISETP reads it back."""

from __future__ import annotations

from warpbank.program.allocation.spilling import own_guard_lost
from warpbank.program.allocation.work import Work
from warpbank.program.cfg import Cfg
from warpbank.program.isa import PT, Cmp, Imm, Instr, Op, Pred, Reg
from warpbank.program.liveness import Liveness, mask_of, members

PLACES = PT


def assign_predicates(work: Work, cfg: Cfg) -> None:
    """Give every virtual predicate a place, spilling into registers as needed."""
    fixed: set[int] = set()
    while True:
        conflicts, costs = _conflicts(work, cfg)
        places, failed = _colour(conflicts, {p: float("inf") if p in fixed else c for p, c in costs.items()})
        if not failed:
            break
        for p in failed:
            _spill(work, p, fixed)
        work.report.spilled_predicates += len(failed)
    for block in work.kernel.blocks:
        for instr in block.instrs:
            _rename(instr, places)
    work.kernel.predicates = work.report.predicates = max([p + 1 for p in places.values()], default=0)


def _conflicts(work: Work, cfg: Cfg) -> tuple[dict[int, int], dict[int, float]]:
    live = Liveness(work.kernel, cfg)
    conflicts: dict[int, int] = {}
    costs: dict[int, float] = {}
    for b, block in enumerate(work.kernel.blocks):
        weight = 10.0 ** min(cfg.depth(b), 6)
        for instr, after in zip(block.instrs, live.after(b), strict=True):
            written = instr.predicates_written()
            # Undefined ones count too: an instruction and the spill code behind it must see one and the same
            # guard.
            alive = after.predicates | mask_of(written)
            for p in instr.predicates_read() + written:
                costs[p] = costs.get(p, 0.0) + weight
                conflicts.setdefault(p, 0)
            for p in written:
                conflicts[p] |= alive & ~(1 << p)
    for p in conflicts:
        for other in members(conflicts[p]):
            conflicts[other] |= 1 << p
    return conflicts, costs


def _colour(conflicts: dict[int, int], costs: dict[int, float]) -> tuple[dict[int, int], list[int]]:
    """Places, and the predicates to spill if there are not enough."""
    remaining = mask_of(conflicts)
    order = []
    while remaining:
        degrees = [((conflicts[p] & remaining).bit_count(), p) for p in members(remaining)]
        degree, p = min(degrees)
        if degree >= PLACES:
            p = min((costs[p] / degree, p) for degree, p in degrees)[1]
        order.append(p)
        remaining &= ~(1 << p)
    places: dict[int, int] = {}
    failed: list[int] = []
    for p in reversed(order):
        taken = mask_of(places[other] for other in members(conflicts[p]) if other in places)
        free = ~taken & ((1 << PLACES) - 1)
        if not free:
            _, victim = min((costs[o], o) for o in [p, *(o for o in members(conflicts[p]) if o in places)])
            failed.append(victim)
            if victim == p:
                continue
            place = places.pop(victim)
            if any(places.get(o) == place for o in members(conflicts[p])):
                continue  # no room yet: the next attempt, without the victim, will have it
            places[p] = place
        else:
            places[p] = (free & -free).bit_length() - 1
    return places, failed


def _spill(work: Work, predicate: int, fixed: set[int]) -> None:
    """Keep a predicate in a register between the instructions that use it."""
    home = work.kernel.new_register()
    for b, block in enumerate(work.kernel.blocks):
        instrs: list[Instr] = []
        origins: list[int] = []
        held: int  # temporary that holds the predicate
        for instr, origin in zip(block.instrs, work.origins[b], strict=True):
            reads = predicate in instr.predicates_read()
            writes = predicate in instr.pdst
            if not reads and not writes:
                instrs.append(instr)
                origins.append(origin)
                continue
            merge = own_guard_lost(instr)
            # Spill code of another predicate, under this one as its guard, comes right behind an instruction
            # under this guard: it must run in the very lanes of that, so it takes the same temporary.
            if origin >= 0:
                held = work.kernel.new_predicate()
                fixed.add(held)
                if reads or merge:
                    instrs.append(Instr(Op.ISETP, srcs=(home, Imm(0)), pdst=(held,), cmp=Cmp.NE))
                    origins.append(-1)
            _rename(instr, {predicate: held})
            instrs.append(instr)
            origins.append(origin)
            if writes:
                guard = None if merge else instr.guard
                instrs.append(select(home, held, guard))
                origins.append(-1)
        block.instrs = instrs
        work.origins[b] = origins


def select(home: Reg, predicate: int, guard: Pred | None) -> Instr:
    """Select instruction of predicate spilling: home = predicate ? 1 : 0."""
    return Instr(Op.SEL, dst=home, srcs=(Imm(1), Imm(0)), psrc=(Pred(predicate),), guard=guard)


def _rename(instr: Instr, places: dict[int, int]) -> None:
    def place(p: Pred) -> Pred:
        return Pred(places[p.index], p.negated) if p.index in places else p

    if instr.pdst:
        instr.pdst = tuple(places.get(p, p) for p in instr.pdst)
    if instr.psrc:
        instr.psrc = tuple(place(p) for p in instr.psrc)
    if instr.guard is not None:
        instr.guard = place(instr.guard)
