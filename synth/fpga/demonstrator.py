"""Demonstrator, the self-checking machine: an SM of one sub-core, ROMs in the place of fetch and memory, and
an integer unit that computes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import bits
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, MOVE, Unit
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.layouts import uop_layout
from warpbank.hdl.sm import Sm
from warpbank.hdl.typed import Numbers, Record, record
from warpbank.synth.fpga.image import (
    CONSTANT,
    MICRO,
    NO_PREDICATES,
    OPERANDS,
    READ,
    WRITTEN,
    Do,
    Image,
    micro_fields,
)
from warpbank.synth.fpga.integer import Lane, arithmetic, product
from warpbank.synth.fpga.results import Computed, Given, block_rom, read_next

#: Units that compute: arithmetic, products, memory.
COMPUTING = (Unit.ALU, Unit.FMA, Unit.LSU)
#: What is a product.
PRODUCTS = (Do.MUL, Do.MULHI, Do.MULW)
#: Cycles from dispatch to the first one in which a result can be read: slots, operands, arithmetic; a product
#: takes one more.
READY = {Unit.ALU: 3, Unit.FMA: 4}


class Demonstrator(wiring.Component):
    """Demonstrator that runs one launch of a kernel and checks it.

    The SM is the one of every lockstep run; what a testbench answers comes from hardware here. Uops, memory
    lines and what loads return stand in ROMs. Results are computed from the operands that the register file
    delivers, so that a value passes through the register file as often as in the kernel, and every address
    and every stored value is compared with the emulator's.

    It is made for its program: the scoreboard has the program's registers only, the units the operations and
    operands that occur.

    Parameters
    ----------
    image : the program (`warpbank.synth.fpga.image`).
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

    done: Signal
    wrong: Signal
    passed: Signal
    checked: Signal
    cycles: Signal

    def __init__(self, image: Image, scheme: Scheme) -> None:
        execute = image.config.sub_core.execute
        for unit in (Unit.ALU, Unit.FMA):
            if execute.unit(unit).latency < READY[unit]:
                raise ValueError(
                    f"the demonstrator's {unit.name} takes {READY[unit]} cycles; the machine's has a "
                    f"latency of {execute.unit(unit).latency}."
                )
        self._image = image
        self._done = frozenset(Do(micro_fields(image.micro[step.pc])["do"]) for step in image.steps) | {
            Do.MOV
        }
        self.sm = Sm(image.config, scheme)
        self.sm.cores[0].scoreboard.registers = 1 << bits(image.registers + 1)  # RZ is one that no uop names
        super().__init__(
            {"done": Out(1), "wrong": Out(1), "passed": Out(1), "checked": Out(16), "cycles": Out(32)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sm = self.sm
        self._roms(m)
        self._front(m)
        wrong = self.sm.overflow | self._memory(m)
        self._arithmetic(m)
        self._products(m)
        self._answer(m)
        with m.If(wrong):
            m.d.sync += self.wrong.eq(1)
        m.d.comb += self.passed.eq(self.done & ~self.wrong & (self.checked == self._image.checks))
        return m

    def _roms(self, m: Module) -> None:
        image = self._image
        steps = len(image.steps)
        self._step_width = bits(steps)
        roms = {
            "uop": (uop_layout(image.config).size, [step.uop for step in image.steps]),
            "line": (bits(len(image.lines) + 1), [step.line for step in image.steps]),
            "row": (bits(len(image.values) + 1), [step.values for step in image.steps]),
            "lines": (len(self.sm.lines.line) + len(self.sm.lines.sectors), list(image.lines) or [0]),
        }
        self._rom: dict[str, Numbers] = {
            name: Memory(shape=width, depth=len(init), init=init) for name, (width, init) in roms.items()
        }
        # What is asked for a cycle ahead is in block RAMs.
        width = image.config.value_width
        self._rom["micro"] = block_rom(MICRO.size, tuple(image.micro[step.pc] for step in image.steps))
        compared = image.operands * width
        self._rom["operands"] = block_rom(compared, tuple(row % (1 << compared) for row in image.values))
        for name, memory in self._rom.items():
            m.submodules[f"rom_{name}"] = memory
        given = tuple(row >> compared for row in image.values)
        core = image.config.sub_core
        m.submodules.given = self._given = Given(given, image.given * width, 4 * image.config.lsu.pending)
        self._computed = {}
        for unit, words in ((Unit.ALU, 1), (Unit.FMA, 2 if Do.MULW in self._done else 1)):
            queue = Computed(words * width, core.execute.result_queue)
            m.submodules[f"results_{unit.name.lower()}"] = self._computed[unit] = queue

    def _step(self, warp: Value, seq: Value) -> Value:
        """Row of a warp's uop in the ROMs of steps."""
        row = Array([Const(first, self._step_width) for first in self._image.first])[warp]
        return (row + seq[: self._step_width])[: self._step_width]

    def _front(self, m: Module) -> None:
        """Launch, uops, memory lines."""
        image, sm = self._image, self.sm
        taken = Signal()
        fill = sm.fill[0]
        position = Array(
            [Signal(self._step_width, name=f"position_{warp}") for warp in range(image.config.sub_core.warps)]
        )
        line = read_at(m, self._rom["line"], self._step(sm.lines.warp, sm.lines.seq))
        m.d.comb += [
            sm.launch.valid.eq(~taken),
            sm.launch.payload.eq(image.launch),
            self.done.eq(taken & sm.launch.ready),
            fill.uop.eq(read_at(m, self._rom["uop"], self._step(fill.warp, position[fill.warp]))),
            Cat(sm.lines.line, sm.lines.sectors).eq(
                read_at(m, self._rom["lines"], (line + sm.lines.index)[: bits(len(image.lines) or 1)])
            ),
        ]
        with m.If(sm.launch.ready):
            m.d.sync += taken.eq(1)
        with m.If(~taken):
            m.d.sync += self.cycles.eq(1)
        with m.If(fill.valid):
            m.d.sync += position[fill.warp].eq(position[fill.warp] + 1)
        with m.If(taken & ~self.done):
            m.d.sync += self.cycles.eq(self.cycles + 1)

    def _answer(self, m: Module) -> None:
        """The values of the results that are written, into a bank or a collector: those at the heads of the
        units' queues."""
        core, width = self.sm.cores[0], self._image.config.value_width
        heads = {}
        for unit in COMPUTING:
            done = core.pipelines.result[unit]
            leaves = done.valid & done.ready
            if unit is Unit.LSU:
                back = core.returned
                row = read_at(m, self._rom["row"], self._step(back.payload.warp, back.payload.seq))
                m.d.comb += [
                    self._given.arrive.eq(back.valid),
                    self._given.row.eq(row),
                    self._given.leave.eq(leaves),
                ]
                head = self._given.head
            else:
                m.d.comb += self._computed[unit].leave.eq(leaves)
                head = self._computed[unit].head
            # The result that is written next is the oldest uop's first, until others of it have been.
            word = Signal(range(MAX_DESTINATIONS), name=f"word_{unit.name.lower()}")
            with m.If(leaves):
                m.d.sync += word.eq(0)
            with m.Elif(core.pipelines.step[unit]):
                m.d.sync += word.eq(word + 1)
            words = Array(head.word_select(place, width) for place in range(len(head) // width))
            heads[unit] = Signal(width, name=f"result_{unit.name.lower()}")
            m.d.comb += heads[unit].eq(words[word[: bits(len(words))]])
        for question in self.sm.write[0]:
            for unit, head in heads.items():
                offered = core.results.result[unit].payload
                same = Cat(
                    getattr(offered, name) == getattr(question, name) for name in ("warp", "seq", "register")
                ).all()
                with m.If(core.pipelines.result[unit].valid & same):
                    m.d.comb += question.value.eq(head)
        if core.keep:
            m.d.comb += [self.sm.keep[0][unit].value.eq(head) for unit, head in heads.items()]

    def _enter(self, m: Module, unit: Unit) -> _Entered:
        """A uop that is dispatched to a unit, a cycle later, with what its collector's slots held."""
        core = self.sm.cores[0]
        name = unit.name.lower()
        port = core.collectors.dispatch[unit]
        result = port.payload.result
        busy, moves = Signal(name=f"busy_{name}"), Signal(name=f"moves_{name}", reset_less=True)
        warp = Signal(len(result.warp), name=f"warp_{name}", reset_less=True)
        mask = Signal(len(result.mask), name=f"mask_{name}", reset_less=True)
        row = Signal(bits(len(self._image.values) + 1), name=f"row_{name}", reset_less=True)
        step = self._step(result.warp, result.seq)
        # A move that the hardware inserted has its uop's number, and hands on its one operand.
        move = result.seq[MOVE.bit_length() - 1] if len(result.seq) >= MOVE.bit_length() else Const(0, 1)
        m.d.sync += [
            busy.eq(port.valid & port.ready),
            moves.eq(move),
            warp.eq(result.warp),
            mask.eq(result.mask),
            row.eq(read_at(m, self._rom["row"], step)),
        ]
        micro = record(MICRO, name=f"micro_{name}")
        m.d.comb += micro.as_value().eq(read_next(m, self._rom["micro"], step))
        with m.If(moves):
            m.d.comb += [micro.do.eq(Do.MOV), micro.a_from.eq(0)]
            m.d.comb += [micro[name].eq(none) for name, none in NO_PREDICATES.items()]
        slots = []
        for slot in range(MAX_SOURCES):
            held = Signal(self._image.config.value_width, name=f"slot_{slot}_{name}", reset_less=True)
            now, operand = core.collectors.shown(unit, slot)
            with m.If(now):
                m.d.sync += held.eq(operand)
            slots.append(held)
        return _Entered(busy, micro, warp, mask, row, step, slots)

    def _operands(self, m: Module, unit: Unit, entered: _Entered) -> tuple[Record, dict[str, Signal]]:
        """What to do, and words a, b, c and c's high one, of all lanes; registers, a cycle later. Only what
        the program reads is there to be chosen from."""
        micro = record(MICRO, name=f"micro_of_{unit.name.lower()}", reset_less=True)
        m.d.sync += micro.eq(entered.micro)
        found = {}
        for operand in OPERANDS:
            value = Signal(
                self._image.config.value_width, name=f"{operand}_{unit.name.lower()}", reset_less=True
            )
            constant = entered.micro[f"{operand}_constant"].replicate(self._image.config.lanes)
            with m.Switch(entered.micro[f"{operand}_from"]):
                for source in self._sources(unit, operand):
                    with m.Case(source):
                        m.d.sync += value.eq(constant if source == CONSTANT else entered.slots[source])
                with m.Default():
                    m.d.sync += value.eq(0)
            found[operand] = value
        return micro, found

    def _sources(self, unit: Unit, operand: str) -> list[int]:
        """The slots that an operand comes from, and whether it is ever a constant other than 0."""
        found = {0} if unit is Unit.ALU and operand == "a" else set()  # a move's
        for pc in sorted({step.pc for step in self._image.steps}):
            micro = micro_fields(self._image.micro[pc])
            do = micro["do"]
            if (do in PRODUCTS) == (unit is Unit.FMA) and do not in (Do.NOTHING, Do.GIVEN, Do.MEMORY):
                source = micro[f"{operand}_from"]
                if source != CONSTANT or micro[f"{operand}_constant"]:
                    found.add(source)
        return sorted(found)

    def _arithmetic(self, m: Module) -> None:
        lanes, warps = self._image.config.lanes, self._image.config.sub_core.warps
        entered = self._enter(m, Unit.ALU)
        micro, operands = self._operands(m, Unit.ALU, entered)
        busy, warp = Signal(name="computes"), Signal.like(entered.warp, name="warp_of_alu", reset_less=True)
        mask = Signal(lanes, name="mask_of_alu", reset_less=True)
        m.d.sync += [busy.eq(entered.busy), warp.eq(entered.warp), mask.eq(entered.mask)]
        m.d.comb += self._given.other_row.eq(entered.row)
        predicates: Numbers = Memory(shape=8 * lanes, depth=max(2, warps), init=[])
        m.submodules.predicates = predicates
        held = Signal(8 * lanes, name="predicates")
        m.d.comb += held.eq(read_at(m, predicates, warp))
        results, after = [], []
        for lane in range(lanes):
            mine = held.word_select(lane, 8) | 0x80  # number 7 is constant true
            words = {name: operands[name].word_select(lane, 32) for name in OPERANDS}
            asked = {name: mine.bit_select(micro[name][:3], 1) ^ micro[name][3] for name in READ}
            value, *written = arithmetic(m, micro, Lane(**words, **asked), f"lane_{lane}", self._done)
            results.append(value)
            next_ = mine
            for name, predicate in zip(WRITTEN, written, strict=True):
                one = Const(1, 8) << micro[name]
                next_ = next_ & ~one[:8] | (predicate << micro[name])[:8]
            after.append(Mux(mask[lane], next_, mine))
        write_at(m, predicates, warp, Cat(*after), busy)
        queue = self._computed[Unit.ALU]
        given = self._given.other[: self._image.config.value_width]
        m.d.comb += [queue.push.eq(busy), queue.data.eq(Mux(micro.do == Do.GIVEN, given, Cat(*results)))]

    def _products(self, m: Module) -> None:
        entered = self._enter(m, Unit.FMA)
        micro, operands = self._operands(m, Unit.FMA, entered)
        upper = micro.do == Do.MULHI if Do.MULHI in self._done else Const(0, 1)
        low, high = [], []
        for lane in range(self._image.config.lanes):
            words = {name: operands[name].word_select(lane, 32) for name in OPERANDS}
            third = Mux(upper, Cat(Const(0, 32), words["c"]), Cat(words["c"], words["c_high"]))
            found = product(m, micro, words["a"], words["b"], third, f"lane_{lane}")
            low.append(found[:32])
            high.append(found[32:])
        # The product is there a cycle after its operands.
        swap = Signal(name="upper_product", reset_less=True)
        busy, late = Signal(name="multiplies"), Signal(name="multiplied")
        m.d.sync += [swap.eq(upper), busy.eq(entered.busy), late.eq(busy)]
        queue = self._computed[Unit.FMA]
        m.d.comb += [queue.push.eq(late), queue.data.eq(Cat(Mux(swap, Cat(*high), Cat(*low)), Cat(*high)))]

    def _memory(self, m: Module) -> Value:
        """Operands are compared with the ROM. Returns whether one differs."""
        entered = self._enter(m, Unit.LSU)
        width = self._image.config.value_width
        expected = read_next(m, self._rom["operands"], read_at(m, self._rom["row"], entered.step))
        compares = entered.busy & (entered.micro.do == Do.MEMORY)
        lanes = Cat(bit.replicate(32) for bit in entered.mask)
        differs = [
            (word < entered.micro.aux)
            & (((entered.slots[word] ^ expected.word_select(word, width)) & lanes) != 0)
            for word in range(self._image.operands)
        ]
        with m.If(compares):
            m.d.sync += self.checked.eq(self.checked + 1)
        return compares & reduce(or_, differs)


@dataclass(frozen=True)
class _Entered:
    """A uop in its unit, a cycle after its dispatch: there is one; what to do; its warp, lanes and row in the
    ROMs of values; what its slots held. `step`: of the uop that is dispatched now."""

    busy: Signal
    micro: Record
    warp: Signal
    mask: Signal
    row: Signal
    step: Value
    slots: list[Signal]
