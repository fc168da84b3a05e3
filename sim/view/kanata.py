"""Kanata log, version 4, of a timeline, which Konata shows."""

from __future__ import annotations

from collections.abc import Iterable

from warpbank.sim.view.timeline import STAGES, Mark, Span, Timeline

#: Names of the stages in the viewer, which has room for two letters.
SHORT = dict(zip(STAGES, ("Bu", "Is", "Co", "Ex", "Wb"), strict=True))


class _Log:
    """Commands by cycle: the format's time only goes forward."""

    def __init__(self) -> None:
        self._commands: dict[int, list[str]] = {}
        self._rows = self._retired = 0

    def add(self, cycle: int, *command: object) -> None:
        """A command in a cycle."""
        self._commands.setdefault(cycle, []).append("\t".join(map(str, command)))

    def row(self, cycle: int, number: int, thread: int, label: str) -> int:
        """A new row of the viewer; must be called in the order of cycles. Returns its id."""
        row, self._rows = self._rows, self._rows + 1
        self.add(cycle, "I", row, number, thread)
        self.add(cycle, "L", row, 0, label)
        return row

    def spans(self, row: int, lane: int, spans: Iterable[tuple[str, int, int]]) -> None:
        """Stages of a row: (name, first cycle, cycle after the last)."""
        for name, first, end in spans:
            self.add(first, "S", row, lane, name)
            self.add(end, "E", row, lane, name)

    def marks(self, row: int, lane: int, marks: Iterable[Mark]) -> None:
        """Marks as stages of a cycle, and as the text that appears under the pointer."""
        by_cycle: dict[int, list[Mark]] = {}
        for mark in marks:
            by_cycle.setdefault(mark.cycle, []).append(mark)
        for cycle, together in by_cycle.items():
            self.spans(
                row, lane, [("+".join(dict.fromkeys(mark.name for mark in together)), cycle, cycle + 1)]
            )
            for mark in together:
                kind = f" ({mark.kind})" if mark.kind not in ("", mark.name) else ""
                self.add(cycle, "L", row, 1, f"{cycle} {mark.name}{kind}: {mark.text}\\n")

    def leave(self, cycle: int, row: int, *, flushed: bool = False) -> None:
        """The row ends: retired, or cut off."""
        self.add(cycle, "R", row, self._retired, int(flushed))
        self._retired += not flushed

    def text(self, start: int) -> str:
        """The file. Stages end before others begin in the same cycle, and a row ends last."""
        lines = ["Kanata\t0004", f"C=\t{start}"]
        now = start
        for cycle in sorted(self._commands):
            if cycle > now:
                lines.append(f"C\t{cycle - now}")
                now = cycle
            order = {"E": 0, "R": 2}
            lines += sorted(self._commands[cycle], key=lambda command: order.get(command[0], 1))
        return "\n".join(lines) + "\n"


def kanata(timeline: Timeline) -> str:
    """Timeline as a Kanata log.

    First a row per scheduler, with what it did as stages; a row per bank, with accesses in lane 0 and
    conflicts in lane 1; a row per warp that a scheme did something for. Then a row per uop, its stages in
    lane 0 and what happened to it in lane 1. The thread of a uop is its warp, counted over the sub-cores.
    """
    log, start, end = _Log(), timeline.start, timeline.end
    everything = timeline.cores * timeline.warps  # the thread of rows that are no uop
    rows: list[int] = []
    for core, spans in sorted(timeline.schedulers.items()):
        rows.append(log.row(start, 0, everything, f"sub-core {core} scheduler"))
        log.spans(rows[-1], 0, _clipped(spans, start, end))
    for core, bank in sorted({*timeline.accesses, *timeline.conflicts}):
        rows.append(log.row(start, 0, everything, f"sub-core {core} bank {bank}"))
        log.marks(rows[-1], 0, timeline.accesses.get((core, bank), []))
        log.marks(rows[-1], 1, timeline.conflicts.get((core, bank), []))
    for (core, warp), marks in sorted(timeline.events.items()):
        rows.append(
            log.row(start, 0, everything, f"sub-core {core}" + (f" warp {warp}" if warp >= 0 else ""))
        )
        log.marks(rows[-1], 0, marks)
    leaving: list[tuple[int, int, bool]] = []
    for number, uop in enumerate(timeline.uops):
        stages = [
            (SHORT[name], max(first, start), last) for name, first, last in uop.stages(end) if last > start
        ]
        if not stages:
            continue
        label = f"{uop.core}.{uop.warp} {uop.seq & 0x7FFFFFFF}: {uop.text or 'not issued'}"
        row = log.row(stages[0][1], number, uop.core * timeline.warps + uop.warp, label)
        log.spans(row, 0, stages)
        log.spans(
            row,
            1,
            ((name, first, last) for name, first, last in _clipped(uop.hazards, start, end) if first < last),
        )
        log.marks(row, 1, uop.marks)
        leaving.append((stages[-1][2], row, uop.retired is None or uop.retired >= end))
    for cycle, row, flushed in sorted(leaving):
        log.leave(cycle, row, flushed=flushed)
    for row in rows:
        log.leave(end, row)
    return log.text(start)


def _clipped(spans: Iterable[Span], start: int, end: int) -> list[tuple[str, int, int]]:
    return [(span.name, max(span.start, start), min(span.end, end)) for span in spans]
