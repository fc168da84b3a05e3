"""Mapping flow, the Yosys passes from RTLIL to a mapped netlist."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpbank.synth import memory_paths, netlist, parts, timing, yosys
from warpbank.synth.closure import Changes
from warpbank.synth.liberty import Cell, Library

#: Down to words: registers, arithmetic and memories are still whole. Memories keep their ports as written.
COARSE = (
    "proc",
    "flatten",
    "opt_expr",
    "opt_clean",
    "check -assert",
    "opt -nodffe -nosdff",
    "fsm",
    "opt",
    "wreduce",
    "peepopt",
    "opt_clean",
    "alumacc",
    "share",
    "opt",
    "opt_mem",
    "memory_share -nosat -nowiden",
    "memory_collect",
    "opt_clean",
)
#: Fewest registers behind one enable for which a clock gate is put in.
GATED = 8
#: Ways from logic to cells: restructured for speed in small steps, which takes less area; balanced and mapped
#: by delay, which is faster where many terms are joined; and two that do not search for what is equal, for
#: designs that are too large for these: by the mapper of `FAST`, which does not take every library, and by
#: that of `SMALL`.
SMALL, FAST, QUICK, BARE = "small", "fast", "quick", "bare"
_WAYS = {
    SMALL: ("&get -n", "&st", "&dch", "&nf", *("&st", "&syn2", "&if -g -K 6", "&synch2", "&nf") * 3, "&put"),
    FAST: (
        "strash",
        "ifraig",
        "scorr",
        "dc2",
        "strash",
        "st",
        "dch",
        "if -g -K 6",
        "dch",
        "map -B 0.9",
        "topo",
    ),
    QUICK: ("strash", "dc2", "if -g -K 6", "strash", "map -B 0.9", "topo"),
    BARE: ("&get -n", "&st", "&syn2", "&if -g -K 6", "&nf", "&put"),
}
#: Then buffers, then sizes as small as the time allows.
_SIZED = (
    "buffer -c -p{gain}",
    "topo",
    "upsize -D {picoseconds} -c",
    "dnsize -D {picoseconds} -G {gap} -c",
    "stime -p -c",
)
#: By how many ps the slowest path may become slower while cells are made smaller: the mapper's own choice,
#: and one that takes some 5 % more area and less time.
LOOSE, TIGHT = 1000, 0
#: Loads that buffers may leave a cell, in percent of what its own input is: the mapper's own choice, 300, and
#: larger ones, for designs whose wires alone weigh more.
_GAINS = ("", " -G 1200", " -G 4800", " -G 19200")
#: How the mapper says that it left nets as they were.
_UNBUFFERED = "Buffering could not be completed"
#: How registers are read: at their output, at their inverted one, at whichever a gate wants.
PLAIN, INVERTED, BOTH = "plain", "inverted", "both"
#: Delay in ps, as the mapper prints it.
_DELAY = re.compile(r"Delay *= *([\d.]+)")
#: Share of the time that parts, which are mapped once, leave for what the mapper does not see: what loads the
#: registers.
_UNSEEN = 0.06
#: Inverters in front of a gate as cells of their own, so that one register's become one.
_APART = "".join(
    f"module \\$_{gate}NOT_ (input A, B, output Y);\n  wire other;\n  \\$_NOT_ invert (.A(B), .Y(other));\n"
    f"  \\$_{gate}_ join (.A(A), .B(other), .Y(Y));\nendmodule\n"
    for gate in ("AND", "OR")
)
#: The result as a user reads it.
_VERILOG = "write_verilog -noattr -noexpr -nohex -nodec mapped.v"
#: The result, a wire per net.
_WRITTEN = ("setundef -zero", "splitnets", "opt_clean -purge", "write_json mapped.json", _VERILOG)


@dataclass(frozen=True)
class Tools:
    """Library as a mapping needs it, as files and names.

    Parameters
    ----------
    library : the cells.
    files : the Liberty files, as plain text.
    """

    library: Library
    files: tuple[Path, ...]

    @property
    def driver(self) -> Cell:
        """Driver of an input."""
        return timing.driver(self.library)

    @property
    def load(self) -> float:
        """Load of an output in fF: four registers."""
        flop = self.library.flop
        return 4 * flop.pins[flop.data].capacitance

    @property
    def liberty(self) -> str:
        """Options `-liberty`."""
        return " ".join(f"-liberty {path}" for path in self.files)

    @property
    def barred(self) -> str:
        """Options `-dont_use`."""
        return " ".join(f"-dont_use {name}" for name in self.library.unusable)


def coarse(source: str, top: str, folder: Path) -> None:
    """Coarse synthesis from RTLIL text to words: `coarse.il` and `coarse.json` in `folder`. Raises
    YosysError."""
    (folder / "unit.il").write_text(source)
    yosys.run(
        [
            "read_rtlil unit.il",
            f"hierarchy -check -top {top}",
            "setattr -set keep 1 t:$memrd_v2",
            *COARSE,
            "write_rtlil coarse.il",
            "write_json coarse.json",
        ],
        folder,
    )


def mapped(
    tools: Tools,
    top: str,
    folder: Path,
    *,
    picoseconds: float,
    boxes: dict[str, str],
    read: str = PLAIN,
    unread: Sequence[str] = (),
    way: str = SMALL,
    around: Sequence[str] = (),
    order: int = 0,
    in_parts: bool = False,
    seen: bool = True,
    gap: int = LOOSE,
) -> list[str]:
    """Technology mapping from `coarse.il` to `mapped.json` and `mapped.v` in `folder`; returns the parts that
    were mapped by themselves. Where the mapper leaves nets without buffers it is asked again, with buffers
    that may drive more (`_GAINS`).

    Parameters
    ----------
    picoseconds : for the logic between registers.
    boxes : memories that become black boxes: cell name in `coarse.il` to module name; their modules are in
        `boxes.v`.
    read : how registers are read: `PLAIN`, `INVERTED` at their inverted output, `BOTH` at either.
    unread : memories that stay though nothing of the design reads them.
    way : from logic to cells: `SMALL`, `FAST`, `QUICK` or `BARE`.
    around : modules of `boxes` that are read within a cycle: the logic before their addresses and behind
        their data is mapped by itself, as fast as it can be, since the mapper does not see the time that such
        a memory takes. Not by `SMALL`.
    in_parts : the logic of each sub-unit is mapped by itself, if there are enough, see
        `warpbank.synth.parts`. Not with `around`, and not by `SMALL`.
    seen : the mapper sees how many registers a net drives; each then gets a buffer of its own. Never by
        `SMALL`.
    gap : `LOOSE` or `TIGHT`.
    order : seed of the order in which the mapper meets the cells of `coarse.il`; 0: as they stand there.
    """
    (folder / "load.constr").write_text(f"set_driving_cell {tools.driver.name}\nset_load {tools.load:.4f}\n")
    flop = tools.library.flop
    start = "coarse.il"
    if order:
        start = "ordered.il"
        (folder / start).write_text(netlist.shuffled((folder / "coarse.il").read_text(), order))
    passes = _before(tools, top, start, boxes, unread, quick=way in (QUICK, BARE))
    if read == INVERTED:
        (folder / "inverted.v").write_text(_inverted(flop))
        passes += ["techmap -map inverted.v"]
    passes += [f"dfflibmap {tools.liberty} {tools.barred}", "opt"]
    if read == BOTH:
        (folder / "apart.v").write_text(_APART)
        (folder / "pair.v").write_text(_pair(flop, "left", "  \\$_NOT_ invert (.A(Q), .Y(N));\n"))
        (folder / "both.v").write_text(_pair(flop, "N", ""))
        passes += [
            "techmap -map apart.v",
            "opt_merge",
            "extract -map pair.v",
            "techmap -map both.v",
            "opt_clean",
        ]
    if way != SMALL and seen:
        (folder / "seen.v").write_text(_seen(flop))
        passes += ["techmap -max_iter 1 -map seen.v"]
    abc = f"abc {tools.liberty} {tools.barred} -constr load.constr"
    marks: list[str] = []
    if in_parts:
        yosys.run([*passes, "write_json parts.json"], folder)
        marks = parts.part(folder / "parts.json", top, set(boxes.values()), tools.library)
        if marks:
            passes = ["read_json parts.json"]
            picoseconds *= 1 - _UNSEEN
            passes += [f"{abc} -D {picoseconds:.0f} -script speed.abc a:{mark}" for mark in marks]
    elif around:
        yosys.run([*passes, "write_json parts.json"], folder)
        memory_paths.part(folder / "parts.json", top, set(around))
        passes = ["read_json parts.json"]
        passes += [f"{abc} -D 1 -script most.abc a:{name}" for name in memory_paths.APART]
    for gain in _GAINS:
        for name, target in (("speed", picoseconds), ("most", 1)):
            (folder / f"{name}.abc").write_text(_script(way, target, gap, gain))
        said = yosys.run([*passes, f"{abc} -D {picoseconds:.0f} -script speed.abc", *_WRITTEN], folder)
        if _UNBUFFERED not in said:
            break
    return marks


def changed(folder: Path, top: str, name: str, changes: Changes) -> None:
    """Write `mapped.v` in `folder` of a netlist as `mapped` leaves it in JSON, file `name`, with changes made
    to it."""
    design = json.loads((folder / name).read_text())
    cells = design["modules"][top]["cells"]
    for cell, kind in changes.types.items():
        cells[cell]["type"] = kind
    for one in changes.inserted:
        cells[one.buffer.name] = {
            "type": one.buffer.type,
            "parameters": {},
            "attributes": {},
            "connections": {pin: [bit] for pin, bit in one.buffer.pins.items()},
        }
        for driven, pin in one.pins:
            cells[driven.name]["connections"][pin] = [one.behind]
    (folder / "changed.json").write_text(json.dumps(design))
    yosys.run(["read_json changed.json", _VERILOG], folder)


def gates(tools: Tools, top: str, folder: Path, boxes: dict[str, str], unread: Sequence[str] = ()) -> None:
    """Gates of `coarse.il`, registers and clock gates of the library among them, as `gates.json` in `folder`:
    what the mapper is given. Parameters as of `mapped`."""
    passes = _before(tools, top, "coarse.il", boxes, unread, quick=True)
    yosys.run([*passes, f"dfflibmap {tools.liberty} {tools.barred}", "opt", "write_json gates.json"], folder)


def alone(tools: Tools, folder: Path, picoseconds: float, way: str = QUICK) -> float:
    """Delay in ns of the logic in `alone.json` of `folder`, mapped by itself, as the mapper sees it: without
    what loads its ends. Raises MapperError where the mapper of `way` does not take the library."""
    (folder / "alone.abc").write_text(_script(way, picoseconds))
    (folder / "load.constr").write_text(f"set_driving_cell {tools.driver.name}\nset_load {tools.load:.4f}\n")
    abc = f"abc {tools.liberty} {tools.barred} -constr load.constr -D {picoseconds:.0f} -script alone.abc"
    found = _DELAY.findall(yosys.run(["read_json alone.json", abc], folder))
    return float(found[-1]) / 1000 if found else 0.0


def generic(
    top: str, folder: Path, boxes: dict[str, str], unread: Sequence[str] = (), *, quick: bool = False
) -> None:
    """Generic mapping from `coarse.il` to `mapped.json` in `folder`, in Yosys' own gates: no library is
    needed. `quick`: as in `QUICK`."""
    (folder / "gates.abc").write_text("strash\nbalance\nrewrite\nbalance\nmap\ntopo\n")
    yosys.run(
        [
            "read_rtlil coarse.il",
            *_kept(unread),
            *_boxed(boxes),
            *_fine(top, quick),
            "dfflegalize -cell $_DFF_P_ 01 -cell $_DFFE_PP_ 01",
            "abc -g simple,cmos4,XNOR -script gates.abc",
            *_WRITTEN,
        ],
        folder,
    )


def _before(
    tools: Tools, top: str, start: str, boxes: dict[str, str], unread: Sequence[str], *, quick: bool
) -> list[str]:
    """From words to gates and clock gates, in a design that has the library's cells."""
    passes = [
        f"read_liberty -overwrite -setattr liberty_cell -lib -ignore_miss_func {path}" for path in tools.files
    ]
    passes += [f"read_rtlil {start}", *_kept(unread), *_boxed(boxes), *_fine(top, quick)]
    if any(cell.gate for cell in tools.library):
        passes.append(f"clockgate {tools.liberty} -min_net_size {GATED}")
    return passes


