"""Event ports, through which units report what they do in a cycle.

They are the events of `warpbank.arch.events`, one bundle per event and place where it can happen.

A component made with `probe=True` has a member `events: Out(Events(...))`; made with `probe=False` it has
none and nothing is generated for them. An event that can happen n times in a cycle (one grant per bank) has n
instances. In a cycle in which `valid` of an instance is 1 the event of that name happened with these fields;
the order of instances means nothing, so that lockstep compares the events of a cycle as a sorted list.

All fields of all events are functions of registers, so they stand after the clock edge, with one exception:
`fill.seq` follows the testbench's answer within the cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from amaranth.hdl import Module, Signal, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.events import EVENTS, field_width
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.typed import Interface


class EventSignature(wiring.Signature):
    """Event port: one instance of an event.

    Members
    -------
    valid : Out(1). The event happens in this cycle.
    one per field of `warpbank.arch.events.EVENTS[name]` : Out(field_width). Meaningful while `valid`.
    """

    def __init__(self, name: str, config: SmConfig) -> None:
        if name not in EVENTS:
            raise ValueError(f"There is no event {name!r}; known: {', '.join(EVENTS)}.")
        fields = {field: Out(field_width(kind, config)) for field, kind in EVENTS[name].fields}
        super().__init__({"valid": Out(1), **fields})


class Events(wiring.Signature):
    """Event ports of a component: for every event name an array of instances.

    Parameters
    ----------
    config : the machine; widths of the fields.
    counts : event name -> instances, at least one. Members come in the order of
        `warpbank.arch.events.EVENTS`.
    """

    def __init__(self, config: SmConfig, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            if name in EVENTS and count < 1:
                raise ValueError(f"Event {name!r} needs at least one instance, not {count}.")
            EventSignature(name, config)
        self.counts = {name: counts[name] for name in EVENTS if name in counts}
        super().__init__(
            {name: Out(EventSignature(name, config)).array(count) for name, count in self.counts.items()}
        )


class EventInterface(Interface, Protocol):
    """Interface object of an `EventSignature`: `valid`, and the fields by name."""

    valid: Signal

    def __getattr__(self, field: str) -> Signal: ...


class EventsInterface(Protocol):
    """Interface object of an `Events`: a list of instances for the name of each event."""

    @property
    def signature(self) -> Events:
        """The signature that made it."""

    def __getattr__(self, event: str) -> list[EventInterface]: ...


class Reporter(Protocol):
    """Component that reports events."""

    @property
    def events(self) -> EventsInterface:
        """Event ports of the component."""


@dataclass(frozen=True)
class EventPort:
    """Instance of an event among a component's ports.

    It has the event's name, its number, and its signals in registry order.
    """

    name: str
    index: int
    valid: Signal
    fields: tuple[Signal, ...]


def event_ports(events: EventsInterface) -> list[EventPort]:
    """List all instances of an `Events` interface in the order of the registry, which an engine reads in
    every cycle."""
    ports: list[EventPort] = []
    for name, count in events.signature.counts.items():
        for index in range(count):
            port = getattr(events, name)[index]
            ports.append(
                EventPort(
                    name, index, port.valid, tuple(getattr(port, field) for field, _ in EVENTS[name].fields)
                )
            )
    return ports


def total(parts: Iterable[Events]) -> dict[str, int]:
    """Count the instances of every event over several components."""
    counts: dict[str, int] = {}
    for part in parts:
        for name, count in part.counts.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def reporting(*parts: Any) -> list[Any]:
    """Return those of these components that have events."""
    return [part for part in parts if part is not None and "events" in part.signature.members]


def gather(m: Module, outer: EventsInterface, inner: Iterable[EventsInterface]) -> None:
    """Connect the `Events` interfaces `inner` to `outer`, whose instances are theirs one after the other."""
    used = dict.fromkeys(outer.signature.counts, 0)
    for events in inner:
        for port in event_ports(events):
            target = getattr(outer, port.name)[used[port.name]]
            used[port.name] += 1
            m.d.comb += target.valid.eq(port.valid)
            for (field, _), signal in zip(EVENTS[port.name].fields, port.fields, strict=True):
                m.d.comb += getattr(target, field).eq(signal)


def emit(m: Module, instance: EventInterface, valid: ValueLike, **fields: ValueLike) -> None:
    """Drive one instance of an event: every field by name. Raises if a field is missing or unknown."""
    names = set(instance.signature.members) - {"valid"}
    if names != set(fields):
        raise ValueError(f"The event has the fields {sorted(names)}, not {sorted(fields)}.")
    m.d.comb += instance.valid.eq(valid)
    for name, value in fields.items():
        m.d.comb += getattr(instance, name).eq(value)
