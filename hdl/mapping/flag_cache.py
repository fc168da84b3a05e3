"""The release flag cache: pir words that warps have fetched, shared by all of them."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.front_end.lrr import check_warps


class FlagCache(wiring.Component):
    """Release flag cache: as many words as warps, found by the pc of the first instruction that they cover.
    Renaming, section 6.2.

    A warp that comes among the instructions of a word, from elsewhere or at its first one, looks for it. If
    it is there, it need not be fetched; if not, it replaces the first word, in rotating order behind the one
    replaced last, that no other warp is among the instructions of. (The paper compares distances with the
    instruction buffers; both find the words that nobody needs.) There is always one.

    The flags themselves come with the uops of the trace; here are the tags, and who uses which word.

    Parameters
    ----------
    warps : warp slots.

    Members
    -------
    start : In(warps). New warps start: they are nowhere yet.
    fill, warp, pc : In. In this cycle `warp` takes the instruction at `pc`.
    covered, first : In. It is covered by a word: the one for `first`.
    asks : Out(1). The warp looks for it; combinational, as `hit`.
    hit : Out(1). The word is there. It is from the next cycle on.

    Raises
    ------
    TypeError : `warps` is no positive number.
    """

    #: Bits of a pc.
    pc_width = 32

    start: Signal
    fill: Signal
    warp: Signal
    pc: Signal
    covered: Signal
    first: Signal
    asks: Signal
    hit: Signal

    def __init__(self, warps: int) -> None:
        check_warps("FlagCache", warps)
        self._warps = warps
        super().__init__(
            {
                "start": In(warps),
                "fill": In(1),
                "warp": In(bits(warps)),
                "pc": In(self.pc_width),
                "covered": In(1),
                "first": In(self.pc_width),
                "asks": Out(1),
                "hit": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._warps
        tags = [Signal(self.pc_width, name=f"tag_{entry}", reset_less=True) for entry in range(warps)]
        uses = [
            Signal(warps, name=f"uses_{warp}") for warp in range(warps)
        ]  # the entry that a warp uses, one-hot; 0: none
        valid, last = Signal(warps), Signal(warps, init=1 << warps - 1)  # `last`: replaced last, one-hot

        found, mine, victim = (Signal(warps, name=name) for name in ("found", "mine", "victim"))
        misses = Signal()
        first, takes_own = self._victim(m, uses, mine, last)
        # What the warp uses from now on, without and with the choice of its own, which comes last.
        others, its = Signal(warps), Signal(warps)
        m.d.comb += [
            found.eq(Cat(tag == self.first for tag in tags) & valid),
            mine.eq(Array(uses)[self.warp]),
            self.asks.eq(self.fill & self.covered & (~(found & mine).any() | (self.pc == self.first))),
            self.hit.eq(found.any()),
            others.eq(Mux(self.covered, Mux(self.hit, found, first), 0)),
            its.eq(Mux(self.covered, Mux(self.hit, found, mine), 0)),
            misses.eq(self.asks & ~self.hit),
            victim.eq(Mux(takes_own, mine, first)),
        ]
        for warp, used in enumerate(uses):
            with m.If(self.start[warp]):
                m.d.sync += used.eq(0)
            with m.Elif(self.fill & (self.warp == warp)):
                m.d.sync += used.eq(Mux(takes_own, its, others))
        with m.If(misses):
            m.d.sync += [last.eq(victim), valid.eq(valid | victim)]
            for entry, tag in enumerate(tags):
                with m.If(victim[entry]):
                    m.d.sync += tag.eq(self.first)
        return m

    def _victim(self, m: Module, uses: list[Signal], mine: Value, last: Value) -> tuple[Value, Value]:
        """The entry that would be replaced, the first in rotating order that nobody uses but this warp: the
        first that nobody at all uses, one-hot; whether it is the warp's own instead.

        The warp's number comes late. So the first entry that nobody at all uses is found without it, and so
        are the entries that would go before; the warp's own is one of them, or not.
        """
        some, several = _used(m, uses, "used")
        passed = self._passed(m, ~some, last.rotate_left(1))
        return ~some & ~passed, (mine & ~several & ~passed).any()

    def _passed(self, m: Module, unused: Value, begin: Value) -> Value:
        """Entries behind one of `unused`, in the order that begins at the entry `begin`, one-hot. Each step
        doubles how far is looked back."""
        passed, goes_on = unused.rotate_left(1) & ~begin, ~begin
        step = 1
        while step < self._warps:
            seen, more = (Signal(self._warps, name=f"{name}_{step}") for name in ("passed", "goes_on"))
            m.d.comb += [
                seen.eq(passed | goes_on & passed.rotate_left(step)),
                more.eq(goes_on & goes_on.rotate_left(step)),
            ]
            passed, goes_on, step = seen, more, 2 * step
        return passed


def _used(m: Module, masks: list[Signal], name: str) -> tuple[Value, Value]:
    """The bits that are set in one of the masks at least, and in more than one; in a tree."""
    if len(masks) == 1:
        return masks[0], Const(0, len(masks[0]))
    half = len(masks) // 2
    (one, several), (other, more) = _used(m, masks[:half], f"{name}_l"), _used(m, masks[half:], f"{name}_h")
    some, shared = (Signal(len(masks[0]), name=f"{name}_{what}") for what in ("some", "shared"))
    m.d.comb += [some.eq(one | other), shared.eq(several | more | one & other)]
    return some, shared
