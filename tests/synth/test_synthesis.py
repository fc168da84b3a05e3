"""`warpbank synth`: areas and paths that can be checked by hand, the same every time, and errors that say
what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.cli.command import warpbank
from tests.hdl.bench import MACHINES
from tests.synth import library
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.synth import flow, mapped, memories, netlist, pdk, search, timing, yosys
from warpbank.synth.errors import YosysError
from warpbank.synth.mapped import NetlistError
from warpbank.synth.search import EFFORTS
from warpbank.synth.synthesis import synthesize
from warpbank.synth.units import make

TINY = preset("tiny")
BASELINE = parse_scheme("baseline")


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "small.lib"
    path.write_text(library.text())
    return path


class Chain(wiring.Component):
    """A register, `length` inverters that may not be joined, a register."""

    def __init__(self, length: int) -> None:
        self._length = length
        super().__init__({"a": In(length), "q": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, value = Signal(), None
        m.d.sync += first.eq(self.a[0])
        value = first
        for bit in range(1, self._length):
            value = ~(value & self.a[bit])
        m.d.sync += self.q.eq(value)
        return m


class Latch(wiring.Component):
    """What an HDL without latches cannot say: it is put in as an instance."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        super().__init__({"d": In(1), "en": In(1), "q": Out(1)})

    def elaborate(self, platform: object) -> Module:
        from amaranth.hdl import Instance

        m = Module()
        m.submodules.cell = Instance(self._kind, i_D=self.d, i_E=self.en, o_Q=self.q)
        return m


def _built(component: object, name: str, cells: Path, folder: Path) -> tuple[flow.Tools, mapped.Netlist]:
    tools = pdk.load([cells], folder)
    flow.coarse(netlist.to_rtlil(component, name), name, folder)
    flow.mapped(tools, name, folder, picoseconds=500, boxes={})
    return tools, mapped.read(folder / "mapped.json", name)


def test_a_path_by_hand(cells: Path, tmp_path: Path) -> None:
    """Every number of a small path, from the tables of tests/synth/library.py."""
    tools, net = _built(Chain(2), "chain", cells, tmp_path)
    path = timing.Timer(net, tools.library, {}, tools.load).path()
    counts = net.count()
    assert counts["DFF"] == 2
    assert path.steps[0].cell == "DFF"
    time, slew = 0.0, 0.0
    loads = timing.loads(net, tools.library, {}, tools.load, 1.0)
    names = {net.name(bit): bit for bit in loads}
    for step in path.steps:
        pin = tools.library[step.cell].outputs[0]
        load = loads[names[step.net]]
        time += pin.arcs[0].tables["cell_rise"].at(slew, load)
        slew = pin.arcs[0].tables["rise_transition"].at(slew, load)
        assert step.arrival == pytest.approx(time)
    setup = tools.library.flop.pins["D"].arcs[0].tables["rise_constraint"].at(0.0, slew)
    assert path.delay == pytest.approx(time + setup, rel=1e-3)
    assert path.depth == len(path.steps) - 1


def test_a_longer_chain_is_slower(cells: Path, tmp_path: Path) -> None:
    delays = []
    for length in (3, 9):
        tools, net = _built(Chain(length), "chain", cells, tmp_path)
        delays.append(timing.Timer(net, tools.library, {}, tools.load).path().delay)
        guarded = timing.Timer(net, tools.library, {}, tools.load, timing.GUARD).path().delay
        assert guarded > delays[-1]
    assert delays[1] > delays[0]


