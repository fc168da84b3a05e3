"""Independent check of a register allocation: every use must read the value that it read before.

It knows nothing of interference or colours. A forward data flow follows, for every place (physical register,
predicate, word of local memory), the set of virtual words and predicates whose current value the place holds
for certain. A use is right if the place that it reads holds the virtual word that the source code reads. An
undefined value is found anywhere: at the entry every place holds everything, and a place never written,
`nowhere`, holds what is still undefined and lends it to every place that is.

A constant that can be computed anywhere is a value and a place of its own; code may compute it again at any
time. A guarded write changes some lanes only: until the guard itself changes, which places are right in the
lanes with and without it is remembered, so that the store under the same guard is seen to complete them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warpbank.program.allocation.interference import is_move
from warpbank.program.allocation.work import AllocationReport, Recipe, recipes
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import (
    PT,
    RZ,
    VIRTUAL,
    VIRTUAL_PREDICATE,
    Cmp,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Space,
)
from warpbank.program.liveness import members
from warpbank.program.verify import MachineCodeError


class AllocationError(MachineCodeError):
    """Error of an allocation that changes what the code means, which is the allocator's fault and never the
    user's."""


@dataclass
class _Half:
    """After a guarded write: places right where the guard holds, and where it does not."""

    guard: Pred
    where_true: int
    where_false: int


def check_allocation(source: Kernel, result: Kernel, report: AllocationReport) -> None:
    """Raise `AllocationError` if `result` is not `source` over physical registers."""
    _Checker(source, result, report).run()


