"""Shared library of the SM, in four steps: RTL, Verilog, C++, machine code. Built once per configuration and
kept in the model cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.sim import extensions
from warpbank.sim.engines import model_cache, toolchain
from warpbank.sim.engines.base import OnBuild
from warpbank.sim.engines.design import Design, design
from warpbank.sim.engines.device import header
from warpbank.sim.engines.tuning import PUBLIC, operands, tuned
from warpbank.synth import netlist, yosys

TOP = "sm"
_HARNESS = Path(__file__).parent / "harness"
_ROOT = Path(__file__).parent.parent.parent
#: Files and folders that make the RTL and the harness.
_SOURCES = (
    "arch",
    "hdl",
    "sim/engines/harness",
    "sim/engines/design.py",
    "sim/engines/device.py",
    "sim/engines/model.py",
    "sim/engines/tuning.py",
    "sim/events.py",
    "synth/netlist.py",
    "synth/yosys.py",
)
_VERILATOR = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style"]


@dataclass(frozen=True)
class Build:
    """Build options of a model.

    Parameters
    ----------
    fast : for long runs: -O3 for this processor. Otherwise -O1, which is built in half the time.
    waves : can write VCD; slower.
    variant : another RTL than that of the sources, for tests with broken units.
    """

    fast: bool = False
    waves: bool = False
    variant: str = ""

    @property
    def flags(self) -> list[str]:
        """Options of the C++ compiler."""
        return ["-O3", "-march=native"] if self.fast else ["-O1"]


def library(config: SmConfig, scheme: Scheme, build: Build, *, on_build: OnBuild | None = None) -> Path:
    """Shared library of the SM, from the cache or built now; `on_build` tells how far that is.

    `config` is the machine as the scheme changes it (`Scheme.machine`); engines see to that.

    Raises EngineError for a machine that cannot be built, ToolError for tools that are missing or fail.
    """
    parts = _parts(config, scheme, build)

    def make(folder: Path) -> None:
        if on_build is not None:
            on_build(0, 0)
        _make(config, scheme, build, folder, on_build)

    return model_cache.get(parts, make) / "model.so"


def _parts(config: SmConfig, scheme: Scheme, build: Build) -> dict[str, object]:
    """All that a model depends on."""
    return {
        "config": _machine(config, scheme),
        "rooms": [scheme.collector, scheme.hierarchy, scheme.mapping, scheme.storage],
        "sources": source_digest(),
        "variant": build.variant,
        "waves": build.waves,
        **_tools(build),
        **({"extensions": extensions.digest()} if extensions.digest() else {}),
    }


def _machine(config: SmConfig, scheme: Scheme) -> dict[str, object]:
    """The configuration, without what changes no hardware: its preset's name, and who names the scheduler."""
    content = config.to_dict()
    del content["preset"]
    front_end = content["sub_core"]["front_end"]
    if front_end["scheduler"] == "scheme":
        front_end["scheduler"] = scheme.scheduler
    return content


def _tools(build: Build) -> dict[str, object]:
    compiler = toolchain.compiler(fast=build.fast)
    return {
        "flags": build.flags,
        "processor": _processor() if build.fast else platform.machine(),
        "compiler": [compiler.name, compiler.version],
        "verilator": toolchain.verilator().version,
        "yosys": yosys.version(),
        "amaranth": version("amaranth"),
    }


@lru_cache(maxsize=1)
def _processor() -> str:
    """What -march=native means here."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return hashlib.sha256("\n".join(sorted(wanted)).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Digest of all sources of ours that a model is made of."""
    digest = hashlib.sha256()
    for source in _SOURCES:
        at = _ROOT / source
        for path in sorted(at.rglob("*")) if at.is_dir() else [at]:
            if path.suffix in (".py", ".h", ".cpp"):
                digest.update(f"{path.relative_to(_ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:24]


def _make(config: SmConfig, scheme: Scheme, build: Build, folder: Path, on_build: OnBuild | None) -> None:
    """Build the model into `folder`."""
    made = design(config, scheme, apart=True)  # refuses what cannot be built before any tool starts
    work = folder / "work"
    work.mkdir()
    # All sub-cores are one module: it is written once, and Verilator shares what it can.
    source = netlist.to_rtlil(made.component, TOP) + netlist.to_rtlil(made.component.cores[0], "sub_core")
    verilog = work / "sm.v"
    verilog.write_text(tuned(netlist.to_verilog(source, netlist.SIMULATION)))
    _translate(made, config, build, verilog, work, on_build)
    shutil.move(work / "model.so", folder / "model.so")
    shutil.rmtree(work)


def _translate(
    made: Design, config: SmConfig, build: Build, verilog: Path, work: Path, on_build: OnBuild | None
) -> None:
    control = work / "public.vlt"
    control.write_text(PUBLIC)
    # Many small files go well with -O3; for -O1 most of the time would be the headers, once for each.
    split = "15000" if build.fast else "60000"
    options = [*_VERILATOR, "--output-split", split, *(["--trace-vcd"] if build.waves else [])]
    files = toolchain.verilate(verilog, TOP, work / "cpp", options, [control])["sources"]
    slots, places = (operands(work / "cpp", config, kind) for kind in ("slots", "places"))
    (work / "device.h").write_text(header(made, config, TOP, slots, places))
    quick = {Path(path): build.flags for path in files["classes_fast"]}
    slow = {
        Path(path): ["-O0"]
        for kind in ("classes_slow", "support_fast", "support_slow")
        for path in files.get(kind, ())
    }
    compiler = toolchain.compiler(fast=build.fast)
    sources = {**quick, **slow, _HARNESS / "harness.cpp": build.flags}
    flags = [*_common_flags(build), f"-I{work / 'cpp'}", f"-I{work}", f"-I{_HARNESS}"]
    objects = toolchain.compile_objects(compiler, sources, work, flags, jobs(), on_build)
    toolchain.link(
        compiler, [*objects, *_runtime(build, [Path(path) for path in files["global"]])], work / "model.so"
    )


def _common_flags(build: Build) -> list[str]:
    root = toolchain.verilator().root / "include"
    traced = int(build.waves)
    switches = {
        "VERILATOR": 1,
        "VM_COVERAGE": 0,
        "VM_SC": 0,
        "VM_TIMING": 0,
        "VM_TRACE": traced,
        "VM_TRACE_VCD": traced,
        "VM_TRACE_FST": 0,
        "VM_TRACE_SAIF": 0,
    }
    return [
        "-std=gnu++20",
        "-w",
        f"-I{root}",
        f"-I{root / 'vltstd'}",
        *(f"-D{name}={value}" for name, value in switches.items()),
    ]


def _runtime(build: Build, sources: list[Path]) -> list[Path]:
    """Verilator's own run-time library, compiled once per compiler and kind of build."""
    parts = {"runtime": [path.name for path in sources], "waves": build.waves, **_tools(build)}

    def make(folder: Path) -> None:
        compiler = toolchain.compiler(fast=build.fast)
        toolchain.compile_objects(
            compiler, dict.fromkeys(sources, build.flags), folder, _common_flags(build), jobs()
        )

    return sorted(model_cache.get(parts, make).glob("*.o"))


def jobs() -> int:
    """Number of compilers to run at a time."""
    return max(
        1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    )
