"""Compiled golden model: finds the modules of `warpbank.golden` that mypyc has compiled, and lets Python
import them in place of their sources.

One source has two forms. Interpreted, it runs everywhere, and tests plant their mutants in it; compiled, it
gives the same events several times as fast (`python -m bench.golden`). `warpbank.native.build` compiles it,
where the extra `fast` is installed. Compiled modules belong to a digest of their sources and to one version
of Python: after a change of any source the interpreter takes over until they are compiled again.

Environment: WARPBANK_COMPILED=0 keeps the interpreter.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

#: Folder of compiled modules inside an installed wheel.
SHIPPED = Path(__file__).with_name("modules")
#: Top-level module that mypyc makes beside the compiled ones; it holds their code.
SHARED = "warpbank_golden__mypyc"
#: Modules of `warpbank.arch` that are compiled: what golden's inner loops work on.
_ARCH = ("counters", "events", "uop")


def room(name: str) -> Path:
    """Folder of the sources of a room: `arch`, `golden`, ..."""
    spec = importlib.util.find_spec(f"warpbank.{name}")
    assert spec is not None, f"warpbank.{name} is not installed"
    assert spec.origin is not None, f"warpbank.{name} is no package with sources"
    return Path(spec.origin).parent


def sources() -> dict[str, Path]:
    """Full name -> source file of every module that is compiled, in a fixed order."""
    arch, golden = room("arch"), room("golden")
    found = {f"warpbank.arch.{name}": arch / f"{name}.py" for name in _ARCH}
    for path in sorted(golden.rglob("*.py")):
        if path.name != "__init__.py":
            name = ".".join(path.relative_to(golden).with_suffix("").parts)
            found[f"warpbank.golden.{name}"] = path
    return found


def key() -> str:
    """Name of the compiled form of the present sources, for this Python."""
    digest = hashlib.sha256(str(sysconfig.get_config_var("EXT_SUFFIX")).encode())
    for name, path in sources().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def cached() -> Path:
    """Folder in which this user's compiled modules are kept; an absolute path, since compilers run in folders
    of their own."""
    chosen = os.environ.get("WARPBANK_CACHE")
    if chosen:
        return Path(chosen).absolute() / "golden"
    import platformdirs

    return platformdirs.user_cache_path("warpbank") / "golden"


def wanted() -> bool:
    """Whether compiled modules may be used."""
    return os.environ.get("WARPBANK_COMPILED", "1") != "0"


def active() -> bool:
    """Whether this process runs the compiled model: True or False from the first import of golden on."""
    module = sys.modules.get("warpbank.golden.sm")
    if module is None:
        return any(isinstance(finder, Finder) for finder in sys.meta_path)
    return not str(module.__file__).endswith(".py")


def how() -> str:
    """`compiled` or `interpreted`."""
    return "compiled" if active() else "interpreted"


class Finder(importlib.abc.MetaPathFinder):
    """Finder of compiled modules in one folder.

    Parameters
    ----------
    folder : holds a file `NAME.so` (or what this system calls it) per module, with the module's full name.
    """

    def __init__(self, folder: Path) -> None:
        suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
        self._files = {path.name.removesuffix(suffix): path for path in folder.glob(f"*{suffix}")}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The compiled module, if it is one."""
        file = self._files.get(fullname)
        return None if file is None else importlib.util.spec_from_file_location(fullname, file)


def _trusted(*folders: Path) -> bool:
    """Whether nobody else may have written compiled modules into `folders`; a warning says who may."""
    from warpbank.program import trust

    why = trust.doubt([*folders, *(path for folder in folders[1:] for path in folder.iterdir())])
    if why:
        warnings.warn(f"the golden model runs interpreted, not from its cache: {why}", stacklevel=3)
    return not why


def install() -> bool:
    """Let this process import the compiled modules, if there are any of the present sources. Returns whether
    it does."""
    folders = [folder for folder in (SHIPPED, cached()) if folder.is_dir()] if wanted() else []
    if not folders:
        return False
    name = key()
    for folder in folders:
        if (folder / name / "done").exists() and (folder == SHIPPED or _trusted(folder, folder / name)):
            sys.meta_path.insert(0, Finder(folder / name))
            return True
    return False
