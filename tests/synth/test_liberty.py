"""Liberty files: what is read out of them, and what is said of broken ones."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from tests.synth import library
from warpbank.synth import pdk, power, timing
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
        (
            "inverters.lib",
            library.text(without=("INV",)).encode(),
            r"inverters\.lib\) has no inverter; give all",
        ),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LibertyError, match=words):
            pdk.load([tmp_path / name], tmp_path)
    (tmp_path / "good.lib.gz").write_bytes(gzip.compress(whole.encode()))
    assert pdk.load([tmp_path / "good.lib.gz"], tmp_path).library.name == "small"


#: What is replaced in the library, by what, and the sentence without the file's name.
ODD = {
    "no_next": (
        'next_state : "D";',
        "",
        "cell DFF: its ff group has no next_state; it has to be one of C, D",
    ),
    "next_unknown": (
        '"D"; }',
        '"X"; }',
        "cell DFF: its ff group has next_state : 'X', which is no input pin",
    ),
    "next_logic": ('"D"; }', '"(D * C)"; }', r"cell DFF: .* '\(D \* C\)', which is no input pin"),
    "no_clock": (
        'clocked_on : "C";',
        "",
        "cell DFF: its ff group has no clocked_on; it has to be one of C, D",
    ),
    "clock_unknown": ('clocked_on : "C";', 'clocked_on : "CK";', "cell DFF: .* clocked_on : 'CK'"),
    "no_state": ('ff ("IQ", "IQN")', "ff ()", r"cell DFF: its ff group names no state; .* ff \(IQ, IQN\)"),
    "no_launch": ("timing_type : rising_edge", "timing_type : other", "cell DFF: pin Q .* type rising_edge"),
    "no_setup": ("timing_type : setup_rising", "timing_type : other", "cell DFF: pin D .* type setup_rising"),
    "no_slew": (
        "rise_transition",
        "other",
        "cell INV: pin Y: the timing group of related pin A has delays, but no rise_transition",
    ),
    "half": ("cell_fall", "other", "cell INV: pin Y: .* related pin A has delays, but no cell_fall"),
    "load": ("(1,ff)", "(x,ff)", "capacitive_load_unit is 'x, ff', a unit that is not understood"),
    "no_load": ("(1,ff)", "()", "capacitive_load_unit is ''"),
    "load_alone": ("(1,ff)", "(1)", "capacitive_load_unit is '1'"),
    "time": ('"1ns"', '"1..2ns"', "time_unit is '1..2ns', a unit .*; give a number and a unit, as 1ns"),
    "no_time": ('"1ns"', '"0ns"', "time_unit is '0ns'"),
    "fanout": ("(1, 1.0)", "(a, 1.0)", r"wire_load \(short\): a value of fanout_length is 'a'"),
    "one_fanout": ("(1, 1.0)", "(1)", r"wire_load \(short\): fanout_length \(1\) has to be a fan-out and"),
    "no_cell": ("cell (INV)", "cell ()", r"a cell has no name; it has to be cell \(NAME\)"),
    "area": ("area : 4.0", "area : nan", r"cell DFF: area of cell \(DFF\) is 'nan', .* a number"),
    "voltage": ("nom_voltage : 1.0", "nom_voltage : V", r"nom_voltage of library \(small\) is 'V'"),
    "infinite": ('"2.0"', '"inf"', "cell DFF: pin C: a table holds 'inf', not numbers"),
    "index": ('index_2 ("1, 50")', 'index_2 ("1, 1")', "cell INV: pin Y: an index of cell_rise .* not rise"),
    "function": ('"!(A & B)"', '"!(A & "', "cell NAND2: the function .* names '', which is not among A, B"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files(name: str, tmp_path: Path) -> None:
    """One sentence, which names the file and the place."""
    old, new, words = ODD[name]
    text = library.text()
    assert old in text
    (tmp_path / "odd.lib").write_text(text.replace(old, new))
    with pytest.raises(LibertyError, match=rf"^odd\.lib: {words}"):
        pdk.load([tmp_path / "odd.lib"], tmp_path)


def test_a_wire_load_is_a_line_between_the_fanouts_that_it_lists() -> None:
    """Below the first its length, beyond the last its slope."""
    text = library.text().replace("(1, 1.0); fanout_length (2, 2.5)", "(2, 1.0); fanout_length (6, 3.0)")
    small = Library([parse(text, "small.lib")])
    lengths = [small.wire(fanout) / 0.2 for fanout in (1, 2, 3, 4, 6, 7)]
    assert lengths == pytest.approx([1.0, 1.0, 1.5, 2.0, 3.0, 5.0])


def test_what_some_libraries_write() -> None:
    """A wire load's lengths with what else is known of them, parentheses around the clock, a flop that
    inverts its data, one launch without tables."""
    text = library.text(inverted=True).replace("(2, 2.5)", "(2, 2.5, 0.1, 0.1, 7)")
    text = text.replace('"C"; next_state : "D"', '"(C)"; next_state : "(D)\'"')
    text = text.replace(
        "  pin (Q)", 'pin (R) { direction : output; timing () { related_pin : "C"; %s } }\n  pin (Q)'
    )
    small = Library([parse(text % "timing_type : rising_edge;", "small.lib")])
    assert small.wire(4) == pytest.approx(1.3)
    assert (small.flop.clocked, small.flop.data, small.flop.inverts) == ("C", "D", True)
    assert timing.launch(small, 1.0) == pytest.approx(0.08, rel=0.02)
    assert not Library([parse(library.text(), "small.lib")]).flop.inverts


_LEAKS = "leakage_power () { value : %s; %s }"


@pytest.mark.parametrize(
    ("groups", "nanowatts"),
    [
        ([], 0),
        ([(3, ""), (5, "")], 4),
        ([(3, 'when : "A";'), (5, 'when : "!A";')], 4),
        ([(3, 'when : "A";'), (5, 'when : "!A";'), (7, "")], 7),
        ([(3, "related_pg_pin : VDD;"), (0.5, "related_pg_pin : VSS;")], 3.5),
        (
            [
                (value, f'when : "{a}"; related_pg_pin : {pin};')
                for a in "AB"
                for pin, value in (("P", 3), ("G", 1))
            ],
            4,
        ),
    ],
)
def test_leakage(groups: list[tuple[float, str]], nanowatts: float) -> None:
    """The mean over conditions of the sum over supplies; what holds under no condition goes before."""
    stated = "".join(_LEAKS % group for group in groups)
    text = library.text().replace("cell_leakage_power : 5.0;", stated)
    assert Library([parse(text, "small.lib")])["INV"].leakage == pytest.approx(nanowatts)


def test_energies_of_supplies_add_up(small: Library) -> None:
    """Two supplies of a gate, with tables of different points, give what one gives that has both."""
    pin = small["NAND2"].pins["Y"]
    whole = 'rise_power (scalar) { values ("0.5"); } fall_power (scalar) { values ("0.3"); }'
    parts = (
        'related_pg_pin : VDD; rise_power (delay) { values ("0.4, 4.4", "0.4, 4.4"); }'
        ' fall_power (scalar) { values ("0.3"); }',
        'related_pg_pin : VSS; power (scalar) { values ("0.1"); }',
    )
    before = 'internal_power () { related_pin : "%s"; ' + whole + " }"
    text = library.text()
    for related in "AB":
        assert before % related in text
        split = "".join(f'internal_power () {{ related_pin : "{related}"; {part} }}' for part in parts)
        text = text.replace(before % related, split)
    split_pin = Library([parse(text, "small.lib")])["NAND2"].pins["Y"]
    assert len(split_pin.energies) == len(pin.energies) == 2
    assert power._energy(pin, 1.0) == pytest.approx(0.4)
    assert power._energy(split_pin, 1.0) == pytest.approx((0.5 + 0.4) / 2)
    assert power._energy(split_pin, 50.0) == pytest.approx((4.5 + 0.4) / 2)


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
