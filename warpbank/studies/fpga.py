"""Demonstrator program, made from a kernel, and the demonstrator in simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from warpbank import workloads
from warpbank.arch.config import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.uop import RZ, Unit
from warpbank.golden.stream import TraceUop, WarpStream, templates_of
from warpbank.hdl.layouts import uop_layout
from warpbank.program import runner
from warpbank.program.emulator.device import Device
from warpbank.program.errors import WarpbankError
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import PT, Const, Imm, Instr, Kernel, Op, Pred, Reg
from warpbank.program.launch import Job
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines import packing
from warpbank.sim.engines.rtl import check_fits
from warpbank.sim.experiment import check_machine, find_config
from warpbank.synth.fpga import board as boards
from warpbank.synth.fpga.demonstrator import Demonstrator
from warpbank.synth.fpga.image import CONSTANT, MICRO, NO_PREDICATES, OPERANDS, READ, WRITTEN, Do, Image, Step

#: The machine: one sub-core of `tiny` with 8 lanes and 4 warps.
OVERRIDES = ("lanes=8", "sub_core.warps=4", "sub_core.rows=32", "memory.l2_sets=4", "lsu.pending=4")
#: Registers per thread for the allocator.
REGISTERS = 32
#: Hints that change the code, which then is not the kernel's own.
_INSERT = ("intervals", "strands", "release")

_ARITHMETIC = {
    Op.MOV: Do.MOV,
    Op.SEL: Do.SEL,
    Op.IADD: Do.ADD,
    Op.IADDC: Do.ADDC,
    Op.ISUB: Do.SUB,
    Op.ISUBC: Do.SUBC,
    Op.IMUL: Do.MUL,
    Op.IMULHI: Do.MULHI,
    Op.IMULW: Do.MULW,
    Op.IMAD: Do.MUL,
    Op.IMADHI: Do.MULHI,
    Op.IMADW: Do.MULW,
    Op.IMIN: Do.MIN,
    Op.IMAX: Do.MAX,
    Op.IABS: Do.ABS,
    Op.AND: Do.AND,
    Op.OR: Do.OR,
    Op.XOR: Do.XOR,
    Op.NOT: Do.NOT,
    Op.SHL: Do.SHL,
    Op.SHR: Do.SHR,
    Op.SHF: Do.SHF,
    Op.ISETP: Do.SETP,
    Op.ISETPX: Do.SETPX,
    Op.PLOP: Do.PLOP,
}
#: What needs other lanes or what the machine does not hold comes from the ROM, and so does what memory holds.
_GIVEN = (Op.S2R, Op.ACTIVEMASK, Op.REDUX)
_NOTHING = (Op.NOP, Op.BRA, Op.EXIT, Op.BAR, Op.MEMBAR)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a simulated demonstrator: passed, memory instructions compared, clock cycles."""

    passed: bool
    checked: int
    cycles: int


@dataclass(frozen=True)
class Demonstration:
    """A demonstrator that passed in simulation, and its bitstream.

    Parameters
    ----------
    kernel, scheme : what it runs, on what register file.
    outcome : how its simulation ended.
    built : the bitstream; None if none was asked for.
    """

    kernel: str
    scheme: str
    outcome: Outcome
    built: boards.Built | None = None

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON; a bitstream's keys stand beside those of the simulation."""
        simulated = {
            "kernel": self.kernel,
            "scheme": self.scheme,
            "passed": self.outcome.passed,
            "compared": self.outcome.checked,
            "cycles": self.outcome.cycles,
        }
        return simulated | (self.built.to_dict() if self.built is not None else {})


