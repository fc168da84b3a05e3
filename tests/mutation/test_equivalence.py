"""A mutant of hdl is equivalent if Yosys proves it, and not otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutation import equivalence
from tests.mutation.mapping import ROOT

FILE = ROOT / "hdl" / "front_end" / "sthld.py"
UNIT = "sthld"
TOGGLE = """
module \\top
  wire width 1 input 0 \\clk
  {init}
  wire width 1 output 1 \\q
  wire width 1 \\d
  cell $not $1
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\q
    connect \\Y \\d
  end
  cell $dff $2
    parameter \\WIDTH 1
    parameter \\CLK_POLARITY 1
    connect \\CLK \\clk
    connect \\D {d}
    connect \\Q \\q
  end
end
"""


def _written(folder: Path, name: str, init: str, d: str) -> Path:
    path = folder / f"{name}.il"
    path.write_text(TOGGLE.format(init=f"attribute \\init 1'{init}", d=d))
    return path


def test_circuits_are_compared_by_behaviour(tmp_path: Path) -> None:
    one = _written(tmp_path, "one", "0", "\\d")
    renamed = tmp_path / "renamed.il"
    renamed.write_text(one.read_text().replace("$1", "$7").replace("$2", "$8"))
    assert equivalence.equal(one, renamed, "top")
    assert not equivalence.equal(one, _written(tmp_path, "other", "0", "\\q"), "top")


def test_the_value_after_reset_counts(tmp_path: Path) -> None:
    one = _written(tmp_path, "one", "0", "\\d")
    assert not equivalence.equal(one, _written(tmp_path, "set", "1", "\\d"), "top")


def test_what_could_not_be_made_is_not_equal(tmp_path: Path) -> None:
    (tmp_path / "one.il").write_text("# ValueError: no\n")
    (tmp_path / "two.il").write_text("# ValueError: no\n")
    assert not equivalence.equal(tmp_path / "one.il", tmp_path / "two.il", "top")


@pytest.mark.long
def test_a_file_is_part_of_its_units() -> None:
    assert equivalence.units_with(FILE)[0] == UNIT
    assert "arbiter" in equivalence.units_with(ROOT / "hdl" / "main" / "arbiter.py")


@pytest.mark.long
def test_a_proof_needs_units_that_run_the_statement() -> None:
    """Queues of looked-up operands are in LTRF's register file, and in no arbiter alone."""
    path = ROOT / "hdl" / "main" / "arbiter.py"
    lines = path.read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if text.strip().startswith("asks = Cat("))
    found = equivalence.reached(path, ["arbiter", "ltrf"])
    assert line in found["ltrf"]
    assert line not in found["arbiter"]


@pytest.mark.long
def test_a_real_unit(tmp_path: Path) -> None:
    """A rewritten condition is proved equal, a wrong one is not."""
    source = FILE.read_text()
    equivalence.written(tmp_path / "before", [UNIT])
    line = next(each for each in source.splitlines() if "with m.If(" in each)
    condition = line.split("m.If(", 1)[1].rsplit(")", 1)[0]
    for number, (after, same) in enumerate((("~~({})", True), ("~({})", False))):
        text = source.replace(line, line.replace(condition, after.format(condition)), 1)
        planted = tmp_path / f"{number}.json"
        planted.write_text(json.dumps({"module": "warpbank.hdl.front_end.sthld", "source": text}))
        equivalence.written(tmp_path / str(number), [UNIT], planted)
        said = equivalence.proof(tmp_path / "before", tmp_path / str(number), [UNIT])
        assert bool(said) is same
