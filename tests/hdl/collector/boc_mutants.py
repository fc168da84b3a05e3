"""Broken dispatch and results of bypassing operand collectors, for the tests of the tests."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Const, Mux

from warpbank.hdl.collector import boc_dispatch, boc_results, boc_values
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.round_robin import Choice, soonest


def _younger_first(m: Any, mask: Any, pointer: Any, name: str = "choice", reached: Any = None) -> Choice:
    """Of several complete uops for a unit a younger one is chosen first."""
    if name.startswith("oldest_"):
        first = soonest(m, mask[::-1], pointer, name, ~reached[::-1])
        return replace(first, one_hot=first.one_hot[::-1])
    return soonest(m, mask, pointer, name, reached)


def _overtakes(m: Any, mask: Any, pointer: Any, name: str = "choice", reached: Any = None) -> Choice:
    """A memory uop goes before an older one that is not complete."""
    found = soonest(m, mask, pointer, name, reached)
    return replace(found, one_hot=mask) if name.startswith("memory_") else found


def _two_leave(m: Any, chosen: Any, accepts: Any, blocked: Any) -> list[Any]:
    """Two units take a uop from one collector."""
    return [Mux(one.valid, one.warp, 0) for one in chosen]


class _Incomplete(boc_dispatch.Chosen):
    """A unit takes the uop that it chose as it issued, complete or not."""

    def of(self, masks: Any) -> Any:
        return self.valid


class _Overrun(boc_values.Late):
    """A result is taken while two wait."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.full = Const(0)


class _Unpinned(boc_values.Late):
    """An entry for which a result waits may be given to another register, or leave."""

    def waits(self, warp: int) -> Any:
        return 0


def _given_away(m: Any, state: Any, named: Any, upcoming: Any, taken: Any, warp: int) -> None:
    """An entry that is given to another register still counts as that of the result that is offered."""
    boc_results.look_ahead(m, state, named, upcoming, Const(0, len(taken)), warp)


def _always_next(m: Any, state: Any, named: Any, upcoming: Any, taken: Any, warp: int) -> None:
    """A collector looks up the register that a unit names next, whether or not the unit offers it next."""
    now: Any = [
        SimpleNamespace(changes=Const(1), warp=each.warp, register=each.register) for each in upcoming
    ]
    boc_results.look_ahead(m, state, named, now, taken, warp)


def _wrong_unit(m: Any, config: Any, boc: Any, uops: Any, *rest: Any) -> Any:
    """A uop goes to a unit that it is not for."""
    turned = [[kind.rotate_left(1) for kind in row] for row in uops.kinds]
    return boc_dispatch.dispatch(m, config, boc, replace(uops, kinds=turned), *rest)


class NeverOver(Boc):
    """An entry expects a result that has arrived."""

    def _expect(self, m: Any, warp: int, arrived: Any, *rest: Any) -> None:
        super()._expect(m, warp, Const(0, self._entries), *rest)


class Unmoved(Boc):
    """An entry that has left the window expects its result."""

    def _expect(self, m: Any, warp: int, arrived: Any, moves: Any, dropped: Any, pins: Any) -> None:
        super()._expect(m, warp, arrived, Const(0), dropped, pins)


class Unread(Boc):
    """An entry that has left the window expects no result, whoever reads it."""

    def _expect(self, m: Any, warp: int, arrived: Any, moves: Any, dropped: Any, pins: Any) -> None:
        super()._expect(m, warp, arrived, moves, dropped, Const(0, self._entries))


#: Mutants of what collectors know of expected results a cycle ahead, on machines with an issue stage. Each is
#: wrong for one cycle, so that proofs refute them.
EXPECTING_MUTANTS = [NeverOver, Unmoved, Unread]
#: Name -> module in which it is planted, name of what it stands for, and the mutant.
DISPATCH_MUTANTS: dict[str, tuple[str, str, Any]] = {
    "younger-first": ("boc_dispatch", "soonest", _younger_first),
    "memory-overtakes": ("boc_dispatch", "soonest", _overtakes),
    "two-leave": ("boc_dispatch", "_winners", _two_leave),
    "wrong-unit": ("boc", "dispatch", _wrong_unit),
    "incomplete": ("boc_dispatch", "Chosen", _Incomplete),
}
#: Those of the results that wait; a proof from the initial state would have to look too far for them.
RESULT_MUTANTS: dict[str, tuple[str, str, Any]] = {
    "overrun": ("boc", "Late", _Overrun),
    "unpinned": ("boc", "Late", _Unpinned),
    "given-away": ("boc", "look_ahead", _given_away),
    "always-next": ("boc", "look_ahead", _always_next),
}


def plant(monkeypatch: Any, name: str) -> None:
    """Plant a mutant."""
    module, place, mutant = {**DISPATCH_MUTANTS, **RESULT_MUTANTS}[name]
    monkeypatch.setattr(f"warpbank.hdl.collector.{module}.{place}", mutant)
