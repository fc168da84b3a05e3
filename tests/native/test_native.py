"""Compiled modules are imported for the sources that they were made of, and for no others."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from warpbank import native
from warpbank.native import build
from warpbank.native.errors import ModelError
from warpbank.program.cache import user_folder

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


def _python(code: str, **environment: str) -> str:
    """Standard output of a Python process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_module_of_golden_is_compiled() -> None:
    found = native.sources()
    assert found["warpbank.golden.sm"].name == "sm.py"
    assert found["warpbank.golden.collector.boc"].parent.name == "collector"
    assert found["warpbank.arch.uop"].exists()
    assert not any(path.name == "__init__.py" for path in found.values())
    assert list(found) == list(native.sources())


def test_the_key_follows_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"warpbank.golden.{name}": tmp_path / f"{name}.py" for name in ("a", "b")}
    for path in files.values():
        path.write_text("x = 1\n")
    monkeypatch.setattr(native, "sources", lambda: files)
    before = native.key()
    assert native.key() == before
    files["warpbank.golden.b"].write_text("x = 2\n")
    assert native.key() != before


def test_without_compiled_modules_the_source_runs(tmp_path: Path) -> None:
    code = (
        "import warpbank.golden.sm as sm; from warpbank import native; print(native.how(), sm.__file__[-5:])"
    )
    said = _python(code, WARPBANK_CACHE=str(tmp_path), WARPBANK_COMPILED="1")
    assert said == "interpreted sm.py"


def test_a_folder_that_is_not_whole_is_not_used(tmp_path: Path) -> None:
    """A killed compiler leaves no `done`."""
    folder = tmp_path / "golden" / native.key()
    folder.mkdir(parents=True)
    (folder / f"warpbank.golden.sm{SUFFIX}").write_bytes(b"no library")
    code = "import warpbank.golden.sm; from warpbank import native; print(native.how())"
    environment = {"WARPBANK_CACHE": str(tmp_path), "WARPBANK_COMPILED": "1"}
    assert _python(code, **environment) == "interpreted"
    (folder / "done").write_text("")
    with pytest.raises(AssertionError, match="sm"):  # now it is used, and is no library
        _python(code, **environment)
    assert _python(code, **{**environment, "WARPBANK_COMPILED": "0"}) == "interpreted"


@pytest.mark.parametrize("package", ["mypyc", "setuptools"])
def test_what_is_missing_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = build.importlib.util.find_spec
    monkeypatch.setattr(
        build.importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    with pytest.raises(ModelError, match=rf"the package {package} is not installed; `pip install"):
        build.build(tmp_path / "made")
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_the_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    find = build.importlib.util.find_spec
    assert "ziglang cc" in build._compiler()["CC"]
    monkeypatch.setattr(
        build.importlib.util, "find_spec", lambda name: None if name == "ziglang" else find(name)
    )
    assert "there is no C compiler on the PATH; `pip install" in build.missing()


def test_a_failing_tool_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_SETUP", "raise SystemExit('no such thing')")
    with pytest.raises(ModelError, match="no such thing"):
        build.build(tmp_path / "made")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_the_compiled_model_has_the_events_of_the_interpreted_one(tmp_path: Path) -> None:
    """The recorded digests, every fortieth run, in a process that runs compiled modules."""
    environment = {"WARPBANK_CACHE": str(tmp_path), "WARPBANK_COMPILED": "1"}
    code = "from warpbank.native import build; print(build.ensure())"
    assert Path(_python(code, **environment)).parent == tmp_path / "golden"
    code = (
        "import sys, warpbank.golden.sm; from warpbank import native; print(native.how())\n"
        "from tests import digests; sys.argv[1:] = ['compare', '--every', '40', '--workers', '1']\n"
        "sys.exit(digests.main())"
    )
    assert _python(code, **environment).startswith("compiled")


def test_modules_that_others_may_write_are_not_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "golden" / native.key()
    folder.mkdir(parents=True)
    (folder / "done").write_text("")
    (folder / f"warpbank.golden.sm{SUFFIX}").write_bytes(b"no library")
    folder.chmod(0o777)
    code = (
        "import warnings\nwith warnings.catch_warnings(record=True) as found:\n"
        "    import warpbank.golden.sm\nfrom warpbank import native; print(native.how(), found[0].message)"
    )
    said = _python(code, WARPBANK_CACHE=str(tmp_path), WARPBANK_COMPILED="1")
    assert said.startswith("interpreted the golden model runs interpreted, not from its cache: ")
    assert f"{folder} may be written by others (mode 777)" in said


def test_a_relative_cache_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WARPBANK_CACHE", "build/compiled")
    before = native.cached(), user_folder("traces")
    monkeypatch.chdir("/")
    assert before == (tmp_path / "build/compiled/golden", tmp_path / "build/compiled")
