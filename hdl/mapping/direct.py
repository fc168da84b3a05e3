"""Direct mapping: a warp's registers lie in rows of their own, spread over the banks."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.interfaces import Location, Start


class Direct(wiring.Component):
    """Bank (register + warp) mod banks; row: the warp's base + register / banks. Combinational.

    Adding the warp number puts the same register of neighbouring warps into different banks (GPGPU-Sim's
    swizzle). A warp's base is its slot times the rows per warp, which all warps of a launch share, so one
    register of it is kept and multiplied.

    Parameters
    ----------
    config : the machine: banks, rows.
    ports : registers that are located at a time.

    Members
    -------
    start : In(Start).
    locate : In(Location) per port.

    Raises
    ------
    TypeError : `ports` is no positive number.
    """

    def __init__(self, config: SmConfig, ports: int) -> None:
        if type(ports) is not int or ports < 1:
            raise TypeError(f"Direct needs a number of ports of at least 1, not {ports!r}.")
        self._config = config
        super().__init__({"start": In(Start(config)), "locate": In(Location(config)).array(ports)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = self._config.sub_core.banks
        rows = Signal.like(self.start.rows)
        with m.If(self.start.warps.any()):
            m.d.sync += rows.eq(self.start.rows)
        for port in self.locate:
            m.d.comb += port.bank.eq(port.register + port.warp if banks > 1 else 0)
            m.d.comb += port.row.eq(port.warp * rows + (port.register >> (banks.bit_length() - 1)))
        return m
