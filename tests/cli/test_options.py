"""What all commands share: every number has bounds, every output is checked before the work."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.command import warpbank
from warpbank.cli.app import PANELS


def _commands() -> Iterator[tuple[str, Callable[..., None]]]:
    for commands in PANELS.values():
        for name, command in commands.items():
            if isinstance(command, typer.Typer):
                for part in command.registered_commands:
                    assert part.callback is not None
                    yield f"{name} {part.name}", part.callback
            else:
                yield name, command


def _numbers() -> Iterator[tuple[str, Any]]:
    """Every option that takes a number, with what typer knows of it."""
    for name, command in _commands():
        hints = typing.get_type_hints(command, vars(inspect.getmodule(command)), include_extras=True)
        for parameter, hint in hints.items():
            if parameter == "return" or not typing.get_args(hint):
                continue
            kind, *infos = typing.get_args(hint)
            if {int, float} & {kind, *typing.get_args(kind)}:
                yield f"{name} {parameter}", infos[0]


def test_every_number_has_bounds() -> None:
    found = dict(_numbers())
    assert len(found) > 15
    for name, info in found.items():
        assert info.min is not None, name
        assert info.max is not None, name


#: Outputs of every command that has one, in a folder that is not there, or a file where a folder should be.
OUTPUTS = [
    ("run", "nn", "--over-time", "no/x.csv"),
    ("run", "nn", "--engine", "pysim", "--waves", "no/x.vcd"),
    ("view", "nn", "--output", "no/x.json"),
    ("compile", "k.cu", "--output", "no/k.ptx"),
    ("launch-template", "k.cu", "--output", "no/k.toml"),
    ("trace", "write", "nn", "no/x.npz"),
    ("compare", "--output", "k.cu/x"),
    ("explore", "--output", "k.cu/x"),
    ("reproduce", "bow", "--output", "k.cu/x"),
    ("sweep", "s.toml", "--output", "no/x.parquet"),
    ("waiting", "nn", "--output", "no/x.svg"),
    ("gating", "nn", "--output", "no/x.svg"),
    ("synth", "ocu", "--output", "no/x.v"),
    ("export", "ocu", "--output", "no/x.v"),
    ("fpga", "--output", "k.cu/x"),
    ("verify", "ocu", "--junit", "k.cu/x"),
    ("explain", "nn", "--intervals", "--output", "no/x.svg"),
]


@pytest.mark.parametrize("words", OUTPUTS, ids=lambda words: words[0])
def test_outputs_are_checked_before_the_work(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is traced, simulated, compiled or mapped for a file that cannot be written."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    for name in (
        "warpbank.sim.experiment.run",
        "warpbank.program.runner.trace_job",
        "warpbank.program.runner.compile_job",
        "warpbank.cli.cuda.compile_source",
        "warpbank.sim.runs.execute._locally",
        "warpbank.sim.runs.execute._remotely",
        "warpbank.studies.synthesis.synthesize",
        "warpbank.synth.export.exported",
        "warpbank.studies.fpga.demonstrate",
        "warpbank.studies.verify.climb",
    ):
        where, _, attribute = name.rpartition(".")
        monkeypatch.setattr(_module(where), attribute, work)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text("")
    (tmp_path / "s.toml").write_text('kernels = ["nn"]\n')
    before = sorted(tmp_path.rglob("*"))
    done = warpbank(*words)
    assert done.code == 2, done.err
    assert words[-1] in done.err
    assert "cannot" in done.err
    assert "Traceback" not in done.err
    assert sorted(tmp_path.rglob("*")) == before


def _module(name: str) -> Any:
    importlib.import_module(name)
    return sys.modules[name]


def test_every_command_with_an_output_is_in_the_list() -> None:
    checked = {" ".join(words[: 2 if words[0] == "trace" else 1]) for words in OUTPUTS}
    outputs = {"--output", "--junit", "--waves", "--over-time"}
    having = {name for name, command in _commands() if _flags(command) & outputs}
    assert having | {"trace write"} == checked


def _flags(command: Callable[..., None]) -> set[str]:
    """The options of a command, whether named here or as their parameter. Typer keeps the first name given as
    the default."""
    hints = typing.get_type_hints(command, vars(inspect.getmodule(command)), include_extras=True)
    found: set[str] = set()
    for parameter, hint in hints.items():
        for info in typing.get_args(hint)[1:]:
            first = [info.default] if isinstance(getattr(info, "default", None), str) else []
            named = [*first, *(getattr(info, "param_decls", None) or ())]
            found.update(named or [f"--{parameter.replace('_', '-')}"])
    return found


@pytest.mark.parametrize("name", [name for name, _ in _commands()])
def test_config_wherever_preset_is(name: str) -> None:
    flags = _flags(dict(_commands())[name])
    assert ("--preset" in flags) == ("--config" in flags)


def test_most_commands_take_a_machine() -> None:
    """So that the test above compares something."""
    assert sum("--preset" in _flags(command) for _, command in _commands()) >= 9


def test_a_machine_of_ones_own_is_compared(tmp_path: Path) -> None:
    """The same numbers as the preset with the field set; and a byte-order mark in the file."""
    machine = tmp_path / "own.toml"
    machine.write_text('preset = "tiny"\n[l1]\nlatency = 31\n', encoding="utf-8-sig")
    common = ("compare", "--kernels", "vectoradd", "--schemes", "bow", "--size", "tiny", "--json")
    own = warpbank(*common, "--config", str(machine))
    preset = warpbank(*common, "--preset", "tiny", "--set", "l1.latency=31")
    assert own.code == preset.code == 0, own.err
    made = [json.loads(done.out) for done in (own, preset)]
    assert [each["cycles"] for each in made[0]["runs"]] == [each["cycles"] for each in made[1]["runs"]]
    assert f"--config {machine}" in made[0]["made_by"]["command"]
