"""Uop streams, the front end's input: each warp's dynamic uops, decoded from the trace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR, Control, Memory, Unit, Uop
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.values import Value
from warpbank.program.hints import Hints
from warpbank.program.release.fetch import covers
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_ENTER, FLAG_WAIT, Trace

#: Uops of a warp that are decoded at a time, so that a long warp needs no more memory than a short one.
CHUNK: Final = 1024
#: Predicate p is bit PREDICATE_BIT + p of a hazard mask; register r is bit r.
PREDICATE_BIT: Final = 256
#: By number: cheaper to look up than to make.
_MEMORY: Final = tuple(Memory)
_UNITS: Final = tuple(Unit)
_CONTROLS: Final = tuple(Control)
#: Columns of `Trace.code` that a template is made of, in order.
_STATIC: Final = (
    "unit",
    "control",
    "sources",
    "source_count",
    "destination",
    "count",
    "predicates_read",
    "predicates_written",
)


class TraceUop(Uop):
    """Uop of one execution, with the values that the trace has for it and the state of its way through the
    machine.

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
    enters : the warp has still to prefetch before it: its extra bit, until that is served.
    working_set : mask of the registers that a PREFETCH, or the extra bit, names.
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

    def __init__(
        self,
        template: Template,
        sub_core: int,
        warp: int,
        seq: int,
        pc: int,
        mask: int,
        lane_mask: int,
        values: list[Value],
        lines: list[int],
        memory: Memory = Memory.NONE,
        passes: int = 0,
        part: bool = False,
        last: bool = False,
    ) -> None:
        """Make the uop of one execution of `template`. It arrives at no barrier; whoever knows of an arrival
        sets `arrive`, `wait`, `barrier` and `barrier_warps`."""
        self.sub_core, self.warp = sub_core, warp
        self.seq, self.pc = seq, pc
        self.unit, self.control = template.unit, template.control
        self.memory = memory
        self.predicates_read = template.predicates_read
        self.predicates_written = template.predicates_written
        self.hazard = template.hazard
        self.write_back, self.near = template.write_back, template.near
        self.dead = template.dead
        self.scalar, self.fresh = template.scalar, template.fresh
        self.working_set = template.working_set
        self.releases, self.covered = template.releases, template.covered
        self.mask, self.lane_mask = mask, lane_mask
        self.part = part
        self.destination = template.destination
        if mask:
            self.sources, self.count = template.sources, template.count
            self.writes, self.collects = template.writes, template.collects
        else:
            self.sources = ()
            self.count = self.writes = 0
            self.collects = False
        self.values, self.lines = values, lines
        self.passes, self.written = passes, 0
        self.last = last
        self.retired = self.arrive = self.wait = self.enters = False


