"""Loose round-robin warp scheduler."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.front_end.ports import SchedulerPorts
from warpbank.hdl.round_robin import Choice, chosen, encode


def check_warps(owner: str, warps: object) -> None:
    """Raise TypeError unless `warps` is a number of warp slots."""
    if type(warps) is not int or warps < 1:
        raise TypeError(f"{owner} needs a number of warp slots of at least 1, not {warps!r}.")


class Lrr(wiring.Component):
    """Loose round-robin warp scheduler.

    It picks the first eligible warp after the one that issued last, in slot order, wrapping around.

    Parameters
    ----------
    warps : warp slots.

    Members
    -------
    those of `warpbank.hdl.front_end.ports.SchedulerPorts`.

    Raises
    ------
    TypeError : `warps` is no positive number.
    """

    start: Signal
    eligible: Signal
    pick: Signal

    def __init__(self, warps: int) -> None:
        check_warps("Lrr", warps)
        self._warps = warps
        super().__init__(dict(SchedulerPorts(warps).members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pointer = Signal(bits(self._warps))
        # Two searches side by side, from the pointer on and from slot 0: which of them counts decides between
        # two numbers only.
        onwards = Signal(self._warps)
        m.d.comb += onwards.eq(self.eligible & (((1 << self._warps) - 1) << pointer))
        ahead, first = chosen(m, onwards, "ahead"), chosen(m, self.eligible, "first")
        m.d.comb += self.pick.eq(Mux(ahead.any, ahead.index, first.index))
        with m.If(first.any):
            m.d.sync += pointer.eq(Mux(ahead.any, _behind(ahead), _behind(first)))
        return m


def _behind(choice: Choice) -> Value:
    """Slot behind a choice, from the mask turned by one, so that it does not wait for the choice's number."""
    return encode(choice.one_hot.rotate_left(1))


def lrr(config: SmConfig, probe: bool) -> Lrr:
    """Loose round-robin scheduler of a sub-core, which reports nothing."""
    return Lrr(config.sub_core.warps)
