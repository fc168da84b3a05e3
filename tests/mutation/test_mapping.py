"""Tests map to a source by their place or by what they import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.mapping import ROOT, mapped_tests, module_of


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("golden/collector/boc.py", "warpbank.golden.collector.boc"),
        ("program/release/__init__.py", "warpbank.program.release"),
        ("warpbank/studies/gating.py", "warpbank.studies.gating"),
    ],
)
def test_the_module_of_a_file(path: str, module: str) -> None:
    assert module_of(ROOT / path) == module


def test_a_test_is_no_source() -> None:
    with pytest.raises(ValueError, match="is a test, not a source"):
        module_of(Path(__file__))


def test_tests_mirror_a_source_or_import_it() -> None:
    found = mapped_tests(ROOT / "program" / "liveness.py")
    assert found[0] == "tests/program/test_liveness.py"
    assert "tests/program/test_simt_liveness.py" in found
    assert "tests/program/test_loops.py" not in found


def test_a_helper_of_the_tests_counts() -> None:
    """The arbiter's RTL is driven by a bench that the test imports."""
    found = mapped_tests(ROOT / "hdl" / "main" / "arbiter.py")
    assert {"tests/formal/test_arbiter.py", "tests/hdl/main/test_arbiter.py"} <= set(found)


def test_tests_of_all_units_are_those_of_each() -> None:
    assert "tests/hdl/test_interfaces.py" in mapped_tests(ROOT / "hdl" / "round_robin.py")
    assert "tests/hdl/test_interfaces.py" not in mapped_tests(ROOT / "golden" / "main" / "arbiter.py")


def test_what_a_lowered_instruction_does_tests_its_lowering() -> None:
    found = mapped_tests(ROOT / "program" / "lowering" / "bits.py")
    assert found[0] == "tests/program/lowering/test_bits.py"
    assert {"tests/program/lowering/test_refusals.py", "tests/program/semantics/test_integer.py"} <= set(
        found
    )
    assert "tests/program/lowering/test_old_files.py" in mapped_tests(
        ROOT / "program" / "lowering" / "addresses.py"
    )
    assert "tests/program/test_allocation.py" in mapped_tests(ROOT / "program" / "allocation" / "work.py")
    assert "tests/program/semantics/test_integer.py" not in mapped_tests(ROOT / "program" / "liveness.py")
