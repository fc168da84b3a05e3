"""Prose of docstrings: the first sentence names the thing and stands alone, wherever a reader meets it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("arch", "program", "workloads", "golden", "hdl", "sim", "synth", "warpbank", "bench", "examples")
#: First words that only a reader who knows what stands before could understand, or that name nothing.
FORBIDDEN = re.compile(
    r"""(?ix) \A (
        the \s same | same | as | what | how | so | see | likewise | which | where | who | whose | that
        | this | these | those | it | its | they | their | both | like | also | such | all \s that
        | for \s json | plain \s dictionaries
    ) \b"""
)
#: Methods that Amaranth documents.
PROTOCOL = {"elaborate"}

Definition = ast.Module | ast.ClassDef | ast.FunctionDef


def _public(node: Definition, name: str) -> Iterator[tuple[str, Definition]]:
    """A definition and the public ones in it, by qualified name; a function in a function is no interface."""
    yield name, node
    if isinstance(node, ast.FunctionDef):
        return
    for child in node.body:
        if (
            isinstance(child, ast.ClassDef | ast.FunctionDef)
            and not child.name.startswith("_")
            and child.name not in PROTOCOL
        ):
            yield from _public(child, f"{name}.{child.name}".lstrip("."))


def _wrong(text: str) -> Iterator[str]:
    """Names of a module's public parts whose docstring is missing or begins with forbidden words."""
    tree = ast.parse(text)
    for name, node in _public(tree, ""):
        docstring = ast.get_docstring(node)
        if docstring is None:
            if node.body:  # an empty file is a package and nothing more
                yield f"{name or 'the module'} has no docstring"
        elif found := FORBIDDEN.match(docstring):
            yield f"{name or 'the module'} begins with {found[0]!r}: {docstring.splitlines()[0]}"


@pytest.mark.parametrize("room", ROOMS)
def test_first_sentences_stand_alone(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {what}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for what in _wrong(path.read_text())
    ]
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"""The same, in words."""', "begins with 'The same'"),
        ('"""As both."""', "begins with 'As'"),
        ('"""Page."""\nclass Unit:\n    """What it is."""', "Unit begins with 'What'"),
        ('"""Page."""\nclass Unit:\n    """Unit."""\n    def step(self): ...', "Unit.step has no docstring"),
        ("x = 1", "the module has no docstring"),
    ],
)
def test_a_wrong_sentence_is_found(text: str, words: str) -> None:
    (found,) = _wrong(text)
    assert words in found


@pytest.mark.parametrize("text", ["", '"""Assembly of the SM."""', '"""Page."""\ndef _private(): ...'])
def test_a_right_one_is_not(text: str) -> None:
    assert not list(_wrong(text))
