"""Probe: takes the events of units, from which all counters are made."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.counters import COUNTERS, Counter
from warpbank.arch.events import EVENTS, Event, Record

#: Receives the events of a run, one by one: (cycle, sub-core or -1, name, field values in registry order).
Sink = Callable[[Record], None]


class Sum:
    """Counter that needs more than the number of an event: it adds up a field, or counts the events that
    have a given field.

    Parameters
    ----------
    counter : which.
    event : what it counts.

    Attributes
    ----------
    total : what it has come to.
    field : place of the field that is added up; -1: events are counted.
    when, value : place of a field, and what it must be; -1: all events count.
    """

    __slots__ = ("field", "name", "total", "value", "when")

    def __init__(self, counter: Counter, event: Event) -> None:
        place = {field: number for number, (field, _) in enumerate(event.fields)}
        self.name = counter.name
        self.total = 0
        self.field = place[counter.field] if counter.field else -1
        self.when, self.value = -1, 0
        if counter.when is not None:
            self.when, self.value = place[counter.when[0]], int(counter.when[1])


class Port:
    """One kind of event, as a unit reports it: here one of which the number is all that matters.

    Parameters
    ----------
    probe : of which sub-core it is.
    event : which.
    sums : counters that need more than its number.

    Attributes
    ----------
    count : how often it was reported.
    """

    __slots__ = ("_event", "_probe", "count", "sums")

    def __init__(self, probe: Probe, event: Event, sums: list[Sum]) -> None:
        self._probe, self._event, self.sums = probe, event, sums
        self.count = 0

    def emit(self, *values: int) -> None:
        """Report the event in the current cycle."""
        self.count += 1

    def emit_at(self, cycle: int, *values: int) -> None:
        """Report the event in `cycle`."""
        self.count += 1

    def emit_during(self, first: int, end: int, *values: int) -> None:
        """Report the event in every cycle from `first` on, before `end`."""
        self.count += end - first


class SummingPort(Port):
    """An event whose fields are added up."""

    __slots__ = ()

    def emit(self, *values: int) -> None:
        """Report the event in the current cycle."""
        self.count += 1
        for sum_ in self.sums:
            if sum_.when < 0 or values[sum_.when] == sum_.value:
                sum_.total += 1 if sum_.field < 0 else values[sum_.field]

    def emit_at(self, cycle: int, *values: int) -> None:
        """Report the event in `cycle`."""
        self.emit(*values)

    def emit_during(self, first: int, end: int, *values: int) -> None:
        """Report the event in every cycle from `first` on, before `end`."""
        self.count += end - first
        for sum_ in self.sums:
            if sum_.when < 0 or values[sum_.when] == sum_.value:
                sum_.total += (end - first) * (1 if sum_.field < 0 else values[sum_.field])


class FieldPort(Port):
    """An event of which one field is added up, whatever the others are."""

    __slots__ = ("_field", "_sum")

    def __init__(self, probe: Probe, event: Event, sums: list[Sum]) -> None:
        super().__init__(probe, event, sums)
        (self._sum,) = sums
        self._field = self._sum.field

    def emit(self, *values: int) -> None:
        """Report the event in the current cycle."""
        self.count += 1
        self._sum.total += values[self._field]

    def emit_at(self, cycle: int, *values: int) -> None:
        """Report the event in `cycle`."""
        self.emit(*values)

    def emit_during(self, first: int, end: int, *values: int) -> None:
        """Report the event in every cycle from `first` on, before `end`."""
        self.count += end - first
        self._sum.total += (end - first) * values[self._field]


class ChoicePort(Port):
    """An event of which one field is added up, in a counter that another field chooses."""

    __slots__ = ("_choice", "_field", "_when")

    def __init__(self, probe: Probe, event: Event, sums: list[Sum]) -> None:
        super().__init__(probe, event, sums)
        self._field, self._when = sums[0].field, sums[0].when
        self._choice = sorted(sums, key=lambda sum_: sum_.value)

    def emit(self, *values: int) -> None:
        """Report the event in the current cycle."""
        self.count += 1
        self._choice[values[self._when]].total += values[self._field]

    def emit_at(self, cycle: int, *values: int) -> None:
        """Report the event in `cycle`."""
        self.emit(*values)

    def emit_during(self, first: int, end: int, *values: int) -> None:
        """Report the event in every cycle from `first` on, before `end`."""
        self.count += end - first
        self._choice[values[self._when]].total += (end - first) * values[self._field]


class TellingPort(SummingPort):
    """An event that somebody listens to."""

    __slots__ = ()

    def emit(self, *values: int) -> None:
        """Report the event in the current cycle."""
        self.emit_at(self._probe.cycle, *values)

    def emit_at(self, cycle: int, *values: int) -> None:
        """Report the event in `cycle`."""
        super().emit(*values)
        self._tell(cycle, values)

    def emit_during(self, first: int, end: int, *values: int) -> None:
        """Report the event in every cycle from `first` on, before `end`."""
        super().emit_during(first, end, *values)
        for cycle in range(first, end):
            self._tell(cycle, values)

    def _tell(self, cycle: int, values: tuple[int, ...]) -> None:
        event, probe = self._event, self._probe
        assert probe.sink is not None
        assert len(values) == len(event.fields), f"event {event.name} has fields {event.fields}"
        probe.sink((cycle, probe.number, event.name, tuple(int(value) for value in values)))


#: Event -> the counters that need more than its number.
_SUMMED: dict[str, list[Counter]] = {}
for _counter in COUNTERS.values():
    if _counter.field or _counter.when is not None:
        _SUMMED.setdefault(_counter.event, []).append(_counter)


def _kind(sums: list[Sum], sink: Sink | None) -> type[Port]:
    """The port for an event that these counters need, and that `sink` receives."""
    if sink is not None:
        return TellingPort
    if not sums:
        return Port
    if len(sums) == 1 and sums[0].when < 0:
        return FieldPort
    chosen = sorted(sum_.value for sum_ in sums) == list(range(len(sums)))
    if chosen and len({(sum_.when, sum_.field) for sum_ in sums}) == 1 and sums[0].field >= 0:
        return ChoicePort
    return SummingPort


class Probe:
    """Events of one sub-core (or, with number -1, of the units that the sub-cores share), and the counters
    that follow from them (`warpbank.arch.counters.COUNTERS`).

    Parameters
    ----------
    number : of the sub-core.
    sink : receives the events; None: they are only counted.
    wanted : names of the events that the sink receives, the others being counted; None: all.

    Attributes
    ----------
    ports : event -> where it is reported. A unit keeps the ports of what it reports often.
    """

    __slots__ = ("_sums", "cycle", "number", "ports", "sink")

    def __init__(self, number: int, sink: Sink | None, wanted: frozenset[str] | None = None) -> None:
        self.number = number
        self.sink = sink
        self.cycle = 0
        self.ports: dict[str, Port] = {}
        for name, event in EVENTS.items():
            sums = [Sum(counter, event) for counter in _SUMMED.get(name, ())]
            told = sink if wanted is None or name in wanted else None
            self.ports[name] = _kind(sums, told)(self, event, sums)
        self._sums = {sum_.name: sum_ for port in self.ports.values() for sum_ in port.sums}

    def emit(self, name: str, *values: int) -> None:
        """Report event `name` in the current cycle."""
        self.ports[name].emit(*values)

    def emit_at(self, cycle: int, name: str, *values: int) -> None:
        """Report event `name` in `cycle`."""
        self.ports[name].emit_at(cycle, *values)

    def count(self, name: str) -> int:
        """A counter, up to now."""
        counter = COUNTERS[name]
        found = self._sums[name].total if name in self._sums else self.ports[counter.event].count
        return found + self.ports[counter.also].count if counter.also else found

    @property
    def counters(self) -> dict[str, int]:
        """Every counter, up to now."""
        return {name: self.count(name) for name in COUNTERS}
