"""Names of schemes and units stand in the registry only: everybody else asks a row for a property."""

from __future__ import annotations

import ast

import pytest

from tests.test_structure import ROOT, SOURCES, _tree
from warpbank.arch.schemes import SCHEMES
from warpbank.arch.units import UNITS

#: The registry, and what reproduces or quotes a paper's numbers, which are numbers of that paper's schemes.
REGISTRY = ("arch/schemes/", "arch/units.py")
QUOTING = (
    "warpbank/studies/reproduce/",
    "warpbank/studies/compare/published.py",
    "warpbank/studies/examples.py",
    "synth/published.py",
)
NAMES = {*SCHEMES, *(name for units in UNITS.values() for name in units)}
#: Words of the field that some unit has for a name, where they say something else.
OTHERWISE = {
    ("arch/counters.py", "plain"): "field of an event: arrays that plain banks would activate",
    ("arch/events.py", "plain"): "field of an event: arrays that plain banks would activate",
    ("arch/presets.py", "lrr"): "scheduler that a published machine has, whatever the scheme",
    ("golden/hierarchy/engine.py", "plain"): "field of a transfer: its value is kept as it is",
    ("golden/hierarchy/wcb.py", "plain"): "field of a register that sets off: its result is to come",
    ("hdl/hierarchy/link.py", "plain"): "field of a transfer: its value is kept as it is",
    ("synth/flow.py", "plain"): "way of reading a netlist: without inverted outputs",
    ("warpbank/studies/gating/compare.py", "renaming"): "key of a result: the run with renaming",
    ("warpbank/studies/sweep/table.py", "baseline"): "key of a result: what gains are relative to",
    ("warpbank/cli/gating.py", "renaming"): "head of a column: the run with renaming",
    **{
        ("warpbank/cli/run.py", name): "how the names of counters begin"
        for name in ("boc", "ccu", "renaming", "scalar_rf", "two_level")
    },
}


def _named(tree: ast.Module) -> set[str]:
    """Names among a module's string constants; a string such as `"ltrf+bow"` names two."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {part for text in texts if isinstance(text, str) for part in text.split("+") if part in NAMES}


SPOKEN = {
    (path.relative_to(ROOT).as_posix(), name)
    for path in SOURCES
    for name in _named(_tree(path))
    if not path.relative_to(ROOT).as_posix().startswith((*REGISTRY, *QUOTING))
}


@pytest.mark.parametrize("path", sorted({path for path, _ in SPOKEN}))
def test_nobody_else_knows_a_scheme_by_name(path: str) -> None:
    found = {name for where, name in SPOKEN if where == path and (path, name) not in OTHERWISE}
    assert not found, f"{path} names {', '.join(sorted(found))}: ask the row (warpbank.arch.units) instead"


def test_every_exception_is_used() -> None:
    assert set(OTHERWISE) <= SPOKEN


def test_names_are_found() -> None:
    """The registry itself names every scheme; and a scheme string names its rows."""
    files = (ROOT / "arch" / "schemes").glob("*.py")
    assert set(SCHEMES) <= set().union(*(_named(_tree(file)) for file in files))
    assert _named(ast.parse('x = scheme.name == "gscalar+bow" or "two_level"')) == {
        "gscalar",
        "bow",
        "two_level",
    }
    assert not _named(ast.parse('"""About bow."""\nbow = 3'))
