"""Mutants in a running process: functions that are there already get the code of the changed source.

A module that is imported stays imported, so that a mutant costs no import. What a source does while it is
imported (tables, class bodies, defaults of arguments) cannot be changed so, and `changes` says so.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

#: Functions by their code.
Functions = Mapping[CodeType, Sequence[FunctionType]]
#: What functions are to get.
Changes = list[tuple[FunctionType, CodeType]]
#: Global name under which an instrumented module calls what notes a statement.
_NOTE = "__warpbank_statement__"


def functions_of(paths: Iterable[Path]) -> dict[str, dict[CodeType, list[FunctionType]]]:
    """All functions that live in this process and come from source files, by file."""
    found: dict[str, dict[CodeType, list[FunctionType]]] = {str(path.resolve()): {} for path in paths}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename in found:
            found[each.__code__.co_filename].setdefault(each.__code__, []).append(each)
    return found


def _nested(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """What a code does, the functions that it makes left out."""
    constants = [None if isinstance(each, CodeType) else (type(each), each) for each in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


def changes(original: str, changed: str, file: str, functions: Functions) -> Changes | None:
    """Codes that turn the functions of a source into those of a changed one. None if something else than
    functions that live has changed."""
    found: Changes = []

    def paired(old: CodeType, new: CodeType) -> bool:
        if old == new:
            return True
        alive = functions.get(old, ())
        if any(len(each.__code__.co_freevars) != len(new.co_freevars) for each in alive):
            return False
        found.extend((each, new) for each in alive)
        olds, news = _nested(old), _nested(new)
        if alive:  # closures that it has made already, as far as they still correspond
            if len(olds) == len(news):
                for one, other in zip(olds, news, strict=True):
                    paired(one, other)
            return True
        return (
            _own(old) == _own(new)
            and len(olds) == len(news)
            and all(paired(one, other) for one, other in zip(olds, news, strict=True))
        )

    whole = paired(
        compile(original, file, "exec", dont_inherit=True), compile(changed, file, "exec", dont_inherit=True)
    )
    return found if whole else None


def apply(asked: Changes) -> None:
    """Give functions their codes."""
    for function, code in asked:
        function.__code__ = code


def header(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement, of one with a body up to that."""
    inside = [each for _, value in ast.iter_fields(statement) if isinstance(value, list) for each in value]
    starts = [
        each.body[0].lineno if isinstance(each, ast.match_case) else each.lineno
        for each in inside
        if isinstance(each, ast.stmt | ast.match_case | ast.ExceptHandler)
    ]
    assert statement.end_lineno is not None
    return statement.lineno, max(min([statement.end_lineno + 1, *starts]) - 1, statement.lineno)


def statement_at(tree: ast.Module, line: int) -> int | None:
    """First line of the statement in a function whose own lines hold `line`; None outside of functions."""
    best: ast.stmt | None = None
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for each in ast.walk(function):
                if isinstance(each, ast.stmt) and each is not function:
                    first, last = header(each)
                    if first <= line <= last and (best is None or first >= best.lineno):
                        best = each
    return None if best is None else best.lineno


class _Noting(ast.NodeTransformer):
    """Puts a note before every statement in a function."""

    def __init__(self) -> None:
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        before, self._inside = self._inside, True
        self.generic_visit(node)
        node.body = self._noted(node.body)
        self._inside = before
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        before, self._inside = self._inside, False
        self.generic_visit(node)
        self._inside = before
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._inside and not isinstance(node, ast.FunctionDef):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block:
                    setattr(node, name, self._noted(block))
        return node

    @staticmethod
    def _noted(block: list[ast.stmt]) -> list[ast.stmt]:
        done = list[ast.stmt]()
        for each in block:
            note = ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(each.lineno)], []))
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):  # docstrings stay
                done.append(ast.fix_missing_locations(ast.copy_location(note, each)))
            done.append(each)
        return done


def instrument(original: str, file: str, functions: Functions, note: Callable[[int], None]) -> None:
    """Let the functions of a source call `note` with the line of each of their statements before it runs."""
    noting = compile(_Noting().visit(ast.parse(original)), file, "exec", dont_inherit=True)

    def paired(old: CodeType, new: CodeType) -> None:
        for each in functions.get(old, ()):
            each.__globals__[_NOTE] = note
            each.__code__ = new
        for one, other in zip(_nested(old), _nested(new), strict=True):
            paired(one, other)

    paired(compile(original, file, "exec", dont_inherit=True), noting)
