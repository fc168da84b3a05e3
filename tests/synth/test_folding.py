"""Folded Verilog: wires without a name are few, it behaves as before, Verilator takes it without options."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.sim.engines import toolchain
from warpbank.synth import netlist, yosys
from warpbank.synth.errors import YosysError
from warpbank.synth.export import exported
from warpbank.synth.folding import LIMIT, folded
from warpbank.synth.units import UNITS, make

TINY, BASELINE = preset("tiny"), parse_scheme("baseline")
#: Units proved equal to what was folded, in a second or two each.
PROVED = (
    "address_allocation",
    "compressor_half",
    "cta_dispatch",
    "deadlock_reserve",
    "gto",
    "lfsr",
    "two_level",
)
#: Units of the default suite for what is asked of every unit; test_export.py lints all of them there.
QUICK = (*PROVED, "ocu", "scoreboard", "lsu", "warp_control_blocks", "sub_core")


def names(verilog: str) -> tuple[int, int]:
    """How many wires and registers have a name, and how many have none."""
    found = re.findall(r"^  (?:wire|reg) (?:signed )?(?:\[[^\]]*\] )?(\\\S+ |\w+)", verilog, re.MULTILINE)
    anonymous = sum(re.fullmatch(r"_\d+_", name) is not None for name in found)
    return len(found) - anonymous, anonymous


@pytest.mark.quick("lsu", "scoreboard", "ocu", "compressor_half", "cta_dispatch", "gto", "lfsr")
@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.long] * (unit not in QUICK)) for unit in UNITS]
)
def test_names_and_plain_lint(unit: str, tmp_path: Path) -> None:
    """As many names as wires without one, and a lint without options or waivers beside the file."""
    (tmp_path / f"{unit}.v").write_text(text := exported(unit, TINY, BASELINE, kind=".v"))
    named, anonymous = names(text)
    assert named >= anonymous
    tool = toolchain.verilator()
    done = subprocess.run(
        [str(tool.binary), "--lint-only", f"{unit}.v"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "VERILATOR_ROOT": str(tool.root)},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def _prove(unit: str, text: str, folder: Path) -> None:
    """Prove that `text` is what Yosys wrote of the unit. Raises YosysError."""
    (folder / "gold.v").write_text(
        netlist.to_verilog(netlist.to_rtlil(make(unit, TINY, BASELINE), unit), netlist.READABLE)
    )
    (folder / "gate.v").write_text(text)
    passes = []
    for side in ("gold", "gate"):
        passes += [f"read_verilog {side}.v", f"hierarchy -top {unit}", "proc", "flatten", "opt_clean"]
        passes += ["memory_dff", "memory_collect", "memory_map", "opt_clean", f"design -stash {side}"]
    passes += [f"design -copy-from {side} -as {side} {unit}" for side in ("gold", "gate")]
    passes += ["equiv_make gold gate equiv", "hierarchy -top equiv", "opt_clean", "equiv_struct"]
    yosys.run([*passes, "equiv_simple -undef", "equiv_induct -undef", "equiv_status -assert"], folder)


@pytest.mark.quick("gto", "lfsr", "two_level", "address_allocation")
@pytest.mark.parametrize("unit", PROVED)
def test_equals_what_was_folded(unit: str, tmp_path: Path) -> None:
    _prove(unit, exported(unit, TINY, BASELINE, kind=".v"), tmp_path)


@pytest.mark.long
def test_the_proof_finds_a_wrong_file(tmp_path: Path) -> None:
    text = exported("compressor_half", TINY, BASELINE, kind=".v")
    wrong = re.sub(r"\(~ (\w+\[\d+\])\)", r"\1", text, count=1)
    assert wrong != text
    with pytest.raises(YosysError):
        _prove("compressor_half", wrong, tmp_path)


MODULE = """module m(a, b, c, s, y, z);
  input [3:0] a;
  wire [3:0] a;
  input [3:0] b;
  wire [3:0] b;
  input [7:0] c;
  wire [7:0] c;
  input s;
  wire s;
  output [7:0] y;
  wire [7:0] y;
  output [3:0] z;
  wire [3:0] z;
  wire [3:0] _0_;
  wire [4:0] _1_;
  wire [3:0] _2_;
{body}
endmodule
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # An inverted value is not inverted in the bits that it lacks.
        (["_0_ = ~ a", "y = _0_ & c"], "y = { ~ a } & c;"),
        (["_0_ = a & b", "y = _0_ | c"], "y = (a & b) | c;"),
        (["_0_ = a - b", "y = s ? _0_ : c"], "y = s ? { a - b } : c;"),
        # A carry is kept where it counts, and cut off where it does not.
        (["_1_ = a + b", "y = _1_ + c"], "y = { { 1'h0, a } + b } + c;"),
        (["_1_ = a + b", "z = _1_[3:0]"], "z = a + b;"),
        (["_1_ = a + b", "z = _1_[4:1]"], "z = _1_[4:1];"),
        # What is used twice stays.
        (["_0_ = a ^ b", "z = _0_", "y = _0_"], "z = _0_;"),
        # Parts of a wire become one expression.
        (["_0_[1:0] = a[1:0] & b[1:0]", "_0_[3:2] = 2'h1", "z = ~ _0_"], "z = ~ { 2'h1, a[1:0] & b[1:0] };"),
        (["_0_ = { a[0], b[3:1] }", "z = s ? _0_ : a"], "z = s ? { a[0], b[3:1] } : a;"),
        (["_0_ = { a[0], b[3:1] }", "y = _0_[2:1]"], "y = b[3:2];"),
        (["_0_ = s ? a : b", "_2_ = _0_ | b", "z = _2_ & a"], "z = ((s ? a : b) | b) & a;"),
        # A signed sum stays, where its surroundings could make it another; a signed comparison is one bit.
        (["_0_ = $signed(a) - $signed(b)", "y = _0_ + c"], "y = _0_ + c;"),
        (
            ["_0_[0] = $signed(a) <= $signed(b)", "_0_[3:1] = 3'h0", "y = _0_[0] ? c : 8'h00"],
            "y = ($signed(a) <= $signed(b)) ? c : 8'h00;",
        ),
        # A wire that only holds a carry goes.
        (["{ _1_[4], z } = a + b", "_1_[3:0] = z"], "z = a + b;"),
    ],
)
def test_rules(body: list[str], expected: str) -> None:
    text = folded(MODULE.replace("{body}", "\n".join(f"  assign {line};" for line in body)))
    assert f"  assign {expected}\n" in text


def test_a_wire_stays_where_an_expression_grows_too_long() -> None:
    """Whether it is assigned before or after the wire that is made of it."""
    long = " ^ ".join("ab"[place % 2] for place in range(LIMIT - 2))
    body = [f"_2_ = _0_ & ({long})", f"_0_ = {long}", "z = ~ _2_"]
    for lines in (body, body[::-1]):
        text = folded(MODULE.replace("{body}", "\n".join(f"  assign {line};" for line in lines)))
        assert "assign _0_ = a ^ b" in text
        assert "_2_" not in text
