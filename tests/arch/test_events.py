"""The registry of events is consistent."""

from __future__ import annotations

from warpbank.arch.config import PRESETS, preset
from warpbank.arch.events import EVENTS, STALLS, Stall, field_width


def test_every_field_has_a_width() -> None:
    for name in PRESETS:
        for event in EVENTS.values():
            assert all(field_width(kind, preset(name)) > 0 for _, kind in event.fields)


def test_every_stall_is_defined_in_order_of_priority() -> None:
    assert list(STALLS) == list(Stall)
