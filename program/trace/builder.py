"""Traces by hand: uops with chosen registers, masks and values, for tests of the machine without a
compiler."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warpbank.arch.uop import LINE_WIDTH, WHOLE_LINE, Control, Memory, Unit
from warpbank.program.trace.schema import (
    CODE,
    DYNAMIC,
    FLAG_ARRIVE,
    FLAG_LAST,
    FLAG_WAIT,
    LAUNCH,
    WARP,
    Trace,
)

ALL = 0xFFFFFFFF


def of_line(line: int, sectors: int = WHOLE_LINE) -> int:
    """Sectors of a line, by their mask, as a trace has them."""
    return sectors << LINE_WIDTH | line


@dataclass(frozen=True)
class Op:
    """One uop: what it does, and what this execution of it did."""

    unit: Unit = Unit.ALU
    sources: tuple[int, ...] = ()
    destination: int = 0
    count: int = 0
    reads: int = 0
    writes: int = 0
    mask: int = ALL
    memory: Memory = Memory.NONE
    control: Control = Control.NONE
    lines: tuple[int, ...] = ()  # whole lines, or with a mask of sectors (`of_line`)
    passes: int = 0
    flags: int = 0
    barrier: int = 0
    barrier_warps: int = 0


def alu(destination: int, *sources: int, mask: int = ALL, unit: Unit = Unit.ALU, count: int = 1) -> Op:
    """An arithmetic uop."""
    return Op(unit, sources, destination, count, mask=mask)


def load(destination: int, address: int, *lines: int, count: int = 1, mask: int = ALL) -> Op:
    """A global load of these lines."""
    return Op(Unit.LSU, (address,), destination, count, memory=Memory.LOAD_GLOBAL, lines=lines, mask=mask)


def store(address: int, value: int, *lines: int) -> Op:
    """A global store to these lines."""
    return Op(Unit.LSU, (address, value), memory=Memory.STORE_GLOBAL, lines=lines)


def barrier(number: int = 0, warps: int = 0, wait: bool = True) -> Op:
    """bar.sync, or bar.arrive."""
    flags = FLAG_ARRIVE | (FLAG_WAIT if wait else 0)
    return Op(Unit.CONTROL, control=Control.BARRIER, flags=flags, barrier=number, barrier_warps=warps)


BRANCH = Op(Unit.CONTROL, control=Control.BRANCH)
EXIT = Op(Unit.CONTROL, control=Control.EXIT)


@dataclass
class TraceBuilder:
    """Collects warps and launches; `build` makes the trace.

    Parameters
    ----------
    seed : of the destination values, which are random.
    """

    seed: int = 1
    _code: list[tuple[object, ...]] = field(default_factory=list)
    _pcs: dict[Op, int] = field(default_factory=dict)
    _dynamic: list[tuple[int, ...]] = field(default_factory=list)
    _warps: list[tuple[int, ...]] = field(default_factory=list)
    _launches: list[tuple[object, ...]] = field(default_factory=list)
    _values: list[np.ndarray] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def launch(
        self, *ctas: list[list[Op]], registers: int = 16, shared: int = 0, mask: int = ALL
    ) -> TraceBuilder:
        """A launch of CTAs, each a list of warps, each a list of uops; an EXIT is added to every warp."""
        warps_per_cta = len(ctas[0])
        self._launches.append(
            (
                0,
                (len(ctas), 1, 1),
                (32 * warps_per_cta, 1, 1),
                registers,
                shared,
                len(ctas),
                warps_per_cta,
                len(self._warps),
            )
        )
        for number, cta in enumerate(ctas):
            assert len(cta) == warps_per_cta
            for index, ops in enumerate(cta):
                self._warps.append(
                    (len(self._launches) - 1, number, index, len(self._dynamic), len(ops) + 1, mask)
                )
                for op in ops:
                    self._add(op, op.flags)
                self._add(EXIT, FLAG_LAST)
        return self

    def _add(self, op: Op, flags: int) -> None:
        rng = np.random.default_rng((self.seed, len(self._values)))
        pc = self._pcs.setdefault(op, len(self._pcs))
        if pc == len(self._code):
            sources = (*op.sources, *(0 for _ in range(6 - len(op.sources))))
            self._code.append(
                (
                    op.unit,
                    op.memory,
                    op.control,
                    sources,
                    len(op.sources),
                    op.destination,
                    op.count,
                    op.reads,
                    op.writes,
                    4,
                    0,
                    0,
                    0,
                )
            )
        self._dynamic.append(
            (
                pc,
                op.mask,
                len(self._values),
                len(self._lines),
                len(op.lines),
                op.passes,
                op.memory if op.mask else 0,
                flags,
                op.barrier,
                op.barrier_warps,
            )
        )
        self._lines += [line if line >> LINE_WIDTH else of_line(line) for line in op.lines]
        if op.mask:
            active = np.array([op.mask >> lane & 1 for lane in range(32)], bool)
            for _ in range(op.count):
                self._values.append(
                    np.where(active, rng.integers(1, 1 << 32, 32, dtype=np.uint32), 0).astype(np.uint32)
                )

    def build(self) -> Trace:
        """The trace."""
        return Trace(
            meta={"name": "hand-made"},
            kernels=["hand"],
            first_pc=[0],
            text=[f"op{pc}" for pc in range(len(self._code))],
            ptx_line=np.zeros(len(self._code), np.uint32),
            code=np.array(self._code, CODE),
            launches=np.array(self._launches, LAUNCH),
            warps=np.array(self._warps, WARP),
            dynamic=np.array(self._dynamic, DYNAMIC),
            values=np.array(self._values, np.uint32).reshape(-1, 32),
            lines=np.array(self._lines, np.uint64),
        )
