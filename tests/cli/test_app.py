"""The `warpbank` command as a whole: its version, its files, and how it ends."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.command import warpbank
from warpbank import cli
from warpbank.cli import run as run_command
from warpbank.cli.app import PANELS
from warpbank.errors import OperandMismatch

ROOT = Path(__file__).parents[2]
FOLDER = Path(cli.__path__[0])
#: What commands may share.
SHARED = {
    "options",
    "cuda",
    "output",
    "progress",
    "wheels",
    "completion",
    "explain_tables",
    "lockstep_tables",
}
#: Modules of the commands.
COMMANDS = {name.replace("-", "_") for commands in PANELS.values() for name in commands}


def test_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done = warpbank("--version")
    assert (done.code, done.out, done.err) == (0, f"warpbank {project['version']}\n", "")


def test_a_file_per_command() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")}
    assert files == COMMANDS | SHARED | {"app", "start", "__init__"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_tests(name: str) -> None:
    assert (Path(__file__).parent / f"test_{name}.py").exists()


def _imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("name", sorted(COMMANDS | SHARED))
def test_no_command_needs_another(name: str) -> None:
    for imported in _imported(FOLDER / f"{name}.py"):
        parts = imported.split(".")
        if parts[:2] == ["warpbank", "cli"]:
            assert parts[2] in SHARED, imported


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_print_through_one_helper(name: str) -> None:
    assert not {"json", "sys", "rich.console.Console"} & _imported(FOLDER / f"{name}.py")


def test_a_wrong_register_file_is_no_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise OperandMismatch("vectoradd", 0, 1, 0, 2, 7, 3, 4, 5, 6, "FADD R3, R4, R5")

    monkeypatch.setattr(run_command.studied, "run", wrong)
    done = warpbank("run", "vectoradd", "--size", "tiny")
    assert done.code == 1
    assert "pc 7 (FADD R3, R4, R5): register R3, lane 4: expected 0x00000005" in done.err


def test_a_full_disk_behind_standard_output_is_one_sentence() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "warpbank", "schemes", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "error: cannot write standard output: No space left on device\n",
    )


def test_a_locale_without_our_signs_gets_others() -> None:
    script = "import warpbank.cli.app as app, warpbank.cli.start as start\n"
    script += "app.main = lambda: print('\\u00b1')\nstart.main()"
    ascii_only = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | ascii_only,
    )
    assert done.stdout == "?\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("kernels >&-", 0, ""),
        ("run nosuch 2>/dev/full", 2, ""),
        ("run nosuch 2>&-", 2, ""),
        ("run nosuch >&-", 2, "error: Unknown kernel 'nosuch'"),
    ],
)
def test_streams_that_are_closed_or_full_change_no_exit_code(command: str, code: int, said: str) -> None:
    script = f"{shlex.quote(sys.executable)} -m warpbank {command}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "vectoradd", "--size", "tiny", "--over-time", "{}/x.csv"),
        ("run", "--trace", "{}/x.traceg", "--preset", "tiny"),
        ("compile", "{}/x.cu"),
        ("launch-template", "{}/x.ptx"),
        ("--load", "{}/x.py", "kernels"),
        ("export", "ocu", "--preset", "tiny", "-o", "{}/x.v"),
        ("synth", "ocu", "--preset", "tiny", "--liberty", "{}/x.lib"),
    ],
)
def test_a_path_that_cannot_be_looked_at_is_one_sentence(arguments: tuple[str, ...]) -> None:
    """Its folder has too long a name: who runs the tests may search all others."""
    done = warpbank(*(each.replace("{}", "x" * 300) for each in arguments))
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) == 1