class Template:
    """Static part of a uop: all that every execution of one machine instruction shares.

    Parameters
    ----------
    unit, control, sources, destination, count, predicates_read, predicates_written : as in `Uop`.
    write_back, near, dead, scalar, fresh : the compiler's hints, as in `Uop`.
    working_set, releases, covered : as in `TraceUop`.
    """

    __slots__ = (
        "collects",
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
        unit: Unit,
        control: Control,
        sources: tuple[int, ...],
        destination: int,
        count: int,
        predicates_read: int = 0,
        predicates_written: int = 0,
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
        self.unit, self.control = unit, control
        self.sources, self.destination, self.count = sources, destination, count
        self.predicates_read, self.predicates_written = predicates_read, predicates_written
        self.writes = (((1 << count) - 1) << destination) | predicates_written << PREDICATE_BIT
        self.hazard = self.writes | predicates_read << PREDICATE_BIT
        for register in sources:
            self.hazard |= 1 << register
        self.collects = unit is not Unit.CONTROL or bool(sources) or self.writes != 0


class WarpStream:
    """Stream of one warp's uops in program order.

    Parameters
    ----------
    trace, templates : the trace and one `Template` per pc.
    row : the warp's row of `trace.warps`.
    sub_core, warp : where it runs.
    lanes : lanes the machine carries.
    """

    __slots__ = (
        "_barrier",
        "_barrier_warps",
        "_base",
        "_dynamic",
        "_end",
        "_first",
        "_flags",
        "_lane_mask",
        "_lanes",
        "_launched",
        "_line",
        "_line_count",
        "_lines",
        "_mask",
        "_memory",
        "_passes",
        "_pc",
        "_row",
        "_sub_core",
        "_templates",
        "_trace",
        "_value",
        "_values",
        "_warp",
        "length",
        "position",
    )
    # Columns of the chunk that is decoded.
    _pc: list[int]
    _mask: list[int]
    _memory: list[int]
    _flags: list[int]
    _value: list[int]
    _line: list[int]
    _line_count: list[int]
    _passes: list[int]
    _barrier: list[int]
    _barrier_warps: list[int]

    def __init__(
        self, trace: Trace, templates: list[Template], row: Any, sub_core: int, warp: int, lanes: int
    ) -> None:
        self._trace, self._row = trace, row
        self._first, self.length = int(row["first"]), int(row["length"])
        self._dynamic = trace.dynamic
        self._decode(0)
        self._templates = templates
        self._values = trace.values if lanes == trace.values.shape[1] else trace.values[:, :lanes]
        self._lines = trace.lines
        self._lanes = lanes
        self._lane_mask = (1 << lanes) - 1
        self._launched = int(row["mask"]) & self._lane_mask
        self._sub_core = sub_core
        self._warp = warp
        self.position = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy of the stream at its position: made of the trace, not of what is decoded of it."""
        return _stream_at, (
            self._trace,
            self._templates,
            self._row,
            self._sub_core,
            self._warp,
            self._lanes,
            self.position,
        )

    def go_to(self, position: int) -> None:
        """Make the uop at `position` the next."""
        self._decode(position // CHUNK * CHUNK)
        self.position = position

    def _decode(self, base: int) -> None:
        """Decode the chunk that begins at position `base`."""
        self._base, self._end = base, min(base + CHUNK, self.length)
        rows = self._dynamic[self._first + base : self._first + self._end]
        self._pc, self._mask = rows["pc"].tolist(), rows["mask"].tolist()
        self._memory, self._flags = rows["memory"].tolist(), rows["flags"].tolist()
        self._value, self._passes = rows["value"].tolist(), rows["passes"].tolist()
        self._line, self._line_count = rows["line"].tolist(), rows["line_count"].tolist()
        self._barrier, self._barrier_warps = rows["barrier"].tolist(), rows["barrier_warps"].tolist()

    def take(self) -> TraceUop:
        """Return the next uop and move on."""
        position = self.position
        self.position = position + 1
        if position == self._end:
            self._decode(position)
        at = position - self._base
        pc, mask = self._pc[at], self._mask[at]
        template = self._templates[pc]
        lane_mask = mask & self._lane_mask
        values: list[Value] = []
        if mask:
            first, count = self._value[at], template.count
            if count:
                values = [self._values[first]] if count == 1 else list(self._values[first : first + count])
        found: list[int] = []
        if self._line_count[at]:
            first = self._line[at]
            found = self._lines[first : first + self._line_count[at]].tolist()
        uop = TraceUop(
            template,
            self._sub_core,
            self._warp,
            position,
            pc,
            mask,
            lane_mask,
            values,
            found,
            _MEMORY[self._memory[at]],
            self._passes[at],
            lane_mask != self._launched,
            position + 1 == self.length,
        )
        flag = self._flags[at]
        uop.enters = bool(flag & FLAG_ENTER)
        if flag & FLAG_ARRIVE:
            uop.arrive, uop.wait = True, bool(flag & FLAG_WAIT)
            uop.barrier, uop.barrier_warps = self._barrier[at], self._barrier_warps[at]
        return uop


def _stream_at(
    trace: Trace, templates: list[Template], row: Any, sub_core: int, warp: int, lanes: int, position: int
) -> WarpStream:
    """Stream of a warp whose next uop is the one at `position`."""
    stream = WarpStream(trace, templates, row, sub_core, warp, lanes)
    stream.go_to(position)
    return stream


def templates_of(trace: Trace) -> list[Template]:
    """Make one `Template` per pc, with the compiler's hints if the trace carries any."""
    rows = np.asarray(trace.code)
    pcs = range(len(rows))
    hints = Hints.none(len(rows)) if trace.hints is None else trace.hints
    cover = covers(trace)
    return [
        Template(_UNITS[unit], _CONTROLS[control], tuple(sources[:reads]), *of)
        for unit, control, sources, reads, *of in zip(
            *(rows[name].tolist() for name in _STATIC),
            *(getattr(hints, name).tolist() for name in ("write_back", "near", "dead", "scalar", "fresh")),
            [trace.working_sets.get(pc, 0) for pc in pcs],
            [trace.flag_words[pc].registers if pc in trace.flag_words else 0 for pc in pcs],
            [cover.get(pc) for pc in pcs],
            strict=True,
        )
    ]
