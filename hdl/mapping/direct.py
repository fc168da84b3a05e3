"""Direct mapping: a warp's registers lie in rows of their own, spread over the banks."""

from __future__ import annotations

from functools import reduce
from operator import add

from amaranth.hdl import Array, Const, Module, Signal, Value

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.layouts import Collection
from warpbank.hdl.mapping.ports import Mapping, MappingPorts

#: Bits of a digit of a warp's number.
_DIGIT = 3


class Direct(Mapping):
    """Bank (register + warp) mod banks; row: the warp's base + register / banks. Combinational.

    Adding the warp number puts the same register of neighbouring warps into different banks (GPGPU-Sim's
    swizzle). A warp's base is its slot times the rows per warp, which all warps of a launch share. Their
    multiples by each digit that a slot's number has in base 8 are kept and looked up: a product would be
    late. Every register is somewhere, and none is ever released.

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
        self._multiples = [self._table(m, place) for place in range(0, len(self.read.payload.warp), _DIGIT)]
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

    def _table(self, m: Module, place: int) -> Array[Value]:
        """Rows before the warps whose number has one digit alone, from bit `place` on, by that digit."""
        width = self._config.sub_core.row_width
        table: list[Value] = [Const(0, width)]
        for digit in range(1, min(1 << _DIGIT, 1 << len(self.read.payload.warp) - place)):
            slot = digit << place
            rows = Signal(width, name=f"base_{slot}", reset_less=True)
            with m.If(self.start.warps.any()):
                m.d.sync += rows.eq(slot * self.start.rows)
            table.append(rows)
        return Array(table)

    def _home(self, warp: Value, register: Value) -> tuple[Value, Value]:
        """Bank and row of a register."""
        banks = self._config.sub_core.banks
        bank = register + warp if banks > 1 else Value.cast(0)
        digits = (warp[place : place + _DIGIT] for place in range(0, len(warp), _DIGIT))
        base = reduce(add, (table[digit] for table, digit in zip(self._multiples, digits, strict=True)))
        return bank, base + (register >> (banks.bit_length() - 1))
