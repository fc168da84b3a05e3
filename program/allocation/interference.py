"""Interference of register words, which may then not share a physical register, and the merging of words that
a move connects.

Interference is kept per 32-bit word: a word is in conflict with what is alive while it is written. The words
of a group then constrain each other only through the group's place, so a pair whose high word is dead costs
one register.

Moves are coalesced by renaming one group into another, at a word offset: the pair that is packed from two
singles takes them in. A merge is made when the result is sure to find a place, or nearly so (tests of Briggs
and of George, by weighted degree).
"""

from __future__ import annotations

from warpbank.program.allocation.work import Work
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import RZ, VIRTUAL, Instr, Op, Reg
from warpbank.program.liveness import Liveness, mask_of, maybe_defined, members


def is_move(instr: Instr) -> bool:
    """A plain copy from register to register in all active lanes."""
    if instr.op is not Op.MOV or not always(instr) or instr.dst is None or instr.dst.index == RZ:
        return False
    s = instr.srcs[0]
    return isinstance(s, Reg) and s.index != RZ and s.width == instr.dst.width


class Interference:
    """The conflict graph of a kernel's register words. Bit i of a set stands for virtual register VIRTUAL +
    i.

    Attributes
    ----------
    words : word -> words it conflicts with.
    groups : base word -> bases of the groups that it conflicts with.
    widths : base word -> width.
    of_width : width -> set of the bases of that width.
    costs : base word -> cost of spilling it: uses and definitions, each weighted by 10 to its loop depth.
    moves : (weight, destination word, source word) of every copy, in the order of the code.
    pressure : most words alive at once.
    """

    def __init__(self, work: Work, cfg: Cfg) -> None:
        kernel = work.kernel
        live = Liveness(kernel, cfg)
        defined = maybe_defined(kernel, cfg)
        count = max([kernel.next_register, VIRTUAL] + [b + w for b, w in kernel.groups.items()]) - VIRTUAL
        self.work = work
        self.words = [0] * count
        self.base = list(range(count))
        self.widths: dict[int, int] = {}
        self.costs: dict[int, float] = {}
        self.moves: list[tuple[int, int, int]] = []
        self.pressure = 0
        for group, width in kernel.groups.items():
            for i in range(width):
                self.base[group - VIRTUAL + i] = group - VIRTUAL
        used: dict[int, float] = {}
        for b, block in enumerate(kernel.blocks):
            self._block(block.instrs, live.after(b), defined[b].registers, 10 ** min(cfg.depth(b), 6), used)
        for word, cost in used.items():
            base = self.base[word]
            self.widths[base] = kernel.groups[base + VIRTUAL]
            self.costs[base] = self.costs.get(base, 0.0) + cost
        for word, conflicts in enumerate(self.words):
            bit = 1 << word
            for other in members(conflicts):
                self.words[other] |= bit
        self.groups: dict[int, int] = {}
        self.of_width = {1: 0, 2: 0, 4: 0}
        for base, width in sorted(self.widths.items()):
            self.of_width[width] |= 1 << base
            conflicts = 0
            for i in range(width):
                conflicts |= self.words[base + i]
            self.groups[base] = mask_of({self.base[w] for w in members(conflicts)}) & ~(1 << base)

    def _block(
        self, instrs: list[Instr], live: list, defined: int, weight: int, used: dict[int, float]
    ) -> None:
        for instr, after in zip(instrs, live, strict=True):
            for register in instr.registers_read():
                used[register - VIRTUAL] = used.get(register - VIRTUAL, 0.0) + weight
            written = instr.registers_written()
            for register in written:
                used[register - VIRTUAL] = used.get(register - VIRTUAL, 0.0) + weight
            defined |= mask_of(written)
            alive = (after.registers & defined) >> VIRTUAL
            self.pressure = max(self.pressure, (alive | (mask_of(written) >> VIRTUAL)).bit_count())
            if is_move(instr):
                source = instr.srcs[0]
                assert isinstance(source, Reg)
                for i, register in enumerate(written):
                    word, other = register - VIRTUAL, source.index + i - VIRTUAL
                    # A copy and its source hold the same value: they may share.
                    self.words[word] |= alive & ~(1 << word) & ~(1 << other)
                    if word != other:
                        self.moves.append((weight, word, other))
            else:
                for register in written:
                    word = register - VIRTUAL
                    self.words[word] |= alive & ~(1 << word)

    def degree(self, conflicts: int, width: int) -> int:
        """Registers that a set of groups may deny to a group of this width: an aligned neighbour spoils a
        whole place of it."""
        singles = (conflicts & self.of_width[1]).bit_count()
        pairs = (conflicts & self.of_width[2]).bit_count()
        quads = (conflicts & self.of_width[4]).bit_count()
        return singles * width + pairs * max(2, width) + quads * 4

    def coalesce(self, limit: int) -> dict[int, int]:
        """Merge groups that moves connect, heaviest moves first; the renaming of register words that
        results."""
        home = list(range(len(self.words)))

        def find(word: int) -> int:
            while home[word] != word:
                home[word] = home[home[word]]
                word = home[word]
            return word

        crowded = 0
        for base, conflicts in self.groups.items():
            if self.degree(conflicts, self.widths[base]) + self.widths[base] > limit:
                crowded |= 1 << base
        again, order = True, sorted(self.moves, key=lambda m: -m[0])
        while again:
            again = False
            for _, destination, source in order:
                merged = self._merge(find(destination), find(source), limit, crowded, home)
                if merged is not None:
                    again = True
                    bit = 1 << merged
                    if self.degree(self.groups[merged], self.widths[merged]) + self.widths[merged] > limit:
                        crowded |= bit
                    else:
                        crowded &= ~bit
            if not crowded:
                break
        self.moves = [(w, find(d), find(s)) for w, d, s in self.moves if find(d) != find(s)]
        return {word + VIRTUAL: find(word) + VIRTUAL for word in range(len(home)) if find(word) != word}

    def _merge(self, x: int, y: int, limit: int, crowded: int, home: list[int]) -> int | None:
        """Merge the groups of two words so that the words become one; the group left, or None if that may not
        be."""
        a, b = self.base[x], self.base[y]
        if a == b:
            return None
        if self.widths[a] < self.widths[b]:
            a, b, x, y = b, a, y, x
        width, inner = self.widths[a], self.widths[b]
        offset = (x - a) - (y - b)
        if offset < 0 or offset + inner > width or offset % inner:
            return None
        for group in (a + VIRTUAL, b + VIRTUAL):
            if group in self.work.slots or group in self.work.recipes:
                return None  # stands for a place in memory: it must hold nothing else
        if any(self.words[b + i] >> (a + offset + i) & 1 for i in range(inner)):
            return None
        union = (self.groups[a] | self.groups[b]) & ~(1 << a) & ~(1 << b)
        fits = self.degree(union & crowded, width) + width <= limit
        if not fits and self.groups[b] & crowded & ~self.groups[a] & ~(1 << a):
            return None
        for i in range(inner):
            old, new = b + i, a + offset + i
            home[old] = new
            self.words[new] |= self.words[old]
            for other in members(self.words[old]):
                self.words[other] = self.words[other] & ~(1 << old) | 1 << new
            self.words[old] = 0
        for other in members(self.groups[b]):
            self.groups[other] = self.groups[other] & ~(1 << b) | (1 << a if other != a else 0)
        self.groups[a] = union
        self.of_width[inner] &= ~(1 << b)
        self.costs[a] += self.costs.pop(b)
        del self.groups[b], self.widths[b]
        return a
