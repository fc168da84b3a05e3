"""RFC and SW-RFC allocate, read, write and free what golden's do, values included, and operands are the
newest values.

pytest -m "long or not long" tests/hdl/hierarchy/test_result_cache.py
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Const, Signal
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails
from tests.hdl.hierarchy.rfc_bench import RFCS, Bench, lockstep
from tests.hdl.wrapped import wrapped
from tests.thinned import examples
from warpbank.arch.schemes import Scheme
from warpbank.hdl.hierarchy.result_cache import ResultCache
from warpbank.hdl.hierarchy.rfc import Departing
from warpbank.hdl.hierarchy.sw_rfc import SwRfc
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.registry import HIERARCHIES, build_registers

SCHEMES = ("rfc", "sw-rfc")
#: Storages that encode, as a scheme string names them.
STORAGES = ("gscalar", "gscalar-half", "bdi")
#: Machines that are elaborated in a second.
SMALL = ("fast", "slow", "one")


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(FEW, max_examples=examples(3, 2))
@given(machine=strategies.sampled_from(SMALL), seed=SEEDS)
def test_equals_golden(scheme: str, machine: str, seed: int) -> None:
    lockstep(scheme, machine, seed, cycles=100)


@pytest.mark.quick("bdi")
@pytest.mark.parametrize("storage", STORAGES)
@settings(FEW, max_examples=2)
@given(scheme=strategies.sampled_from(SCHEMES), machine=strategies.sampled_from(SMALL), seed=SEEDS)
def test_equals_golden_over_banks_that_compress(storage: str, scheme: str, machine: str, seed: int) -> None:
    lockstep(f"{scheme}+{storage}", machine, seed, cycles=80)


@pytest.mark.long
@pytest.mark.parametrize("machine", RFCS)
@pytest.mark.parametrize("storage", ["", *(f"+{storage}" for storage in STORAGES)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_seeds(scheme: str, storage: str, machine: str, drawn: random.Random) -> None:
    lockstep(scheme + storage, machine, drawn.getrandbits(32), cycles=400)


@pytest.mark.quick("sw-rfc")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_matters_happens(scheme: str) -> None:
    happened = Bench(scheme, "slow", 3).run(250).happened
    found = Counter(happened)
    names = ["cache_write", "write", "cache_grant", "grant", "row_free", "write_wait", "start", "partial"]
    names += (
        ["cache_allocate", "cache_release", "write_back", "stall", "again", "inactive"]
        if scheme == "rfc"
        else []
    )
    for name in names:
        assert found[name] >= 2, f"{name} happened {found[name]} times"


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "seed"), [("rfc", 3), ("sw-rfc", 1)])
def test_what_matters_happens_over_banks_that_compress(scheme: str, seed: int) -> None:
    happened = Bench(f"{scheme}+gscalar", "fast", seed).run(200).happened
    for name in ("move", "divergent metadata", "scalar metadata", "array_read", "array_write", "cache_write"):
        assert happened[name], name


def built(component: type, room: str) -> Any:
    """Makes register files with this component as the hierarchy `room`."""

    def build(config: Any, scheme: Scheme, probe: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(HIERARCHIES, room, component)
            return build_registers(config, scheme, probe)

    return build


class Unlocked(SwRfc):
    """A result does not wait for the operands that are still to be read from its place."""

    def _locked(self, m: Any) -> None:
        super()._locked(m)
        self._locks = [Const(0, self._entries)] * self._rows


class CacheOnly(SwRfc):
    """A result that somebody may read behind the strand stays out of the banks."""

    def _both(self, m: Any) -> list[Signal]:
        super()._both(m)
        return [Signal(self._entries) for _ in range(self._rows)]


class Hasty(SwRfc):
    """A row is given to the next warp before all operands have been read from it."""

    def _warps(self, m: Any) -> None:
        super()._warps(m)
        self._quiet_rows = Const(-1, self._rows)


@pytest.mark.quick("Unlocked", "CacheOnly")
@pytest.mark.parametrize("mutant", [Unlocked, CacheOnly, Hasty])
def test_mutants_without_tags_are_caught(mutant: type) -> None:
    assert fails(lambda seed: lockstep("sw-rfc", "fast", seed, built(mutant, "sw_rfc"), cycles=200))


def _no_locks(config: Any) -> Any:
    return wrapped(TagRow(config), locked=lambda value, ports: 0)


def _no_wait(config: Any) -> Any:
    return wrapped(Departing(config), held=lambda value, ports: 0)


@pytest.mark.quick("Departing-*")
@pytest.mark.parametrize(("name", "part"), [("TagRow", _no_locks), ("Departing", _no_wait)])
def test_mutants_with_tags_are_caught(name: str, part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry leaves while an operand is still to be read from it; what has left is lost on its way to its
    bank."""
    monkeypatch.setattr(f"warpbank.hdl.hierarchy.rfc.{name}", part)
    assert fails(lambda seed: lockstep("rfc", "fast", seed, cycles=200))


_KEEP = ResultCache._keep_metadata


def _forgets(cache: ResultCache, m: Any, near: Any, offers: Any) -> None:
    """What the cache holds has no metadata."""
    _KEEP(cache, m, near, offers)
    cache._known = [Const(0, len(known)) for known in cache._known]


def test_a_mutant_over_banks_that_compress_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResultCache, "_keep_metadata", _forgets)
    assert fails(lambda seed: lockstep("rfc+gscalar", "fast", seed, cycles=200))


def test_a_mutant_that_reads_before_the_note_is_there_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of what leaves the cache is there a cycle after its bank has the value, and an operand may ask
    for both meanwhile. Under the note before it would be another value: seed 1, cycle 339."""
    monkeypatch.setattr(MainRegisterFile, "_settling", lambda main, m: Const(0, 4))
    with pytest.raises(AssertionError):
        lockstep("rfc+gscalar-half", "fast", 1, cycles=345)
