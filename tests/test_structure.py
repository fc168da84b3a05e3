"""The house: which room may import which, and that no import goes round in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
#: Room -> the rooms it may import. `native` compiles golden, and is imported before anything else.
#: `warpbank` is the front door: it makes what is below it available, and nothing below knows it.
ALLOWED: dict[str, set[str]] = {
    "arch": set(),
    "program": {"arch"},
    "workloads": {"arch", "program"},
    "golden": {"arch", "program"},
    "hdl": {"arch"},
    "synth": {"arch", "program", "hdl"},
    "sim": {"arch", "program", "workloads", "golden", "hdl", "synth"},
    "studies": {"arch", "program", "workloads", "golden", "hdl", "synth", "sim"},
    "native": {"program"},
    "cli": {"arch", "native", "program", "workloads", "golden", "synth", "sim", "studies"},
}
FOLDERS = {
    room: ROOT / ("warpbank" if room in ("studies", "cli", "native") else "") / room for room in ALLOWED
}
SOURCES = {path: room for room, folder in FOLDERS.items() for path in sorted(folder.rglob("*.py"))}
#: The Python API stands beside the command line.
ALLOWED["api"] = ALLOWED["cli"] | {"api", "arguments", "errors", "results"}
SOURCES |= {
    ROOT / "warpbank" / f"{name}.py": "api" for name in ("__init__", "api", "arguments", "errors", "results")
}


def _module(path: Path) -> str:
    """The installed name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == "warpbank" else ("warpbank", *parts))
    return name.removesuffix(".__init__")


MODULES = {_module(path) for path in SOURCES}


def _runs_at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """Import statements that run when the module is imported: not those in functions or for type checkers
    only."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        checking = (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        )
        if not checking and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def _names(node: ast.stmt) -> Iterator[str]:
    """Our modules that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if name in MODULES else str(node.module) for name in names]
    else:
        names = []
    yield from (name for name in names if name.split(".")[0] == "warpbank")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@pytest.mark.parametrize("room", ALLOWED)
def test_dependencies_run_one_way(room: str) -> None:
    for path in (path for path, where in SOURCES.items() if where == room):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name in _names(node):
                    used = name.split(".")[1] if "." in name else "warpbank"
                    assert used == room or used in ALLOWED[room], f"{path.relative_to(ROOT)} imports {name}"


def test_no_import_goes_round_in_a_circle() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    for path in SOURCES:
        for node in _runs_at_import(_tree(path)):
            for name in _names(node):
                package = path.name == "__init__.py" and name.startswith(f"{_module(path)}.")
                if name != _module(path) and not package:
                    graph.add_edge(_module(path), name)
    circles = list(nx.simple_cycles(graph))
    assert not circles, circles[0]


def test_golden_and_rtl_mirror_each_other() -> None:
    """A package of one is a package of the other."""
    packages = [
        {path.parent.relative_to(FOLDERS[room]) for path in SOURCES if SOURCES[path] == room}
        for room in ("golden", "hdl")
    ]
    assert packages[0] == packages[1]


def test_a_file_without_a_twin_is_explained() -> None:
    """docs/architecture.md says of every file that golden or hdl alone has where its counterpart is."""
    golden, hdl = (
        {str(path.relative_to(FOLDERS[room])) for path in SOURCES if SOURCES[path] == room}
        for room in ("golden", "hdl")
    )
    text = (ROOT / "docs/architecture.md").read_text()
    section = text.partition("## Files without a twin\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`((?:golden|hdl)/[a-z0-9_/]+\.py)`", section))
    both = {f"{room}/{name}" for room in ("golden", "hdl") for name in golden & hdl}
    alone = {f"golden/{name}" for name in golden - hdl} | {f"hdl/{name}" for name in hdl - golden}
    assert alone == named - both, alone ^ (named - both)
