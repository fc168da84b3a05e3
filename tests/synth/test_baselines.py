"""Baselines: every unit has a size, what moved is named, and a few units are measured again.

In a cell library where one is found (`WARPBANK_LIBERTY`, or an installed PDK), all of them, for hours on a
slow machine:

    pytest -m long tests/synth/test_baselines.py
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.not_compared import not_compared
from warpbank.arch.config import with_overrides
from warpbank.synth import baselines, pdk
from warpbank.synth.units import UNITS

#: Units whose check takes seconds.
FAST = (
    "lrr",
    "lfsr",
    "decompressor",
    "address_allocation",
    "departing",
    "places",
    "sthld",
    "compressor_half",
)
#: What was recorded.
KNOWN = {unit: known for unit in baselines.SIZES if (known := baselines.recorded(unit)) is not None}


def test_every_unit_has_a_size() -> None:
    assert set(baselines.SIZES) == set(UNITS) - {"sm", "sub_core"}


@pytest.mark.parametrize("path", sorted(baselines.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_files_say_what_made_them(path: Path) -> None:
    """Configuration and tools. One that was recorded for another configuration is not compared, and says
    so."""
    known = json.loads(path.read_text())
    assert known["unit"] == path.stem
    if not baselines.same_machine(known, baselines.SIZES[path.stem].machine()[0]):
        assert "record it again" in baselines.check(path.stem, []).why
    for key, result in known["results"].items():
        assert set(result["tools"]) == {"amaranth", "pyosys"}
        assert ("area_um2" in result) == (key != "generic")


@pytest.mark.quick("address_allocation", "departing", "places", "lfsr", "lrr")
@pytest.mark.parametrize("unit", FAST)
def test_generic_gates(unit: str) -> None:
    _unmoved(unit, [])


def _unmoved(unit: str, files: list[Path]) -> None:
    """A unit is as recorded; one that was recorded with other tools, or another library, is not compared."""
    checked = baselines.check(unit, files)
    if checked.why.endswith("not compared"):
        not_compared(f"{unit} {checked.why.removesuffix(': not compared')}")
    assert checked.sentences() == []


def _library() -> list[Path]:
    files = pdk.find(None)
    if not files:
        not_compared(f"no cell library: none is installed, and {pdk.VARIABLE} names none")
    return files


def test_in_a_library() -> None:
    files = _library()
    if pdk.name(files) not in KNOWN["lrr"]["results"]:
        not_compared(f"the baselines are of another library than {pdk.name(files)}")
    _unmoved("lrr", files)


@pytest.mark.long
@pytest.mark.parametrize("unit", KNOWN)
def test_all(unit: str) -> None:
    """Those of docs/synthesis.md that have a number."""
    for files in ([], _library()):
        if (pdk.name(files) if files else "generic") in KNOWN[unit]["results"]:
            _unmoved(unit, files)


def test_what_moved_is_named() -> None:
    made = baselines.measure("lrr", [])
    known = baselines.recorded("lrr")
    assert known is not None
    known["results"]["generic"] = {
        "tools": made.tools,
        "liberty_digest": None,
        "flops": made.flops,
        "transistors": made.transistors,
        "logic_depth": made.depth,
    }
    assert baselines.compare(made, known).sentences() == []
    other = copy.deepcopy(known)
    other["results"]["generic"]["transistors"] = round(made.transistors / 1.05)  # type: ignore[operator]
    (sentence,) = baselines.compare(made, other).sentences()
    assert sentence.startswith("lrr: transistors moved by +")
    other = copy.deepcopy(known)
    other["results"]["generic"]["tools"] = made.tools | {"pyosys": "0.1"}
    assert "recorded with pyosys 0.1" in baselines.compare(made, other).why
    other = copy.deepcopy(known)
    other["results"]["generic"]["effort"] = "quick"
    assert "recorded with quick effort, now full: not compared" in baselines.compare(made, other).why


def test_a_field_that_was_added_changes_nothing() -> None:
    config, _ = baselines.SIZES["lrr"].machine()
    known = {"config": config.to_dict()}
    del known["config"]["lanes"]
    assert baselines.same_machine(known, config)
    assert not baselines.same_machine(known, with_overrides(config, ["sub_core.banks=4"]))


def test_power_is_kept_as_energy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """3.5 mW at 0.5 ns, 0.5 of them leakage, are 1.5 pJ a cycle."""
    made = baselines.measure("lrr", [])
    made.power, made.clock_ns = {"clock": 3.0, "leakage": 0.5, "total": 3.5}, 0.5
    monkeypatch.setattr(baselines, "FOLDER", tmp_path)
    baselines.record(made)
    kept = json.loads((tmp_path / "lrr.json").read_text())["results"]["generic"]
    assert kept["energy"] == {"kernel": "", "pj_per_cycle": 1.5, "leakage_mw": 0.5}
