"""The reserve: physical registers that are kept for those that are served first, so that they can always go
on."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.round_robin import decode, encode, pick
from warpbank.hdl.typed import Interface


class Change(wiring.Signature):
    """Change of a warp's number of registers (seen from who changes them); none if `count` is 0."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"warp": Out(config.sub_core.warp_width), "count": Out(3)})


class ChangeInterface(Interface, Protocol):
    """Interface object of the signature `Change`."""

    warp: Signal
    count: Signal


class DeadlockReserve(wiring.Component):
    """Deadlock reserve: keeps the last free registers for the warps of one CTA, where there are fewer than
    all warps might need.

    See `warpbank.golden.mapping.deadlock_reserve.DeadlockReserve` for who is served first, and what others
    leave.

    A counter per warp holds what it can still need where one warp is served first; else what it has, negated.

    Parameters
    ----------
    config : the machine.
    compares : compare what is free with what is kept.

    Members
    -------
    launch, needs, everybody : In. A launch begins: a warp can have `needs` renamed registers; there are
        enough for all warps.
    whole : In. With `launch`: what the warps of a CTA can have together; 0 if they do not fit.
    members : In(warps). Warps of the CTA that is served first.
    here : In(warps). Warps that have uops to issue and do not wait at a barrier.
    taken, given : In(Change). Registers that a warp gets, or gives back; at most four each.
    served : Out(warps). Warps that are served first; combinational, as `floor`.
    floor : Out. Registers that the others leave free.
    free : In, if it `compares`. Registers that are free.
    fewer : Out(8), if it `compares`. A bit per number of registers, from one on: there are fewer beside
        `floor`.
    """

    launch: Signal
    needs: Signal
    everybody: Signal
    whole: Signal
    members: Signal
    here: Signal
    taken: ChangeInterface
    given: ChangeInterface
    served: Signal
    floor: Signal
    free: Signal
    fewer: Signal

    def __init__(self, config: SmConfig, compares: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Reserve needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        core = config.sub_core
        width = REGISTER_WIDTH + 1
        self._compares = compares
        comparison = {"free": In(bits(core.warp_registers + 1)), "fewer": Out(2 * MAX_DESTINATIONS)}
        super().__init__(
            {
                "launch": In(1),
                "needs": In(width),
                "everybody": In(1),
                "whole": In(bits(core.warp_registers + 1)),
                "members": In(core.warps),
                "here": In(core.warps),
                "taken": In(Change(config)),
                "given": In(Change(config)),
                "served": Out(core.warps),
                "floor": Out(max(REGISTER_WIDTH + 1, bits(core.warp_registers + 1))),
                **(comparison if compares else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        left = [Signal(signed(REGISTER_WIDTH + 2), name=f"left_{warp}") for warp in range(warps)]
        self._left = left
        takes = decode(m, self.taken.warp, self.taken.count != 0, warps, "takes")
        gives = decode(m, self.given.warp, self.given.count != 0, warps, "gives")
        for warp, count in enumerate(left):
            gets, loses = (Signal.like(self.taken.count, name=f"{name}_{warp}") for name in ("gets", "loses"))
            m.d.comb += [
                gets.eq(Mux(takes[warp], self.taken.count, 0)),
                loses.eq(Mux(gives[warp], self.given.count, 0)),
            ]
            m.d.sync += count.eq(count - gets + loses)
        of_all = Signal.like(self.whole, name="whole_of_cta")  # 0: one warp is served first
        self._whole = of_all
        with m.If(self.launch):
            alone = ~self.everybody & (self.whole == 0)
            m.d.sync += [of_all.eq(self.whole), *(count.eq(Mux(alone, self.needs, 0)) for count in left)]
        first, of_warp = self._one_warp(m, left)
        of_cta = self._one_cta(m, left, takes, gives, of_all)
        by_cta = Signal()
        m.d.comb += [
            by_cta.eq(of_all != 0),
            self.served.eq(Mux(by_cta, self.members, first)),
            self.floor.eq(Mux(by_cta, of_cta, of_warp)),
        ]
        if self._compares:  # with every warp's need, since it comes late who is served first
            alone = pick(first, [self._fewer(Mux(count < 0, 0, count)) for count in left])
            m.d.comb += self.fewer.eq(Mux(by_cta, self._fewer(of_cta), alone))
        return m

    def _fewer(self, kept: Value) -> Value:
        """Mask, a bit per number of registers from one on: there are fewer beside those that are kept."""
        spare = self.free - kept
        return Cat(spare <= number for number in range(len(self.fewer)))

    def _one_warp(self, m: Module, left: list[Signal]) -> tuple[Signal, Value]:
        """Choose the warp that is served first where a CTA's registers do not fit. Returns it, one-hot, and
        its need."""
        warps = len(left)
        last = Signal(self._config.sub_core.warp_width)
        behind, first, has = Signal(warps), Signal(warps), Signal.like(left[0], name="has")
        m.d.comb += [
            behind.eq(self.here & ((2**warps - 1) << last)),
            first.eq(Mux(behind.any(), _lowest(behind), Mux(self.here.any(), _lowest(self.here), 1 << last))),
            has.eq(reduce(or_, (Mux(one, count, 0) for one, count in zip(first, left, strict=True)))),
        ]
        m.d.sync += last.eq(encode(first))
        return first, Mux(has < 0, 0, has)

    def _one_cta(self, m: Module, left: list[Signal], takes: Value, gives: Value, whole: Value) -> Value:
        """Keep the need of the CTA that is served first, beside what its counted warps have. Returns the
        registers that the others leave free for it."""
        counted = Signal(len(left))  # warps whose registers have been counted
        rest = Signal(signed(len(whole) + 1), name="rest")  # of its need, beside theirs
        self._counted, self._rest = counted, rest
        stale, missing, counts = Signal(), Signal(len(left), name="missing"), Signal(len(left), name="counts")
        got, gave = Signal.like(self.taken.count, name="got"), Signal.like(self.given.count, name="gave")
        m.d.comb += [
            stale.eq((counted & ~self.members).any()),
            missing.eq(self.members & ~counted),
            counts.eq(_lowest(missing) & ~(takes | gives)),
            got.eq(Mux((takes & counted).any(), self.taken.count, 0)),
            gave.eq(Mux((gives & counted).any(), self.given.count, 0)),
        ]
        had = Signal.like(left[0], name="had")
        m.d.comb += had.eq(reduce(or_, (Mux(one, count, 0) for one, count in zip(counts, left, strict=True))))
        with m.If(self.launch):
            m.d.sync += [counted.eq(0), rest.eq(self.whole)]
        with m.Elif(stale):
            m.d.sync += [counted.eq(0), rest.eq(whole)]
        with m.Else():
            m.d.sync += [counted.eq(counted | counts), rest.eq(rest - got + gave + had)]
        return Mux(stale, whole, Mux(rest < 0, 0, rest))


def _lowest(mask: Value) -> Value:
    """The lowest set bit."""
    return (mask & (~mask + 1))[: len(mask)]
