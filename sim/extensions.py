"""Extensions, units and schemes from outside the package: Python that enters them into the registries when it
is loaded."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from warpbank.sim.errors import ExtensionError

#: Paths that every process loads, separated as in PATH: `--load` adds to it, so that worker processes know
#: what this one knows.
VARIABLE = "WARPBANK_LOAD"

_LOADED: dict[Path, ModuleType] = {}


def load(path: Path) -> ModuleType:
    """Run a Python file, or a folder with an `__init__.py`, once in this process; it registers what it
    brings.

    `warpbank.arch.schemes.register_scheme(Row(...))` is the scheme, and its `units` say what makes the
    model and the RTL of each, as f"{__name__}.model:MyCollector".

    Raises ExtensionError that says why it cannot be loaded.
    """
    file = (path / "__init__.py" if path.is_dir() else path).resolve()
    if file in _LOADED:
        return _LOADED[file]
    if file.suffix != ".py" or not file.exists():
        raise ExtensionError(f"--load takes a Python file, or a folder with an __init__.py, not {path}")
    # Of the path, so that its modules are nobody else's, in whatever order processes load what they load.
    name = f"warpbank_extension_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    assert spec is not None
    assert spec.loader is not None
    for each in [each for each in sys.modules if each.startswith(f"{name}.")]:  # of a load before
        del sys.modules[each]
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a user's file does wrong
        del sys.modules[name]
        raise ExtensionError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    _LOADED[file] = module
    known = [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    if str(file) not in known:
        os.environ[VARIABLE] = os.pathsep.join([*known, str(file)])
    return module


def inherit() -> None:
    """Load what the environment names. Raises ExtensionError, as `load` does."""
    for part in os.environ.get(VARIABLE, "").split(os.pathsep):
        if part:
            load(Path(part))


def digest() -> str:
    """Hash of all that is loaded, for what is kept under a key; "" if nothing is."""
    if not _LOADED:
        return ""
    made = hashlib.sha256()
    for file in sorted(_LOADED):
        for source in sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]:
            made.update(str(source.relative_to(file.parent)).encode() + source.read_bytes())
    return made.hexdigest()
