"""Storage with a scalar bank: a register whose lanes are all equal is one word there, and not in its own
bank."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Scalar
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.arbiter import ScalarArbiter
from warpbank.hdl.main.ports import BankPortInterface, StoragePorts, WhereaboutsInterface
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import first_from, pick
from warpbank.hdl.storage.arrays import WORD_LANES, count, groups
from warpbank.hdl.storage.compressor import BYTES, Compressor
from warpbank.hdl.storage.metadata import metadata_layout


class ScalarRf(wiring.Component):
    """Plain banks, a scalar bank with a word for every register, and a bit for each that tells where it is.
    G-Scalar, section 4.1, on the scalar register file that it is compared with.

    Every bank has a stage in which a result is compared; of the stages that ask for the scalar bank one is
    served per cycle, in rotating order. Memories: `bank_<number>`, `scalars`, `whereabouts`.

    Parameters
    ----------
    config : the machine: banks, rows, lanes, source slots.
    probe : generate `events` (array_read, array_write, scalar_write, scalar_wait).
    poison : what is released reads as it was.
    told : False: a register comes without metadata, and is compared here.

    Members
    -------
    those of `warpbank.hdl.main.ports.StoragePorts`, with `where`. The last `bank` is the scalar bank, with a
    word for the place of every register: the row of its bank above the number of that bank. It is only read;
    its `data` is the word in all lanes. A bank is `held` while its stage waits for the scalar bank; what is
    `compressed` is there.

    Latency: a read is registered (row in one cycle, data in the next). A write in t is compared, written in t
    + 1 or later (`stored`), and there in the cycle after.

    Raises
    ------
    TypeError : no configuration.
    ValueError : registers that are written with metadata.
    """

    bank: list[BankPortInterface]
    where: list[WhereaboutsInterface]
    events: EventsInterface

    #: A result is compared before it is written; what is read comes at once.
    parts, read_delay, write_delay = 1, 0, 1
    #: A result may wait for the scalar bank.
    waits = True
    #: Kinds of scalar execution.
    executes = frozenset({Scalar.ALU})

    def __init__(self, config: SmConfig, probe: bool = False, poison: int = 0, told: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"ScalarRf needs the machine's configuration, an SmConfig, not {config!r}.")
        if told:
            raise ValueError("A scalar bank compares what it takes: nobody else says what its metadata are.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        members = dict(StoragePorts(config, metadata_layout(self.parts), scalar=True).members)
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

    @property
    def zeros(self) -> int:
        """The metadata of a register of zeros: a scalar."""
        note: dict[int | str, Any] = {"divergent": 0, "enc": [-1], "full": 1, "base": [0]}
        return Const.cast(metadata_layout(self.parts).const(note)).value

    def arbiter(self, collection: Collection, shared: bool, probe: bool) -> ScalarArbiter:
        """A queue of reads per bank, and one for the scalar bank. Raises ValueError for collectors that it
        cannot serve."""
        if collection.evicts or shared:
            raise ValueError(
                "A scalar bank takes results only: no value that a collector evicts, no cache's."
            )
        return ScalarArbiter(self._config, collection.entries, collection.tags, probe)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        places = core.rows << core.bank_width
        scalars = m.submodules.scalars = Memory(shape=32, depth=places, init=[])
        whereabouts = m.submodules.whereabouts = Memory(shape=1, depth=places, init=[])
        stages = [self._stage(m, number) for number in range(core.banks)]
        asking, pointer = Signal(core.banks), Signal(core.bank_width)
        m.d.comb += asking.eq(Cat(full & scalar for full, scalar, _, _ in stages))
        choice = first_from(m, asking, pointer, "scalar")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        for number, (full, scalar, place, _) in enumerate(stages):
            bank = self.bank[number]
            m.d.comb += [
                bank.held.eq(asking[number] & ~choice.one_hot[number]),
                bank.stored.eq(full & ~bank.held),
                bank.compressed.eq(scalar),
                bank.written.eq(full & ~scalar),
            ]
            m.d.sync += full.eq(bank.write | bank.held)
            write_at(m, whereabouts, place, scalar, bank.stored)
        for where in self.where:
            m.d.comb += where.scalar.eq(read_at(m, whereabouts, Cat(where.bank, where.row)))
        read, scalar_bank = scalars.read_port(), self.bank[-1]
        taken = Signal(core.row_width + core.bank_width)
        m.d.comb += [
            taken.eq(pick(choice.one_hot, [place for _, _, place, _ in stages])),
            scalar_bank.written.eq(choice.any),
            read.addr.eq(scalar_bank.read_row),
            read.en.eq(scalar_bank.read),
            scalar_bank.data.eq(read.data.replicate(self._config.lanes)),
            scalar_bank.metadata.full.eq(1),
            scalar_bank.metadata.enc[0].eq(-1),
        ]
        word = pick(choice.one_hot, [base for _, _, _, base in stages])
        write_at(m, scalars, taken, word, choice.any)
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
            self.bank[-1].read,
            bank=self.bank[-1].read_row[: core.bank_width],
            divergent=0,
            enc=(1 << BYTES) - 1,
            arrays=0,
            plain=-(-self._config.lanes // WORD_LANES),
        )
        emit(m, self.events.scalar_write[0], goes, row=place)
        held = reduce(or_, (bank.held for bank in list(self.bank)[:-1]))
        emit(m, self.events.scalar_wait[0], held, count=count(asking) - 1)
