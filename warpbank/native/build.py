"""Compiler of the golden model: mypyc translates its modules to C, and a C compiler makes them importable.

    python -m warpbank.native.build          # compile, unless it has been done

The extra `fast` brings mypyc, setuptools, and a C compiler for systems without one. It takes one to two
minutes of CPU time, once per version of the sources.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from warpbank import native
from warpbank.native.errors import ModelError
from warpbank.program import trust

_INSTALL = "`pip install 'warpbank[fast]'` brings all that is needed"


def missing() -> str:
    """Why the golden model cannot be compiled here; empty if it can."""
    for package in ("mypyc", "setuptools"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed; {_INSTALL}"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "the header Python.h is not there: install the development files of this Python"
    if not _compiler():
        return f"there is no C compiler on the PATH; {_INSTALL}"
    return ""


def _compiler() -> dict[str, str]:
    """Environment that makes setuptools use a C compiler: the system's, else that of the ziglang wheel; empty
    if there is none."""
    command = os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc")
    for name in (command.split()[0], "cc", "gcc", "clang"):
        if shutil.which(name):
            return {"CC": command if name == command.split()[0] else name}
    if importlib.util.find_spec("ziglang") is None:
        return {}
    zig = f"{sys.executable} -m ziglang cc"
    return {"CC": zig, "LDSHARED": f"{zig} -shared"}


def build(folder: Path) -> None:
    """Compile the present sources into `folder`, which is there whole or not at all.

    Raises
    ------
    ModelError : something that is needed is missing, or a tool failed.
    """
    reason = missing()
    if reason:
        raise ModelError(f"the golden model cannot be compiled: {reason}")
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, suffix=".part") as place:
        tree, made = Path(place) / "tree", Path(place) / "made"
        _copy(tree)
        environment = {**os.environ, **_compiler(), "MYPYPATH": str(tree), "WARPBANK_COMPILED": "0"}
        command = [sys.executable, "-c", _SETUP, str(made), *_relative()]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()[-12:]
            raise ModelError("mypyc or the C compiler failed on the golden model:\n" + "\n".join(lines))
        _flatten(made)
        try:
            made.rename(folder)
        except OSError:
            if not (folder / "done").exists():  # another process was first, or the folder cannot be written
                raise


def _copy(tree: Path) -> None:
    """Lay out the package as it is imported: an editable installation keeps its rooms elsewhere."""
    package = tree / "warpbank"
    shutil.copytree(Path(native.__file__).parent.parent, package, ignore=_IGNORED)
    for room in ("arch", "program", "golden"):  # golden, and what it imports
        shutil.copytree(native.room(room), package / room, ignore=_IGNORED, dirs_exist_ok=True)
    golden = package / "golden"
    for path in [golden / "interfaces.py", *sorted(golden.glob("*/*.py"))]:
        path.write_text(_opened(path.read_text()))


def _opened(source: str) -> str:
    """Source in which every class without a decorator is open for interpreted subclasses: schemes of a user's
    own extend golden's units, and are not compiled."""
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    places = [node.lineno - 1 for node in classes if not node.decorator_list and not _is_value(node)]
    if not places:
        return source
    for place in reversed(places):
        lines.insert(place, "@mypyc_attr(allow_interpreted_subclasses=True)\n")
    last = max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    lines.insert(
        last,
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mypy_extensions import mypyc_attr\n",
    )
    return "".join(lines)


def _is_value(node: ast.ClassDef) -> bool:
    """Whether a class is no unit: an enumeration, an exception, a tuple with names."""
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    return bool(bases & {"IntEnum", "Enum", "Exception", "NamedTuple", "WarpbankError", "Generic"})


_IGNORED = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "modules")


def _relative() -> list[str]:
    """Files to compile, in the tree."""
    return [name.replace(".", "/") + ".py" for name in native.sources()]


def _flatten(made: Path) -> None:
    """Name each compiled module by its full name, and mark the folder as whole."""
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    for path in sorted(made.rglob(f"*{suffix}")):
        name = ".".join(path.relative_to(made).parts)
        path.rename(made / name)
    for path in made.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    (made / "done").write_text("")
    trust.seal(made)


#: Run in a process of its own: setuptools wants its arguments in `sys.argv`.
_SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup

made, *files = sys.argv[1:]
options = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", made + ".mypy"]
modules = mypycify(
    [*options, *files], only_compile_paths=files, multi_file=True, opt_level="2", debug_level="0",
    target_dir=made + ".c", group_name="warpbank_golden",
)
sys.argv = ["setup.py", "--quiet", "build_ext", "-b", made, "-t", made + ".o", "-j", "2"]
setup(name="golden", packages=[], ext_modules=modules)
"""


def ensure() -> Path:
    """Folder of the compiled modules in the user's cache; they are compiled if they are not there."""
    folder = native.cached() / native.key()
    if not (folder / "done").exists():
        build(folder)
    return folder


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{ensure()}\n")
    except ModelError as error:
        sys.exit(str(error))
