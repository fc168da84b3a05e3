"""The self-checking machine: an SM of one sub-core, ROMs in the place of fetch and memory, and an integer unit that computes."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from arch.rooms import bits
from arch.schemes import Scheme
from arch.uop import MAX_SOURCES, MOVE, Unit
from hdl.lookup import read_at, write_at
from hdl.seams import uop_layout
from hdl.sm import Sm

from .image import CONSTANT, MICRO, OPERANDS, READ, WRITTEN, Do, Image
from .integer import Lane, arithmetic, product

#: Units that compute: arithmetic, products, memory. A result must be there when the shortest of them first offers it.
COMPUTING = (Unit.ALU, Unit.FMA, Unit.LSU)
#: Cycles from dispatch to the first one in which a result can be read.
READY = {Unit.ALU: 2, Unit.FMA: 3, Unit.LSU: 2}

class Demonstrator(wiring.Component):
    """Runs one launch of a kernel and checks it.

    The SM is the one of every lockstep run; what a testbench answers comes from hardware here. Uops, memory lines and what loads
    return stand in ROMs. Results are computed from the operands that the register file delivers, so that a value passes through
    the register file as often as in the kernel, and every address and every stored value is compared with the emulator's.

    Parameters
    ----------
    image : the program (`synth.fpga.image`).
    scheme : the register file; one that leaves the code as it is.

    Members
    -------
    done : Out(1). The launch has drained.
    wrong : Out(1). An address or a stored value differed, or the machine lost a uop.
    passed : Out(1). Done, nothing was wrong, and every memory instruction of the program was seen.
    checked : Out(16). Memory instructions compared.
    cycles : Out(32). Clock cycles that the launch took, golden's number.

    Raises
    ------
    ValueError : a unit is faster than the demonstrator's own.
    """

    def __init__(self, image: Image, scheme: Scheme) -> None:
        execute = image.config.sub_core.execute
        for unit in (Unit.ALU, Unit.FMA):
            if execute.unit(unit).latency < READY[unit]:
                raise ValueError(f"the demonstrator's {unit.name} takes {READY[unit]} cycles; the machine's has a latency of "
                                 f"{execute.unit(unit).latency}.")
        self._image = image
        self._register_width = bits(image.registers)
        self.sm = Sm(image.config, scheme)
        super().__init__({"done": Out(1), "wrong": Out(1), "passed": Out(1), "checked": Out(16), "cycles": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        image, core = self._image, self.sm.cores[0]
        m.submodules.sm = self.sm
        lanes, width = image.config.lanes, image.config.value_width
        self._roms(m)
        self._front(m)
        wrong: list[Value] = [self.sm.overflow]
        results: dict[Unit, list[Any]] = {}
        depth = image.config.sub_core.warps << self._register_width
        words = {Unit.ALU: 1, Unit.FMA: 2, Unit.LSU: image.given}
        # Which unit, and which word of its result, a register comes from.
        places = [(unit, word) for unit in COMPUTING for word in range(words[unit])]
        owner = Array([Signal(range(len(places)), name=f"owner_{place}") for place in range(depth)])
        self._predicates = Array([Signal(8 * lanes, name=f"predicates_{warp}") for warp in range(image.config.sub_core.warps)])
        for unit in COMPUTING:
            stores = [Memory(shape=width, depth=depth, init=[]) for _ in range(words[unit])]
            for word, store in enumerate(stores):
                m.submodules[f"results_{unit.name.lower()}_{word}"] = store
            results[unit] = stores
            found = self._unit(m, unit, stores, owner, [places.index((unit, word)) for word in range(words[unit])])
            if found is not None:
                wrong.append(found)
        questions = [*self.sm.write[0], *(self.sm.keep[0] if core.keeps else [])]
        for question in questions:
            address = Cat(question.register[:self._register_width], question.warp)
            values = Array([read_at(m, results[unit][word], address) for unit, word in places])
            m.d.comb += question.value.eq(values[owner[address]])
        with m.If(reduce(or_, wrong)):
            m.d.sync += self.wrong.eq(1)
        m.d.comb += self.passed.eq(self.done & ~self.wrong & (self.checked == image.checks))
        return m

    def _roms(self, m: Module) -> None:
        image = self._image
        steps = len(image.steps)
        roms = {
            "pc": (bits(len(image.micro)), [step.pc for step in image.steps]),
            "uop": (uop_layout(image.config).size, [step.uop for step in image.steps]),
            "line": (bits(len(image.lines) + 1), [step.line for step in image.steps]),
            "row": (bits(len(image.values) + 1), [step.values for step in image.steps]),
            "lines": (len(self.sm.lines.line), list(image.lines) or [0]),
            "micro": (MICRO.size, list(image.micro)),
        }
        self._rom = {name: Memory(shape=width, depth=len(init), init=init) for name, (width, init) in roms.items()}
        for name, memory in self._rom.items():
            m.submodules[f"rom_{name}"] = memory
        words = image.operands + image.given
        values = Memory(shape=words * image.config.value_width, depth=max(1, len(image.values)), init=list(image.values),
                        attrs={"rom_style": "block", "ram_style": "block"})
        m.submodules.rom_values = self._values = values
        self._step_width = bits(steps)

    def _step(self, warp: Value, seq: Value) -> Value:
        """Row of a warp's uop in the ROMs of steps."""
        row = Array([Const(first, self._step_width) for first in self._image.first])[warp]
        return (row + seq[:self._step_width])[:self._step_width]

    def _front(self, m: Module) -> None:
        """Launch, uops, memory lines."""
        image, sm = self._image, self.sm
        taken = Signal()
        fill = sm.fill[0]
        position = Array([Signal(self._step_width, name=f"position_{warp}") for warp in range(image.config.sub_core.warps)])
        line = read_at(m, self._rom["line"], self._step(sm.lines.warp, sm.lines.seq))
        m.d.comb += [
            sm.launch.valid.eq(~taken), sm.launch.payload.eq(image.launch), self.done.eq(taken & sm.launch.ready),
            fill.uop.eq(read_at(m, self._rom["uop"], self._step(fill.warp, position[fill.warp]))),
            sm.lines.line.eq(read_at(m, self._rom["lines"], (line + sm.lines.index)[:bits(len(image.lines) or 1)])),
        ]
        with m.If(sm.launch.ready):
            m.d.sync += taken.eq(1)
        with m.If(~taken):
            m.d.sync += self.cycles.eq(1)
        with m.If(fill.valid):
            m.d.sync += position[fill.warp].eq(position[fill.warp] + 1)
        with m.If(taken & ~self.done):
            m.d.sync += self.cycles.eq(self.cycles + 1)

    def _unit(self, m: Module, unit: Unit, stores: list[Memory], owner: Any, places: list[int]) -> Value | None:
        """What a unit makes of the uops that are dispatched to it. Returns "a comparison failed", of the unit that compares."""
        image, core = self._image, self.sm.cores[0]
        lanes = image.config.lanes
        name = unit.name.lower()
        port = core.collectors.dispatch[unit]
        result = port.payload.result
        enters = port.valid & port.ready
        # A move that the hardware inserted has its uop's number, and hands on its one operand.
        move = result.seq[MOVE.bit_length() - 1] if len(result.seq) >= MOVE.bit_length() else Const(0, 1)
        step = self._step(result.warp, result.seq)
        read = Signal(MICRO, name=f"read_{name}")
        m.d.comb += read.as_value().eq(read_at(m, self._rom["micro"], read_at(m, self._rom["pc"], step)))
        with m.If(move):
            m.d.comb += [read.do.eq(Do.MOV), read.a_from.eq(0)]
        slots = [Array([operands[slot] for operands in core.collectors.operands])[port.payload.collector]
                 for slot in range(MAX_SOURCES)]
        # From here on a cycle later.
        busy, micro = Signal(name=f"busy_{name}"), Signal(MICRO, name=f"micro_{name}", reset_less=True)
        warp = Signal(len(result.warp), name=f"warp_{name}", reset_less=True)
        mask, count = Signal(lanes, name=f"mask_{name}", reset_less=True), Signal(3, name=f"count_{name}", reset_less=True)
        destination = Signal(self._register_width, name=f"destination_{name}", reset_less=True)
        m.d.sync += [
            busy.eq(enters), micro.eq(read), warp.eq(result.warp), mask.eq(result.mask), destination.eq(result.destination),
            count.eq(result.count),
        ]
        address = [Cat((destination + word)[:self._register_width], warp) for word in range(len(stores))]
        for word, place in enumerate(places):
            with m.If(busy & (count > word)):
                m.d.sync += owner[address[word]].eq(place)
        writes = [busy & (count > word) for word in range(len(stores))]
        if unit is Unit.LSU:
            return self._memory(m, busy, writes, micro, mask, stores, address, self._row(m, step), slots)
        operands = self._operands(m, name, read, slots)
        if unit is Unit.ALU:
            self._arithmetic(m, busy, writes, micro, warp, mask, operands, stores, address, self._row(m, step)[1][0])
        else:
            self._products(m, writes, micro, operands, stores, address)
        return None

    def _row(self, m: Module, step: Value) -> tuple[list[Any], list[Any]]:
        """The uop's row in the ROM of values, a cycle later: what its operands should be, and what it gives."""
        port = self._values.read_port(domain="sync")
        m.d.comb += [port.addr.eq(read_at(m, self._rom["row"], step)), port.en.eq(1)]
        image = self._image
        words = [port.data.word_select(word, image.config.value_width) for word in range(image.operands + image.given)]
        return words[:image.operands], words[image.operands:]

    def _operands(self, m: Module, name: str, read: Any, slots: list[Any]) -> dict[str, Any]:
        """Words a, b, c and c's high one, of all lanes; registers."""
        width = self._image.config.value_width
        found = {}
        for operand in OPERANDS:
            value = Signal(width, name=f"{operand}_{name}", reset_less=True)
            constant = read[f"{operand}_constant"].replicate(self._image.config.lanes)
            choices = [*slots, constant]
            m.d.sync += value.eq(Array(choices)[read[f"{operand}_from"]])
            found[operand] = value
        assert len(slots) == CONSTANT
        return found

    def _arithmetic(self, m: Module, busy: Value, writes: list[Value], micro: Any, warp: Value, mask: Value,
                    operands: dict[str, Any], stores: list[Memory], address: list[Value], given: Any) -> None:
        lanes = self._image.config.lanes
        held = Signal(8 * lanes, name="predicates")
        m.d.comb += held.eq(self._predicates[warp])
        results, after = [], []
        for lane in range(lanes):
            mine = held.word_select(lane, 8) | 0x80  # number 7 is constant true
            words = {name: operands[name].word_select(lane, 32) for name in OPERANDS}
            asked = {name: mine.bit_select(micro[name][:3], 1) ^ micro[name][3] for name in READ}
            value, *written = arithmetic(m, micro, Lane(**words, **asked), f"lane_{lane}")
            results.append(value)
            next_ = mine
            for name, predicate in zip(WRITTEN, written, strict=True):
                one = Const(1, 8) << micro[name]
                next_ = next_ & ~one[:8] | (predicate << micro[name])[:8]
            after.append(Mux(mask[lane], next_, mine))
        write_at(m, stores[0], address[0], Mux(micro.do == Do.GIVEN, given, Cat(*results)), writes[0])
        with m.If(busy):
            m.d.sync += self._predicates[warp].eq(Cat(*after))

    def _products(self, m: Module, writes: list[Value], micro: Any, operands: dict[str, Any], stores: list[Memory],
                  address: list[Value]) -> None:
        low, high = [], []
        upper = micro.do == Do.MULHI
        for lane in range(self._image.config.lanes):
            words = {name: operands[name].word_select(lane, 32) for name in OPERANDS}
            third = Mux(upper, Cat(Const(0, 32), words["c"]), Cat(words["c"], words["c_high"]))
            found = product(m, micro, words["a"], words["b"], third, f"lane_{lane}")
            low.append(found[:32])
            high.append(found[32:])
        # The product is there a cycle after its operands.
        swap = Signal(name="upper_product", reset_less=True)
        m.d.sync += swap.eq(upper)
        for word, value in enumerate((Mux(swap, Cat(*high), Cat(*low)), Cat(*high))):
            late = Signal(name=f"writes_product_{word}")
            where = Signal(len(address[word]), name=f"address_product_{word}", reset_less=True)
            m.d.sync += [late.eq(writes[word]), where.eq(address[word])]
            write_at(m, stores[word], where, value, late)

    def _memory(self, m: Module, busy: Value, writes: list[Value], micro: Any, mask: Value, stores: list[Memory],
                address: list[Value], row: tuple[list[Any], list[Any]], slots: list[Any]) -> Value:
        """Operands are compared with the ROM; a load gives what stands there."""
        width = self._image.config.value_width
        expected, given = row
        for store, where, value, enable in zip(stores, address, given, writes, strict=True):
            write_at(m, store, where, value, enable)
        compares = busy & (micro.do == Do.MEMORY)
        differs: list[Value] = []
        lanes = Cat(bit.replicate(32) for bit in mask)
        for word, right in enumerate(expected):
            held = Signal(width, name=f"operand_{word}", reset_less=True)
            m.d.sync += held.eq(slots[word])
            differs.append((word < micro.aux) & (((held ^ right) & lanes) != 0))
        with m.If(compares):
            m.d.sync += self.checked.eq(self.checked + 1)
        return compares & reduce(or_, differs)
