"""Machines whose compiler hints are wrong.

`near` of Malekeh, the collector's half of BOW-WR's hints and all of BOW without write-back steer only what is
kept: operands stay right whatever they say. The banks' half of BOW-WR's hints, LTRF+'s dead bits and register
renaming's flags are promises: where a broken one harms a read, the operand check must stop the run, and never
a wrong operand pass it. What was read is judged by an abstract register file (`tests.abstract_registers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.readout import Cut, wrong_in_golden
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import TO_BANKS, Control
from warpbank.golden.check import OperandMismatch
from warpbank.golden.sm import simulate
from warpbank.program.hints import Hints
from warpbank.program.random_programs.hinted import SMALL, random_for
from warpbank.program.release.words import PAYLOAD_BITS, FlagWord
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

TINY = preset("tiny")
Corruption = Callable[[Trace, np.random.Generator], Trace]


def _drawn(trace: Trace, rng: np.random.Generator, **bits: tuple[int, int]) -> Trace:
    """The trace with these hints drawn from ranges."""
    count = len(trace.code)
    drawn = {name: rng.integers(first, end, count, np.uint8) for name, (first, end) in bits.items()}
    return replace(trace, hints=replace(trace.hints or Hints.none(count), **drawn))


def near(trace: Trace, rng: np.random.Generator) -> Trace:
    """Any nearness."""
    return _drawn(trace, rng, near=(0, 128))


def to_collector(trace: Trace, rng: np.random.Generator) -> Trace:
    """Results wanted in the banks, and in the collector or not."""
    return _drawn(trace, rng, write_back=(TO_BANKS, 4))


def write_back(trace: Trace, rng: np.random.Generator) -> Trace:
    """Any place for a result, none included."""
    return _drawn(trace, rng, write_back=(0, 4))


def every_hint(trace: Trace, rng: np.random.Generator) -> Trace:
    """All hints that are there."""
    return _drawn(trace, rng, near=(0, 128), write_back=(0, 4), dead=(0, 64))


def dead(trace: Trace, rng: np.random.Generator) -> Trace:
    """A third of all operands marked dead, whoever reads them later."""
    count = len(trace.code)
    bits = sum((rng.random(count) < 0.3).astype(np.uint8) << np.uint8(slot) for slot in range(6)).astype(
        np.uint8
    )
    return replace(trace, hints=replace(trace.hints or Hints.none(count), dead=bits))


def released(trace: Trace, rng: np.random.Generator) -> Trace:
    """Every flag instruction that releases registers releases others, bit by bit."""
    words = dict(trace.flag_words)
    for pc, word in words.items():
        if word.control is Control.PBR:
            chosen = [int(register) for register in rng.choice(12, 3, replace=False)]
            places = chosen + chosen[:1] * (PAYLOAD_BITS // word.width - len(chosen))
            payload = sum(register << word.width * place for place, register in enumerate(places))
            mask = sum(1 << register for register in chosen)
            words[pc] = FlagWord(word.control, word.first, word.covers, payload, mask, word.width)
    return replace(trace, flag_words=words)


HARMLESS: list[tuple[str, Corruption]] = [
    ("bow", every_hint),
    ("malekeh", near),
    ("malekeh-pr", near),
    ("bow-wr", to_collector),
    ("malekeh+renaming+gscalar", near),
    ("ltrf", every_hint),
]
HARMFUL: list[tuple[str, Corruption]] = [
    ("bow-wr", write_back),
    ("ltrf-plus", dead),
    ("rfc", dead),
    ("renaming", dead),
    ("renaming", released),
    ("ltrf-plus+malekeh+renaming", dead),
]


def _program(text: str, corrupt: Corruption, seed: int) -> Trace:
    trace = random_for(parse_scheme(text), TINY, seed, ctas=2, warps=3, length=15, divergent=seed % 2 == 0)
    return corrupt(trace, np.random.default_rng(seed))


@pytest.mark.parametrize(("text", "corrupt"), HARMLESS)
def test_hints_that_steer_only_what_is_kept(text: str, corrupt: Corruption) -> None:
    scheme = parse_scheme(text)
    for seed in range(4):
        trace = _program(text, corrupt, seed)
        assert wrong_in_golden(Cut(trace, {}), scheme, TINY) == []
        assert simulate(trace, TINY, scheme).operand_mismatches == 0


@pytest.mark.parametrize(("text", "corrupt"), HARMFUL)
def test_promises_that_are_broken_are_caught(text: str, corrupt: Corruption) -> None:
    """The operand check stops exactly those runs in which an operand is wrong, and there are some."""
    scheme = parse_scheme(text)
    caught = 0
    for seed in range(6):
        trace = _program(text, corrupt, seed)
        wrong = wrong_in_golden(Cut(trace, {}), scheme, TINY)
        if wrong:
            with pytest.raises(OperandMismatch):
                simulate(trace, TINY, scheme)
            caught += 1
        else:
            simulate(trace, TINY, scheme)
    assert caught >= 2


SMALLEST = with_overrides(TINY, SMALL)


@pytest.mark.parametrize(
    ("text", "corrupt"), [("bow-wr", to_collector), pytest.param("malekeh", near, marks=pytest.mark.long)]
)
def test_the_rtl_bears_them_as_well(text: str, corrupt: Corruption) -> None:
    """Every event is the golden model's, and no operand is wrong."""
    scheme = parse_scheme(text)
    trace = random_for(scheme, SMALLEST, 5, ctas=1, warps=2, length=10, divergent=True)
    outcome = lockstep(corrupt(trace, np.random.default_rng(5)), SMALLEST, scheme, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason


@pytest.mark.long
@pytest.mark.parametrize(("text", "corrupt"), HARMFUL)
def test_the_rtl_is_caught_as_well(text: str, corrupt: Corruption) -> None:
    """Where the golden model is stopped the RTL is, for the same operand. A released register's place in a
    cache is poisoned in the golden model alone: the RTL may still find the value there."""
    scheme = parse_scheme(text)
    stopped = 0
    for seed in range(6):
        program = random_for(scheme, SMALLEST, seed, ctas=1, warps=2, length=10, divergent=True)
        trace = corrupt(program, np.random.default_rng(seed))
        expected = _stopped(lambda trace=trace: simulate(trace, SMALLEST, scheme))
        found = _stopped(lambda trace=trace: PysimEngine().run(trace, SMALLEST, scheme))
        assert found == expected or (
            not found and scheme.hierarchy != "flat" and scheme.mapping == "renaming"
        )
        stopped += expected != ""
    assert stopped


def _stopped(run: Callable[[], object]) -> str:
    """What the operand check says of a run; "" if it ends."""
    try:
        run()
    except OperandMismatch as mismatch:
        return str(mismatch)
    return ""
