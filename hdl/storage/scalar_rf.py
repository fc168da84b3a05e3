"""Storage with a scalar bank: a register whose lanes are all equal is one word there, and not in its own
bank."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Scalar
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import BankPort
from warpbank.hdl.probe import Events, emit
from warpbank.hdl.round_robin import first_from
from warpbank.hdl.storage.compressor import BYTES, Compressor
from warpbank.hdl.storage.gscalar import WORD_LANES, count, groups


def place_width(config: SmConfig) -> int:
    """Bits of a place in the scalar bank: the row of a register's bank above the number of that bank."""
    return config.sub_core.row_width + config.sub_core.bank_width


class ComparingPort(wiring.Signature):
    """Bank interface to a bank behind a stage that compares what is written (seen from the hierarchy): a
    `BankPort`, whose `write` and `row` are those of the stage, and

    Members
    -------
    read_row : Out. Row that is read.
    part : Out. What is written are other lanes than the warp was launched with: it is not scalar.
    moved : Out. It is moved, to be kept in its own bank.
    held : In. The stage waits for the scalar bank and takes nothing.
    written : In. The bank is written in this cycle, and must not be read.
    stored : In. What the stage holds is written in this cycle.
    scalar : In. It goes to the scalar bank.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                **dict(BankPort(config).members),
                "read_row": Out(config.sub_core.row_width),
                "part": Out(1),
                "moved": Out(1),
                "held": In(1),
                "written": In(1),
                "stored": In(1),
                "scalar": In(1),
            }
        )


class ScalarPort(wiring.Signature):
    """The scalar bank (seen from the hierarchy). It is not read in a cycle in which it is written.

    Members
    -------
    read, place : Out. Read the word of this place; `data` is there in the next cycle.
    data : In.
    written : In. A stage writes the bank in this cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"read": Out(1), "place": Out(place_width(config)), "data": In(32), "written": In(1)}
        )


