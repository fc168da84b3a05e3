"""The one place that knows how Verilog is built for cocotb and how a bench is run on it.

The simulator is Verilator, or Icarus where $WARPBANK_SIMULATOR says `icarus`
(`warpbank verify --simulator icarus`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import cocotb_tools.runner

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.sim.engines import toolchain
from warpbank.synth.export import exported

ROOT = Path(__file__).parent.parent.parent
#: Builds, by what they were made of. An ignored folder; it may be deleted at any time.
CACHE = ROOT / "build" / "cocotb"
#: Builds kept.
KEPT = 60
#: Icarus has four values: what is unknown at a port is drawn at random there, as Verilator draws don't-cares.
_ICARUS = {"COCOTB_RESOLVE_X": "random"}
#: A register that the Verilog gives no initial value.
_BARE = re.compile(r"^(  reg (?:\[[^\]]*\] )?\S+ ?);$", re.MULTILINE)
#: The run-time library's objects, which no design changes.
_RUNTIME = ("verilated.o", "verilated_dpi.o", "verilated_vpi.o", "verilated_threads.o")
#: Don't-cares are drawn at random; what has no initial value begins as in Amaranth's simulator, at 0.
_OPTIONS = ["--x-assign", "unique", "--x-initial", "0", "-Wno-fatal", "-Wno-lint", "--output-split", "20000"]
#: A run's speed is the bench's, so the code is compiled for a fast build.
_MAKE = "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include"


def simulator() -> str:
    """The simulator that benches run in."""
    return os.environ.get("WARPBANK_SIMULATOR", "verilator")


def build(
    unit: str, config: SmConfig, mutate: Callable[[str], str] | None = None, text: str | None = None
) -> Path:
    """The folder of the simulator of `unit`'s exported Verilog, with its event ports, or of `text`. Built
    once per text.

    `mutate` changes the Verilog first; it must change something.
    """
    if text is None:
        text = exported(unit, config, parse_scheme("baseline"), kind=".v", probe=True)
    if mutate is not None:
        changed = mutate(text)
        assert changed != text, "the mutation finds nothing to change"
        text = changed
    icarus = simulator() == "icarus"
    if icarus:
        text = _BARE.sub(r"\1 = 0;", text)  # as with Verilator's `--x-initial 0`
    body = text.partition("\nmodule ")[2]
    parts = [body, version("cocotb"), sys.version]
    if icarus:
        parts.append(subprocess.run(["iverilog", "-V"], capture_output=True, text=True, check=True).stdout)
    else:
        parts += [toolchain.verilator().version, *_OPTIONS, _MAKE, toolchain.compiler().version]
    folder = CACHE / f"{unit}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # one build at a time: they are memory-bound, and share objects
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "done").exists():
            os.utime(folder)
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        source = folder / f"{unit}.v"
        source.write_text(text)
        if icarus:
            cocotb_tools.runner.get_runner("icarus").build(
                sources=[source],
                hdl_toplevel=unit,
                build_dir=folder,
                build_args=["-g2005-sv"],
                always=True,
                log_file=folder / "build.log",
            )
        else:
            _build(unit, source, folder, toolchain.verilator())
        (folder / "done").touch()
        _trim()
    return folder


def _build(unit: str, source: Path, folder: Path, tool: toolchain.Verilator) -> None:
    key = hashlib.sha256(f"{tool.version}{_MAKE}{toolchain.compiler().version}".encode()).hexdigest()[:8]
    shared = CACHE / f"runtime-{key}"
    for name in _RUNTIME:
        if (shared / name).exists():
            shutil.copy(shared / name, folder / name)
    environment = {
        "PATH": f"{tool.binary.parent}{os.pathsep}{os.environ['PATH']}",
        "VERILATOR_ROOT": str(tool.root),
        "MAKEFLAGS": " ".join(f"'{word}'" if " " in word else word for word in _MAKE.split()),
    }
    with mock.patch.dict(os.environ, environment):
        runner = cocotb_tools.runner.get_runner("verilator")
        runner.build(
            sources=[source],
            hdl_toplevel=unit,
            build_dir=folder,
            build_args=_OPTIONS,
            always=True,
            log_file=folder / "build.log",
        )
    shared.mkdir(exist_ok=True)
    for name in _RUNTIME:
        if (folder / name).exists():
            shutil.copy(folder / name, shared / name)


def _trim() -> None:
    builds = sorted(
        (path for path in CACHE.iterdir() if (path / "done").exists()), key=lambda path: path.stat().st_mtime
    )
    for old in builds[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def run(
    unit: str,
    config: SmConfig,
    bench: str,
    arguments: dict[str, object],
    work: Path,
    *,
    mutate: Callable[[str], str] | None = None,
    text: str | None = None,
) -> str:
    """Run a bench of tests/cocotb/benches.py. Returns the first difference from golden, "" if there is none.

    `arguments`: what the bench is called with, the seed among them; they are printed. `text`: Verilog to run
    in the place of the exported one.
    """
    folder = build(unit, config, mutate, text)
    runner = cocotb_tools.runner.get_runner(simulator())
    runner.build_dir = folder
    order = {"bench": bench, "arguments": arguments}
    sys.stdout.write(f"cocotb: {unit}: {json.dumps(order)}\n")
    results = work / "results.xml"
    # The runner ends the process where a test fails; what failed is in the results.
    environment = {"WARPBANK_BENCH": json.dumps(order), **(_ICARUS if simulator() == "icarus" else {})}
    with mock.patch.dict(os.environ, environment), contextlib.suppress(SystemExit):
        runner.test(
            hdl_toplevel=unit,
            hdl_toplevel_lang="verilog",
            test_module="tests.cocotb.benches",
            build_dir=folder,
            test_dir=work,
            results_xml=str(results),
            log_file=work / "run.log",
            plusargs=[] if simulator() == "icarus" else ["+verilator+rand+reset+2", "+verilator+seed+7"],
        )
    assert results.exists(), (work / "run.log").read_text()[-3000:]
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    assert cases, (work / "run.log").read_text()[-3000:]
    failures = [item for case in cases for item in (*case.iter("failure"), *case.iter("error"))]
    return "\n".join(
        " ".join(
            [*(item.get(name, "") for name in ("error_type", "error_msg", "message")), item.text or ""]
        ).strip()
        for item in failures
    )
