"""Shared library of the SM, in four steps: RTL, Verilog, C++, machine code. Built once per configuration and
kept in the model cache.

It has two models: one of a sub-core, of which the harness makes as many as there are, and one of the units
that they share.
"""

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
from warpbank.sim.engines.design import Design, parts
from warpbank.sim.engines.device import header
from warpbank.sim.engines.late_clock import LateClock
from warpbank.sim.engines.quiet import with_activity, without_zeros
from warpbank.sim.engines.tuning import PUBLIC, operands, tuned
from warpbank.synth import netlist, yosys

TOP, CORE = "sm", "sub_core"
#: File beside a model with the hash of its circuit.
CIRCUIT = "circuit"
_HARNESS = Path(__file__).parent / "harness"
_ROOT = Path(__file__).parent.parent.parent
#: Files and folders that make the RTL and the harness.
_SOURCES = (
    "arch",
    "hdl",
    "sim/engines/harness",
    "sim/engines/design.py",
    "sim/engines/device.py",
    "sim/engines/late_clock.py",
    "sim/engines/model.py",
    "sim/engines/quiet.py",
    "sim/engines/tuning.py",
    "sim/events.py",
    "synth/netlist.py",
    "synth/yosys.py",
)
_VERILATOR = [
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-assert",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
]
#: Kinds of Verilator's files that run once.
_SLOW = ("classes_slow", "support_fast", "support_slow")


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
    depends = _parts(config, scheme, build)

    def make(folder: Path) -> None:
        if on_build is not None:
            on_build(0, 0)
        _make(config, scheme, build, folder, on_build)

    return model_cache.get(depends, make) / "model.so"


def key(config: SmConfig, scheme: Scheme, build: Build) -> str:
    """Key of a model in the cache, one for all schemes of one circuit. `config` as for `library`."""
    return model_cache.key_of(_parts(config, scheme, build))


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
    compiler = toolchain.compiler()
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


def netlists(shared: Design, core: Design) -> dict[str, str]:
    """RTLIL of the units that the sub-cores share, and of a sub-core."""
    return {
        TOP: netlist.to_rtlil(LateClock(shared.component), TOP),
        CORE: netlist.to_rtlil(core.component, CORE),
    }


def circuit_of(sources: dict[str, str]) -> str:
    """Hash of a circuit, from its `netlists`."""
    return hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:16]


def _make(config: SmConfig, scheme: Scheme, build: Build, folder: Path, on_build: OnBuild | None) -> None:
    """Build the model into `folder`."""
    shared, core = parts(config, scheme)  # refuses what cannot be built before any tool starts
    work = folder / "work"
    work.mkdir()
    sources = netlists(shared, core)
    files = {top: _translate(top, source, build, work) for top, source in sources.items()}
    slots, places = (operands(work / CORE, config, kind) for kind in ("slots", "places"))
    (work / "device.h").write_text(header(shared, core, config, slots, places, gated=not build.waves))
    (folder / CIRCUIT).write_text(circuit_of(sources))
    _compile(files, build, work, on_build)
    shutil.move(work / "model.so", folder / "model.so")
    shutil.rmtree(work)


def _translate(top: str, source: str, build: Build, work: Path) -> dict[str, list[str]]:
    """Translate RTLIL to C++ in `work`/`top`; returns the files by kind, as Verilator does."""
    if build.waves:  # with the hierarchy
        text = netlist.to_verilog(source, netlist.simulation(top, flat=False))
    else:
        flat = netlist.changed(source, netlist.simulation(top, flat=True))
        if top == CORE:
            flat = with_activity(flat)
        text = netlist.to_verilog(without_zeros(flat), ["opt_clean -purge"])
    verilog, control = work / f"{top}.v", work / f"{top}.vlt"
    verilog.write_text(tuned(text))
    control.write_text(PUBLIC if top == CORE else "`verilator_config\n")
    options = [*_VERILATOR, *(["--trace-vcd"] if build.waves else [])]
    found: dict[str, list[str]] = toolchain.verilate(verilog, top, work / top, options, [control])["sources"]
    return found


def _compile(
    files: dict[str, dict[str, list[str]]], build: Build, work: Path, on_build: OnBuild | None
) -> None:
    compiler = toolchain.compiler()
    sources = {_HARNESS / "harness.cpp": build.flags}
    for top, kinds in files.items():
        slow = [path for kind, found in kinds.items() if kind in _SLOW for path in found]
        sources[_joined(work / f"{top}.cpp", kinds["classes_fast"])] = build.flags
        sources[_joined(work / f"{top}_slow.cpp", slow)] = ["-O0"]
    folders = [f"-I{folder}" for folder in (work / TOP, work / CORE, work, _HARNESS)]
    flags = [*_common_flags(build), *folders]
    objects = toolchain.compile_objects(compiler, sources, work, flags, jobs(), on_build)
    runtime = {path: None for found in files.values() for path in found["global"]}
    toolchain.link(
        compiler, [*objects, *_runtime(build, [Path(path) for path in runtime])], work / "model.so"
    )


def _joined(path: Path, sources: list[str]) -> Path:
    """One source of many: a compiler takes longer to start and to read Verilator's headers than for most."""
    path.write_text("".join(Path(source).read_text() for source in sources))
    return path


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
    depends = {"runtime": [path.name for path in sources], "waves": build.waves, **_tools(build)}

    def make(folder: Path) -> None:
        compiler = toolchain.compiler()
        toolchain.compile_objects(
            compiler, dict.fromkeys(sources, build.flags), folder, _common_flags(build), jobs()
        )

    return sorted(model_cache.get(depends, make).glob("*.o"))


def jobs() -> int:
    """Number of compilers to run at a time."""
    return max(
        1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    )