def _script(way: str, picoseconds: float, gap: int = LOOSE, gain: str = "") -> str:
    """Script of the mapper, for a time between registers; `gain` is one of `_GAINS`."""
    commands = "\n".join((*_WAYS[way], *_SIZED))
    return commands.format(picoseconds=f"{picoseconds:.0f}", gap=gap, gain=gain) + "\n"


def _kept(unread: Sequence[str]) -> list[str]:
    """What is read of a memory is kept, and so the memory is."""
    return [f"setattr -set keep 1 c:{name} %co1:+[RD_DATA] c:{name} %d" for name in unread]


def _fine(top: str, quick: bool) -> list[str]:
    """From words to gates. What `opt -full` joins of gates are multiplexers of words again. `quick`: gates
    stay as they are."""
    return [f"synth -flatten{' -noabc' * quick} -top {top} -run fine:check", "opt -full", "simplemap t:$mux"]


def _boxed(boxes: dict[str, str]) -> list[str]:
    passes = ["read_verilog -lib boxes.v"] if boxes else []
    for cell, name in boxes.items():
        passes += [f"chtype -set {name} c:{cell}"]
    return passes


def can_invert(flop: Cell) -> bool:
    """Whether a flop has an inverted output beside the other, and no pin more."""
    if flop.state is None or flop.settable:
        return False
    functions = {pin.function for pin in flop.outputs}
    return all(state and state in functions for state in flop.state)