def test_nets_that_the_mapper_leaves_without_buffers_are_buffered(
    cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where wires weigh more than the mapper's buffers may drive, it says so and leaves nets as they were. It
    is asked again, with buffers that may drive more."""
    scripts: list[str] = []
    run = yosys.run

    def failing(passes: list[str], folder: Path) -> str:
        said = run(passes, folder)
        if passes[-1].startswith("write_verilog"):
            scripts.append((folder / "speed.abc").read_text())
            if len(scripts) <= 2:
                return (
                    said + "ABC: Buffering could not be completed because the gain value (300) is too low.\n"
                )
        return said

    monkeypatch.setattr(yosys, "run", failing)
    _, net = _built(Chain(3), "chain", cells, tmp_path)
    commands = [line for script in scripts for line in script.splitlines() if line.startswith("buffer")]
    assert commands == ["buffer -c -p", "buffer -c -p -G 1200", "buffer -c -p -G 4800"]
    assert net.count()["DFF"] == 2


@pytest.mark.parametrize(("kind", "words"), [("$_DLATCH_P_", "latches"), ("mystery", "no counterpart")])
def test_what_cannot_be_mapped_is_an_error(kind: str, words: str, cells: Path, tmp_path: Path) -> None:
    tools, net = _built(Chain(3), "chain", cells, tmp_path)
    mapped.check_mapped(net, tools.library)
    net.cells[0].type = kind
    with pytest.raises(NetlistError, match=words):
        mapped.check_mapped(net, tools.library)


def test_loops_are_an_error(cells: Path, tmp_path: Path) -> None:
    tools, net = _built(Chain(4), "chain", cells, tmp_path)
    gate = next(cell for cell in net.cells if cell.type == "NAND2")
    gate.pins["A"] = gate.pins["Y"]
    with pytest.raises(NetlistError, match="combinational loop"):
        timing.Timer(net, tools.library, {}, tools.load)


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_same_every_time(effort: str, cells: Path) -> None:
    one, other = (synthesize("gto", TINY, BASELINE, [cells], effort=effort) for _ in range(2))
    assert one.verilog == other.verilog
    assert one.to_dict() == other.to_dict()
    assert one.area_um2


def test_little_effort_maps_once(cells: Path) -> None:
    """A clock that is missed makes the full effort try again."""
    said: dict[str, list[str]] = {effort: [] for effort in EFFORTS}
    for effort, steps in said.items():
        synthesize("gto", TINY, BASELINE, [cells], clock=0.3, effort=effort, on_step=steps.append)
    again = {effort: sum("again" in step for step in steps) for effort, steps in said.items()}
    assert again["full"] > again["quick"] == 0


@pytest.mark.parametrize("effort", EFFORTS)
def test_only_what_the_mapper_refuses_is_tried_another_way(
    effort: str, cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ABC's older mapper does not take this library; an error before it is none of that."""
    assert synthesize("gto", TINY, BASELINE, [cells], clock=0.3, effort=effort).area_um2
    monkeypatch.setattr(flow, "_seen", lambda flop: "no module")
    with pytest.raises(YosysError, match="syntax error"):
        synthesize("gto", TINY, BASELINE, [cells], clock=0.3, effort=effort)


def test_cells_in_another_order_are_the_circuit(tmp_path: Path) -> None:
    """Each cell stands there once, in another order that the seed alone gives, and a solver finds the two
    circuits equal."""
    source = netlist.to_rtlil(make("gto", TINY, BASELINE), "gto")
    other = netlist.shuffled(source, 1)
    assert other != source
    assert sorted(other.splitlines()) == sorted(source.splitlines())
    assert netlist.shuffled(source, 1) == other != netlist.shuffled(source, 2)
    (tmp_path / "gold.il").write_text(source.replace("\\gto", "\\gold"))
    (tmp_path / "gate.il").write_text(other.replace("\\gto", "\\gate"))
    reads = ["read_rtlil gold.il", "read_rtlil gate.il", "proc", "flatten gold gate", "opt_clean"]
    proof = ["equiv_make gold gate both", "prep -flatten -top both", "equiv_simple", "equiv_status -assert"]
    yosys.run([*reads, *proof], tmp_path)


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_a_little_late_is_mapped_in_other_orders(
    effort: str, cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first order that meets the clock ends the search, and the fastest netlist is taken."""

    def delay(clock: float, spread: float) -> tuple[float, int]:
        monkeypatch.setattr(search, "_SPREAD", spread)
        said: list[str] = []
        path = synthesize(
            "gto", TINY, BASELINE, [cells], effort=effort, clock=clock, on_step=said.append
        ).path
        assert path is not None
        return path.delay, said.count("mapping again, cells in another order")

    late, none = delay(0.3, 0)
    assert none == 0
    found, all_orders = delay(0.3, 100)
    assert all_orders == 4
    assert found <= late
    assert delay(late + 0.1, 100)[1] == 0


@pytest.mark.parametrize("effort", EFFORTS)
def test_generic_gates(effort: str) -> None:
    made = synthesize("lrr", TINY, BASELINE, [], effort=effort)
    data = made.to_dict()
    assert data["area_um2"] is None
    assert data["liberty"] is None
    assert data["transistors"] > 24 * data["flops"] > 0
    assert data["logic_depth"] > 1


def test_memories_are_never_silent(cells: Path) -> None:
    """Banks: SRAM, as black boxes; nothing of them is in the area, and every bit of them is listed."""
    made = synthesize("banks", with_overrides(TINY, ["sub_core.rows=64"]), BASELINE, [cells])
    assert {memory["kind"] for memory in made.memories} == {"sram"}
    assert sum(memory["bits"] for memory in made.memories) == TINY.sub_core.banks * 64 * TINY.value_width
    assert made.flops == 0
    macro = memories.macros()[2]
    assert made.memory_um2 == pytest.approx(
        TINY.sub_core.banks * macro.area_um2 * TINY.value_width / macro.width
    )


class Unread(wiring.Component):
    """A memory that is written, and read by nothing inside: what reads a collector's operands is no part of
    the SM's RTL."""

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"write": In(1), "row": In(3), "value": In(width), "written": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slots = memory = Memory(shape=self._width, depth=6, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.row),
            write.data.eq(self.value),
            read.addr.eq(self.row),
        ]
        m.d.sync += self.written.eq(self.write)
        return m


@pytest.mark.parametrize(("width", "kind"), [(8, "registers"), (256, "array")])
def test_what_is_read_from_outside_stays(width: int, kind: str, cells: Path, tmp_path: Path) -> None:
    tools = pdk.load([cells], tmp_path)
    flow.coarse(netlist.to_rtlil(Unread(width), "unread"), "unread", tmp_path)
    (memory,) = memories.found(tmp_path / "coarse.json", "unread")
    assert (memory.kind, memory.bits, memory.unread) == (kind, 6 * width, True)
    boxes = {memory.name: "box"} if kind == "array" else {}
    (tmp_path / "boxes.v").write_text("".join(memories.box(name, memory) for name in boxes.values()))
    counts = []
    for unread in ([], [memory.name]):
        flow.mapped(tools, "unread", tmp_path, picoseconds=900, boxes=boxes, unread=unread)
        counts.append(mapped.read(tmp_path / "mapped.json", "unread", set(boxes.values())).count())
    assert [count["box"] for count in counts] == [len(boxes)] * 2
    assert [count["DFF"] for count in counts] == [1, 1 if boxes else 1 + memory.bits]


@pytest.mark.long
def test_what_opt_share_joins_is_mapped(cells: Path, tmp_path: Path) -> None:
    """It makes multiplexers of words of gates (Yosys 0.70)."""
    from warpbank.hdl.mapping.table import RenamingTable

    tools, net = _built(RenamingTable(MACHINES["odd"], 3, 16), "table", cells, tmp_path)
    mapped.check_mapped(net, tools.library)


@pytest.mark.parametrize(
    ("rows", "width", "reads", "kind"),
    [
        (2048, 4, (None, None), "array"),
        (128, 32, (None,), "registers"),
        (64, 512, (None,), "array"),
        (64, 128, (None,), "registers"),
        (4096, 4, (None, 3), "registers"),
    ],
)
def test_kinds(rows: int, width: int, reads: tuple[int | None, ...], kind: str) -> None:
    assert memories.Memory("", rows, width, width, reads, (False,) * len(reads), False, 1, 12).kind == kind


def test_command(cells: Path, tmp_path: Path) -> None:
    done = warpbank(
        "synth", "lrr", "--preset", "tiny", "--liberty", str(cells), "--json", "-o", str(tmp_path / "lrr.v")
    )
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert {
        "unit",
        "config_hash",
        "liberty",
        "area_um2",
        "nand2_equivalents",
        "flops",
        "delay_ns",
        "critical_path",
        "power_mw",
        "method",
        "tools",
    } <= set(data)
    assert data["liberty"] == "small"
    assert data["effort"] == "full"
    assert data["critical_path"]["start"]
    assert "NAND2" in (tmp_path / "lrr.v").read_text()
    assert str(tmp_path) not in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--clock", "0"], "greater than or equal to 0.01"),
        (["--clock", "nan"], "less than or equal to 1000"),
        (["--clock", "inf"], "less than or equal to 1000"),
        (["--clock", "0.01"], "a clock of 0.01 ns is impossible"),
        (["--liberty", "no.lib"], "there is no Liberty file"),
        (["--liberty", "odd.lib"], "odd.lib: cell DFF: its ff group has no next_state"),
        (["--scheme", "bowl"], "bow"),
        (["--effort", "much"], "full"),
        (["--effort", "quick", "--check"], "leave out machine, --kernel, --clock, --effort"),
    ],
)
def test_mistakes(arguments: list[str], words: str, cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cells.parent / "odd.lib").write_text(library.text().replace('next_state : "D";', ""))
    monkeypatch.chdir(cells.parent)
    rest = arguments if "--liberty" in arguments else [*arguments, "--liberty", str(cells)]
    done = warpbank("synth", "lrr", "--preset", "tiny", *rest)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.skipif(not (shutil.which("sta") or shutil.which("opensta")), reason="OpenSTA is not installed")
def test_our_timing_is_that_of_opensta(cells: Path, tmp_path: Path) -> None:
    from warpbank.synth import opensta

    tools, net = _built(Chain(6), "chain", cells, tmp_path)
    ours = timing.Timer(net, tools.library, {}, tools.load).path()
    theirs = opensta.path("chain", tmp_path, tools, 1.0, ours)
    assert theirs.delay == pytest.approx(ours.delay, rel=0.02)


def test_nets_assigned_together_are_assigned_one_by_one() -> None:
    from warpbank.synth import opensta

    head = "module a(x, y);\n  output [4:0] x;\n  input [1:0] y;\n"
    apart = ("x[4] = \\p[1] ", "x[3] = y[1]", "x[1] = y[0]", "x[0] = 1'h1")
    assert opensta.one_by_one(
        head + "  assign { x[4:3], x[1:0] } = { \\p[1] , y, 1'h1 };\n  assign x[2] = y[0];\n"
    ) == (head + "".join(f"  assign {one};\n" for one in (*apart, "x[2] = y[0]")))
