"""The type check: mypy on the package as it is installed, `python -m tests.type_check`.

mypy follows no editable installation, and the folders of the repository are not where their imported names
say. So a folder of links, `build/types/warpbank`, shows them as one package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Ignored by git.
FOLDER = ROOT / "build" / "types"
_PACKAGE = "warpbank"


def links(folder: Path) -> Path:
    """Make `folder/warpbank` anew: a link for every file and folder of the package. Returns its path."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    sources = {path.name: path for path in (ROOT / _PACKAGE).iterdir() if path.name != "__pycache__"}
    for name, source in settings["package-dir"].items():
        if name != _PACKAGE:
            sources[name.removeprefix(f"{_PACKAGE}.")] = ROOT / source
    package = folder / _PACKAGE
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for name, source in sources.items():
        (package / name).symlink_to(os.path.relpath(source, package))
    return package


def check(arguments: Sequence[str] = (), folder: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    """Run mypy on the links in `folder`; `arguments` are further ones of mypy's."""
    links(folder)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), "--package", _PACKAGE, *arguments]
    environment = {**os.environ, "MYPYPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, check=False, text=True, capture_output=True)


if __name__ == "__main__":
    done = check(sys.argv[1:])
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)
