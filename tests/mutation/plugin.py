"""Pytest plugin that lets a module be imported with a mutant planted in it; the file stays as it is.

Environment: WARPBANK_MUTANT, a JSON file with `module`, its full name, and `source`, its text. A process that
a test starts does not see the mutant.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Sequence
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

VARIABLE = "WARPBANK_MUTANT"


class Loader(importlib.machinery.SourceFileLoader):
    """Loader of a module from another text than its file's."""

    text: str

    def get_code(self, fullname: str) -> CodeType:
        """Code of the text; nothing is kept beside the file."""
        return compile(self.text, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finder of one module, before all others.

    Parameters
    ----------
    module : full name.
    text : source with the mutant.
    """

    def __init__(self, module: str, text: str) -> None:
        self._module, self._text = module, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec, with the mutant; None for others."""
        if fullname != self._module:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.origin is not None:
                loader = Loader(fullname, spec.origin)
                loader.text = self._text
                return spec_from_file_location(fullname, spec.origin, loader=loader)
        return None


def first_failure_only() -> None:
    """Let hypothesis be content with the first failure that it finds, as nobody reads it."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutation",
        settings.get_profile("repeatable"),
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.load_profile("mutation")


def pytest_collection() -> None:
    """Hook of pytest, before tests are imported."""
    if os.environ.get(VARIABLE):
        first_failure_only()


def plant() -> None:
    """Plant the mutant that the environment names, if it names one. Raises AssertionError if that is late."""
    place = os.environ.get(VARIABLE)
    if place:
        asked = json.loads(Path(place).read_text())
        assert asked["module"] not in sys.modules, f"{asked['module']} is imported already"
        sys.meta_path.insert(0, Finder(asked["module"], asked["source"]))


plant()