class _Checker:
    def __init__(self, source: Kernel, result: Kernel, report: AllocationReport) -> None:
        self.source, self.result, self.report = source, result, report
        self.words = (
            max([source.next_register, *(b + w for b, w in source.groups.items()), VIRTUAL]) - VIRTUAL
        )
        self.everything = (1 << (self.words + source.predicates)) - 1
        self.predicate_values = self.everything >> self.words << self.words
        # Places: registers, predicates, words of spill memory, constants.
        self.first_predicate = result.registers
        self.first_slot = self.first_predicate + PT
        self.local_base = source.local_bytes // 4
        self.first_constant = self.first_slot + -(-result.local_bytes // 4) - self.local_base
        self.constants: dict[object, int] = {}
        for instr in source.instructions():
            for recipe in recipes(instr) or []:
                self.constants.setdefault(recipe, self.first_constant + len(self.constants))
        self.nowhere = self.first_constant + len(self.constants)
        self.count = self.nowhere + 1
        self.state: list[int] = []
        self.halves: dict[int, _Half] = {}

    def fail(self, block: int, instr: Instr, why: str) -> AllocationError:
        return AllocationError(
            f"kernel {self.source.name}, block {self.source.blocks[block].label}, {instr.op.name} "
            f"(line {instr.line}): {why}"
        )

    def run(self) -> None:
        if [b.label for b in self.source.blocks] != [b.label for b in self.result.blocks]:
            raise AllocationError(f"kernel {self.source.name}: blocks differ")
        cfg = Cfg(self.result)
        at_start: list[list[int] | None] = [None] * len(self.result.blocks)
        entry = [self.everything] * self.count
        for place in self.constants.values():
            entry[place] |= self._constant(place)
        at_start[0] = entry
        work = [0]
        while work:
            b = work.pop(0)
            state = at_start[b]
            assert state is not None
            self.state, self.halves = list(state), {}
            self._block(b)
            for s in cfg.successors[b]:
                if s == cfg.exit:
                    continue
                old = at_start[s]
                new = (
                    list(self.state) if old is None else [x & y for x, y in zip(old, self.state, strict=True)]
                )
                if new != old:
                    at_start[s] = new
                    if s not in work:
                        work.append(s)

    def _block(self, b: int) -> None:
        before, after, origins = (
            self.source.blocks[b].instrs,
            self.result.blocks[b].instrs,
            self.report.origins[b],
        )
        kept = [o for o in origins if o >= 0]
        if kept != sorted(set(kept)) or len(origins) != len(after):
            raise AllocationError(
                f"kernel {self.source.name}, block {self.source.blocks[b].label}: instructions out of order"
            )
        following = iter([*kept[1:], len(before)] if kept else [])
        # What is missing is taken to have happened as early as it may: it has no effect on any place.
        self._missing(b, before[: kept[0] if kept else len(before)])
        for instr, origin in zip(after, origins, strict=True):
            if origin < 0:
                self._inserted(b, instr)
            else:
                self._same(b, before[origin], instr)
                self._missing(b, before[origin + 1 : next(following)])

    # ---- places

    def _constant(self, place: int) -> int:
        """The value that is the constant itself."""
        return 1 << self.words + self.source.predicates + place - self.first_constant

    def _register(self, b: int, instr: Instr, index: int) -> int:
        if not 0 <= index < self.result.registers:
            raise self.fail(b, instr, f"register {index} of {self.result.registers}")
        return index

    def _overwritten(self, place: int) -> None:
        for half in self.halves.values():
            half.where_true &= ~(1 << place)
            half.where_false &= ~(1 << place)
        if self.first_predicate <= place < self.first_slot:
            index = place - self.first_predicate
            self.halves = {v: h for v, h in self.halves.items() if h.guard.index != index}

    def _put(self, place: int, source: int, guard: Pred | None, allowed: int) -> None:
        """A copy inserted by the allocator: `place` takes what `source` holds of the `allowed` values, in the
        guard's lanes."""
        taken = self.state[source] & allowed | self.state[self.nowhere]
        whole = taken if guard is None else taken & self.state[place]
        parts = []
        for v, half in self.halves.items():
            if not allowed >> v & 1:
                continue
            true_from, false_from = {source}, {source}
            if guard is not None and guard == half.guard:
                false_from = {place}
            elif guard is not None and guard == Pred(half.guard.index, not half.guard.negated):
                true_from = {place}
            elif guard is not None:
                true_from = false_from = {source, place}
            right = (
                all(half.where_true >> p & 1 for p in true_from),
                all(half.where_false >> p & 1 for p in false_from),
            )
            if all(right):
                whole |= 1 << v
            parts.append((half, right))
        self._overwritten(place)
        self.state[place] = whole
        for half, (where_true, where_false) in parts:
            half.where_true |= where_true << place
            half.where_false |= where_false << place

    # ---- instructions

    def _missing(self, b: int, instrs: list[Instr]) -> None:
        """Source instructions that are gone: copies, and constants computed elsewhere."""
        for instr in instrs:
            made = recipes(instr)
            if is_move(instr):
                assert isinstance(instr.srcs[0], Reg)
                words = zip(instr.registers_written(), instr.registers_read(), strict=True)
                pairs = [(d - VIRTUAL, s - VIRTUAL) for d, s in words]
                holders = [[p for p in range(self.count) if self.state[p] >> s & 1] for _, s in pairs]
                halves = [self.halves.get(s) for _, s in pairs]
                self._kill(sum(1 << d for d, _ in pairs))
                for (d, _), places, half in zip(pairs, holders, halves, strict=True):
                    for p in places:
                        self.state[p] |= 1 << d
                    if half is not None:
                        self.halves[d] = replace(half)
            elif made:
                self._define_constants(instr, made)
            else:
                raise self.fail(b, instr, "is missing")

    def _define_constants(self, instr: Instr, made: list) -> None:
        words = [w - VIRTUAL for w in instr.registers_written()]
        self._kill(sum(1 << w for w in words))
        for w, recipe in zip(words, made, strict=True):
            self._equals(w, recipe)

    def _equals(self, word: int, recipe: Recipe) -> None:
        """A virtual word is this constant: so it is wherever the constant is."""
        constant = self._constant(self.constants[recipe])
        self.state = [s | 1 << word if s & constant else s for s in self.state]

    def _kill(self, values: int) -> None:
        for v in members(values):
            self.halves.pop(v, None)
        keep = ~values
        self.state = [s & keep for s in self.state]

    def _inserted(self, b: int, instr: Instr) -> None:
        made = recipes(instr)
        guard = None if always(instr) else instr.guard
        if instr.op in (Op.LD, Op.ST) and instr.space is Space.LOCAL and instr.srcs[0] == Imm(0):
            register = instr.dst if instr.op is Op.LD else instr.srcs[1]
            assert isinstance(register, Reg)
            if instr.offset < 4 * self.local_base or instr.offset + instr.size > self.result.local_bytes:
                raise self.fail(b, instr, f"spill access at {instr.offset} outside the spill area")
            if instr.offset % instr.size or instr.size != 4 * register.width:
                raise self.fail(b, instr, "spill access misaligned")
            for i in range(register.width):
                slot = self.first_slot + instr.offset // 4 - self.local_base + i
                place = self._register(b, instr, register.index + i)
                target, origin = (place, slot) if instr.op is Op.LD else (slot, place)
                self._put(target, origin, guard, self.everything)
        elif made and instr.dst is not None and instr.dst.width == 1:
            if made[0] not in self.constants:
                raise self.fail(b, instr, "computes a constant that the source code does not have")
            self._put(self._register(b, instr, instr.dst.index), self.constants[made[0]], guard, -1)
        elif (
            instr.op is Op.SEL
            and instr.srcs == (Imm(1), Imm(0))
            and instr.dst is not None
            and not instr.psrc[0].negated
        ):
            source = self.first_predicate + instr.psrc[0].index
            self._put(self._register(b, instr, instr.dst.index), source, guard, self.predicate_values)
        elif (
            instr.op is Op.ISETP
            and instr.cmp is Cmp.NE
            and instr.srcs[1] == Imm(0)
            and not instr.psrc
            and len(instr.pdst) == 1
        ):
            register = instr.srcs[0]
            assert isinstance(register, Reg)
            source = self._register(b, instr, register.index)
            self._put(self.first_predicate + instr.pdst[0], source, guard, self.predicate_values)
        else:
            raise self.fail(b, instr, "was inserted, and is no spill code")

    def _same(self, b: int, old: Instr, new: Instr) -> None:
        """A source instruction and what became of it."""
        blank = {"dst": None, "srcs": (), "psrc": (), "pdst": (), "guard": None}
        if old.copy(**blank) != new.copy(**blank) or len(old.srcs) != len(new.srcs):
            raise self.fail(b, old, "was changed")
        guard = new.guard
        for x, y in zip([*old.srcs, old.dst], [*new.srcs, new.dst], strict=True):
            if not isinstance(x, Reg) or x.index == RZ:
                if x != y:
                    raise self.fail(b, old, f"operand {x} became {y}")
            elif not isinstance(y, Reg) or y.width != x.width or y.index % y.width:
                raise self.fail(b, old, f"operand {x} became {y}")
        for x, y in zip(old.srcs, new.srcs, strict=True):
            if isinstance(x, Reg) and isinstance(y, Reg) and x.index != RZ:
                for i in range(x.width):
                    self._holds(
                        b, old, self._register(b, new, y.index + i), x.index + i - VIRTUAL, guard, str(x)
                    )
        olds = [*old.psrc, *([old.guard] if old.guard else [])]
        news = [*new.psrc, *([new.guard] if new.guard else [])]
        if len(olds) != len(news) or len(old.pdst) != len(new.pdst):
            raise self.fail(b, old, "predicates were changed")
        for n, (p, q) in enumerate(zip(olds, news, strict=True)):
            if p.negated != q.negated or (p.index == PT) != (q.index == PT):
                raise self.fail(b, old, f"predicate {p} became {q}")
            if p.index != PT:
                value = self.words + p.index - VIRTUAL_PREDICATE
                self._holds(
                    b,
                    old,
                    self.first_predicate + q.index,
                    value,
                    guard if n < len(old.psrc) else None,
                    str(p),
                )
        self._write(b, old, new)

    def _holds(self, b: int, instr: Instr, place: int, value: int, guard: Pred | None, name: str) -> None:
        if self.state[place] >> value & 1:
            return
        half = self.halves.get(value)
        if half is not None and guard == half.guard and half.where_true >> place & 1:
            return
        raise self.fail(b, instr, f"{name} is not in place {place}")

    def _write(self, b: int, old: Instr, new: Instr) -> None:
        pairs = []
        if old.dst is not None and new.dst is not None and old.dst.index != RZ:
            pairs = [
                (old.dst.index + i - VIRTUAL, self._register(b, new, new.dst.index + i))
                for i in range(old.dst.width)
            ]
        for p, q in zip(old.pdst, new.pdst, strict=True):
            if (p == PT) != (q == PT):
                raise self.fail(b, old, "a predicate result was lost or made up")
            if p != PT:
                pairs.append((self.words + p - VIRTUAL_PREDICATE, self.first_predicate + q))
        places = [place for _, place in pairs]
        if len(set(places)) < len(places):
            raise self.fail(b, old, "two results in one place")
        if is_move(old):
            read = zip(old.registers_read(), new.registers_read(), strict=True)
            self._copy(pairs, [(s - VIRTUAL, p) for s, p in read])
        elif always(old):
            self._kill(sum(1 << v for v, _ in pairs))
            for v, place in pairs:
                self._overwritten(place)
                self.state[place] = 1 << v | self.state[self.nowhere]
            for (v, place), recipe in zip(pairs, recipes(old) or [], strict=False):
                self.state[place] |= self._constant(self.constants[recipe])
                self._equals(v, recipe)
        else:
            assert new.guard is not None
            lost = new.guard.index in new.pdst
            for v, place in pairs:
                right = sum(1 << p for p in range(self.count) if self.state[p] >> v & 1)
                self._kill(1 << v)
                self._overwritten(place)
                self.state[place] = (1 << v if right >> place & 1 else 0) | self.state[self.nowhere]
                if not lost:
                    self.halves[v] = _Half(new.guard, 1 << place, right & ~(1 << place))

    def _copy(self, pairs: list[tuple[int, int]], sources: list[tuple[int, int]]) -> None:
        holders = [[p for p in range(self.count) if self.state[p] >> s & 1] for s, _ in sources]
        copied = [self.state[p] for _, p in sources]
        halves = [self.halves.get(s) for s, _ in sources]
        dead = sum(1 << v for v, _ in pairs)
        self._kill(dead)
        for (v, _), half in zip(pairs, halves, strict=True):
            if half is not None:
                self.halves[v] = replace(half)
        for (v, place), values in zip(pairs, copied, strict=True):
            self._overwritten(place)
            self.state[place] = values & ~dead | 1 << v | self.state[self.nowhere]
        written = {place for _, place in pairs}
        for (v, _), where in zip(pairs, holders, strict=True):
            for p in where:
                if p not in written:
                    self.state[p] |= 1 << v
