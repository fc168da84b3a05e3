"""Reach of a test file: the files of the repository whose change may change what its tests find.

A file reaches what it imports, wherever the import stands, and the modules that its strings name. A source
that lists modules, and a helper of tests that lists a folder, reach their own folder. A test that lists files
looks around: it reaches every source, and so do tests and helpers that search folders or start a module as a
program. Of other files a test reaches those whose name a string of its sources holds, or whose folder if that
has no sources; if it looks around all, but of the documentation only what it names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

#: Folders of the package that stand in the root, and have its name before their own.
_PACKAGE = "warpbank"
#: A module, and maybe a member, that a string names.
_DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+(:\w+)?")
#: Names that a file uses which lists the modules of its folder.
_LISTS_MODULES = {"iter_modules", "walk_packages"}
#: Names that a file uses which reads files that it does not name: of all folders in one, and of one.
_SEARCHES = "rglob"
_LISTS_FILES = {"glob", "iterdir", _SEARCHES, *_LISTS_MODULES}
#: A string that is an argument of a program which starts a module of ours, or code.
_STARTS = re.compile(r"-m|(?s:.*)\b(import|from) (warpbank|tests)\b(?s:.*)")
#: Files of the root that decide how every test runs.
_OF_ALL = ("pyproject.toml", "requirements.lock")


class Reach:
    """Reach of the files of a repository.

    Parameters
    ----------
    root : of the repository.
    files : its files, by their path from `root`.
    """

    def __init__(self, root: Path, files: list[str]) -> None:
        self._root = root
        self._sources = frozenset(each for each in files if each.endswith(".py"))
        self._folders = {Path(each).parent.as_posix() for each in self._sources} | {"."}
        self._trees: dict[str, ast.Module] = {}
        self._direct: dict[str, frozenset[str]] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._used_by: dict[str, frozenset[str]] = {}

    def touched(self, test: str, changed: frozenset[str]) -> bool:
        """Whether a change of the files `changed` may change what the tests of the file `test` find."""
        if any(each in changed for each in _OF_ALL):
            return True
        reached = self._reached_by(test)
        looks = any(self._looks(file) for file in reached)
        if reached & changed or (looks and self._sources & changed):
            return True
        data = [Path(each) for each in changed if not each.endswith(".py")]
        words = frozenset[str]().union(*map(self._words_of, reached)) if data else frozenset()
        return any(self._holds(words, each, looks) for each in data)

    def _holds(self, words: frozenset[str], file: Path, looks: bool) -> bool:
        """Whether a test with these words, which looks around or not, reaches a file that is no source."""
        if file.suffix == ".md":
            return file.name in words or (looks and file.parts[0] in words)
        folders = {each.name for each in file.parents if each.as_posix() not in self._folders}
        return looks or file.name in words or bool(words & folders)

    def _reached_by(self, test: str) -> frozenset[str]:
        """Sources that the file `test` names, and that these name, and so on."""
        if test not in self._reached:
            settings = [*self._settings(test)]
            # What the settings import is not followed further: few tests use those fixtures.
            found = {*settings, *(each for file in settings for each in self._names(file))}
            seen, left = set[str](), [test, *self._around(test)]
            while left:
                file = left.pop()
                if file not in seen:
                    seen.add(file)
                    left.extend(self._names(file))
            self._reached[test] = frozenset(seen | found)
        return self._reached[test]

    def _settings(self, test: str) -> Iterator[str]:
        """The `conftest.py` files of a test."""
        for folder in Path(test).parents:
            name = (folder / "conftest.py").as_posix()
            if name in self._sources:
                yield name

    def _tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = ast.parse((self._root / file).read_text())
        return self._trees[file]

    def _names(self, file: str) -> frozenset[str]:
        """Sources that `file` names itself."""
        if file not in self._direct:
            self._direct[file] = frozenset(self._find(file))
        return self._direct[file]

    def _find(self, file: str) -> Iterator[str]:
        for node in ast.walk(self._tree(file)):
            match node:
                case ast.Import(names):
                    for each in names:
                        yield from self._module(each.name)
                case ast.ImportFrom(module=str(module), names=names):
                    for each in names:
                        yield from self._member(module, each.name)
                case ast.Constant(str(text)) if _DOTTED.fullmatch(text):
                    yield from self._module(text.partition(":")[0])
        if self._used(file) & (_LISTS_FILES if file.startswith("tests/") else _LISTS_MODULES):
            folder = Path(file).parent
            inside = (each for each in self._sources if folder in Path(each).parents)
            yield from (each for each in inside if not Path(each).name.startswith("test_"))

    def _looks(self, file: str) -> bool:
        """Whether a file of tests reads files, or starts modules, that it does not name."""
        used, test = self._used(file), Path(file).name.startswith("test_")
        starts = "subprocess" in used and any(map(_STARTS.fullmatch, used))
        return file.startswith("tests/") and bool(starts or used & (_LISTS_FILES if test else {_SEARCHES}))

    def _used(self, file: str) -> frozenset[str]:
        """Names and strings of a file."""
        if file not in self._used_by:
            found = set[str]()
            for node in ast.walk(self._tree(file)):
                match node:
                    case ast.Import(names):
                        found.update(each.name for each in names)
                    case ast.ImportFrom(names=names):
                        found.update(each.name for each in names)
                    case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(str(name)):
                        found.add(name)
            self._used_by[file] = frozenset(found)
        return self._used_by[file]

    def _member(self, module: str, name: str) -> Iterator[str]:
        """Sources behind `from module import name`. The package's own members come from anywhere in it."""
        yield from self._module(f"{module}.{name}")
        folders = {f"{name}.py", f"{name}/__init__.py", f"{module}/{name}.py", f"{module}/{name}/__init__.py"}
        if module == _PACKAGE and not folders & self._sources:
            yield from (each for each in self._sources if not each.startswith("tests/"))

    def _module(self, name: str) -> Iterator[str]:
        """The source of a module, or of what holds a member of this name, with the packages around it."""
        parts = name.split(".")
        heads = [parts[1:], parts] if parts[0] == _PACKAGE else [parts]
        for head in heads:
            for end in range(len(head), 0, -1):
                stem = "/".join(head[:end])
                found = [each for each in (f"{stem}.py", f"{stem}/__init__.py") if each in self._sources]
                if found:
                    yield from found
                    yield from self._around(stem)
                    return

    def _around(self, stem: str) -> Iterator[str]:
        for folder in Path(stem).parents:
            name = (folder / "__init__.py").as_posix()
            if name in self._sources:
                yield name

    def _words_of(self, file: str) -> frozenset[str]:
        """Names in the strings of a file that may be paths: those without a space."""
        paths = (text for text in self._used(file) if not re.search(r"\s", text))
        return frozenset(word for path in paths for word in path.split("/"))
