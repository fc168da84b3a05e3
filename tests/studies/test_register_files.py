"""Areas of whole register files are what the parts add up to, and every paper is there. Those on the papers'
machines with

    pytest -m long tests/studies/test_register_files.py
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cli.command import warpbank
from warpbank.studies import register_files
from warpbank.studies.compare.published import PUBLISHED, published
from warpbank.studies.explore.evaluate import bits_of
from warpbank.studies.explore.result import Size
from warpbank.studies.register_files import RegisterFile, bank_rows, part_rows, rows

#: A baseline of 0.5 mm2, to which a cache of 0.25 mm2 comes and 0.05 mm2 of collectors.
MADE = RegisterFile(
    "ltrf",
    "LTRF",
    "maxwell",
    "16 %",
    {"collectors": Size(0.1e6, 0, 0.5), "banks and network": Size(0.1e6, 0.3e6, 0.9, "recorded")},
    {
        "collectors": Size(0.15e6, 0, 0.5),
        "banks and network": Size(0.1e6, 0.3e6, 0.9, "recorded"),
        "ltrf": Size(0.05e6, 0.2e6, 2.0),
    },
    1000,
    11000,
)


def test_by_hand() -> None:
    assert MADE.added_mm2 == pytest.approx(0.3)
    assert MADE.share == pytest.approx(0.6)
    assert MADE.floor_mm2 == pytest.approx(10000 * 4.522e-6)
    assert rows([MADE])[1] == ("ltrf", "maxwell", "0.500", "+0.300", "+60%", "+0.045", "16 %")
    parts = part_rows([MADE])
    assert parts[2] == ("baseline, maxwell", "banks and network", "0.100", "0.300", "recorded")
    assert parts[-1] == ("ltrf", "ltrf", "0.050", "0.200", "of the model")
    assert {len(row) for row in parts} == {5}


def test_banks_of_a_cache_by_storage_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two banks of 8 x 64 bits take 6000 um2 each in flip-flops. A latch in the place of each saves 1.862; a
    macro of 32 x 64 takes 1754.536. A scheme without a cache has no row."""
    kept = {"kind": "array", "rows": 8, "width": 64, "area_um2": 6000.0, "count": 2}
    memories = [kept, {"kind": "sram", "rows": 64, "width": 32, "area_um2": 900.0, "count": 1}]
    known = {"ltrf": {"memories": memories}}
    monkeypatch.setattr(register_files.area_model, "recorded", lambda unit: known.get(unit, {}))
    _, *found = bank_rows([MADE, replace(MADE, scheme="malekeh")])
    assert [row[:5] for row in found] == [
        ("ltrf", "flip-flops", "0.012", "+0.300", "+60%"),
        ("ltrf", "latches", "0.010", "+0.298", "+60%"),
        ("ltrf", "SRAM macros", "0.004", "+0.292", "+58%"),
    ]
    assert [row[5].split(":")[0] for row in found] == ["recorded", "computed", "computed"]


def test_bits_are_all_but_sram() -> None:
    """Flip-flops, memories in registers, and two arrays of 4 x 8 bits; no SRAM."""
    memories = [[4, 8, 1, 1, 1, False, 2], [256, 64, 1, 1, 1, True, 4]]
    assert bits_of({"bits": {"flops": 10.0, "memory_bits": 6.0}, "memories": memories}) == 80


def test_every_paper_is_there() -> None:
    machines = [published(scheme) for scheme in register_files.schemes()]
    assert machines == list(PUBLISHED.values())
    assert all(machine.area for machine in PUBLISHED.values())


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_files, "register_files", lambda **_: [MADE])
    done = warpbank("synth", "--register-files")
    assert done.code == 0, done.err
    assert "+60%" in done.out


def test_a_machine_of_ones_own_is_refused() -> None:
    done = warpbank("synth", "--register-files", "--preset", "tiny")
    assert (done.code, done.out) == (2, "")
    assert "on its paper's machine; leave out unit, machine" in " ".join(done.err.split())


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_papers_machines() -> None:
    """Every scheme is larger than its baseline, and by most of its flip-flops: the model is a fit."""
    for found in register_files.register_files():
        assert found.added_mm2 > 0.8 * found.floor_mm2 > 0, found.scheme
