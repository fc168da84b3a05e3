"""Equivalence of a mutant of hdl: units that use the file, with and without it, proved equal by Yosys.

    python -m tests.mutation.equivalence FOLDER UNIT...   # writes UNIT.PRESET.il; plants WARPBANK_MUTANT
    python -m tests.mutation.equivalence --reached FILE UNIT...   # prints the lines of FILE that each runs

A proof holds for the units and machines that it names: the smallest that run the changed statement when they
are made. It begins in any state that both circuits share, and their registers' values after reset are
compared before.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.mutation import plugin, swap  # plants the mutant before anything of ours is imported
from tests.mutation.mapping import ROOT, module_of
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.synth import netlist, units, yosys
from warpbank.synth.errors import YosysError
from warpbank.synth.units import UNITS

#: Machines on which units are compared: every unit can be made on the first.
PRESETS = ("tiny", "turing")
#: Units that are compared at most, smallest first.
MOST = 3
#: Units of the whole machine: too large, and everything is inside them.
_WHOLE = ("sm", "sub_core", "registers")
#: Lines of RTLIL beyond which no proof is tried.
LONGEST = 60_000
#: Seconds that a proof may take.
PATIENCE = 300

_INIT = re.compile(r"^\s*(?:attribute \\init|wire .*init).*$", re.MULTILINE)
_PROOF = """
read_rtlil {one}.il
hierarchy -top {unit}
proc
flatten
memory_map
opt_clean
rename {unit} gold
design -stash gold
read_rtlil {other}.il
hierarchy -top {unit}
proc
flatten
memory_map
opt_clean
rename {unit} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
equiv_make gold gate equal
hierarchy -top equal
opt -purge
equiv_struct
equiv_simple -seq 2
equiv_induct -seq 4
equiv_status -assert
"""


def closure(module: str) -> set[str]:
    """Modules of hdl that a module imports, directly or not, itself among them."""
    found, todo = set(), [module]
    while todo:
        name = todo.pop()
        spec = find_spec(name) if name not in found else None
        if spec is None or spec.origin is None:
            continue
        found.add(name)
        for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("warpbank.hdl"):
                todo.append(str(node.module))
    return found


def units_with(path: Path) -> list[str]:
    """Exported units that a file is part of: its own, then others that import it, the smallest first."""
    module = module_of(path)
    own = [name for name, unit in UNITS.items() if unit.source == str(path.resolve().relative_to(ROOT))]
    using = {}
    for name, unit in UNITS.items():
        if name not in _WHOLE:
            modules = closure(unit.component.__module__)
            if module in modules:
                using[name] = len(modules)
    others = sorted(using, key=lambda name: (using[name], name))
    return list(dict.fromkeys([*(name for name in own if name not in _WHOLE), *others]))


def reached(path: Path, names: Sequence[str]) -> dict[str, set[int]]:
    """Statements of a file, by line, that each unit runs when it is made on the first machine."""
    command = [sys.executable, "-m", "tests.mutation.equivalence", "--reached", str(path.resolve()), *names]
    environment = {name: value for name, value in os.environ.items() if name != plugin.VARIABLE}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return {name: set(lines) for name, lines in json.loads(done.stdout).items()}


def reach(path: Path, names: Sequence[str]) -> dict[str, list[int]]:
    """Statements of a file, by line, that each unit runs. The functions of this process note them from then
    on."""
    lines: set[int] = set()
    swap.instrument(path.read_text(), str(path), swap.functions_of([path])[str(path)], lines.add)
    found = {}
    for name in names:
        lines.clear()
        netlist.to_rtlil(units.make(name, preset(PRESETS[0]), parse_scheme("baseline")), name)
        found[name] = sorted(lines)
    return found


def write(folder: Path, names: Sequence[str]) -> None:
    """Write the RTLIL of units on all machines, as this process imports them."""
    for name in names:
        for machine in PRESETS:
            try:
                made = units.make(name, preset(machine), parse_scheme("baseline"))
                text = netlist.to_rtlil(made, name)
            except Exception as error:  # a mutant may raise whatever it likes: then it is not equal
                text = f"# {type(error).__name__}: {error}\n"
            (folder / f"{name}.{machine}.il").write_text(text)


def written(folder: Path, names: Sequence[str], mutant: Path | None = None) -> None:
    """Write the RTLIL of units in a process of its own, with a mutant (`plugin`) or without."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != plugin.VARIABLE}
    if mutant is not None:
        environment[plugin.VARIABLE] = str(mutant)
    command = [sys.executable, "-m", "tests.mutation.equivalence", str(folder), *names]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=PATIENCE)


def equal(one: Path, other: Path, unit: str) -> bool:
    """Whether the RTLIL of a unit in two files is proved to be of one behaviour."""
    texts = [path.read_text() for path in (one, other)]
    if texts[0] == texts[1]:
        return not texts[0].startswith("# ")
    if any(text.startswith("# ") or text.count("\n") > LONGEST for text in texts):
        return False
    if sorted(_INIT.findall(texts[0])) != sorted(_INIT.findall(texts[1])):
        return False
    script = _PROOF.format(
        one=one.with_suffix("").resolve(), other=other.with_suffix("").resolve(), unit=unit
    )
    try:
        yosys.run(script.strip().splitlines(), one.parent)
    except YosysError:
        return False
    return True


def proof(before: Path, after: Path, names: Sequence[str]) -> str:
    """Sentence on the units and machines for which two folders of `written` are equal; "" if one is not."""
    for name in names:
        for machine in PRESETS:
            file = f"{name}.{machine}.il"
            if not equal(before / file, after / file, name):
                return ""
    return f"equal RTL of {', '.join(names)} on {', '.join(PRESETS)}" if names else ""


if __name__ == "__main__":
    if sys.argv[1] == "--reached":
        json.dump(reach(Path(sys.argv[2]), sys.argv[3:]), sys.stdout)
    else:
        write(Path(sys.argv[1]), sys.argv[2:])
