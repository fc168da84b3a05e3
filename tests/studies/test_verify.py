"""`warpbank verify`: the ladder of a unit, and what each rung showed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from warpbank.errors import MissingPackageError
from warpbank.program.errors import WarpbankError
from warpbank.studies import verify
from warpbank.synth.units import UNITS, find


@pytest.mark.long
def test_a_test_belongs_to_the_unit_that_it_imports() -> None:
    found = verify.ladder(find("ccu"))
    assert "tests/formal/test_ccu.py" in found["proofs"]
    assert "tests/hdl/collector/test_ccu.py" in found["RTL"]
    assert "tests/golden/collector/test_ccu.py" in found["golden"]
    assert "tests/synth/test_export.py::test_tools_take_it[ccu]" in found["netlist"]
    assert "tests/cocotb/test_units.py::test_equals_golden[ccu]" in found["cocotb"]
    assert found["lockstep"] == []


@pytest.mark.long
def test_a_golden_unit_without_tests_is_tested_by_its_users() -> None:
    assert "tests/golden/hierarchy/test_ltrf.py" in verify.ladder(find("address_allocation"))["golden"]
    for name, unit in UNITS.items():
        twin = unit.component.__module__.replace("warpbank.hdl.", "warpbank.golden.", 1)
        if (verify.ROOT / twin.replace(".", "/").removeprefix("warpbank/")).with_suffix(".py").exists():
            assert verify._of_golden(twin), f"{name}: no test of {twin}"
    assert verify._of_golden("warpbank.golden.no_such_unit") == []


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_tests_of_its_rtl(unit: str) -> None:
    module = UNITS[unit].component.__module__
    assert verify._importing("tests/hdl", module), f"no test imports {module}"


def test_failures_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_mutants_are_caught(): pass\n"
        "def test_bad(): assert 1 == 2, 'one is not two'\n"
        "@pytest.mark.skip(reason='no tool')\n"
        "def test_skipped(): pass\n"
    )
    monkeypatch.setattr(verify, "ROOT", tmp_path)
    shown = verify.climb(
        "RTL", ["test_it.py"], everything=False, workers=1, junit=tmp_path / "r.xml", coverage=tmp_path
    )
    assert (shown.passed, shown.mutants, shown.failed, shown.skipped) == (2, 1, 1, 1)
    assert "test_bad" in shown.failures[0]
    assert "one is not two" in shown.failures[0]
    with pytest.raises(WarpbankError, match="pytest did not run"):
        verify.climb(
            "RTL",
            ["test_other.py"],
            everything=False,
            workers=1,
            junit=tmp_path / "none.xml",
            coverage=tmp_path,
        )
    with pytest.raises(WarpbankError, match="source checkout"):
        verify.ladder(None)


def _coverage(path: Path, zero: int, other: int) -> None:
    hit = (zero > 0) + (other > 0)
    group = {"cover_percentage": 50.0 * hit, "coverage": hit, "size": 2}
    bins = {**group, "at_least": 1, "weight": 1, "bins:_hits": {"zero": zero, "other": other}}
    path.write_text(
        yaml.dump(
            {"warpbank": group, "warpbank.u": group, "warpbank.u.ports": group, "warpbank.u.ports.p": bins}
        )
    )


def test_coverage_is_merged(tmp_path: Path) -> None:
    assert verify.covered(tmp_path) is None
    _coverage(tmp_path / "u-1.yml", 3, 0)
    assert verify.covered(tmp_path) == verify.Covered(1, 2, ("u.ports.p other",))
    _coverage(tmp_path / "u-2.yml", 1, 5)
    assert verify.covered(tmp_path) == verify.Covered(2, 2, ())


@pytest.mark.long
def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "find_spec", lambda name: None)
    with pytest.raises(
        MissingPackageError, match=r"needs the \w+ package; install it with: pip install .*test"
    ):
        verify.verify("lfsr", ["golden"])


def test_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    verify.check_simulator("verilator")
    with pytest.raises(WarpbankError, match="simulators are verilator, icarus"):
        verify.check_simulator("verilatr")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WarpbankError, match="is not in the path; install it"):
        verify.check_simulator("icarus")
