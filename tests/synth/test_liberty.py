"""Liberty files: what is read out of them, and what is said of broken ones."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from tests.synth import library
from warpbank.synth import pdk
from warpbank.synth.boolean_functions import truth
from warpbank.synth.liberty import LibertyError, Library, Table, parse


@pytest.fixture
def small() -> Library:
    return Library([parse(library.text(), "small.lib")])


def test_cells(small: Library) -> None:
    assert {cell.name for cell in small} == {"INV", "BUF", "BUF2", "NAND2", "NOR2", "XOR2", "DFF"}
    assert small.unusable == []
    assert small.flop.name == "DFF"
    assert small.flop.state == ("IQ", "IQN")
    assert small.nand2.area == 1.0
    assert [cell.name for cell in small.buffers] == ["BUF", "BUF2"]
    assert small.nand2.leakage == pytest.approx(10)


def test_wire_load(small: Library) -> None:
    """A semicolon is missing behind `default_wire_load`, as in some real libraries."""
    assert small.wire_load == "short"
    assert [small.wire(fanout) for fanout in (0, 1, 2, 4)] == pytest.approx([0, 0.2, 0.5, 1.3])


def test_units() -> None:
    text = library.text().replace('time_unit : "1ns"', 'time_unit : "10ps"').replace("(1,ff)", "(1,pf)")
    other = Library([parse(text, "small.lib")])
    arc = other["INV"].pins["Y"].arcs[0]
    assert arc.tables["cell_rise"].at(0.0001, 1000) == pytest.approx(0.0001, rel=1e-3)
    assert other["INV"].pins["A"].capacitance == pytest.approx(1000)


def test_tables_are_interpolated() -> None:
    table = Table((0.0, 1.0), (0.0, 10.0), ((0.0, 10.0), (5.0, 15.0)))
    assert table.at(0.5, 5) == pytest.approx(7.5)
    assert table.at(2, 20) == pytest.approx(30)
    assert Table((0.0,), (0.0,), ((3.0,),)).at(7, 7) == 3.0


@pytest.mark.parametrize(
    ("function", "inputs", "value"),
    [
        ("!(A B)", "AB", 0b0111),
        ("(A+B)'", "AB", 0b0001),
        ("A ^ B", "AB", 0b0110),
        ("((A1 & !B) | C)", ("A1", "B", "C"), 0b11110010),
        ("1", "A", 0b11),
        ("!A * B | A & !B", "AB", 0b0110),
        ("A'", "A", 0b01),
    ],
)
def test_functions(function: str, inputs: str | tuple[str, ...], value: int) -> None:
    assert truth(function, tuple(inputs)) == value


@pytest.mark.parametrize("function", ["A &", "(A", "A B C", "A) B", "D"])
def test_functions_that_cannot_be_read(function: str) -> None:
    with pytest.raises(ValueError, match="function"):
        truth(function, ("A", "B"))


def test_random_functions() -> None:
    """Against Python's own operators."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    draw = random.Random(seed)

    def made(depth: int) -> tuple[str, str]:
        if not depth or draw.random() < 0.2:
            name = draw.choice("ABCD")
            return name, name
        (a, x), (b, y) = made(depth - 1), made(depth - 1)
        kind = draw.choice(["!", "'", "&", "*", " ", "|", "+", "^"])
        if kind == "!":
            return f"!({a})", f"(1-({x}))"
        if kind == "'":
            return f"({a})'", f"(1-({x}))"
        return f"({a}){kind}({b})", f"(({x}){'&' if kind in '&* ' else '^' if kind == '^' else '|'}({y}))"

    for _ in range(50):
        function, python = made(4)
        expected = sum(
            eval(python, {name: row >> n & 1 for n, name in enumerate("ABCD")}) << row for row in range(16)
        )
        assert truth(function, tuple("ABCD")) == expected, function


def test_broken_files(tmp_path: Path) -> None:
    whole = library.text()
    for name, content, words in (
        ("none.lib", b"module x; endmodule", "not a Liberty file"),
        ("cut.lib", whole[: len(whole) // 2].encode(), "cut off"),
        ("damaged.lib.gz", gzip.compress(whole.encode())[:200], "fetch the library again"),
        ("binary.lib", b"\xff\xfe\x00library", "fetch the library again"),
        ("numbers.lib", whole.replace('values ("2.0")', 'values ("two")').encode(), "not numbers"),
        ("empty.lib", b"", "not a Liberty file"),
        ("unit.lib", whole.replace('"1ns"', '"fortnight"').encode(), "a unit that is not understood"),
        ("flops.lib", library.text(without=("DFF",)).encode(), "no rising-edge flip-flop"),
        ("gates.lib", library.text(without=("NAND2",)).encode(), "no two-input NAND"),
        ("buffers.lib", library.text(without=("BUF", "BUF2")).encode(), "no buffer"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LibertyError, match=words):
            pdk.load([tmp_path / name], tmp_path)
    (tmp_path / "good.lib.gz").write_bytes(gzip.compress(whole.encode()))
    assert pdk.load([tmp_path / "good.lib.gz"], tmp_path).library.name == "small"


def test_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pdk.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PDK_ROOT", str(tmp_path / "pdks"))
    monkeypatch.setattr(pdk, "_ROOTS", ("~/.ciel",))
    assert pdk.find(None) == []
    there = tmp_path / ".ciel" / pdk._TYPICAL[0]
    there.parent.mkdir(parents=True)
    there.write_text(library.text())
    assert pdk.find(None) == [there]
    assert pdk.find(["none"]) == []
    mine = tmp_path / "mine.lib"
    mine.write_text(library.text())
    monkeypatch.setenv(pdk.VARIABLE, str(mine))
    assert pdk.find(None) == [mine]
    with pytest.raises(LibertyError, match=r"there is no Liberty file .*--liberty none"):
        pdk.find([str(tmp_path / "other.lib")])