def demonstrate(
    kernel: str,
    scheme: Scheme,
    config: SmConfig | None = None,
    *,
    folder: Path | None = None,
    board: str = "ulx3s-85f",
    seed: int = 1,
    divide: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> Demonstration:
    """Simulate the demonstrator of a kernel, and make its bitstream if a folder is named.

    Parameters
    ----------
    kernel, scheme, config : see `build`.
    folder : where the bitstream goes; None: simulate only.
    board, seed, divide : see `warpbank.synth.fpga.board.build`.
    on_step : called with what is done next.

    Raises
    ------
    WarpbankError : no such board, a kernel or scheme that the demonstrator cannot take, or a demonstrator
        that fails in simulation.
    """
    say = on_step or (lambda _: None)
    boards.check(board, divide, packages=folder is not None)
    image = build(kernel, scheme, config)
    say("simulating ...")
    outcome = simulate(image, scheme)
    if not outcome.passed:
        raise WarpbankError(
            f"the demonstrator failed in simulation; it compared {outcome.checked} of {image.checks} memory "
            "instructions."
        )
    built = None
    if folder is not None:
        say(f"building for {board} ...")
        built = boards.build(image, scheme, board, folder, seed=seed, divide=divide)
    return Demonstration(kernel, scheme.name, outcome, built)


def machine(overrides: Sequence[str] = ()) -> SmConfig:
    """The demonstrator's machine, with overrides as after `--set`.

    Raises
    ------
    WarpbankError : a field or a value that cannot be.
    """
    return find_config("tiny", None, [*OVERRIDES, *overrides])


def build(kernel: str, scheme: Scheme, config: SmConfig | None = None) -> Image:
    """Program of a shipped kernel's first launch at `tiny`.

    Raises WarpbankError for a kernel that the integer unit cannot compute, a launch that does not fit, a
    scheme that changes the code.
    """
    inserts = [hint for hint in scheme.hints if hint in _INSERT]
    if inserts:
        raise WarpbankError(
            f"scheme {scheme.name} inserts instructions ({inserts[0]}), which the demonstrator's integer "
            "unit does not follow; take baseline, bow, bow-wb, bow-wr, malekeh, malekeh-pr, ccu-lru-gto, "
            "ccu-lru-own or gscalar."
        )
    config = config or machine()
    check_machine(scheme, config)
    config = scheme.machine(config)
    job = workloads.get(kernel).job("tiny")
    options = runner.Options(max_registers=REGISTERS)
    kernels = runner.compile_job(job, options)
    trace = with_hints(runner.trace_job(job, options), scheme.hints, config, lambda: kernels)
    return _Builder(job, kernels, trace, config).image()


def simulate(image: Image, scheme: Scheme, limit: int = 20_000) -> Outcome:
    """Run the demonstrator in Amaranth's simulator until it is done. WarpbankError: it never is."""
    try:
        top = Demonstrator(image, scheme)
    except ValueError as error:
        raise WarpbankError(f"{error}") from None
    seen: list[int] = []

    async def bench(ctx: object) -> None:
        for _ in range(limit):
            await ctx.tick()  # type: ignore[attr-defined]
            if ctx.get(top.done):  # type: ignore[attr-defined]
                break
        seen.extend(ctx.get(port) for port in (top.done, top.passed, top.checked, top.cycles))  # type: ignore[attr-defined]

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    done, passed, checked, cycles = seen
    if not done:
        raise WarpbankError(f"the demonstrator was not done after {limit} cycles.")
    return Outcome(bool(passed), checked, cycles)


class _Builder:
    """Makes an image of a job's first launch."""

    def __init__(self, job: Job, kernels: dict[str, Kernel], trace: Trace, config: SmConfig) -> None:
        self._name, self._trace, self._config = job.name, trace, config
        launch = job.launches[0]
        self._code = [instr for name in trace.kernels for instr in kernels[name].instructions()]
        self._bank = Device(job, kernels).constant_bank(launch, kernels[launch.entry])
        self._fields: dict[int, dict[str, int]] = {}
        self._rows: list[tuple[list[np.ndarray], ...]] = []
        self._lines: list[int] = []
        self._checks = 0

    def image(self) -> Image:
        trace, config = self._trace, self._config
        launch = trace.launches[0]
        warps = int(launch["ctas"]) * int(launch["warps_per_cta"])
        if warps > config.sub_core.warps or int(launch["ctas"]) > config.cta.max_ctas:
            raise WarpbankError(
                f"the first launch of {self._name} has {warps} warps in {launch['ctas']} CTAs; the "
                f"demonstrator takes {config.sub_core.warps} warps in {config.cta.max_ctas}. pathfinder "
                f"and bfs fit."
            )
        check_fits(trace, config)
        constants, collects = packing.uops(trace, config)
        layout, templates = uop_layout(config), templates_of(trace)
        pcs = sorted(
            {
                int(row["pc"])
                for warp in trace.warps[:warps]
                for row in trace.dynamic[int(warp["first"]) : int(warp["first"]) + int(warp["length"])]
            }
        )
        self._fields = {pc: self._decode(pc) for pc in pcs}
        micro = [packing.pack(MICRO, **self._fields.get(pc, {})) for pc in range(len(self._code))]
        steps: list[Step] = []
        first = []
        for slot in range(config.sub_core.warps):
            first.append(len(steps))
            if slot < warps:
                stream = WarpStream(trace, templates, trace.warps[slot], 0, slot, config.lanes)
                registers = np.zeros((256, config.lanes), np.uint32)
                for _ in range(stream.length):
                    uop = stream.take()
                    steps.append(
                        Step(
                            uop.pc,
                            packing.fill(uop, constants, collects, layout),
                            len(self._lines),
                            self._row(uop, registers),
                        )
                    )
                    self._lines += uop.lines
        operands, given, values = self._packed()
        return Image(
            self._name,
            config,
            int(launch["registers"]),
            packing.launches(trace, config)[0],
            tuple(micro),
            tuple(steps),
            tuple(first),
            tuple(self._lines),
            values,
            operands,
            given,
            self._checks,
        )

    def _row(self, uop: TraceUop, registers: np.ndarray) -> int:
        """The uop's row in the ROM of values; follows what it does to its warp's registers."""
        do = Do(self._fields[uop.pc]["do"]) if uop.mask else Do.NOTHING
        active = np.array([bool(uop.lane_mask >> lane & 1) for lane in range(self._config.lanes)])
        number = len(self._rows)
        if do in (Do.GIVEN, Do.MEMORY):
            operands = [registers[source].copy() for source in uop.sources] if do is Do.MEMORY else []
            self._rows.append(
                tuple([np.where(active, value, 0) for value in words] for words in (operands, uop.values))
            )
            self._checks += do is Do.MEMORY
        for offset, value in enumerate(uop.values):
            registers[uop.destination + offset][active] = np.asarray(value)[active]
        return number if number < len(self._rows) else 0

    def _packed(self) -> tuple[int, int, tuple[int, ...]]:
        """Words of operands and of given values in a row, and the rows."""
        operands, given = (max(1, *(len(row[part]) for row in self._rows)) for part in (0, 1))
        size = 4 * self._config.lanes
        rows = []
        for row in self._rows:
            words = [row[0][place] if place < len(row[0]) else None for place in range(operands)]
            words += [row[1][place] if place < len(row[1]) else None for place in range(given)]
            content = b"".join(
                bytes(size) if word is None else np.ascontiguousarray(word, "<u4").tobytes() for word in words
            )
            rows.append(int.from_bytes(content, "little"))
        return operands, given, tuple(rows)

    def _decode(self, pc: int) -> dict[str, int]:
        instr = self._code[pc]
        row = self._trace.code[pc]
        if instr.op in _NOTHING:
            return {"do": Do.NOTHING, **NO_PREDICATES}
        sources = [int(register) for register in row["sources"][: int(row["source_count"])]]
        if row["unit"] == Unit.LSU and not row["predicates_written"]:
            return {"do": Do.MEMORY, "aux": len(sources), **NO_PREDICATES}
        if instr.op in _GIVEN and row["count"] == 1:
            return {"do": Do.GIVEN, **NO_PREDICATES}
        if instr.op not in _ARITHMETIC:
            raise WarpbankError(
                f"the demonstrator's integer unit does not do {instr.op.name}, at {pc} of {self._name}: "
                f"{self._trace.text[pc].strip()}. pathfinder and bfs are integer kernels."
            )
        do = _ARITHMETIC[instr.op]
        fields = {
            "do": do,
            "signed": int(instr.dtype.is_signed),
            "cmp": instr.cmp,
            "boolop": instr.boolop,
            "aux": instr.aux,
        }
        a, b, c, c_high = self._words_of(instr)
        for name, word in zip(OPERANDS, (a, b, c, c_high), strict=True):
            if isinstance(word, Reg):
                fields[f"{name}_from"] = sources.index(word.index)
            else:
                fields[f"{name}_from"], fields[f"{name}_constant"] = CONSTANT, word
        psrc = list(instr.psrc) + [Pred(PT)] * 3
        fields |= {name: pred.index | pred.negated << 3 for name, pred in zip(READ, psrc, strict=False)}
        pdst = [*instr.pdst, PT, PT]
        fields |= dict(zip(WRITTEN, pdst, strict=False))
        return fields

    def _words_of(self, instr: Instr) -> list[Reg | int]:
        """a, b, c and the high word of c: a register, or a number."""
        found: list[Reg | int] = [0, 0, 0, 0]
        for place, source in enumerate(instr.srcs[:3]):
            for word in range(2 if place == 2 and source.width == 2 else 1):
                found[place + word] = self._word(source, word)
        return found

    def _word(self, source: Reg | Imm | Const, word: int) -> Reg | int:
        if isinstance(source, Imm):
            return source.value >> (32 * word) & 0xFFFF_FFFF
        if isinstance(source, Const):
            return int.from_bytes(
                self._bank[source.offset + 4 * word : source.offset + 4 * word + 4], "little"
            )
        return 0 if source.word(word).index == RZ else source.word(word)
