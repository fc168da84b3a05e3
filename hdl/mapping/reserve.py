"""The reserve: physical registers that are kept for one warp, so that it can always go on."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig

from ..priority import decode, first_from
from ..seams import REGISTER_WIDTH


class Change(wiring.Signature):
    """So many registers of `warp` (seen from who changes them); none if `count` is 0."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"warp": Out(config.sub_core.warp_width), "count": Out(3)})


class Reserve(wiring.Component):
    """Who may take the last free registers, where there are fewer than all warps might need.

    One warp is served first: the same until it has issued its last uop or waits at a barrier, then the next one in rotating order
    that does not. The others leave as many registers free as it can still need. So it never waits for registers, and when it
    ends there are enough for any other warp. (Warps that wait at a barrier may hold what the others need: then nobody can
    proceed, and the run stops with an error.)

    Parameters
    ----------
    config : the machine.

    Members
    -------
    launch, needs, everybody : In. A launch begins: a warp can have `needs` renamed registers; there are enough for all warps.
    here : In(warps). Warps that have uops to issue and do not wait at a barrier.
    taken, given : In(Change). Registers that a warp gets, or gives back; at most four each.
    first : Out. The warp that is served first; combinational, as `floor`.
    floor : Out. Registers that the others leave free.
    """

    def __init__(self, config: SmConfig) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Reserve needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        core = config.sub_core
        width = REGISTER_WIDTH + 1
        super().__init__({
            "launch": In(1), "needs": In(width), "everybody": In(1), "here": In(core.warps),
            "taken": In(Change(config)), "given": In(Change(config)), "first": Out(core.warp_width), "floor": Out(width),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        needs, last = Signal.like(self.needs), Signal.like(self.first)
        held = [Signal(REGISTER_WIDTH + 1, name=f"held_{warp}") for warp in range(warps)]

        following = first_from(m, self.here, last)
        keeps = (self.here >> last)[0] | ~self.here.any()
        m.d.comb += self.first.eq(Mux(keeps, last, following.index))
        m.d.sync += last.eq(self.first)
        has = Signal.like(held[0])
        m.d.comb += has.eq(Array(held)[self.first])
        m.d.comb += self.floor.eq(Mux(needs > has, needs - has, 0))

        takes = decode(m, self.taken.warp, 1, warps, "takes")
        gives = decode(m, self.given.warp, 1, warps, "gives")
        for warp, count in enumerate(held):
            m.d.sync += count.eq(count + Mux(takes[warp], self.taken.count, 0) - Mux(gives[warp], self.given.count, 0))
        with m.If(self.launch):
            m.d.sync += [needs.eq(Mux(self.everybody, 0, self.needs)), *(count.eq(0) for count in held)]
        return m
