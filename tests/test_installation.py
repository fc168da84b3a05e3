"""What is given away: a source distribution with the whole repository, and a wheel that adds one name to the
world and works beside a package called `arch` and a user's own `sim` and `synth`.

The backend that builds them, and the package `arch`, come from the package index; without it the tests are
skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import warpbank as wb

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]
_NAME = f"warpbank-{VERSION}"
#: What git does not keep, and what is git's own.
_GENERATED = [*(line.strip("/") for line in (ROOT / ".gitignore").read_text().split()), ".git"]


def _run(command: list[str], cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _from_index(*arguments: str) -> None:
    """`pip install`; skips the test where the index does not answer."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the package index cannot be used: {done.stderr.strip().splitlines()[-1]}")


@pytest.fixture(scope="module")
def _tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the backend that pyproject.toml asks for."""
    folder = tmp_path_factory.mktemp("tools")
    _from_index("install", "--quiet", "--target", str(folder), *PROJECT["build-system"]["requires"])
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository: building leaves files beside the sources."""
    folder = tmp_path_factory.mktemp("copy") / "source"
    return Path(shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_GENERATED)))


@pytest.fixture(scope="module")
def sdist(_tools: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return _built("sdist", source, tmp_path_factory.mktemp("dist"), _tools)


@pytest.fixture(scope="module")
def wheel(sdist: Path, _tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution alone."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return _built("wheel", folder / _NAME, tmp_path_factory.mktemp("wheel"), _tools)


def _built(what: str, source: Path, target: Path, tools: Path) -> Path:
    code = f"from setuptools import build_meta; build_meta.build_{what}({str(target)!r})"
    _run([sys.executable, "-c", code], source, PYTHONPATH=str(tools))
    (made,) = target.iterdir()
    return made


def test_the_source_distribution_is_the_repository(sdist: Path, source: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.removeprefix(f"{_NAME}/") for name in archive.getnames()}
    sources = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and not {"build", "warpbank.egg-info"} & set(path.relative_to(source).parts[:1])
    }
    assert len(sources) > 800
    assert sources - held == set()


def test_the_wheel_adds_one_name(wheel: Path, source: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert {name.partition("/")[0] for name in held} == {"warpbank", f"{_NAME}.dist-info"}
    folders: Mapping[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
    installed = {
        "/".join([*package.split("."), *path.relative_to(source / folder).parts])
        for package, folder in folders.items()
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    packaged = {name for name in held if name.startswith("warpbank/")}
    assert packaged == installed
    assert f"{_NAME}.dist-info/licenses/LICENSE" in held


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel, and with the package of the index that is called `arch`.

    The other dependencies are those of the present environment. It has no say in what `warpbank` is, since
    its `.pth` files are not read.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder.parent)
    python = str(folder / "bin" / "python")
    _from_index("--python", python, "install", "--quiet", "--no-deps", str(wheel), "arch")
    (site,) = folder.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "dependencies.pth").write_text("\n".join(dependencies) + "\n")
    return folder


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a user may have on PYTHONPATH: packages of their own with the names of our folders."""
    folder = tmp_path_factory.mktemp("theirs")
    for name in ("golden", "hdl", "program", "sim", "synth", "workloads"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f'raise ImportError("this is the user\'s {name}")\n')
    return str(folder)


def test_the_installation_works(environment: Path, theirs: str, tmp_path: Path) -> None:
    """Commands and API, from an empty folder."""

    def run(*command: str) -> str:
        path = str(environment / "bin" / command[0])
        return _run([path, *command[1:]], tmp_path, PYTHONPATH=theirs)

    ours, other, *path = run("python", "-c", _FIND).splitlines()
    assert Path(ours).is_relative_to(environment)
    assert Path(other).is_relative_to(environment)
    assert str(ROOT) not in path

    # The trace is made here, where the emulator is compiled already, and found by its content: a new
    # installation would compile for half a minute.
    expected = wb.run("vectoradd", size="tiny", preset="tiny")
    machine = ("--size", "tiny", "--preset", "tiny")
    made = json.loads(run("warpbank", "run", "vectoradd", *machine, "--json"))
    assert made["operands_checked"] > 0
    assert made["trace"] == expected.to_dict()["trace"]
    assert "vectoradd" in run("python", "-m", "warpbank", "kernels")
    run("warpbank", "compare", "--schemes", "baseline,bow-wr", "--kernels", "vectoradd", *machine)
    assert (tmp_path / "warpbank-compare" / "compare.html").is_file()
    run("warpbank", "export", "ocu", "--preset", "tiny", "--output", "ocu.v")
    assert "module ocu" in (tmp_path / "ocu.v").read_text()
    code = "import warpbank as wb; print(wb.run('vectoradd', size='tiny', preset='tiny').cycles)"
    assert int(run("python", "-c", code)) == made["cycles"] == expected.cycles


#: Prints where `warpbank` and `arch` are, and what is searched for them; `arch` itself is not run, since it
#: needs more packages.
_FIND = """
import sys
from importlib.util import find_spec
for name in ("warpbank", "arch"):
    print(find_spec(name).origin)
print(*sys.path, sep="\\n")
"""
