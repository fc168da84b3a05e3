"""Tests that map to a source file: those that mirror it, and those that import it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
#: Tests of all units of a folder, which import none of them by name.
_OF_ALL = {"hdl": TESTS / "hdl" / "test_interfaces.py"}
#: Tests of what a folder's sources do for a kernel, which import none of them by name: instructions with all
#: operands, spilled and not, what the allocator finds, and what register files do that are joined.
_OF_RESULTS = {
    "hdl/collector": ("sim/test_lockstep_combined.py",),
    "hdl/execute": ("sim/test_lockstep_combined.py",),
    "hdl/hierarchy": ("sim/test_lockstep_ltrf.py",),
    "hdl/mapping": ("sim/test_lockstep_renaming.py",),
    "hdl/storage": ("sim/test_lockstep_combined.py",),
    "program/lowering": ("program/lowering", "program/semantics", "program/test_compiled_code.py"),
    "program/allocation": (
        "program/semantics",
        "program/test_allocation.py",
        "program/test_compiled_code.py",
    ),
}
#: Rooms that stand in the package's own folder.
_IN_PACKAGE = ("studies", "cli", "native")


def module_of(path: Path) -> str:
    """Full name of the module that a source file is. Raises ValueError if it is none of ours."""
    parts = list(path.resolve().relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    if parts[0] == "tests" or not parts:
        raise ValueError(f"{path} is a test, not a source")
    return ".".join(parts if parts[0] == "warpbank" else ["warpbank", *parts])


def _imported(path: Path) -> Iterator[str]:
    """Full names of what a test file imports from the package or from the tests' own helpers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _helpers() -> dict[str, Path]:
    """Test helpers, which hold no tests, by module name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(TESTS.rglob("*.py"))
        if not path.name.startswith("test_") and path.name != "__init__.py"
    }


def _of_results(relative: Path) -> Iterator[Path]:
    """Tests of what the folder of a source does."""
    for name in _OF_RESULTS.get(relative.parent.as_posix(), ()):
        found = TESTS / name
        yield from [found] if found.is_file() else sorted(found.glob("test_*.py"))


def mapped_tests(path: Path) -> list[str]:
    """Test files that map to a source, from the root: first those that mirror it, then those that import it,
    directly or through a helper of the tests, and those of all units or of what its folder does. A source
    that no test names has those of its package."""
    module = module_of(path)
    relative = Path(*module.split(".")[1:])
    stem, folder = relative.name, TESTS / relative.parent
    mirrored = [*folder.glob(f"test_{stem}.py"), *folder.glob(f"test_{stem}_*.py")]
    mirrored += [*(TESTS / relative).glob("test_*.py"), *(TESTS / "formal").glob(f"test_{stem}.py")]
    helpers = {name: set(_imported(file)) for name, file in _helpers().items()}
    using = {module}
    grown = True
    while grown:
        more = {name for name, found in helpers.items() if found & using} - using
        using |= more
        grown = bool(more)
    importing = [each for each in sorted(TESTS.rglob("test_*.py")) if set(_imported(each)) & using]
    ordered = dict.fromkeys([*sorted(mirrored), *importing])
    if not ordered and "." in module.removeprefix("warpbank."):
        package = ROOT.joinpath(*module.split(".")[1:-1], "__init__.py")
        beside = (TESTS / relative.parent).glob("test_*.py") if len(relative.parts) > 2 else ()
        ordered.update(dict.fromkeys([*sorted(beside), *(ROOT / each for each in mapped_tests(package))]))
    ordered.update(dict.fromkeys(_of_results(relative)))
    if relative.parts[0] in _OF_ALL:
        ordered[_OF_ALL[relative.parts[0]]] = None
    return [str(each.relative_to(ROOT)) for each in ordered]
