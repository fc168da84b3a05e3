"""Register contents of the RTL against an abstract register file, which shares nothing with the golden model:
warps are cut at a random instruction and read there, lane by lane, what the scheme promises to keep
(`tests.readout`)."""

from __future__ import annotations

import pytest
from amaranth.hdl import Cat, Module, Value

from tests.readout import Cut, cut, wrong_in_rtl
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.hdl.storage.banks import Banks
from warpbank.program.random_programs.hinted import SMALL, random_for

TINY = with_overrides(preset("tiny"), SMALL)
DEFAULT = ["baseline", "bow-wr", "gscalar"]
MORE = [
    "bow",
    "bow-wb",
    "malekeh",
    "malekeh-pr",
    "ccu-lru-gto",
    "ltrf",
    "ltrf-plus",
    "ltrf-strand",
    "gscalar-half",
    "scalar-rf",
    "bdi",
    "renaming",
    "rfc",
    "sw-rfc",
    "bow-wb+renaming+gscalar",
    "ltrf-plus+malekeh+renaming+gscalar",
    "rfc+bow+renaming+bdi",
    "sw-rfc+ccu-lru-gto+renaming+gscalar-half",
]


def _program(text: str, seed: int) -> tuple[Cut, Scheme]:
    scheme = parse_scheme(text)
    trace = random_for(scheme, TINY, seed, ctas=1, warps=2, length=14, divergent=True)
    return cut(trace, scheme, TINY, seed), scheme


@pytest.mark.quick("gscalar")
@pytest.mark.parametrize("text", [*DEFAULT, *(pytest.param(text, marks=pytest.mark.long) for text in MORE)])
def test_registers_hold_what_they_should(text: str) -> None:
    program, scheme = _program(text, 5)
    assert program.promised
    assert wrong_in_rtl(program, scheme, TINY) == []


def test_a_bank_that_keeps_one_lane_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: lane 3 of what a bank delivers is lane 2's."""
    found = Banks._found

    def confused(banks: Banks, m: Module, number: int, data: Value) -> Value:
        return Cat(found(banks, m, number, data)[:96], data[64:96])

    monkeypatch.setattr(Banks, "_found", confused)
    program, scheme = _program("baseline", 5)
    wrong = wrong_in_rtl(program, scheme, TINY)
    assert wrong
    assert all("lane 3" in sentence for sentence in wrong)
