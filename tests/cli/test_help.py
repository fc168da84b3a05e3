"""Help: every command shows its defaults, stands in a panel, and says in one sentence what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.command import warpbank
from warpbank.cli.app import PANELS, app

#: So wide that an option, its help and its default stand on one line.
COLUMNS = "500"


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group with the words that call it."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))


def _default(param: Any) -> str:
    """The default that help has to show of a parameter; "": none."""
    if isinstance(param.show_default, str):
        return f"[default: ({param.show_default})]"
    value = param.default
    if param.secondary_opts:
        value = (param.opts if value else param.secondary_opts)[0].removeprefix("--")
    if value in (None, False, (), "") or not param.show_default:
        return ""
    return f"[default: {value.value if isinstance(value, Enum) else value}]"


@pytest.fixture(params=COMMANDS, ids=lambda path: " ".join(path) or "warpbank")
def helped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """A command and its help, rendered."""
    monkeypatch.setenv("COLUMNS", COLUMNS)
    done = warpbank(*request.param, "--help")
    assert done.code == 0, done.err
    return COMMANDS[request.param], re.sub(r"[ │]+", " ", done.out)


def test_every_default_is_shown(helped: tuple[Any, str]) -> None:
    command, text = helped
    lines = text.splitlines()
    for param in command.params:
        name = param.opts[0] if param.opts[0].startswith("-") else (param.metavar or param.name)
        row = next(line for line in lines if re.match(rf" (\* )?{re.escape(name)}[ ,]", line, re.I))
        assert _default(param) in row, name
        for written in re.findall(r"\[default[^]]*\]", param.help or ""):
            assert written in row, f"markup swallows {written} of {name}"


def test_markup_swallows_nothing(helped: tuple[Any, str]) -> None:
    command, text = helped
    written = [param.help for param in command.params]
    written += (command.help or "").split("\n\n")
    for part in filter(None, written):
        assert " ".join(part.split()) in " ".join(text.split())


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "warpbank")
def test_nothing_is_cut_off_on_a_narrow_terminal(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "…" not in warpbank(*path, "--help").out


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "warpbank")
def test_further_paragraphs_fit_a_narrow_terminal(path: tuple[str, ...]) -> None:
    """Typer keeps their line breaks."""
    further = (COMMANDS[path].help or "").partition("\n\n")[2]
    assert all(len(line) <= 78 for line in further.splitlines())


def test_there_are_defaults_of_every_kind() -> None:
    """The tests above look at something: values, flags with a name for no, and words for what is computed."""
    shown = [_default(param) for command in COMMANDS.values() for param in command.params]
    assert len(list(filter(None, shown))) > 80
    assert {"[default: small]", "[default: quick-build]", "[default: (turing)]"} <= set(shown)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "warpbank")
def test_the_first_sentence_stands_alone(path: tuple[str, ...]) -> None:
    """It is a paragraph of one line, which is what the list of commands shows."""
    first = (COMMANDS[path].help or "").partition("\n\n")[0]
    assert re.fullmatch(r"[A-Z][^\n]*[\w)]\.", first)
    assert ". " not in first


def test_the_page_of_the_command_line_shows_the_panels() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    rows = [
        f"| {panel} | {', '.join(f'`{name}`' for name in commands)} |" for panel, commands in PANELS.items()
    ]
    assert "\n".join(["| panel | commands |", "|---|---|", *rows, ""]) in page


def test_every_command_is_in_a_panel() -> None:
    assert [name for commands in PANELS.values() for name in commands] == COMMANDS[()].list_commands(None)
    assert set(COMMANDS[()].commands) == {name for commands in PANELS.values() for name in commands}
    text = warpbank("--help").out
    places = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    for start, end, commands in zip(places, [*places[1:], len(text)], PANELS.values(), strict=True):
        assert re.findall(r"^│ ([\w-]+)", text[start:end], re.MULTILINE) == list(commands)