def _outputs(flop: Cell) -> tuple[str, str]:
    """Pins of what the data were and of their inverse."""
    assert flop.state is not None
    plain, inverse = (
        next(pin.name for pin in flop.outputs if pin.function == state)
        for state in (reversed(flop.state) if flop.inverts else flop.state)
    )
    return plain, inverse


def _inverted(flop: Cell) -> str:
    """A register as a flop that holds the inverse, read at its inverted output."""
    return (
        "module \\$_DFF_P_ (input D, C, output Q);\n  wire other;\n  \\$_NOT_ invert (.A(D), .Y(other));\n"
        f"  {flop.name} _TECHMAP_REPLACE_ (.{flop.data}(other), .{flop.clocked}(C), "
        f".{_outputs(flop)[1]}(Q));\nendmodule\n"
    )


def _seen(flop: Cell) -> str:
    """A flop behind a buffer of no cell: so the mapper sees a net that drives flops only, and how many."""
    pins = [pin.name for pin in flop.outputs]
    ports = "".join(f", .{pin}({pin})" for pin in (flop.clocked, *pins))
    return (
        f"module {flop.name} (input {flop.data}, {flop.clocked}, output {', '.join(pins)});\n  wire seen;\n"
        f"  \\$_BUF_ see (.A({flop.data}), .Y(seen));\n"
        f"  {flop.name} _TECHMAP_REPLACE_ (.{flop.data}(seen){ports});\nendmodule\n"
    )


def _pair(flop: Cell, net: str, more: str) -> str:
    """A flop with both its outputs, as a module: its inverted output drives `net`; `more` cells."""
    plain, inverse = _outputs(flop)
    return (
        "module pair (input D, C, output Q, N);\n  wire left;\n"
        f"  {flop.name} register (.{flop.data}(D), .{flop.clocked}(C), .{plain}(Q), "
        f".{inverse}({net}));\n{more}endmodule\n"
    )
