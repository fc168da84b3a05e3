"""Functions of a module that is imported get a mutant's code; what imports have done is left alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from tests.mutation import swap
from tests.mutation.mapping import ROOT

SOURCE = '''
"""A module."""
SIZE = 3
TABLE = {"a": lambda x: x + SIZE}


def made(n):
    """A closure."""
    def inner(x):
        return x * n
    return inner


DOUBLE = made(2)


class Box:
    depth = 5

    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        for i in range(2):
            if i == 1:
                return self.x + self.x
            elif i > 5:
                pass
        return (
            0
        )
'''


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """The module of `SOURCE`, imported."""
    path = tmp_path / "sample.py"
    path.write_text(SOURCE)
    spec = spec_from_file_location("sample_of_swap", path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules["sample_of_swap"] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules["sample_of_swap"]


def _functions(module: ModuleType) -> dict[CodeType, list[FunctionType]]:
    assert module.__file__ is not None
    return swap.functions_of([Path(module.__file__)])[module.__file__]


def _swapped(module: ModuleType, before: str, after: str) -> bool:
    assert before in SOURCE
    assert module.__file__ is not None
    changed = SOURCE.replace(before, after, 1)
    found = swap.changes(SOURCE, changed, module.__file__, _functions(module))
    if found is None:
        return False
    swap.apply(found)
    return True


@pytest.mark.parametrize(
    ("before", "after", "value", "old", "new"),
    [
        ("x + SIZE", "x - SIZE", lambda m: m.TABLE["a"](1), 4, -2),
        ("x * n", "x + n", lambda m: (m.DOUBLE(5), m.made(3)(5)), (10, 15), (7, 8)),
        ("self.x + self.x", "self.x - 1", lambda m: m.Box(4).twice, 8, 3),
        ("range(2)", "range(1)", lambda m: m.Box(4).twice, 8, 0),
    ],
)
def test_a_function_that_lives_is_changed(
    module: ModuleType,
    before: str,
    after: str,
    value: Callable[[ModuleType], object],
    old: object,
    new: object,
) -> None:
    assert value(module) == old
    assert _swapped(module, before, after)
    assert value(module) == new


@pytest.mark.parametrize(
    ("before", "after"), [("SIZE = 3", "SIZE = 4"), ("depth = 5", "depth = 6"), ("made(2)", "made(3)")]
)
def test_what_an_import_has_done_stays(module: ModuleType, before: str, after: str) -> None:
    assert not _swapped(module, before, after)


def test_statements_are_noted(module: ModuleType) -> None:
    seen: list[int] = []
    assert module.__file__ is not None
    swap.instrument(SOURCE, module.__file__, _functions(module), seen.append)
    assert module.Box(4).twice == 8
    lines = SOURCE.splitlines()
    assert [lines[line - 1].strip() for line in seen] == [
        "self.x = x",
        "for i in range(2):",
        "if i == 1:",
        "elif i > 5:",
        "if i == 1:",
        "return self.x + self.x",
    ]
    assert module.DOUBLE(5) == 10
    assert lines[seen[-1] - 1].strip() == "return x * n"


def test_a_line_is_of_the_innermost_statement() -> None:
    tree, lines = ast.parse(SOURCE), SOURCE.splitlines()
    where = {lines[line - 1].strip(): line for line in range(1, len(lines) + 1)}
    assert swap.statement_at(tree, where["0"]) == where["0"] - 1
    assert swap.statement_at(tree, where["elif i > 5:"]) == where["elif i > 5:"]
    assert swap.statement_at(tree, where["return x * n"]) == where["return x * n"]
    assert swap.statement_at(tree, where["for i in range(2):"]) == where["for i in range(2):"]
    assert swap.statement_at(tree, where["depth = 5"]) is None


@pytest.mark.parametrize("name", ["program/liveness.py", "hdl/collector/boc.py", "program/lowering/wide.py"])
def test_every_statement_in_a_function_has_a_place(name: str) -> None:
    """A statement's own lines lead to it, so no mutant is judged by the wrong tests."""
    tree = ast.parse((ROOT / name).read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for each in function.body:
                assert swap.statement_at(tree, each.lineno) == each.lineno
