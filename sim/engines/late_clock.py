"""Component whose inputs are registered on a clock of their own.

Models that are compiled one by one and tell each other what they do after every clock edge would each have to
be evaluated twice a cycle: at the edge, and when they have heard of the others. With its inputs registered, a
model takes the others' outputs of the next cycle at the edge that ends the cycle before, and everything is
evaluated once.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In


class LateClock(wiring.Component):
    """Component with the ports of another one, whose inputs it registers.

    Parameters
    ----------
    inner : the component.

    Members
    -------
    late : In(1). Clock of the inputs. Where it rises together with the clock, the state that follows is made
        of the inputs that were registered before.
    those of `inner`.
    """

    late: Signal

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        super().__init__({**inner.signature.members, "late": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.late = ClockDomain(reset_less=True, local=True)
        m.submodules.inner = self._inner
        m.d.comb += ClockSignal("late").eq(self.late)
        ports = {path: value for path, _, value in self.signature.flatten(self)}
        for path, member, value in self._inner.signature.flatten(self._inner):
            if member.flow is In:
                m.d.late += value.eq(ports[path])
            else:
                m.d.comb += ports[path].eq(value)
        return m
