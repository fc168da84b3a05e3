"""The reserve: physical registers that are kept for one warp, so that it can always go on."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.round_robin import decode, encode
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
    """Deadlock reserve: keeps the last free registers for one warp, where there are fewer than all might
    need.

    One warp is served first: the same until it has issued its last uop or waits at a barrier, then the next
    one in rotating order that does not. The others leave as many registers free as it can still need. So it
    never waits for registers, and when it ends there are enough for any other warp. (Warps that wait at a
    barrier may hold what the others need: then nobody can proceed, and the run stops with an error.)

    Parameters
    ----------
    config : the machine.

    Members
    -------
    launch, needs, everybody : In. A launch begins: a warp can have `needs` renamed registers; there are
        enough for all warps.
    here : In(warps). Warps that have uops to issue and do not wait at a barrier.
    taken, given : In(Change). Registers that a warp gets, or gives back; at most four each.
    first : Out. The warp that is served first; combinational, as `floor`.
    floor : Out. Registers that the others leave free.
    """

    launch: Signal
    needs: Signal
    everybody: Signal
    here: Signal
    taken: ChangeInterface
    given: ChangeInterface
    first: Signal
    floor: Signal

    def __init__(self, config: SmConfig) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Reserve needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        core = config.sub_core
        width = REGISTER_WIDTH + 1
        super().__init__(
            {
                "launch": In(1),
                "needs": In(width),
                "everybody": In(1),
                "here": In(core.warps),
                "taken": In(Change(config)),
                "given": In(Change(config)),
                "first": Out(core.warp_width),
                "floor": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        last = Signal.like(self.first)
        left = [
            Signal(signed(REGISTER_WIDTH + 2), name=f"left_{warp}") for warp in range(warps)
        ]  # needs without what is held

        behind, first, has = Signal(warps), Signal(warps), Signal(signed(REGISTER_WIDTH + 2))
        m.d.comb += [
            behind.eq(self.here & ((2**warps - 1) << last)),
            first.eq(Mux(behind.any(), _lowest(behind), Mux(self.here.any(), _lowest(self.here), 1 << last))),
            self.first.eq(encode(first)),
            has.eq(reduce(or_, (Mux(one, count, 0) for one, count in zip(first, left, strict=True)))),
            self.floor.eq(Mux(has < 0, 0, has)),
        ]
        m.d.sync += last.eq(self.first)

        takes = decode(m, self.taken.warp, Const(1), warps, "takes")
        gives = decode(m, self.given.warp, Const(1), warps, "gives")
        for warp, count in enumerate(left):
            gets, loses = (Signal.like(self.taken.count, name=f"{name}_{warp}") for name in ("gets", "loses"))
            m.d.comb += [
                gets.eq(Mux(takes[warp], self.taken.count, 0)),
                loses.eq(Mux(gives[warp], self.given.count, 0)),
            ]
            m.d.sync += count.eq(count - gets + loses)
        with m.If(self.launch):
            m.d.sync += [count.eq(Mux(self.everybody, 0, self.needs)) for count in left]
        return m


def _lowest(mask: Value) -> Value:
    """The lowest set bit."""
    return (mask & (~mask + 1))[: len(mask)]
