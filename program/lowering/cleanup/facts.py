"""Known facts about registers and predicates at a point of the code, from their definitions.

A word's definition is known everywhere it dominates if the word has one definition in the whole kernel and so
has every register that definition mentions, each dominating it in turn. A path from it to a use on which one
of those ran again, but it did not, would also exist from the entry, without it: against dominance.
Within a block it is known as long as neither the word nor a register it mentions is written.
"""

from __future__ import annotations

from collections.abc import Callable

from warpbank.program.cfg import Cfg
from warpbank.program.isa import PT, DType, Imm, Instr, Kernel, Op, Pred, Reg, Source


class Definitions:
    """Definition counts: how often each register word and each predicate is written in a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.registers: dict[int, int] = {}
        self.predicates: dict[int, int] = {}
        for instr in kernel.instructions():
            for w in instr.registers_written():
                self.registers[w] = self.registers.get(w, 0) + 1
            for p in instr.predicates_written():
                self.predicates[p] = self.predicates.get(p, 0) + 1

    def single(self, word: int) -> bool:
        """Whether a register word has exactly one definition."""
        return self.registers.get(word) == 1

    def single_predicate(self, predicate: int) -> bool:
        """Whether a predicate has exactly one definition."""
        return self.predicates.get(predicate) == 1


class Facts:
    """Known definitions while the blocks are walked in reverse post-order.

    Parameters
    ----------
    kernel : the code, which may be rewritten behind the walk but not ahead of it in ways that add
        definitions.
    cfg : its graph.
    """

    def __init__(self, kernel: Kernel, cfg: Cfg) -> None:
        self.cfg = cfg
        self.definitions = Definitions(kernel)
        self.block = 0
        self._where: dict[int, int] = {}
        self._where_predicates: dict[int, int] = {}
        self._global: dict[int, tuple[int, Instr]] = {}
        self._local: dict[int, Instr] = {}
        self._users: dict[int, list[int]] = {}
        self._global_predicates: dict[int, tuple[int, Pred]] = {}
        self._local_predicates: dict[int, Pred] = {}
        self._predicate_users: dict[int, list[int]] = {}

    def enter(self, block: int) -> None:
        """Begins a block."""
        self.block = block
        self._local.clear()
        self._users.clear()
        self._local_predicates.clear()
        self._predicate_users.clear()

    def definition(self, word: int) -> Instr | None:
        """The instruction that made the value the word has here, if its sources still have the values it
        saw."""
        found = self._local.get(word)
        if found is not None:
            return found
        entry = self._global.get(word)
        return entry[1] if entry is not None and self._reaches(entry[0]) else None

    def _reaches(self, block: int | None) -> bool:
        """Whether code that the walk has passed in a block comes before this point on every path."""
        return block is not None and self.cfg.dominates(block, self.block)

    def value(self, source: Source) -> Source:
        """Source that a one-word register is a copy of; the source itself if nothing is known."""
        if isinstance(source, Reg):
            instr = self.definition(source.index)
            if instr is not None and instr.op == Op.MOV:
                return instr.srcs[0]
        return source

    def predicate(self, pred: Pred) -> Pred:
        """Source that a predicate is a copy of, negation included."""
        if pred.index == PT:
            return pred
        found = self._local_predicates.get(pred.index)
        if found is None:
            entry = self._global_predicates.get(pred.index)
            if entry is not None and self._reaches(entry[0]):
                found = entry[1]
        if found is None:
            return pred
        return Pred(found.index, found.negated != pred.negated)

    def after(self, instr: Instr) -> None:
        """Takes an instruction into account that has just run."""
        written = instr.registers_written()
        for w in written:
            for user in self._users.pop(w, ()):
                self._local.pop(user, None)
        for p in instr.predicates_written():
            for user in self._predicate_users.pop(p, ()):
                self._local_predicates.pop(user, None)
        if instr.guard is None:
            self._note_registers(instr, written)
            self._note_predicate(instr)
        for w in written:
            self._where[w] = self.block
        for p in instr.predicates_written():
            self._where_predicates[p] = self.block

    def _note_registers(self, instr: Instr, written: list[int]) -> None:
        """Remembers a pure definition. One that carries or reads predicates is not described by its registers
        alone."""
        if instr.psrc or instr.volatile:
            return
        read = instr.registers_read()
        if any(r in written for r in read):
            return
        single: Callable[[int], bool] = self.definitions.single
        everywhere = all(map(single, written)) and all(
            single(r) and self._reaches(self._where.get(r)) for r in read
        )
        for w in written:
            if everywhere:
                self._global[w] = (self.block, instr)
            else:
                self._local[w] = instr
                for r in (*read, *written):
                    self._users.setdefault(r, []).append(w)

    def _note_predicate(self, instr: Instr) -> None:
        """Remembers predicates that are copies or constants."""
        if instr.op != Op.PLOP or len(instr.pdst) != 1:
            return
        source = plain_predicate(instr)
        target = instr.pdst[0]
        if source is None or source.index == target:
            return
        single = self.definitions.single_predicate
        known = source.index == PT or (
            single(source.index) and self._reaches(self._where_predicates.get(source.index))
        )
        if single(target) and known:
            self._global_predicates[target] = (self.block, source)
        else:
            self._local_predicates[target] = source
            for p in (source.index, target):
                self._predicate_users.setdefault(p, []).append(target)


def plain_predicate(instr: Instr) -> Pred | None:
    """The predicate that a PLOP copies or complements, or the constant it makes; None if it does more."""
    # Sources that are constant decide a part of the table; missing ones are true.
    sources = [*instr.psrc, Pred(PT), Pred(PT), Pred(PT)][:3]
    varying = list(dict.fromkeys(p.index for p in sources if p.index != PT))
    if len(varying) > 1:
        return None
    results = []
    for value in (0, 1):
        index = 0
        for p in sources:
            bit = 1 if p.index == PT else value
            index = index << 1 | (bit ^ int(p.negated))
        results.append(instr.aux >> index & 1)
    if results[0] == results[1]:
        return Pred(PT, not results[0])
    return Pred(varying[0], bool(results[0]))


def zero_above(facts: Facts, source: Source, depth: int = 3) -> int:
    """A number of low bits above which the word is known to be zero."""
    if isinstance(source, Imm):
        return (source.value & 0xFFFFFFFF).bit_length()
    if not isinstance(source, Reg) or depth == 0:
        return 32
    instr = facts.definition(source.index)
    if instr is None:
        return 32
    if instr.op == Op.LD and instr.dtype in (DType.U8, DType.U16):
        return 8 * instr.size
    if instr.op == Op.AND:
        return min(zero_above(facts, s, depth - 1) for s in instr.srcs)
    if instr.op == Op.SHR and instr.dtype == DType.U32 and isinstance(instr.srcs[1], Imm):
        return max(0, zero_above(facts, instr.srcs[0], depth - 1) - instr.srcs[1].value)
    if instr.op == Op.BFE and instr.dtype == DType.U32 and isinstance(instr.srcs[2], Imm):
        return min(instr.srcs[2].value & 0xFF, 32)
    return 32


def sign_from(facts: Facts, source: Source) -> int:
    """A number of low bits whose sign extension the word is known to be."""
    if isinstance(source, Reg):
        instr = facts.definition(source.index)
        if instr is not None:
            if instr.op == Op.LD and instr.dtype in (DType.S8, DType.S16):
                return 8 * instr.size
            if instr.op == Op.BFE and instr.dtype == DType.S32 and isinstance(instr.srcs[2], Imm):
                return max(1, min(instr.srcs[2].value & 0xFF, 32))
    return min(32, zero_above(facts, source) + 1)
