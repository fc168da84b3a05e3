"""Probe: takes the reports of units, counters always and events only if somebody listens."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.events import COUNTERS, EVENTS, Record

#: Receives the events of a run, one by one: (cycle, sub-core or -1, name, field values in registry order).
Sink = Callable[[Record], None]


class Probe:
    """Probe of one sub-core, or, with number -1, of the units that the sub-cores share.

    Units add to `counters` themselves and call `emit` only if `sink` is not None, so that a run without a
    listener pays nothing.
    """

    __slots__ = ("counters", "cycle", "number", "sink")

    def __init__(self, number: int, sink: Sink | None) -> None:
        self.number = number
        self.sink = sink
        self.cycle = 0
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)

    def emit(self, name: str, *values: int) -> None:
        """Report event `name` in the current cycle."""
        self.emit_at(self.cycle, name, *values)

    def emit_at(self, cycle: int, name: str, *values: int) -> None:
        """Report event `name` in `cycle`."""
        assert len(values) == len(EVENTS[name].fields), f"event {name} has fields {EVENTS[name].fields}"
        if self.sink is not None:
            self.sink((cycle, self.number, name, tuple(int(value) for value in values)))
