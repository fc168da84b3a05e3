"""The renaming table: where each register of each warp is, if anywhere."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Protocol, cast

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.round_robin import decode, encode
from warpbank.hdl.typed import Interface

#: Banks of the table. Register r is in bank r mod 4, so that a wide result or an aligned group uses each bank
#: once.
TABLE_BANKS = 4
_BANK_WIDTH = bits(TABLE_BANKS)


class Find(wiring.Signature):
    """Look-up of a register's place (seen from who asks). Combinational.

    Members
    -------
    warp, register : Out.
    mapped : In. It has a physical register.
    physical : In. Which; meaningful while `mapped`.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "mapped": In(1),
                "physical": In(bits(core.warp_registers)),
            }
        )


class FindInterface(Interface, Protocol):
    """Interface object of the signature `Find`."""

    warp: Signal
    register: Signal
    mapped: Signal
    physical: Signal


class Enter(wiring.Signature):
    """A register of `warp` gets a physical register (seen from who enters it)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "valid": Out(1),
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "physical": Out(bits(core.warp_registers)),
            }
        )


class EnterInterface(Interface, Protocol):
    """Interface object of the signature `Enter`."""

    valid: Signal
    warp: Signal
    register: Signal
    physical: Signal


class Drop(wiring.Signature):
    """A register of `warp` loses its physical register (seen from who drops it), which is `physical`."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "valid": Out(1),
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "physical": In(bits(core.warp_registers)),
            }
        )


class DropInterface(Interface, Protocol):
    """Interface object of the signature `Drop`."""

    valid: Signal
    warp: Signal
    register: Signal
    physical: Signal


#: What names a register to the table.
_Port = FindInterface | EnterInterface | DropInterface


