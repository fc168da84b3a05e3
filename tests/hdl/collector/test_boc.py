"""The bypassing operand collectors forward, collect, dispatch, keep and evict as golden's do, values
included."""

from __future__ import annotations

from collections import Counter
from functools import partial, reduce
from operator import and_
from typing import Any

import pytest
from amaranth.hdl import Mux, Value
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop
from tests.hdl.collector.boc_bench import BOCS, Bench
from tests.hdl.collector.boc_mutants import DISPATCH_MUTANTS, RESULT_MUTANTS, plant
from tests.thinned import examples
from warpbank.arch.config import preset
from warpbank.arch.uop import Unit
from warpbank.golden.collector.window import OLDEST
from warpbank.hdl.collector import boc
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.window import Entries, Inserter

#: BOW without write-back.
WriteThrough = partial(Boc, write_through=True)
machines = strategies.sampled_from(list(BOCS))


def lockstep(machine: str, seed: int, unit: Any = Boc) -> None:
    """Half of the seeds with hints, half with operands checked against program order."""
    Bench(machine, seed, unit, hints=bool(seed % 2)).run()


@settings(FEW, max_examples=examples(4, 2))
@given(machine=machines, seed=SEEDS, unit=strategies.sampled_from([Boc, WriteThrough]))
def test_equals_golden(machine: str, seed: int, unit: Any) -> None:
    lockstep(machine, seed, unit)


@pytest.mark.parametrize("machine", ["single", "staged_short", "short"])
def test_the_first_cycles_equal_golden(machine: str) -> None:
    """A short run, which most wrong changes of a collector do not outlive."""
    Bench(machine, 3, Boc, hints=True).run(60)


@pytest.mark.long
def test_what_matters_happens() -> None:
    """The stimulus reaches every corner: a comparison of units at rest would show nothing."""
    happened: Counter[str] = Counter()
    for machine, hints in (("short", True), ("full", False), ("wide", True)):
        happened += Bench(machine, 3, Boc, hints).run(500).happened
    for name in (
        "forward",
        "reserve",
        "discard",
        "squeeze",
        "insert_wait",
        "deliver",
        "collector_write",
        "port_wait",
        "window",
        "late",
        "partial",
        "evicted",
        "start",
        "squeezed dirty",
        "consolidated",
        "transient",
        "passes another unit's",
        "move",
        "contended",
    ):
        assert happened[name] >= 5, f"{name} happened {happened[name]} times"


class _Scripted(Bench):
    """One warp, whose uops read what a script says, write nothing, and issue as soon as they may."""

    def __init__(self, script: list[tuple[int, ...]]) -> None:
        super().__init__("single", 1)
        self._script = script

    def _plan(self) -> None:
        self.warp = self.started = 0
        self.slides = self.starts = False
        self.uop = None
        if self.seqs[0] < len(self._script) and self.model.may_issue & 1:
            uop = make_uop(0, self.seqs[0], unit=Unit.ALU, sources=self._script[self.seqs[0]])
            self.uop = None if self.scoreboard.hazard(uop) else uop


def test_of_two_entries_the_older_one_is_squeezed_out_up_to_the_oldest_age() -> None:
    """Ages are counted up to the oldest one; entries of that age are squeezed out by number."""
    script: list[tuple[int, ...]] = []
    for age in range(OLDEST - 2, OLDEST + 2):
        script += [(10,), *6 * [(11,)]]  # the entry of 10 leaves, and 12 takes it: newer, of a lower number
        script += age * [(11, 12)]
        script += [(0, 1, 2, 3, 4, 5), *6 * [()]]  # with six new ones there is room for one of both
    bench = _Scripted(script).run(4 * len(script))
    assert bench.seqs == [len(script)]
    assert bench.happened["squeeze"] == 4


class OneTooOld(Entries):
    """An entry stays in the window for one uop more."""

    @property
    def passed(self) -> Value:
        return reduce(
            and_, (plane if self.window >> bit & 1 else ~plane for bit, plane in enumerate(self.idle))
        )


class NeverMerges(Inserter):
    """A uop overwrites a dirty value, and it is written back all the same."""

    def _results(self, m: Any, slots: Any) -> None:
        super()._results(m, slots)
        m.d.comb += self.clean.eq(self.taken)


class DropsSqueezed(Boc):
    """A value that is evicted before its time is gone, dirty or not."""

    def _collector(self, m: Any, warp: int, *rest: Any) -> None:
        super()._collector(m, warp, *rest)
        squeezed = Mux(self._chosen[warp], self._inserters[warp].squeezed, 0)
        with m.If(squeezed.any()):
            m.d.sync += self._state[warp].valid.eq(self._state[warp].valid & ~squeezed)


class PartialIsFull(Boc):
    """A result on some lanes is taken for one on all."""

    def _insert(self, m: Any) -> None:
        super()._insert(m)
        m.d.comb += [unit.full.eq(1) for unit in self._inserters]


@pytest.mark.quick("one-too-old", "partial-is-full")
@pytest.mark.parametrize(
    ("machine", "unit", "parts"),
    [
        ("full", Boc, {"Entries": OneTooOld}),
        ("full", Boc, {"Inserter": NeverMerges}),
        ("short", DropsSqueezed, {}),
        ("half", PartialIsFull, {}),
    ],
    ids=["one-too-old", "no-consolidation", "dropped-write-back", "partial-is-full"],
)
def test_mutants_are_caught(
    machine: str, unit: Any, parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, part in parts.items():
        monkeypatch.setattr(boc, name, part)
    assert fails(lambda seed: lockstep(machine, seed, unit))


@pytest.mark.quick("two-leave")
@pytest.mark.parametrize("name", [*DISPATCH_MUTANTS, *RESULT_MUTANTS])
def test_mutants_of_dispatch_and_results_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name)
    assert fails(lambda seed: lockstep("full", seed))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Boc needs the machine's configuration, an SmConfig, not None"):
        Boc(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Boc needs a collector per warp: 8, not 2"):
        Boc(preset("tiny"))