class Whereabouts(wiring.Signature):
    """Whether the register of a row is in the scalar bank (seen from who asks). Combinational."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"bank": Out(core.bank_width), "row": Out(core.row_width), "scalar": In(1)})


class ScalarRf(wiring.Component):
    """Plain banks, a scalar bank with a word for every register, and a bit for each that tells where it is.
    G-Scalar, section 4.1, on the scalar register file that it is compared with.

    Every bank has a stage in which a result is compared; of the stages that ask for the scalar bank one is
    served per cycle, in rotating order. Memories: `bank_<number>`, `scalars`, `whereabouts`.

    Parameters
    ----------
    config : the machine: banks, rows, lanes, source slots.
    probe : generate `events` (array_read, array_write, scalar_write, scalar_wait).

    Members
    -------
    bank : In(ComparingPort) per bank.
    scalar : In(ScalarPort).
    where : In(Whereabouts) per source slot.

    Latency: a read is registered (row in one cycle, data in the next). A write in t is compared, written in t
    + 1 or later (`stored`), and there in the cycle after.

    Raises
    ------
    TypeError : no configuration.
    """

    parts = 1
    #: Kinds of scalar execution.
    executes = frozenset({Scalar.ALU})

    def __init__(self, config: SmConfig, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"ScalarRf needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        members = {
            "bank": In(ComparingPort(config)).array(core.banks),
            "scalar": In(ScalarPort(config)),
            "where": In(Whereabouts(config)).array(core.collector.slots),
        }
        if probe:
            members["events"] = Out(
                Events(
                    config,
                    {
                        "array_read": core.banks + 1,
                        "array_write": core.banks,
                        "scalar_write": 1,
                        "scalar_wait": 1,
                    },
                )
            )
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        shape = {"depth": core.rows << core.bank_width, "init": []}
        scalars = m.submodules.scalars = Memory(shape=32, **shape)
        whereabouts = m.submodules.whereabouts = Memory(shape=1, **shape)
        stages = [self._stage(m, number) for number in range(core.banks)]
        asking, pointer = Signal(core.banks), Signal(core.bank_width)
        m.d.comb += asking.eq(Cat(full & scalar for full, scalar, _, _ in stages))
        choice = first_from(m, asking, pointer, "scalar")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        for number, (bank, (full, scalar, place, _)) in enumerate(zip(self.bank, stages, strict=True)):
            m.d.comb += [
                bank.held.eq(asking[number] & ~choice.one_hot[number]),
                bank.stored.eq(full & ~bank.held),
                bank.scalar.eq(scalar),
                bank.written.eq(full & ~scalar),
            ]
            m.d.sync += full.eq(bank.write | bank.held)
            write_at(m, whereabouts, place, scalar, bank.stored)
        for where in self.where:
            m.d.comb += where.scalar.eq(read_at(m, whereabouts, Cat(where.bank, where.row)))
        read = scalars.read_port()
        taken = Signal(place_width(self._config))
        m.d.comb += [
            taken.eq(Array(place for _, _, place, _ in stages)[choice.index]),
            self.scalar.written.eq(choice.any),
            read.addr.eq(self.scalar.place),
            read.en.eq(self.scalar.read),
            self.scalar.data.eq(read.data),
        ]
        write_at(m, scalars, taken, Array(word for _, _, _, word in stages)[choice.index], choice.any)
        if self._probe:
            self._events(m, asking, choice.any, taken)
        return m

    def _stage(self, m: Module, number: int) -> tuple[Signal, Value, Value, Value]:
        """A bank and its stage. Returns whether it holds a result, whether that is scalar, its place and its
        word."""
        config, bank = self._config, self.bank[number]
        compressor = m.submodules[f"compressor_{number}"] = Compressor(config)
        full, whole, part, scalar = (
            Signal(name=f"{name}_{number}") for name in ("full", "whole", "part", "is_scalar")
        )
        row = Signal.like(bank.row, name=f"row_{number}")
        m.d.comb += [
            compressor.enable.eq(bank.write),
            compressor.value.eq(bank.value),
            compressor.mask.eq(bank.mask),
            scalar.eq(whole & compressor.full),
        ]
        with m.If(bank.write):
            m.d.sync += [
                whole.eq(~bank.part & ~bank.moved),
                part.eq(bank.part & ~bank.moved),
                row.eq(bank.row),
            ]
        memory = m.submodules[f"bank_{number}"] = Memory(
            shape=config.value_width, depth=config.sub_core.rows, init=[]
        )
        read, write = memory.read_port(), memory.write_port(granularity=32)
        m.d.comb += [
            read.addr.eq(bank.read_row),
            read.en.eq(bank.read),
            bank.data.eq(read.data),
            write.addr.eq(row),
            write.data.eq(compressor.data),
            write.en.eq(Mux(bank.written, compressor.active, 0)),
        ]
        if self._probe:
            every, lanes = (
                -(-config.lanes // WORD_LANES),
                Signal(range(config.lanes + 1), name=f"lanes_{number}"),
            )
            m.d.comb += lanes.eq(count(groups(compressor.active, WORD_LANES)))
            emit(
                m,
                self.events.array_read[number],
                bank.read,
                bank=number,
                divergent=0,
                enc=0,
                arrays=every,
                plain=every,
            )
            emit(
                m,
                self.events.array_write[number],
                bank.stored,
                bank=number,
                divergent=part,
                enc=scalar.replicate(BYTES),
                arrays=Mux(scalar, 0, lanes),
                plain=lanes,
            )
        return full, scalar, Cat(Const(number, config.sub_core.bank_width), row), compressor.base[0]

    def _events(self, m: Module, asking: Value, goes: Value, place: Value) -> None:
        core = self._config.sub_core
        emit(
            m,
            self.events.array_read[core.banks],
            self.scalar.read,
            bank=self.scalar.place[: core.bank_width],
            divergent=0,
            enc=(1 << BYTES) - 1,
            arrays=0,
            plain=-(-self._config.lanes // WORD_LANES),
        )
        emit(m, self.events.scalar_write[0], goes, row=place)
        held = reduce(or_, (bank.held for bank in self.bank))
        emit(m, self.events.scalar_wait[0], held, count=count(asking) - 1)
