"""Broken dispatch of bypassing operand collectors, for the tests of the tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpbank.hdl.collector import boc_dispatch
from warpbank.hdl.round_robin import Choice, soonest


def _younger_first(m: Any, mask: Any, pointer: Any, name: str = "choice", reached: Any = None) -> Choice:
    """Of several complete uops for a unit a younger one goes first."""
    if name.startswith("goes_"):
        first = soonest(m, mask[::-1], pointer, name, ~reached[::-1])
        return replace(first, one_hot=first.one_hot[::-1])
    return soonest(m, mask, pointer, name, reached)


def _overtakes(m: Any, mask: Any, pointer: Any, name: str = "choice", reached: Any = None) -> Choice:
    """A memory uop goes before an older one that is not complete."""
    found = soonest(m, mask, pointer, name, reached)
    return replace(found, one_hot=mask) if name.startswith("memory_") else found


def _two_leave(m: Any, choices: Any, accepts: Any) -> list[Any]:
    """Two units take a uop from one collector."""
    return [choice.one_hot for choice in choices]


def _wrong_unit(
    m: Any, config: Any, boc: Any, busy: Any, complete: Any, kinds: Any, tags: Any, from_tag: Any
) -> list[Choice]:
    """A uop goes to a unit that it is not for."""
    turned = [[kind.rotate_left(1) for kind in row] for row in kinds]
    return boc_dispatch.dispatch(m, config, boc, busy, complete, turned, tags, from_tag)


#: Name -> module in which it is planted, name of what it stands for, and the mutant.
DISPATCH_MUTANTS: dict[str, tuple[str, str, Any]] = {
    "younger-first": ("boc_dispatch", "soonest", _younger_first),
    "memory-overtakes": ("boc_dispatch", "soonest", _overtakes),
    "two-leave": ("boc_dispatch", "_winners", _two_leave),
    "wrong-unit": ("boc", "dispatch", _wrong_unit),
}


def plant(monkeypatch: Any, name: str) -> None:
    """Plant a mutant."""
    module, place, mutant = DISPATCH_MUTANTS[name]
    monkeypatch.setattr(f"warpbank.hdl.collector.{module}.{place}", mutant)