class RenamingTable(wiring.Component):
    """Renaming table: (warp, register) -> physical register, and which registers have one. Renaming, section
    6.1.

    Which registers have one is a mask per warp. Where the numbers are depends on how many names (warp,
    register) there are:

    - No more than physical registers, as in the paper's 1 KB table: a bank is a memory with a row per name,
      which holds a physical register.
    - More, as for all registers of all warps: a content-addressable memory with a row per physical register,
      which holds the name of the register that has it. A look-up compares its name with all rows at once.
      `fermi` has 12 names per physical register, and all look-ups are answered in the cycle in which they are
      asked: memories would be arrays of flip-flops, larger and slower.

    The names of results are looked up at their write-back, by ports of their own.

    Parameters
    ----------
    config : the machine: warps, physical registers.
    results : results that are looked up in a cycle.
    registers : of a warp that can be renamed: the lowest ones. The paper's 1 KB table has 16 of each of
        Fermi's 48 warps (section 7.1), enough where the compiler gives a kernel's renamed registers the
        lowest numbers. Ours leaves them theirs, so the SM has a table for 256, of which as many are renamed
        as 1 KB has room for.
    late : where a register is counts from the second cycle on, that it is somewhere from the next one on. For
        who looks up no register in the cycle after it was entered.

    Members
    -------
    find : In(Find) per bank. A register of that bank: a source.
    result : In(Find) per result. Any register.
    launch : In(1). A launch begins: no register has a physical one.
    enter, drop : In(Enter), In(Drop) per bank. A register of that bank; not the same one in both. A physical
        register is that of one register at a time; one that is dropped may be entered in that cycle.
    mapped : Out(256) per warp. Registers that have a physical one.

    Everything is answered from the clock edge; what is entered or dropped in a cycle counts from the next one
    on.

    Raises
    ------
    TypeError : `results` is no positive number.
    """

    find: list[FindInterface]
    result: list[FindInterface]
    launch: Signal
    enter: list[EnterInterface]
    drop: list[DropInterface]
    mapped: list[Signal]

    def __init__(self, config: SmConfig, results: int, registers: int = 256, late: bool = False) -> None:
        if type(results) is not int or results < 1:
            raise TypeError(f"RenamingTable needs a number of results of at least 1, not {results!r}.")
        self._config, self.registers, self._late = config, registers, late
        core = config.sub_core
        super().__init__(
            {
                "find": In(Find(config)).array(TABLE_BANKS),
                "result": In(Find(config)).array(results),
                "launch": In(1),
                "enter": In(Enter(config)).array(TABLE_BANKS),
                "drop": In(Drop(config)).array(TABLE_BANKS),
                "mapped": Out(self.registers).array(core.warps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        if core.warps * self.registers > core.warp_registers:
            self._rows_of_numbers(m)
        else:
            self._rows_of_names(m)
        for warp, mask in enumerate(self.mapped):
            entered, dropped = (
                Signal(self.registers, name=f"{name}_{warp}") for name in ("entered", "dropped")
            )
            for ports, changed in ((self.enter, entered), (self.drop, dropped)):
                m.d.comb += changed.eq(
                    reduce(or_, ((port.valid & (port.warp == warp)) << port.register for port in ports))
                )
            m.d.sync += mask.eq(Mux(self.launch, 0, mask & ~dropped | entered))
        return m

    def _entering(self, m: Module, bank: int) -> EnterInterface:
        """Register that a bank enters in this cycle."""
        enter = self.enter[bank]
        if not self._late:
            return enter
        entering = cast("EnterInterface", Enter(self._config).create(path=(f"entering_{bank}",)))
        m.d.sync += entering.valid.eq(enter.valid & ~self.launch)
        for name in ("warp", "register", "physical"):
            m.d.sync += getattr(entering, name).eq(getattr(enter, name))
        return entering

    # --- A row per name.

    def _rows_of_names(self, m: Module) -> None:
        """Build memories of physical registers. What loses its number keeps it in its row: the masks tell."""
        core = self._config.sub_core
        mapped = Array(self.mapped)
        banks = []
        for number in range(TABLE_BANKS):
            memory = m.submodules[f"bank_{number}"] = Memory(
                shape=bits(core.warp_registers), depth=core.warps * self.registers // TABLE_BANKS, init=[]
            )
            banks.append(memory)
            enter, drop, find = self._entering(m, number), self.drop[number], self.find[number]
            write_at(m, memory, self._row(enter), enter.physical, enter.valid)
            m.d.comb += drop.physical.eq(read_at(m, memory, self._row(drop)))
            m.d.comb += [
                find.physical.eq(read_at(m, memory, self._row(find))),
                find.mapped.eq(self._bit(mapped, find)),
            ]
        for result in self.result:
            found = Array(read_at(m, memory, self._row(result)) for memory in banks)
            m.d.comb += [
                result.physical.eq(found[result.register[:_BANK_WIDTH]]),
                result.mapped.eq(self._bit(mapped, result)),
            ]

    def _row(self, port: _Port) -> Value:
        """Address of a register in its bank."""
        return Cat(port.register[_BANK_WIDTH : bits(self.registers)], port.warp)

    def _bit(self, mapped: Array[Signal], port: FindInterface) -> Value:
        return (mapped[port.warp] >> port.register)[0]

    # --- A row per physical register.

    def _rows_of_numbers(self, m: Module) -> None:
        """Build the content-addressable memory. A signal holds one bit of all rows, not all bits of one: a
        port compares with all rows at once."""
        core = self._config.sub_core
        rows, width = core.warp_registers, core.warp_width + bits(self.registers)
        self._owned = Signal(rows, name="owned")
        self._owners = [Signal(rows, name=f"owner_{bit}", reset_less=True) for bit in range(width)]
        enters: list[tuple[Value, Value]] = []
        drops: list[Value] = []
        for bank, (find, drop) in enumerate(zip(self.find, self.drop, strict=True)):
            enter = self._entering(m, bank)
            self._answer(m, find, self._search(m, self._name(find, bank), f"find_{bank}"))
            leaves = self._search(m, self._name(drop, bank), f"drop_{bank}")
            m.d.comb += drop.physical.eq(encode(leaves))
            drops.append(Mux(drop.valid, leaves, 0))
            comes = decode(m, enter.physical, enter.valid, rows, f"enter_{bank}_gets")
            enters.append((comes, self._name(enter, bank)))
        for number, result in enumerate(self.result):
            self._answer(m, result, self._search(m, self._name(result), f"result_{number}"))
        self._own(m, enters, drops)

    def _name(self, port: _Port, bank: int | None = None) -> Value:
        """Name of a register, as a row holds it. The registers of a bank have its number in their own."""
        first: Value = port.register[:_BANK_WIDTH] if bank is None else Const(bank, _BANK_WIDTH)
        return Cat(first, self._row(port))

    def _search(self, m: Module, name: Value, port: str) -> Signal:
        """Search for the row with a name, one-hot; 0 if none has it."""
        has = Signal(len(self._owned), name=f"{port}_has")
        same = (Mux(asked, owner, ~owner) for asked, owner in zip(name, self._owners, strict=True))
        m.d.comb += has.eq(reduce(and_, same, self._owned))
        return has

    def _answer(self, m: Module, port: FindInterface, has: Signal) -> None:
        m.d.comb += [port.physical.eq(encode(has)), port.mapped.eq(has.any())]

    def _own(self, m: Module, enters: list[tuple[Value, Value]], drops: list[Value]) -> None:
        """Keep the names. `enters`: a row, one-hot, and the name it gets; `drops`: rows that lose theirs."""
        entered = Signal(len(self._owned), name="rows_entered")
        dropped = Signal(len(self._owned), name="rows_dropped")
        m.d.comb += [entered.eq(reduce(or_, (comes for comes, _ in enters))), dropped.eq(reduce(or_, drops))]
        m.d.sync += self._owned.eq(Mux(self.launch, 0, self._owned & ~dropped | entered))
        for bit, owner in enumerate(self._owners):
            ones = reduce(or_, (Mux(name[bit], comes, 0) for comes, name in enters))
            m.d.sync += owner.eq(owner & ~entered | ones)
