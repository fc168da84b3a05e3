"""Ways of events through the machine: from which place to which something moves, declared once per event.

A place is named by the kind of a field (`warp`, `collector`, `slot`, `bank`, `entry`, `unit`, ...: see
`warpbank.arch.events`), whose value says which one. Besides there are

- `kept`: where the register that the event names, or the operands that it forwards, stand in a collector or
  cache;
- `home`: the bank that the mapping gives the register;
- `executes`: the unit of the uop that the event names;
- `table`: the entry of the mapping's table; `stream`, `lsu`, `scheduler`: the only one of its sub-core;
- "": nowhere, or nothing that is drawn.

An event that is not here is drawn at all places that its fields name, so that a new one appears by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpbank.arch.events import EVENTS

#: Event -> the places that something comes from and goes to.
WAYS: dict[str, tuple[str, str]] = {
    "fill": ("stream", "warp"),
    "issue": ("warp", "scheduler"),
    "move": ("warp", "scheduler"),
    "allocate": ("warp", "collector"),
    "grant": ("bank", "slot"),
    "scalar_grant": ("", "slot"),
    "cache_grant": ("entry", "slot"),
    "deliver": ("", "slot"),
    "forward": ("kept", "slot"),
    "dispatch": ("collector", "executes"),
    "lanes": ("", "executes"),
    "write": ("executes", "bank"),
    "collector_write": ("executes", "collector"),
    "cache_write": ("executes", "entry"),
    "write_back": ("kept", "bank"),
    "fetch": ("bank", "cache"),
    "cache_fill": ("home", "entry"),
    "cache_release": ("entry", "home"),
    "prefetch": ("warp", "cache"),
    "map": ("warp", "table"),
    "unmap": ("table", ""),
    "squeeze": ("kept", ""),
    "retire": ("executes", ""),
    "lsu_accept": ("executes", "lsu"),
}
#: Kinds of fields that name a place.
PLACES = ("warp", "collector", "slot", "bank", "entry", "unit")
#: What a kind of field counts as.
ALIASES = {"any_bank": "bank"}


def places(name: str) -> list[str]:
    """Kinds of places that an event's fields name, in the order of the fields."""
    kinds = [ALIASES.get(kind, kind) for _, kind in EVENTS[name].fields]
    return [kind for kind in kinds if kind in PLACES]


def described(kinds: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Every event of the registry as the page needs it: fields, words, the way of what moves, and its kind.

    Parameters
    ----------
    kinds : event -> kind (`warpbank.sim.view.timeline.KINDS`).
    """
    return {
        name: {
            "fields": [field for field, _ in event.fields],
            "kinds": [ALIASES.get(kind, kind) for _, kind in event.fields],
            "text": event.description,
            "way": WAYS.get(name),
            "kind": kinds.get(name, ""),
        }
        for name, event in EVENTS.items()
    }
