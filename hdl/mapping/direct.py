"""Direct mapping: a warp's registers lie in rows of their own, spread over the banks."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.layouts import Collection
from warpbank.hdl.mapping.ports import Mapping, MappingPorts


class Direct(Mapping):
    """Bank (register + warp) mod banks; row: the warp's base + register / banks. Combinational.

    Adding the warp number puts the same register of neighbouring warps into different banks (GPGPU-Sim's
    swizzle). A warp's base is its slot times the rows per warp, which all warps of a launch share, so one
    register of it is kept and multiplied. Every register is somewhere, and none is ever released.

    Parameters
    ----------
    config : the machine: banks, rows.
    collection : the collectors.
    writers : registers that are located at a time besides operands.
    operands : sources of a uop that are located at a time: all, or 0 below a cache.
    probe : there are no events.

    Members
    -------
    those of `warpbank.hdl.mapping.ports.MappingPorts`.

    Raises
    ------
    TypeError : `writers` is no positive number.
    """

    def __init__(
        self,
        config: SmConfig,
        collection: Collection,
        writers: int,
        operands: int = MAX_SOURCES,
        probe: bool = False,
        moved: tuple[int, int] = (0, 0),
    ) -> None:
        if type(writers) is not int or writers < 1:
            raise TypeError(f"Direct needs a number of writers of at least 1, not {writers!r}.")
        self._config, self._operands, self._tags = config, operands, collection.tags
        super().__init__(dict(MappingPorts(config, collection, writers, moved=moved).members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._rows = Signal.like(self.start.rows)
        with m.If(self.start.warps.any()):
            m.d.sync += self._rows.eq(self.start.rows)
        read, request = self.read.payload, self.request
        if self._operands:
            m.d.comb += [
                request.valid.eq(self.read.valid),
                request.collector.eq(read.collector),
                request.slots.eq(read.source_valid),
            ]
            if self._tags > 1:
                m.d.comb += request.tag.eq(read.tag)
        for slot in range(self._operands):
            bank, row = self._home(read.warp, read.sources[slot])
            m.d.comb += [request.banks[slot].eq(bank), request.rows[slot].eq(row)]
        for port in self.locate:
            bank, row = self._home(port.warp, port.register)
            m.d.comb += [port.bank.eq(bank), port.row.eq(row)]
        return m

    def _home(self, warp: Value, register: Value) -> tuple[Value, Value]:
        """Bank and row of a register."""
        banks = self._config.sub_core.banks
        bank = register + warp if banks > 1 else Value.cast(0)
        return bank, warp * self._rows + (register >> (banks.bit_length() - 1))
