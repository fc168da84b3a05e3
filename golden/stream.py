"""The front end's input: each warp's dynamic uop stream, decoded from the trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR, Control, Unit, Uop
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.values import Value
from warpbank.program.hints import Hints
from warpbank.program.release.fetch import covers
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_WAIT, Trace

#: Predicate p is bit PREDICATE_BIT + p of a hazard mask; register r is bit r.
PREDICATE_BIT = 256


class TraceUop(Uop):
    """A uop with what the trace knows about its execution, and with what it has collected so far.

    Parameters (beyond those of `Uop`)
    ----------
    lane_mask : `mask` cut to the lanes the machine carries.
    hazard, writes : bit masks over registers and predicates: all that must not be pending; those written.
    values : the value of each destination register.
    lines, passes : memory lines touched, shared-memory passes.
    arrive, last, barrier, barrier_warps : barrier arrival (with waiting: `wait`), end of the warp.
    collects : goes through a collector. A uop whose guard is false on all lanes, and a control uop without
        register operands, are complete when they issue.
    operands, metadata, missing : values of the source slots, what is known of them, and how many are still to
        come (collector).
    written : destination registers written so far (result arbiter).
    lines_left, ready, order : lines still missing, cycle in which the data of the others is there, and number
        of acceptance (load/store unit).
    releases : mask of the registers that it releases (a pbr).
    covered : first pc that its pir word covers; None: no word covers it.
    retired : its last write is done.
    working_set : mask of the registers that a PREFETCH names.
    expected : per source, architectural value and lanes ever written (operand checker).
    part : executes on other lanes than those the warp was launched with (divergent, or guarded).
    """

    __slots__ = (
        "arrive",
        "barrier",
        "barrier_warps",
        "collects",
        "covered",
        "expected",
        "hazard",
        "lane_mask",
        "last",
        "lines",
        "lines_left",
        "metadata",
        "missing",
        "operands",
        "order",
        "part",
        "passes",
        "ready",
        "releases",
        "retired",
        "sub_core",
        "values",
        "wait",
        "working_set",
        "writes",
        "written",
    )

    lane_mask: int
    hazard: int
    writes: int
    values: list[Value]
    lines: list[int]
    passes: int
    arrive: bool
    wait: bool
    last: bool
    barrier: int
    barrier_warps: int
    collects: bool
    sub_core: int
    operands: list[Any]
    metadata: list[Metadata]
    missing: int
    written: int
    lines_left: int
    ready: int
    order: int
    releases: int
    covered: int | None
    retired: bool
    working_set: int
    part: bool
    expected: list[tuple[Value | None, int]]


class Template:
    """What all executions of one machine instruction have in common."""

    __slots__ = (
        "control",
        "count",
        "covered",
        "dead",
        "destination",
        "fresh",
        "hazard",
        "near",
        "predicates_read",
        "predicates_written",
        "releases",
        "scalar",
        "sources",
        "unit",
        "working_set",
        "write_back",
        "writes",
    )

    def __init__(
        self,
        row: Any,
        write_back: int = TO_COLLECTOR | TO_BANKS,
        near: int = 0,
        dead: int = 0,
        scalar: int = 0,
        fresh: int = 0,
        working_set: int = 0,
        releases: int = 0,
        covered: int | None = None,
    ) -> None:
        self.releases, self.covered = releases, covered
        self.working_set = working_set
        self.write_back, self.near, self.dead, self.scalar, self.fresh = write_back, near, dead, scalar, fresh
        self.unit = Unit(int(row["unit"]))
        self.control = Control(int(row["control"]))
        self.sources = tuple(int(register) for register in row["sources"][: int(row["source_count"])])
        self.destination = int(row["destination"])
        self.count = int(row["count"])
        self.predicates_read = int(row["predicates_read"])
        self.predicates_written = int(row["predicates_written"])
        self.writes = (((1 << self.count) - 1) << self.destination) | self.predicates_written << PREDICATE_BIT
        self.hazard = self.writes | self.predicates_read << PREDICATE_BIT
        for register in self.sources:
            self.hazard |= 1 << register


class WarpStream:
    """One warp's uops in program order.

    Parameters
    ----------
    trace, templates : the trace and one `Template` per pc.
    row : the warp's row of `trace.warps`.
    sub_core, warp : where it runs.
    lanes : lanes the machine carries.
    """

    __slots__ = (
        "_barriers",
        "_columns",
        "_lane_mask",
        "_lanes",
        "_launched",
        "_lines",
        "_sub_core",
        "_templates",
        "_values",
        "_warp",
        "length",
        "position",
    )

    def __init__(
        self, trace: Trace, templates: list[Template], row: Any, sub_core: int, warp: int, lanes: int
    ) -> None:
        first, self.length = int(row["first"]), int(row["length"])
        rows = trace.dynamic[first : first + self.length]
        names = ("pc", "mask", "memory", "flags", "value", "line", "line_count", "passes")
        self._columns = [rows[name].tolist() for name in names]
        self._barriers = rows[["barrier", "barrier_warps"]]
        self._templates = templates
        self._values = trace.values if lanes == trace.values.shape[1] else trace.values[:, :lanes]
        self._lines = trace.lines
        self._lanes = lanes
        self._lane_mask = (1 << lanes) - 1
        self._launched = int(row["mask"]) & self._lane_mask
        self._sub_core = sub_core
        self._warp = warp
        self.position = 0

    def take(self) -> TraceUop:
        """The next uop."""
        position = self.position
        self.position = position + 1
        pcs, masks, memories, flags, values, lines, line_counts, passes = self._columns
        template = self._templates[pcs[position]]
        uop = TraceUop.__new__(TraceUop)
        uop.sub_core = self._sub_core
        uop.warp = self._warp
        uop.seq = position
        uop.pc = pcs[position]
        uop.unit = template.unit
        uop.predicates_read = template.predicates_read
        uop.predicates_written = template.predicates_written
        uop.control = template.control
        uop.hazard = template.hazard
        uop.write_back = template.write_back
        uop.near = template.near
        uop.dead = template.dead
        uop.working_set = template.working_set
        uop.scalar = template.scalar
        uop.fresh = template.fresh
        uop.releases, uop.covered = template.releases, template.covered
        uop.memory = memories[position]
        mask = uop.mask = masks[position]
        uop.lane_mask = mask & self._lane_mask
        uop.part = uop.lane_mask != self._launched
        uop.destination = template.destination
        if mask:
            uop.sources = template.sources
            uop.count = count = template.count
            uop.writes = template.writes
            uop.collects = template.unit is not Unit.CONTROL or bool(template.sources) or template.writes != 0
            first = values[position]
            uop.values = [self._values[first]] if count == 1 else list(self._values[first : first + count])
        else:
            uop.sources = ()
            uop.count = uop.writes = 0
            uop.collects = False
            uop.values = []
        uop.written = 0
        uop.retired = False
        if line_counts[position]:
            first = lines[position]
            uop.lines = self._lines[first : first + line_counts[position]].tolist()
        else:
            uop.lines = []
        uop.passes = passes[position]
        flag = flags[position]
        uop.last = position + 1 == self.length
        uop.arrive = bool(flag & FLAG_ARRIVE)
        uop.wait = uop.arrive and bool(flag & FLAG_WAIT)
        if uop.arrive:
            uop.barrier, uop.barrier_warps = (int(number) for number in self._barriers[position])
        return uop


def templates_of(trace: Trace) -> list[Template]:
    """One `Template` per pc, with the compiler's hints if the trace carries any."""
    rows = np.asarray(trace.code)
    hints = Hints.none(len(rows)) if trace.hints is None else trace.hints
    cover = covers(trace)
    releases = [trace.flag_words[pc].registers if pc in trace.flag_words else 0 for pc in range(len(rows))]
    sets = [trace.working_sets.get(pc, 0) for pc in range(len(rows))]
    bits = [getattr(hints, name).tolist() for name in ("write_back", "near", "dead", "scalar", "fresh")]
    covered = [cover.get(pc) for pc in range(len(rows))]
    return [Template(row, *of) for row, *of in zip(rows, *bits, sets, releases, covered, strict=True)]
