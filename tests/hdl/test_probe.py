"""Events as ports."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module

from warpbank.arch.config import preset
from warpbank.hdl.probe import Events, EventSignature, emit, event_ports, total

TINY = preset("tiny")


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no event 'grand'; known: warp_start, fill,"):
        EventSignature("grand", TINY)
    with pytest.raises(ValueError, match="There is no event 'grand'"):
        Events(TINY, {"grand": 1})


def test_an_event_needs_an_instance() -> None:
    with pytest.raises(ValueError, match="Event 'grant' needs at least one instance, not 0"):
        Events(TINY, {"grant": 0})


def test_ports_come_in_the_order_of_the_registry() -> None:
    events = Events(TINY, {"grant": 2, "fill": 1}).create()
    assert [(port.name, port.index, len(port.fields)) for port in event_ports(events)] == [
        ("fill", 0, 2),
        ("grant", 0, 4),
        ("grant", 1, 4),
    ]


def test_totals_add_up() -> None:
    assert total([Events(TINY, {"retire": 7, "fill": 1}), Events(TINY, {"retire": 1})]) == {
        "fill": 1,
        "retire": 8,
    }


def test_every_field_must_be_given() -> None:
    events = Events(TINY, {"fill": 1}).create()
    with pytest.raises(ValueError, match=r"The event has the fields \['seq', 'warp'\], not \['warp'\]"):
        emit(Module(), events.fill[0], 1, warp=0)
