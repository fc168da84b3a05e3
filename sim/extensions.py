"""Extensions, units and schemes from outside the package: Python that enters them into the registries when it
is loaded."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from warpbank.program import trust
from warpbank.program.cache import whole
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

    Raises ExtensionError that says why it cannot be loaded; where the fault is in the file's own code, with
    the traceback through that code as a note (`BaseException.add_note`).
    """
    file = (path / "__init__.py" if os.path.isdir(path) else path).resolve()
    if file in _LOADED:
        return _LOADED[file]
    if file.suffix != ".py" or not os.path.exists(file):
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
    except (Exception, SystemExit) as error:  # whatever a user's file does wrong
        del sys.modules[name]
        refused = ExtensionError(f"{path} cannot be loaded: {type(error).__name__}: {error}")
        refused.add_note(_traceback(error, file))
        raise refused from error
    _LOADED[file] = module
    known = [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    if str(file) not in known:
        os.environ[VARIABLE] = os.pathsep.join([*known, str(file)])
    return module


def _traceback(error: BaseException, file: Path) -> str:
    """Traceback of an error, from the first line of the user's file on: how we came to load it tells nothing.
    A file that is no Python has no such line; the error itself names the place."""
    made = traceback.TracebackException.from_exception(error)
    mine = [place for place, frame in enumerate(made.stack) if frame.filename == str(file)]
    made.stack = traceback.StackSummary.from_list(made.stack[mine[0] :] if mine else [])
    made.__cause__ = made.__context__ = None
    return "".join(made.format()).rstrip()


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
        for name, content in _sources(file).items():
            made.update(name.encode() + content)
    return made.hexdigest()


def _sources(file: Path) -> dict[str, bytes]:
    """Python of an extension, by its place in its folder."""
    found = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    return {str(source.relative_to(file.parent)): source.read_bytes() for source in found}


def loaded() -> dict[str, str]:
    """Extensions that are loaded, for the provenance of results: name of the file or folder -> hash of its
    Python."""
    found = {}
    for file in sorted(_LOADED):
        name = file.parent.name if file.name == "__init__.py" else file.name
        content = hashlib.sha256()
        for place, source in _sources(file).items():
            content.update(place.encode() + source)
        found[name] = content.hexdigest()[:12]
    return found


def versions() -> dict[str, str]:
    """`loaded`, in the form in which versions of tools are told."""
    return {f"{name} (--load)": key for name, key in loaded().items()}


@dataclass(frozen=True)
class Parcel:
    """Extensions on their way to a worker on another machine.

    Parameters
    ----------
    contents : of each extension, in the order of loading on the worker: its name, and its Python by place in
        its folder.
    """

    contents: tuple[tuple[str, tuple[tuple[str, bytes], ...]], ...]

    def unpack(self) -> None:
        """Load what this process does not have, from copies in a folder of its own. Raises ExtensionError, as
        `load` does."""
        have = loaded()
        for name, sources in self.contents:
            content = hashlib.sha256()
            for place, source in sources:
                content.update(place.encode() + source)
            key = content.hexdigest()[:12]
            if have.get(name) == key:
                continue
            folder = Path(tempfile.gettempdir()) / f"warpbank-extension-{os.getuid()}-{key}"
            folder.mkdir(mode=0o700, exist_ok=True)
            why = trust.doubt([folder])
            if why:
                raise ExtensionError(f"the extension {name} has no place to be unpacked: {why}")
            home = folder if name.endswith(".py") else folder / name
            for place, source in sources:
                target = home / place
                target.parent.mkdir(parents=True, exist_ok=True)
                part = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
                with whole(target, part):
                    part.write_bytes(source)
            load(home / name if name.endswith(".py") else home)


def parcel() -> Parcel:
    """Parcel of the extensions that are loaded here."""
    made = []
    for file in sorted(_LOADED):
        name = file.parent.name if file.name == "__init__.py" else file.name
        made.append((name, tuple(_sources(file).items())))
    return Parcel(tuple(made))
