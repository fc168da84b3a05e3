"""The bypassing operand collectors forward, collect, dispatch, keep and evict as golden's do, values
included."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Mux, Value
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop
from tests.hdl.collector.boc_bench import BOCS, Bench
from tests.hdl.collector.boc_mutants import DISPATCH_MUTANTS, RESULT_MUTANTS, plant
from tests.thinned import examples
from warpbank.arch.config import preset
from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR, Unit
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


@pytest.mark.parametrize(
    ("machine", "unit", "cycles"),
    [
        ("single", Boc, 60),
        ("staged_short", Boc, 60),
        ("short", Boc, 60),
        ("staged", Boc, 120),
        ("staged", WriteThrough, 60),
        ("full", WriteThrough, 120),
    ],
)
def test_the_first_cycles_equal_golden(machine: str, unit: Any, cycles: int) -> None:
    """A short run, which most wrong changes of a collector do not outlive."""
    Bench(machine, 3, unit, hints=True).run(cycles)


@pytest.mark.parametrize(
    ("machine", "seed", "cycles"),
    [
        pytest.param("single", 24, 60, id="values-to-evict-in-one-collector"),
        pytest.param("full", 22, 50, id="a-value-to-evict-is-used-and-another-is-not"),
        pytest.param("full", 13, 60, id="uops-of-one-tag-in-two-collectors"),
        pytest.param("full", 29, 100, id="values-to-evict-in-three-collectors"),
        pytest.param("wide", 8, 80, id="two-results-wait-for-operands-to-arrive"),
    ],
)
def test_what_is_rare_equals_golden(machine: str, seed: int, cycles: int) -> None:
    Bench(machine, seed, Boc, hints=True).run(cycles)


class _SlowBus(Bench):
    """The banks take a value that is evicted in one cycle of ten."""

    def _evict(self, ctx: Any) -> None:
        self.eviction = 0.1
        super()._evict(ctx)


def test_a_value_that_waits_for_the_banks_is_used() -> None:
    """It is not evicted then, whatever another collector evicts from an entry of its number."""
    _SlowBus("full", 22, Boc, hints=True).run(60)


def test_nothing_is_kept_without_write_back() -> None:
    """As no pass makes hints for such a collector: every result is for the banks, too."""
    Bench("staged", 4, WriteThrough, hints=False).run(90)


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


@dataclass(frozen=True)
class _Step:
    """Step of a script: one uop, or some cycles in which nothing issues.

    Parameters
    ----------
    uop : fields of the uop, which issues as soon as it may; none: nothing issues in `cycles`.
    slides : the warp issues a uop that needs no collector in each of the `cycles`.
    eviction, offering : as of the bench, up to the next step.
    """

    uop: dict[str, Any] | None = None
    cycles: int = 1
    slides: bool = False
    eviction: float = 1.0
    offering: float = 1.0


class _Scripted(Bench):
    """One warp that follows a script."""

    def __init__(self, name: str, script: list[_Step], unit: Any = Boc) -> None:
        super().__init__(name, 1, unit)
        self._script = iter(script)
        self._step: _Step | None = next(self._script)
        self._cycles = 0

    @property
    def ended(self) -> bool:
        """The script was followed to its end."""
        return self._step is None

    def _plan(self) -> None:
        self.warp = self.started = 0
        self.slides = self.starts = False
        self.uop, step = None, self._step
        if step is None:
            return
        self.eviction, self.offering = step.eviction, step.offering
        self._cycles += 1
        if step.uop is not None and self.model.may_issue & 1:
            uop = make_uop(0, self.seqs[0], unit=Unit.ALU, **step.uop)
            self.uop = None if self.scoreboard.hazard(uop) else uop
        self.slides = step.slides and bool(self.model.may_slide & 1)
        if self.uop is not None or (step.uop is None and self._cycles >= step.cycles):
            self._step, self._cycles = next(self._script, None), 0


def _read(*sources: int, eviction: float = 1.0, offering: float = 1.0) -> _Step:
    return _Step({"sources": sources}, eviction=eviction, offering=offering)


def test_of_two_entries_the_older_one_is_squeezed_out_up_to_the_oldest_age() -> None:
    """Ages are counted up to the oldest one; entries of that age are squeezed out by number."""
    script: list[_Step] = []
    for age in range(OLDEST - 2, OLDEST + 2):
        script += [_read(10), *6 * [_read(11)]]  # the entry of 10 leaves, and 12 takes it: newer, lower
        script += age * [_read(11, 12)]
        script += [_read(0, 1, 2, 3, 4, 5), *6 * [_read()]]  # six new ones leave room for one of both
    bench = _Scripted("single", script).run(4 * len(script))
    assert bench.ended
    assert bench.happened["squeeze"] == 4


def _transient(destination: int, count: int, *sources: int) -> _Step:
    """A uop whose results nobody wants in the banks."""
    values = [np.array([number + 1], np.uint32) for number in range(count)]
    written = {"destination": destination, "count": count, "lane_mask": 1, "values": values}
    return _Step({**written, "write_back": TO_COLLECTOR, "sources": sources})


def test_what_slides_out_of_a_full_window_is_counted() -> None:
    """Transient results in all entries, which leave together."""
    script = [_transient(0, 4), _transient(4, 4, 0, 1, 2, 3), _Step(cycles=20), _Step(cycles=8, slides=True)]
    bench = _Scripted("eight", script).run(60)
    assert bench.ended
    assert bench.happened["transient"] == 8


def test_what_a_uop_in_collection_reads_does_not_slide_out() -> None:
    """It waits for the operands of the banks, while the window passes."""
    script: list[_Step] = []
    for _ in range(3):
        script += [_transient(0, 2), _Step(cycles=8), _read(0, 8, 9, 10, 11, 12)]
        script += [_Step(cycles=6, slides=True), _Step(cycles=20), _Step(cycles=6, slides=True)]
    bench = _Scripted("eight", script).run(180)
    assert bench.ended
    assert bench.happened["transient"] == 6


@pytest.mark.parametrize(("machine", "unit"), [("single", Boc), ("staged", Boc), ("staged", WriteThrough)])
def test_a_value_that_waits_for_a_part_leaves_the_window(machine: str, unit: Any) -> None:
    """A whole result, then a part of it that comes when the window has passed, the entry was squeezed out, or
    the banks have taken the whole one."""
    rng = random.Random(7)
    every, script = BOCS[machine].lane_mask, list[_Step]()
    for _ in range(6):
        register = rng.randrange(2)
        written = {"destination": register, "count": 1, "lane_mask": every}
        values = [np.array([rng.getrandbits(32)] * every.bit_length(), np.uint32) for _ in range(2)]
        hints = [rng.choice((TO_COLLECTOR, TO_BANKS, 3)) for _ in range(2)]
        script.append(_Step({**written, "values": values[:1], "write_back": hints[0] | TO_COLLECTOR}))
        script.append(_Step(cycles=6, eviction=0))
        part = rng.choice((every, 1))
        script.append(
            _Step({**written, "lane_mask": part, "values": values[1:], "write_back": hints[1]}, offering=0.05)
        )
        taken = rng.choice((0.1, 0.1, 0.5))
        for _ in range(rng.randrange(5)):
            sources = rng.sample(range(2, 14), rng.choice((1, 2, 6)))
            script.append(_read(*sources, eviction=taken, offering=0.05))
        script.append(_Step(cycles=rng.randrange(1, 4), eviction=taken, offering=0.05))
        script.append(_Step(cycles=4, eviction=taken))
        script += 4 * [_read()] if rng.random() < 0.5 else []
    bench = _Scripted(machine, script, unit).run(7 * len(script))
    assert bench.ended


def test_a_part_comes_about_when_its_value_is_squeezed_out() -> None:
    """A dirty value that nobody wants in the banks has to get there once it is squeezed out, and a part that
    is on its way finds it still."""
    every, script = BOCS["staged_short"].lane_mask, list[_Step]()
    for cycles in range(6):
        written = {"destination": 0, "count": 1, "write_back": TO_COLLECTOR}
        values = [np.array([number] * every.bit_length(), np.uint32) for number in (cycles, 100 + cycles)]
        script += [_Step({**written, "lane_mask": every, "values": values[:1]}), _Step(cycles=6)]
        script.append(_Step({**written, "lane_mask": 1, "values": values[1:]}))
        script.append(_Step(cycles=3, offering=0))  # it is dispatched
        script.append(_read(1, 2, 3, 4, 5, 6, eviction=0, offering=0))
        script += [_Step(eviction=0, offering=0)] * cycles
        script += [_Step(cycles=3, eviction=0), _Step(cycles=6), *8 * [_read()]]
    bench = _Scripted("staged_short", script).run(4 * len(script) + 60)
    assert bench.ended
    assert bench.happened["squeeze"] >= 6


@pytest.mark.parametrize("machine", ["short", "staged_short"])
def test_a_result_whose_entry_was_squeezed_out_goes_to_the_banks(machine: str) -> None:
    """The entry waits for it until the window has passed, and holds nothing."""
    every, script = BOCS[machine].lane_mask, list[_Step]()
    for cycles in range(4):
        values = [np.array([cycles + 1] * every.bit_length(), np.uint32)]
        written = {"destination": 0, "count": 1, "lane_mask": every, "values": values}
        script += [_Step({**written, "write_back": 3}, offering=0), _Step(cycles=3, offering=0)]
        script += [_read(1, 2, 3, 4, 5, 6, offering=0), *cycles * [_Step(offering=0)]]
        script += [_Step(cycles=6), _read(0), *8 * [_read()]]
    bench = _Scripted(machine, script).run(4 * len(script))
    assert bench.ended
    assert bench.happened["squeeze"] == 8  # another for the read of the register


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
