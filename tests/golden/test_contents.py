"""Register contents of every scheme against an abstract register file: warps are cut at a random instruction
or at their last, and read there, lane by lane, what the scheme promises to keep (`tests.readout`).

More programs and all combinations with

    pytest -m long tests/golden/test_contents.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from tests.program.random_ptx import random_job
from tests.readout import Cut, cut, promised, wrong_in_golden
from warpbank.arch.config import preset
from warpbank.arch.schemes import SCHEMES, Scheme, parse_scheme
from warpbank.golden.collector.window import Window
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.storage.banks import Banks
from warpbank.golden.values import Value
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.runner import Options, compile_job, execute
from warpbank.program.trace.schema import Trace
from warpbank.studies.combinations import combinations

TINY = preset("tiny")
LEGAL = [each.scheme for each in combinations() if each.legal]
#: Every row by itself, and a share of what is joined.
SOME = list(dict.fromkeys([*(name for name in LEGAL if "+" not in name), *LEGAL[:: len(LEGAL) // 24]]))


def _program(text: str, seed: int, *, ends: bool, divergent: bool) -> tuple[Cut, Scheme]:
    scheme = parse_scheme(text)
    trace = random_for(scheme, TINY, seed, ctas=2, warps=3, length=15, divergent=divergent)
    return cut(trace, scheme, TINY, seed, ends=ends), scheme


@pytest.mark.parametrize("text", SOME)
def test_registers_hold_what_they_should(text: str) -> None:
    for ends in (False, True):
        program, scheme = _program(text, 3, ends=ends, divergent=not ends)
        assert wrong_in_golden(program, scheme, TINY) == []


@pytest.mark.long
@pytest.mark.parametrize("text", LEGAL)
def test_registers_hold_what_they_should_in_every_combination(text: str) -> None:
    for seed in range(2):
        for ends in (False, True):
            program, scheme = _program(text, seed, ends=ends, divergent=seed % 2 == 0)
            assert wrong_in_golden(program, scheme, TINY) == []


@cache
def _compiled(seed: int) -> tuple[dict[str, Kernel], Trace]:
    job, options = random_job(random.Random(seed).randint, seed, threads=72), Options(max_registers=24)
    trace = execute(job, options, trace=True).trace
    assert trace is not None
    return compile_job(job, options), trace


def _with_passes(text: str, seed: int) -> tuple[Cut, Scheme]:
    """A compiled random kernel with the hints of the real passes, cut at random."""
    scheme = parse_scheme(text)
    kernels, trace = _compiled(seed)
    hinted = with_hints(trace, scheme.hints, scheme.machine(TINY), lambda: kernels)
    return cut(hinted, scheme, TINY, seed), scheme


@pytest.mark.parametrize("text", [name for name in SCHEMES if SCHEMES[name].hints])
def test_hints_of_the_passes_lose_nothing_that_is_read(text: str) -> None:
    program, scheme = _with_passes(text, 1)
    assert program.promised
    assert wrong_in_golden(program, scheme, TINY) == []


@pytest.mark.long
@pytest.mark.parametrize("text", [name for name in LEGAL if parse_scheme(name).hints])
def test_hints_of_the_passes_lose_nothing_that_is_read_in_any_combination(text: str) -> None:
    for seed in (1, 3):
        program, scheme = _with_passes(text, seed)
        assert wrong_in_golden(program, scheme, TINY) == []


# --- Tests of the test.


def test_what_is_promised() -> None:
    """A scheme without hints keeps all; one with hints what is read before it is written."""
    everything, _ = _program("baseline", 3, ends=True, divergent=False)
    lanes = [len(these) for operands in everything.promised.values() for these in operands]
    assert lanes
    assert set(lanes) == {TINY.lanes}
    assert promised([], [], parse_scheme("renaming"), 3, 4) == {}


def _without_mask(banks: Banks, bank: int, row: int, mask: int, value: Value) -> None:
    """Mutant: a bank writes all lanes."""
    banks._rows[bank][row] = value


def _nothing(main: MainRegisterFile, *_: object) -> None:
    """Mutant: what leaves a cache is not written."""


def _never(window: Window, entry: object) -> bool:
    """Mutant: no value is owed to the banks."""
    return False


@pytest.mark.parametrize(
    ("text", "owner", "name", "mutant"),
    [
        ("baseline", Banks, "write", _without_mask),
        ("ltrf", MainRegisterFile, "store", _nothing),
        ("ltrf-plus+malekeh", MainRegisterFile, "store", _nothing),
        ("bow-wb", Window, "_owed", _never),
    ],
)
def test_mutants_are_caught(
    text: str, owner: type, name: str, mutant: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, scheme = _program(text, 3, ends=True, divergent=True)
    assert wrong_in_golden(program, scheme, TINY) == []
    monkeypatch.setattr(owner, name, mutant)
    assert wrong_in_golden(program, scheme, TINY) != []
